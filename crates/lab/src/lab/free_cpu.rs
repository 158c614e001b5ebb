//! Computation takes no simulated time. Warns where it would take a relevant share of the real time.

use crate::trial::TrialSpec;
use fsverdict_disk::device::Limits;
use fsverdict_judgement::journal::{Caution, Event, is_of_cpu};
use fsverdict_judgement::plan::{Dataset, once_each};
use fsverdict_stack::filesystem::{compresses, searches_directories};

/// A device with a queue deeper than SATA's 32 answers in tens of microseconds, in which a processor does little.
const DEEP: u32 = 32;
/// A linear search of a directory with this many files is noticeable: filling one of 10 000 took ext3 without its
/// index 4.8 s natively, and 0.5 s with it (docs/results/then-and-now.md), so that 1000 take some 50 ms.
const CROWD: u64 = 1000;

/// The caution beside a device that answers as fast as a processor computes.
const LOWER_BOUND: &str = "CPU is taken as free, and beside a device as fast as this one it is much of what work takes: these times are a lower bound";

/// Cautions about the times of a trial on a device with these limits, each one sentence.
pub(super) fn free_cpu_cautions(spec: &TrialSpec, limits: &Limits) -> Vec<Caution> {
    let candidate = &spec.candidate;
    let crowded = |dataset: &Dataset| matches!(dataset, Dataset::Flat { files, .. } if *files >= CROWD);
    let of_layers =
        once_each(fsverdict_stack::layer::layers_of(candidate).filter_map(|layer| layer.free_cpu));
    let known = [
        (
            compresses(candidate),
            "what compressing costs is not in these times, so that compression looks cheaper than it is",
        ),
        (
            searches_directories(candidate) && spec.datasets.values().any(crowded),
            "what searching a directory without an index costs, which grows with the square of its files, is not in these times, so that it looks far cheaper than it is",
        ),
    ];
    let known = known.into_iter().filter(|(applies, _)| *applies).map(|(_, text)| text);
    let deep = (limits.queue_depth > DEEP).then(|| Caution::new(LOWER_BOUND));
    of_layers.into_iter().chain(known).map(Caution::of_free_work).chain(deep).collect()
}

/// Removes CPU times from a guest's measurements: its tick counter stands still while it computes.
pub(super) fn remove_cpu_time(event: &mut Event) {
    if let Event::Observation(observation) = event {
        observation.measurements.retain(|found| !is_of_cpu(&found.metric));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use super::free_cpu_cautions;
    use crate::trial::TrialSpec;
    use fsverdict_disk::device::Model;
    use fsverdict_judgement::journal::{CautionKind, TrialId};
    use fsverdict_judgement::plan::{Candidate, Dataset, Layers};
    use fsverdict_text::Bytes;

    #[test]
    fn who_profits_from_a_free_processor_is_named() {
        let cases = [
            ("ext4", "", &[][..], 5000, "usb-disk-5400", &[][..]),
            ("ext4", "", &["luks2"], 0, "sata-ssd", &["cipher"]),
            ("btrfs", "compress=zstd", &[], 5000, "usb-stick", &["compressing"]),
            (
                "f2fs",
                "compress_algorithm=lz4",
                &["luks1"],
                0,
                "nvme-ssd",
                &["cipher", "compressing", "a lower bound"],
            ),
            ("reiser4", "", &[], 0, "hdd-7200", &["compressing"]),
            ("ext4", "-O ^dir_index", &[], 5000, "hdd-7200", &["searching"]),
            ("ext4", "-O ^dir_index", &[], 500, "hdd-7200", &[]),
            ("ext2", "", &[], 5000, "hdd-7200", &[]),
            ("vfat", "", &[], 5000, "usb-stick", &["searching"]),
        ];
        for (filesystem, option, layers, files, model, wanted) in cases {
            let candidate = Candidate {
                mkfs: option.split(' ').map(str::to_owned).collect(),
                layers: Layers::from_names(layers.iter().copied()).unwrap(),
                ..Candidate::with_defaults(filesystem)
            };
            let spec = TrialSpec {
                trial: TrialId { block: 1, candidate: filesystem.to_owned(), attempt: 1 },
                seed: 1,
                candidate,
                datasets: BTreeMap::from([(
                    "crowd".to_owned(),
                    Dataset::Flat { files, file_size: Bytes(1024) },
                )]),
                phases: Vec::new(),
                services: Vec::new(),
                repeats: BTreeMap::new(),
                limit: Duration::from_secs(1),
                deadline: None,
                drawn: None,
                calibration: None,
                cuts: None,
                rot: None,
                part: 0,
                only: None,
                devices: 1,
            };
            let shown = free_cpu_cautions(&spec, &Model::find(model).unwrap().limits(1 << 30));
            assert_eq!(shown.len(), wanted.len(), "{filesystem} on {model}: {shown:?}");
            // By its kind the report knows a caution about work that is left out.
            for (caution, word) in shown.iter().zip(wanted) {
                let is_of_work = caution.kind == CautionKind::FreeWork;
                assert!(caution.text.contains(word) && is_of_work != (*word == "a lower bound"), "{shown:?}");
            }
        }
    }
}
