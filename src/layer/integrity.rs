//! Checksums of every sector, kept beside the data by the kernel's dm-integrity.

use fsverdict_text::Reason;

use super::model::{InUse, Layer, LayerKind, LayerLine, LayerPlace, words};
use crate::filesystem::{Package, Packages, Tool};

const INTEGRITYSETUP: Tool = Tool {
    program: "integritysetup",
    version: &["--version"],
    packages: Packages { debian: Package::Official("cryptsetup-bin"), ..Packages::everywhere("cryptsetup") },
};
const BLKDISCARD: Tool =
    Tool { program: "blkdiscard", version: &["--version"], packages: Packages::everywhere("util-linux") };
const EXAMPLE: &str = "as in integrity:none, or integrity:none,sector=4096";
/// Neither journal nor bitmap.
const DIRECT: &str = "--integrity-no-journal";

pub(super) static INTEGRITY: Layer = Layer {
    name: "integrity",
    summary: "Checksums (crc32c) of every sector by dm-integrity, as integritysetup makes it without a journal or bitmap \
              (integrity:none): a crash may leave data and checksums at odds. sector=512 (unless said otherwise), 1024, 2048 or \
              4096 behind a comma. All of it is written once before mkfs, untimed, since nothing can be read that has no \
              checksum; discards pass through.",
    tools: &[INTEGRITYSETUP, BLKDISCARD],
    config: &["CONFIG_BLK_DEV_DM", "CONFIG_DM_INTEGRITY", "CONFIG_CRYPTO_CRC32C"],
    modules: &["crc32c_generic", "dm-integrity"],
    driver: "dm-integrity",
    nodes: &["/dev/mapper/control"],
    // Superblock and the least journal; beyond that 4 bytes of checksum in 512, and a journal that grows with the device.
    header: 8 << 20,
    pools: false,
    redundant: |_| false,
    kind: LayerKind::Mapping,
    options: |options| IntegrityOptions::read(options).map(|_| 1),
    usual: false,
    free_cpu: Some(
        "CPU is taken as free: what checksums of sectors cost is not in these times, so that integrity looks cheaper than it is",
    ),
    cipher: None,
    make: Some(LayerLine {
        step: "make checksums",
        argv: |site| {
            // Its own wiping would open a device by a name that is not ours, and leave it where it is killed.
            let head = ["integritysetup", "format", "--batch-mode", "--no-wipe"];
            words(&[&head, &["--sector-size", of(site).sector, site.device()]])
        },
    }),
    open: LayerLine {
        step: "open checksums",
        argv: |site| {
            let head = ["integritysetup", "open", "--batch-mode", "--allow-discards"];
            words(&[&head, &[DIRECT, site.device(), site.name]])
        },
    },
    mark: Some(LayerLine {
        step: "mark checksums for removal",
        argv: |site| words(&[&["integritysetup", "close", "--deferred", site.name]]),
    }),
    fill: Some(LayerLine {
        step: "write all sectors once",
        argv: |site| words(&[&["blkdiscard", "--zeroout", "--force", "--step", "16MiB", site.device()]]),
    }),
    close: None,
    describe: Some(LayerLine {
        step: "describe checksums",
        argv: |site| words(&[&["integritysetup", "status", site.name]]),
    }),
    in_use: InUse {
        lines: |site| {
            let format = ["integritysetup", "format", "--sector-size", of(site).sector, site.device()];
            let open = ["integritysetup", "open", DIRECT, site.device(), site.name];
            vec![words(&[&format]), words(&[&open])]
        },
        at_boot: Some(|name, below| format!("echo \"{name} {below} - mode=direct\" >>/etc/integritytab")),
        note: Some("Measured without a journal: a crash may leave data and checksums at odds"),
    },
};

fn of(site: &LayerPlace<'_>) -> IntegrityOptions {
    IntegrityOptions::read(site.options).unwrap_or(IntegrityOptions::USUAL)
}

/// What follows the layer's name in a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct IntegrityOptions {
    /// Bytes.
    sector: &'static str,
}

impl IntegrityOptions {
    const USUAL: IntegrityOptions = IntegrityOptions { sector: "512" };

    fn read(text: &str) -> Result<Self, Reason> {
        let mut options = Self::USUAL;
        let mut words = text.split(',');
        match words.next() {
            Some("none") => {}
            first => {
                let first = first.unwrap_or_default();
                let what =
                    format!("checksums are had without a journal and without a bitmap alone, not `{first}`");
                return Err(Reason::new(what, EXAMPLE));
            }
        }
        for word in words {
            let Some(("sector", size)) = word.split_once('=') else {
                return Err(Reason::new(format!("`{word}` is no option of this layer"), EXAMPLE));
            };
            let known = ["512", "1024", "2048", "4096"].into_iter().find(|known| *known == size);
            let what = || format!("a sector has 512, 1024, 2048 or 4096 bytes, not `{size}`");
            options.sector = known.ok_or_else(|| Reason::new(what(), EXAMPLE))?;
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::{INTEGRITY, IntegrityOptions};
    use crate::layer::LayerPlace;

    #[test]
    fn it_is_made_without_a_journal_and_wiped_by_us() {
        for (options, sector) in [("none", "512"), ("none,sector=4096", "4096")] {
            let below = ["/dev/x".to_owned()];
            let site = LayerPlace { below: &below, name: "n", options, key: "" };
            let made = (INTEGRITY.make.unwrap().argv)(&site).join(" ");
            let wanted = "integritysetup format --batch-mode --no-wipe --sector-size";
            assert_eq!(made, format!("{wanted} {sector} /dev/x"));
            let opened = (INTEGRITY.open.argv)(&site).join(" ");
            let wanted = "integritysetup open --batch-mode --allow-discards --integrity-no-journal /dev/x n";
            assert_eq!(opened, wanted);
        }
        for wrong in ["", "journal", "bitmap", "none,sector=8192", "none,", "sector=512", "none sector=512"] {
            IntegrityOptions::read(wrong).unwrap_err();
        }
    }
}
