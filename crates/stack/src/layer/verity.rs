//! dm-verity: hashes of every block, which are computed once all data are written, and checked at each read. Until it
//! is sealed, the filesystem lies on the part of the device before the space for hashes.

use fsverdict_judgement::plan::ProtectionFeature;

use super::model::{InUse, Layer, LayerLine, LayerPlace, LayerSeal, to_words};
use crate::filesystem::{Package, Packages, Tool};
use fsverdict_text::Reason;

const VERITYSETUP: Tool = Tool {
    program: "veritysetup",
    version: &["--version"],
    packages: Packages { debian: Package::Official("cryptsetup-bin"), ..Packages::everywhere("cryptsetup") },
};
const DMSETUP: Tool = Tool {
    program: "dmsetup",
    version: &["--version"],
    packages: Packages { debian: Package::Official("dmsetup"), ..Packages::everywhere("device-mapper") },
};
/// Waits for no udev, which a trial has not, and makes the node itself (dmsetup(8)).
const NO_UDEV: [&str; 2] = ["--noudevsync", "--noudevrules"];
/// Bytes of a block of data, and of one of hashes.
const BLOCK: u64 = 4096;
/// Hashes (SHA-256) in a block of them.
const HASHES: u64 = 128;
/// The same in all trials, so that they write the same. It protects nothing.
const SALT: &str = "66737665726469637400000000000000000000000000000000000000000000ff";
const UUID: &str = "66737665-7264-4963-8000-000000000000";

pub(super) static VERITY: Layer = Layer {
    name: "verity",
    summary: "Hashes (SHA-256) of every block of 4096 bytes by dm-verity, under a filesystem that is only read from then on: what is \
              written up to the first phase that is cold is sealed, as veritysetup makes it, and mounted read-only. It is the last \
              layer below the filesystem. The hashes lie behind the data and take a 127th of them; how long sealing took is timed as \
              seal. verity:once holds a block against its hash when it is first read, and not again.",
    tools: &[VERITYSETUP, DMSETUP],
    config: &["CONFIG_BLK_DEV_DM", "CONFIG_DM_VERITY", "CONFIG_CRYPTO_SHA256"],
    modules: &["sha256_generic", "dm-verity"],
    driver: "dm-verity",
    nodes: &["/dev/mapper/control"],
    // A superblock, and one partial block on each level of hashes; in addition a 128th of the device.
    header: 8 << 20,
    options: |options| parse_check_once(options).map(|_| 1),
    protection: |_| Some(ProtectionFeature::SealedData),
    free_cpu: Some(
        "what hashes of blocks cost is not in these times, so that verity looks cheaper than it is",
    ),
    open: LayerLine {
        step: "leave room for hashes",
        argv: |site| {
            let table =
                format!("0 {} linear {} 0", format_units("$SECTORS", site, BLOCK / 512), site.device());
            to_words(&[&["dmsetup", "create"], &NO_UDEV, &["--table", &table, site.name]])
        },
    },
    mark: Some(LayerLine {
        step: "mark it for removal",
        argv: |site| to_words(&[&["dmsetup", "remove", "--deferred"], &NO_UDEV, &[site.name]]),
    }),
    describe: Some(LayerLine {
        step: "describe the room",
        argv: |site| to_words(&[&["dmsetup", "table", site.name]]),
    }),
    seal: Some(LayerSeal {
        make: LayerLine {
            step: "make hashes",
            argv: |site| {
                let (blocks, offset, root) =
                    (format_units("$BLOCKS", site, 1), hash_offset(site), root_hash_file(site));
                let known = ["--data-blocks", &blocks, "--hash-offset", &offset, "--root-hash-file", &root];
                let head = ["veritysetup", "format", "--salt", SALT, "--uuid", UUID];
                to_words(&[&head, &known, &[site.device(), site.device()]])
            },
        },
        open: LayerLine {
            step: "open hashes",
            argv: |site| {
                let (offset, root) = (hash_offset(site), root_hash_file(site));
                let head = ["veritysetup", "open", "--hash-offset", &offset, "--root-hash-file", &root];
                let once = parse_check_once(site.options).unwrap_or_default();
                let once: &[&str] = if once { &["--check-at-most-once"] } else { &[] };
                to_words(&[&head, once, &[site.device(), site.name, site.device()]])
            },
        },
        mark: LayerLine {
            step: "mark hashes for removal",
            argv: |site| to_words(&[&["veritysetup", "close", "--deferred", site.name]]),
        },
        describe: LayerLine {
            step: "describe hashes",
            argv: |site| to_words(&[&["veritysetup", "status", site.name]]),
        },
    }),
    in_use: InUse {
        lines: |site| {
            let table = format!("0 $SECTORS linear {} 0", site.device());
            vec![to_words(&[&["dmsetup", "create", "--table", &table, site.name]])]
        },
        at_boot: None,
        note: Some(
            "Once all is written it is unmounted, `dmsetup remove` gives its name free, `veritysetup format` makes the hashes behind the \
             data, `veritysetup open` takes the name, and it is mounted read-only: veritysetup(8); /etc/veritytab has it opened at each boot",
        ),
    },
    ..Layer::PLAIN
};

/// The number of data blocks on a device of so many bytes: the rest has space for all levels of hashes, each of which
/// has a 128th of the size of the one below.
const fn data_bytes(bytes: u64) -> u64 {
    // A superblock, and a block that is not full on each of up to nine levels.
    const APART: u64 = 10;
    (bytes / BLOCK).saturating_sub(APART) / HASHES * (HASHES - 1)
}

/// The data blocks in units of so many blocks each; `unknown` if the device is unknown.
fn format_units(unknown: &str, site: &LayerPlace<'_>, units: u64) -> String {
    site.bytes.map_or(unknown.to_owned(), |bytes| (data_bytes(bytes) * units).to_string())
}

/// Where the hashes begin, in bytes.
fn hash_offset(site: &LayerPlace<'_>) -> String {
    format_units("$BYTES", site, BLOCK)
}

/// Where the hash of all hashes is kept.
fn root_hash_file(site: &LayerPlace<'_>) -> String {
    format!("/tmp/fsverdict/{}.root-hash", site.name)
}

fn parse_check_once(options: &str) -> Result<bool, Reason> {
    match options {
        "" => Ok(false),
        "once" => Ok(true),
        other => {
            Err(Reason::new(format!("this layer has no option `{other}`"), "as in verity or verity:once"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BLOCK, HASHES, VERITY, data_bytes, parse_check_once};
    use crate::layer::LayerPlace;

    #[test]
    fn data_and_all_levels_of_hashes_fit() {
        for bytes in [16 << 20, (16 << 20) + 511, 512 << 20, 4_000_000_000, 1 << 40, 1 << 50] {
            let count = data_bytes(bytes);
            let (mut level, mut hashes) = (count, 0);
            while level > 1 {
                level = level.div_ceil(HASHES);
                hashes += level;
            }
            let taken = (count + 1 + hashes) * BLOCK;
            assert!(taken <= bytes, "{bytes}");
            assert!(bytes - taken < 2 << 20, "{bytes}: {}", bytes - taken);
        }
    }

    #[test]
    fn hashes_lie_where_the_room_ends() {
        let below = ["/dev/x".to_owned()];
        let site = LayerPlace { below: &below, name: "n", options: "once", key: "", bytes: Some(512 << 20) };
        let room = (VERITY.open.argv)(&site).join(" ");
        assert_eq!(room, "dmsetup create --noudevsync --noudevrules --table 0 1039368 linear /dev/x 0 n");
        let seal = VERITY.seal.unwrap();
        let (made, opened) = ((seal.make.argv)(&site).join(" "), (seal.open.argv)(&site).join(" "));
        assert!(made.contains("--data-blocks 129921 --hash-offset 532156416 "), "{made}");
        assert!(
            opened.contains("--hash-offset 532156416 ") && opened.contains("--check-at-most-once"),
            "{opened}"
        );
        assert!(opened.ends_with(" /dev/x n /dev/x"), "{opened}");
        parse_check_once("twice").unwrap_err();
    }
}
