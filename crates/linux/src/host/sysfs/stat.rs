//! `/sys/class/block/NAME/stat` and `inflight`: the counters of a device.
//!
//! See `Documentation/block/stat.rst` of the kernel. Eleven fields at first, discards since 4.18 (15), flushes
//! since 5.5 (17). Flushes are counted for whole disks only.

use std::path::Path;

use crate::host::root::{ParserPosition, ReadError, Root};

use super::device_folder;

/// Bytes in a sector of these counters, independent of the device's own sector size.
pub const SECTOR: u64 = 512;

const FIELDS: [&str; 17] = [
    "reads",
    "merged reads",
    "sectors read",
    "read time",
    "writes",
    "merged writes",
    "sectors written",
    "write time",
    "requests in flight",
    "busy time",
    "queue time",
    "discards",
    "merged discards",
    "sectors discarded",
    "discard time",
    "flushes",
    "flush time",
];
/// How many of them every kernel has.
const ALWAYS: usize = 11;

/// The counters of a device since it appeared: completed requests, sectors of 512 bytes, milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeviceStat {
    pub reads: u64,
    pub read_sectors: u64,
    pub writes: u64,
    pub write_sectors: u64,
    /// Milliseconds in which at least one request was outstanding.
    pub busy_milliseconds: u64,
    /// Discards, and the sectors discarded; `None` before Linux 4.18.
    pub discards: Option<(u64, u64)>,
    /// Cache flushes; `None` before Linux 5.5.
    pub flushes: Option<u64>,
}

impl DeviceStat {
    /// Reads the content of a `stat` file; `file` is named in errors.
    pub fn parse(text: &str, file: &Path) -> Result<DeviceStat, ReadError> {
        let place = ParserPosition { file, line: 1 };
        let mut numbers = [None; FIELDS.len()];
        let mut words = text.split_ascii_whitespace();
        for (at, (name, number)) in FIELDS.iter().zip(&mut numbers).enumerate() {
            match words.next() {
                None if at >= ALWAYS => break,
                word => *number = Some(place.number(name, word.unwrap_or_default())?),
            }
        }
        let [reads, _, read_sectors, _, writes, _, write_sectors, _, _, busy_milliseconds, ..] =
            numbers.map(Option::unwrap_or_default);
        let [.., discards, _, sectors_discarded, _, flushes, _] = numbers;
        let discards = discards.zip(sectors_discarded);
        Ok(DeviceStat { reads, read_sectors, writes, write_sectors, busy_milliseconds, discards, flushes })
    }
}

/// The device's counters so far.
pub fn device_stat(root: &Root, name: &str) -> Result<DeviceStat, ReadError> {
    let relative = device_folder(name).join("stat");
    DeviceStat::parse(&root.text(&relative)?, &root.path(&relative))
}

/// Whether requests were sent to a device that it has not completed.
pub fn is_in_flight(root: &Root, name: &str) -> Result<bool, ReadError> {
    let relative = device_folder(name).join("inflight");
    let (text, file) = (root.text(&relative)?, root.path(&relative));
    let place = ParserPosition { file: &file, line: 1 };
    let mut words = text.split_ascii_whitespace();
    let reads: u64 = place.next_number("reads in flight", &mut words)?;
    // With flushes and discards.
    let writes: u64 = place.next_number("writes in flight", &mut words)?;
    Ok(reads + writes > 0)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{DeviceStat, device_stat, is_in_flight};
    use crate::host::root::{Root, fake_root};

    const OLD: &str = "   1    2    3    4    5    6    7    8    9   10   11";

    #[test]
    fn reads_what_kernels_of_all_ages_say() {
        let old = DeviceStat {
            reads: 1,
            read_sectors: 3,
            writes: 5,
            write_sectors: 7,
            busy_milliseconds: 10,
            discards: None,
            flushes: None,
        };
        let middle = DeviceStat { discards: Some((12, 14)), ..old };
        let new = DeviceStat { flushes: Some(16), ..middle };
        for (more, expected) in [
            ("", old),
            (" 12 13 14 15\n", middle),
            (" 12 13 14 15 16 17\n", new),
            // Fields yet to come are no error.
            (" 12 13 14 15 16 17 18 19\n", new),
        ] {
            assert_eq!(DeviceStat::parse(&format!("{OLD}{more}"), Path::new("stat")).unwrap(), expected);
        }
    }

    #[test]
    fn malformed_names_the_field() {
        let (_folder, root) = fake_root(&[
            ("sys/class/block/sda/stat", "1 2 3 4 5 6 many"),
            ("sys/class/block/sdb/stat", "1 2 3"),
            ("sys/class/block/cciss!c0d0/stat", OLD),
            ("sys/class/block/cciss!c0d0/inflight", "       2        0\n"),
            ("sys/class/block/sda/inflight", "2\n"),
        ]);
        let shown = device_stat(&root, "sda").unwrap_err().to_string();
        assert!(
            shown.ends_with("sda/stat, line 1: sectors written should be a whole number, but it is \"many\""),
            "{shown}"
        );
        let shown = device_stat(&root, "sdb").unwrap_err().to_string();
        assert!(shown.contains("read time should be a whole number"), "{shown}");
        assert!(device_stat(&root, "sdc").unwrap_err().is_absent());
        assert_eq!(device_stat(&root, "cciss/c0d0").unwrap().reads, 1);
        assert!(is_in_flight(&root, "cciss/c0d0").unwrap());
        assert!(is_in_flight(&root, "sda").unwrap_err().to_string().contains("writes in flight"));
    }

    #[test]
    fn this_machine_is_understood() {
        let root = Root::default();
        for entry in std::fs::read_dir("/sys/class/block").unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            // Other programs may remove a loop device meanwhile; what is there must be understood.
            match (device_stat(&root, &name), is_in_flight(&root, &name)) {
                (Err(error), _) | (_, Err(error)) => assert!(error.is_absent(), "{error}"),
                (Ok(_), Ok(_)) => {}
            }
        }
    }
}
