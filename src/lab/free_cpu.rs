//! In simulated time computing takes none. Where it would take a share that matters, a reader of the times must know.

use crate::device::Limits;
use crate::plan::Candidate;

/// A device with a queue deeper than SATA's 32 answers in tens of microseconds, in which a processor does little.
const DEEP: u32 = 32;

/// What must be known of the times of a candidate on a device with these limits, each in a sentence.
pub(super) fn cautions(candidate: &Candidate, limits: &Limits) -> Vec<String> {
    let filesystem = crate::filesystem::find(&candidate.filesystem);
    let compresses = filesystem.is_some_and(|filesystem| filesystem.facts.compresses_by_default)
        || candidate.mount.iter().chain(&candidate.mkfs).any(|option| option.contains("compress"));
    let known = [
        (
            candidate.encryption != "none",
            "CPU is taken as free: what the cipher costs is not in these times, so that encryption looks cheaper than it is",
        ),
        (
            compresses,
            "CPU is taken as free: what compressing costs is not in these times, so that compression looks cheaper than it is",
        ),
        (
            limits.queue_depth > DEEP,
            "CPU is taken as free, and beside a device as fast as this one it is much of what work takes: these times are a lower bound",
        ),
    ];
    known.into_iter().filter(|(applies, _)| *applies).map(|(_, text)| text.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::cautions;
    use crate::device::Model;
    use crate::plan::{Candidate, Circumstances};

    #[test]
    fn who_profits_from_a_free_processor_is_named() {
        let cases = [
            ("ext4", "", "none", "usb-disk-5400", &[][..]),
            ("ext4", "", "luks2", "sata-ssd", &["cipher"]),
            ("btrfs", "compress=zstd", "none", "usb-stick", &["compressing"]),
            (
                "f2fs",
                "compress_algorithm=lz4",
                "luks1",
                "nvme-ssd",
                &["cipher", "compressing", "a lower bound"],
            ),
            ("reiser4", "", "none", "hdd-7200", &["compressing"]),
        ];
        for (filesystem, mount, encryption, model, wanted) in cases {
            let candidate = Candidate {
                name: filesystem.to_owned(),
                filesystem: filesystem.to_owned(),
                mkfs: Vec::new(),
                mount: vec![mount.to_owned()],
                encryption: encryption.to_owned(),
                scheduler: None,
                path: None,
                under: Circumstances::default(),
            };
            let shown = cautions(&candidate, &Model::find(model).unwrap().limits(1 << 30));
            assert_eq!(shown.len(), wanted.len(), "{filesystem} on {model}: {shown:?}");
            assert!(shown.iter().zip(wanted).all(|(text, word)| text.contains(word)), "{shown:?}");
        }
    }
}
