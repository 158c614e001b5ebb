//! Checksums of every sector, kept beside the data by the kernel's dm-integrity.

use fsverdict_judgement::plan::ProtectionFeature;
use fsverdict_text::Reason;

use super::model::{InUse, Layer, LayerLine, LayerPlace, to_words};
use crate::filesystem::{Package, Packages, Tool};

const INTEGRITYSETUP: Tool = Tool {
    program: "integritysetup",
    version: &["--version"],
    packages: Packages { debian: Package::Official("cryptsetup-bin"), ..Packages::everywhere("cryptsetup") },
};
const BLKDISCARD: Tool =
    Tool { program: "blkdiscard", version: &["--version"], packages: Packages::everywhere("util-linux") };
const EXAMPLE: &str = "as in integrity:bitmap, or integrity:journal,sector=4096";

pub(super) static INTEGRITY: Layer = Layer {
    name: "integrity",
    summary: "Checksums (crc32c) of every sector by dm-integrity, as integritysetup makes it: with integrity:journal (which it is \
              without a word) data and checksums are written to a journal first, with integrity:bitmap regions are noted before they \
              are written, with integrity:none a crash may leave the two at odds. sector=512 (unless said otherwise), 1024, 2048 or \
              4096 behind a comma. All of it is written once before mkfs, untimed, since nothing can be read that has no \
              checksum; discards pass through.",
    tools: &[INTEGRITYSETUP, BLKDISCARD],
    config: &["CONFIG_BLK_DEV_DM", "CONFIG_DM_INTEGRITY", "CONFIG_CRYPTO_CRC32C"],
    modules: &["crc32c_generic", "dm-integrity"],
    driver: "dm-integrity",
    nodes: &["/dev/mapper/control"],
    // Superblock and the smallest journal; in addition 4 bytes of checksum for each 512, and a journal that grows with
    // the device.
    header: 8 << 20,
    options: |options| IntegrityOptions::parse(options).map(|_| 1),
    example_options: "none",
    // A crash may leave data and checksums at odds (integritysetup(8), --integrity-no-journal).
    protection: |options| match options.split(',').any(|mode| mode == "none") {
        true => Some(ProtectionFeature::NotCrashSafe),
        false => Some(ProtectionFeature::CheckedSectors),
    },
    free_cpu: Some(
        "what checksums of sectors cost is not in these times, so that integrity looks cheaper than it is",
    ),
    make: Some(LayerLine {
        step: "make checksums",
        argv: |site| {
            // Its own wiping would open a device by a name that is not ours, and leave it where it is killed.
            let head = ["integritysetup", "format", "--batch-mode", "--no-wipe"];
            to_words(&[&head, &["--sector-size", from_place(site).sector, site.device()]])
        },
    }),
    open: LayerLine {
        step: "open checksums",
        argv: |site| {
            let head = ["integritysetup", "open", "--batch-mode", "--allow-discards"];
            to_words(&[&head, from_place(site).mode.words(), &[site.device(), site.name]])
        },
    },
    mark: Some(LayerLine {
        step: "mark checksums for removal",
        argv: |site| to_words(&[&["integritysetup", "close", "--deferred", site.name]]),
    }),
    fill: Some(LayerLine {
        step: "write all sectors once",
        argv: |site| to_words(&[&["blkdiscard", "--zeroout", "--force", "--step", "16MiB", site.device()]]),
    }),
    describe: Some(LayerLine {
        step: "describe checksums",
        argv: |site| to_words(&[&["integritysetup", "status", site.name]]),
    }),
    in_use: InUse {
        lines: |site| {
            let IntegrityOptions { mode, sector } = from_place(site);
            let format = ["integritysetup", "format", "--sector-size", sector, site.device()];
            let open = to_words(&[&["integritysetup", "open"], mode.words(), &[site.device(), site.name]]);
            vec![to_words(&[&format]), open]
        },
        // blkid(8) knows no UUID of it.
        at_boot: Some(|site, _| {
            let mode = from_place(site).mode.table_option();
            format!("echo \"{} {} -{mode}\" >>/etc/integritytab", site.name, site.device())
        }),
        note: Some(
            "`format` writes all of the device, which takes hours on a large disk; a damaged sector is reported when it is read, and repaired by nothing but RAID above",
        ),
    },
    ..Layer::PLAIN
};

fn from_place(site: &LayerPlace<'_>) -> IntegrityOptions {
    IntegrityOptions::parse(site.options).unwrap_or(IntegrityOptions::USUAL)
}

/// How data and checksums stay consistent over a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IntegrityMode {
    Journal,
    Bitmap,
    Direct,
}

impl IntegrityMode {
    /// The last field of integritytab(5), with its space.
    const fn table_option(self) -> &'static str {
        match self {
            IntegrityMode::Journal => "",
            IntegrityMode::Bitmap => " mode=bitmap",
            IntegrityMode::Direct => " mode=direct",
        }
    }

    const fn words(self) -> &'static [&'static str] {
        match self {
            IntegrityMode::Journal => &[],
            IntegrityMode::Bitmap => &["--integrity-bitmap-mode"],
            IntegrityMode::Direct => &["--integrity-no-journal"],
        }
    }
}

/// The options after the layer's name in a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct IntegrityOptions {
    mode: IntegrityMode,
    /// Bytes.
    sector: &'static str,
}

impl IntegrityOptions {
    const USUAL: IntegrityOptions = IntegrityOptions { mode: IntegrityMode::Journal, sector: "512" };

    fn parse(text: &str) -> Result<Self, Reason> {
        let mut options = Self::USUAL;
        if text.is_empty() {
            return Ok(options);
        }
        for word in text.split(',') {
            match word.split_once('=') {
                None if word == "journal" => options.mode = IntegrityMode::Journal,
                None if word == "bitmap" => options.mode = IntegrityMode::Bitmap,
                None if word == "none" => options.mode = IntegrityMode::Direct,
                Some(("sector", size)) => {
                    let known = ["512", "1024", "2048", "4096"].into_iter().find(|known| *known == size);
                    let problem = || format!("a sector has 512, 1024, 2048 or 4096 bytes, not `{size}`");
                    options.sector = known.ok_or_else(|| Reason::new(problem(), EXAMPLE))?;
                }
                _ => return Err(Reason::new(format!("this layer has no option `{word}`"), EXAMPLE)),
            }
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::{INTEGRITY, IntegrityOptions};
    use crate::layer::LayerPlace;

    #[test]
    fn each_mode_is_a_word_when_it_is_opened_and_all_are_wiped_by_us() {
        for (options, format, open) in [
            ("", "--sector-size 512", ""),
            ("journal", "--sector-size 512", ""),
            ("bitmap,sector=4096", "--sector-size 4096", "--integrity-bitmap-mode "),
            ("none", "--sector-size 512", "--integrity-no-journal "),
        ] {
            let below = ["/dev/x".to_owned()];
            let site = LayerPlace { below: &below, name: "n", options, key: "", bytes: None };
            let made = (INTEGRITY.make.unwrap().argv)(&site).join(" ");
            assert_eq!(made, format!("integritysetup format --batch-mode --no-wipe {format} /dev/x"));
            let opened = (INTEGRITY.open.argv)(&site).join(" ");
            assert_eq!(opened, format!("integritysetup open --batch-mode --allow-discards {open}/dev/x n"));
        }
        for wrong in ["bitmaps", "sector=8192", "journal,", "mode=bitmap", "journal sector=512"] {
            IntegrityOptions::parse(wrong).unwrap_err();
        }
    }
}
