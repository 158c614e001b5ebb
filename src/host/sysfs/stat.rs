//! `/sys/class/block/NAME/stat` and `inflight`: the counters of a device.
//!
//! See `Documentation/block/stat.rst` of the kernel. Eleven fields at first, discards since 4.18 (15), flushes
//! since 5.5 (17). Flushes are counted for whole disks only.

use std::path::Path;

use crate::host::root::{Place, ReadError, Root};

use super::device_folder;

/// Bytes in a sector of these counters, whatever the device's own sectors are.
pub const SECTOR: u64 = 512;

/// What a device has done since it appeared. Counts of requests, sectors of 512 bytes, milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeviceStat {
    pub reads: u64,
    /// Reads merged into others before they were sent.
    pub read_merges: u64,
    /// Sectors read.
    pub read_sectors: u64,
    /// Milliseconds all reads together waited.
    pub read_milliseconds: u64,
    pub writes: u64,
    /// Writes merged into others before they were sent.
    pub write_merges: u64,
    /// Sectors written.
    pub write_sectors: u64,
    /// Milliseconds all writes together waited.
    pub write_milliseconds: u64,
    /// Requests sent and not yet completed.
    pub in_flight: u64,
    /// Milliseconds in which at least one request was outstanding.
    pub busy_milliseconds: u64,
    /// Milliseconds all requests together waited.
    pub queue_milliseconds: u64,
    /// Discards; `None` before Linux 4.18.
    pub discards: Option<Discards>,
    /// Cache flushes; `None` before Linux 5.5.
    pub flushes: Option<Flushes>,
}

/// Discards completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Discards {
    pub requests: u64,
    pub merges: u64,
    /// Sectors.
    pub sectors: u64,
    /// Milliseconds waited.
    pub milliseconds: u64,
}

/// Cache flushes completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flushes {
    pub requests: u64,
    /// Milliseconds waited.
    pub milliseconds: u64,
}

impl DeviceStat {
    /// Reads the content of a `stat` file; `file` is named in errors.
    ///
    /// # Errors
    /// [`ReadError::Malformed`] when a field is not a number, or one of the first eleven is missing.
    pub fn parse(text: &str, file: &Path) -> Result<DeviceStat, ReadError> {
        let place = Place { file, line: 1 };
        let mut words = text.split_ascii_whitespace().peekable();
        let mut stat = DeviceStat {
            reads: place.next_number("reads", &mut words)?,
            read_merges: place.next_number("merged reads", &mut words)?,
            read_sectors: place.next_number("sectors read", &mut words)?,
            read_milliseconds: place.next_number("read time", &mut words)?,
            writes: place.next_number("writes", &mut words)?,
            write_merges: place.next_number("merged writes", &mut words)?,
            write_sectors: place.next_number("sectors written", &mut words)?,
            write_milliseconds: place.next_number("write time", &mut words)?,
            in_flight: place.next_number("requests in flight", &mut words)?,
            busy_milliseconds: place.next_number("busy time", &mut words)?,
            queue_milliseconds: place.next_number("queue time", &mut words)?,
            discards: None,
            flushes: None,
        };
        if words.peek().is_some() {
            stat.discards = Some(Discards {
                requests: place.next_number("discards", &mut words)?,
                merges: place.next_number("merged discards", &mut words)?,
                sectors: place.next_number("sectors discarded", &mut words)?,
                milliseconds: place.next_number("discard time", &mut words)?,
            });
        }
        if words.peek().is_some() {
            stat.flushes = Some(Flushes {
                requests: place.next_number("flushes", &mut words)?,
                milliseconds: place.next_number("flush time", &mut words)?,
            });
        }
        Ok(stat)
    }
}

/// What the device has done so far.
///
/// # Errors
/// When there is no such device, or its counters cannot be understood.
pub fn device_stat(root: &Root, name: &str) -> Result<DeviceStat, ReadError> {
    let relative = device_folder(name).join("stat");
    DeviceStat::parse(&root.text(&relative)?, &root.path(&relative))
}

/// Requests sent to a device and not yet completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct InFlight {
    pub reads: u64,
    /// Writes (with flushes and discards).
    pub writes: u64,
}

impl InFlight {
    /// Reads the content of an `inflight` file; `file` is named in errors.
    ///
    /// # Errors
    /// [`ReadError::Malformed`] when it is not two numbers.
    pub fn parse(text: &str, file: &Path) -> Result<InFlight, ReadError> {
        let place = Place { file, line: 1 };
        let mut words = text.split_ascii_whitespace();
        Ok(InFlight {
            reads: place.next_number("reads in flight", &mut words)?,
            writes: place.next_number("writes in flight", &mut words)?,
        })
    }

    /// Whether nothing is outstanding.
    pub fn is_zero(&self) -> bool {
        self.reads == 0 && self.writes == 0
    }
}

/// What the device is working on now.
///
/// # Errors
/// When there is no such device, or the file cannot be understood.
pub fn in_flight(root: &Root, name: &str) -> Result<InFlight, ReadError> {
    let relative = device_folder(name).join("inflight");
    InFlight::parse(&root.text(&relative)?, &root.path(&relative))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{DeviceStat, Discards, Flushes, InFlight, device_stat, in_flight};
    use crate::host::root::{Root, fake_root};

    const OLD: &str = "   1    2    3    4    5    6    7    8    9   10   11";

    #[test]
    fn reads_what_kernels_of_all_ages_say() {
        let file = Path::new("stat");
        let old = DeviceStat::parse(OLD, file).unwrap();
        assert_eq!((old.reads, old.read_sectors, old.writes, old.write_sectors), (1, 3, 5, 7));
        assert_eq!((old.in_flight, old.busy_milliseconds, old.queue_milliseconds), (9, 10, 11));
        assert_eq!((old.discards, old.flushes), (None, None));
        let middle = DeviceStat::parse(&format!("{OLD} 12 13 14 15\n"), file).unwrap();
        let discards = Discards { requests: 12, merges: 13, sectors: 14, milliseconds: 15 };
        assert_eq!(middle.discards, Some(discards));
        assert_eq!(middle.flushes, None);
        let new = DeviceStat::parse(&format!("{OLD} 12 13 14 15 16 17\n"), file).unwrap();
        assert_eq!(new.discards, Some(discards));
        assert_eq!(new.flushes, Some(Flushes { requests: 16, milliseconds: 17 }));
        let future = DeviceStat::parse(&format!("{OLD} 12 13 14 15 16 17 18 19\n"), file).unwrap();
        assert_eq!(future, new, "fields yet to come are no error");
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
        let told = device_stat(&root, "sda").unwrap_err().to_string();
        assert!(
            told.ends_with("sda/stat, line 1: sectors written should be a whole number, but it is \"many\""),
            "{told}"
        );
        let told = device_stat(&root, "sdb").unwrap_err().to_string();
        assert!(told.contains("read time should be a whole number"), "{told}");
        assert!(device_stat(&root, "sdc").unwrap_err().is_absent());
        assert_eq!(device_stat(&root, "cciss/c0d0").unwrap().reads, 1);
        let now = in_flight(&root, "cciss/c0d0").unwrap();
        assert_eq!(now, InFlight { reads: 2, writes: 0 });
        assert!(!now.is_zero());
        assert!(in_flight(&root, "sda").unwrap_err().to_string().contains("writes in flight"));
    }

    #[test]
    fn this_machine_is_understood() {
        let root = Root::default();
        for entry in std::fs::read_dir("/sys/class/block").unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            // Other programs may remove a loop device meanwhile; what is there must be understood.
            match (device_stat(&root, &name), in_flight(&root, &name)) {
                (Err(error), _) | (_, Err(error)) => assert!(error.is_absent(), "{error}"),
                (Ok(_), Ok(_)) => {}
            }
        }
    }
}
