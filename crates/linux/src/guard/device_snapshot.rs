//! Snapshots of a device at times when only this run may write to it: its write and discard counters, digests of both
//! its ends, and the change time of the file below a loop device. A difference between two snapshots shows a foreign
//! write.
//!
//! The counters are those of `/sys/class/block/NAME/stat` (kernel Documentation/block/stat.rst): sectors, not requests. A flush counts
//! as a write of no sectors on some kernels, and a sync(2) of somebody else is no foreign write.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::time::Duration;

use rustix::fs::{Advice, fadvise};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::host::block_device::BlockDevice;
use crate::host::root::Root;
use crate::host::sysfs::{SECTOR, device_stat, is_counted, is_in_flight};
use fsverdict_text::Bytes;

/// Where a program that takes a device for its own data writes first and last, in bytes: superblocks (that of btrfs lies at
/// 64 KiB), headers, and both partition tables.
const HEAD: u64 = 128 << 10;
const TAIL: u64 = 64 << 10;

/// Says in which part of a device another program's write is detected where the device's counters or its backing file's times cannot
/// be read: "detected only in the first 128 KiB and the last 64 KiB".
pub(super) fn describe_compared_part() -> String {
    format!("detected only in the first {} and the last {}", Bytes(HEAD), Bytes(TAIL))
}
/// Bytes of each digest.
const PIECE: u64 = 4 << 10;
/// How often counters are read again that did not agree with each other, and how long to wait in between.
const ATTEMPTS: u32 = 100;
const PAUSE: Duration = Duration::from_millis(10);

/// Written and discarded sectors of 512 bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
struct WriteCount {
    written: u64,
    discarded: u64,
}

/// The counters under every name by which the bytes of a device are written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct WriteCounters {
    /// Of the device, which for a whole disk includes those of its partitions.
    own: WriteCount,
    /// The counts of each partition on it, by name.
    partitions: Vec<(String, WriteCount)>,
    /// For a partition: writes through the name of its disk, wherever they went. `None` if other partitions are too
    /// busy to compute the difference.
    through_disk: Option<WriteCount>,
}

/// The change time of the file below a loop device, in seconds and nanoseconds. Each write sets change and modification
/// time; programs that copy files reset the latter (utimensat(2)), but no program can set the former.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct FileTime(i64, i64);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct DeviceSnapshot {
    /// None where the kernel keeps no counters for the device (`queue/iostats`).
    counters: Option<WriteCounters>,
    /// None where it is no loop device, or no path leads to its file.
    file: Option<FileTime>,
    /// Digests of the pieces at both ends; empty where those were not read.
    pieces: Vec<u64>,
}

/// Whether a snapshot holds digests: reading them leaves both ends of the device in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SnapshotDepth {
    Counters,
    CountersAndContents,
}

impl DeviceSnapshot {
    /// Takes a snapshot of an open device of `size` bytes, after everything that is in memory for it was written to it: a write of
    /// ours must not be counted later, and one of somebody else must be counted now.
    ///
    /// # Errors
    /// When the device does not answer, or its counters cannot be read.
    pub(super) fn take_snapshot(
        root: &Root,
        device: &BlockDevice,
        open: &File,
        size: u64,
        file_below: impl FnOnce() -> Option<std::fs::Metadata>,
        depth: SnapshotDepth,
    ) -> io::Result<Self> {
        open.sync_all()?;
        let counters = read_counters(root, device)?;
        let file = file_below().map(|file| FileTime(file.ctime(), file.ctime_nsec()));
        let pieces = match depth {
            SnapshotDepth::Counters => Vec::new(),
            SnapshotDepth::CountersAndContents => digest_pieces(open, size)?,
        };
        Ok(DeviceSnapshot { counters, file, pieces })
    }

    /// The snapshot without the counters, which restart when a device is attached again.
    pub(super) fn without_counters(&self) -> Self {
        DeviceSnapshot { counters: None, ..self.clone() }
    }

    /// Whether it says when the file below a loop device was last changed.
    pub(super) fn has_file_time(&self) -> bool {
        self.file.is_some()
    }

    /// Which of its parts a later snapshot needs to be compared with it.
    pub(super) fn depth(&self) -> SnapshotDepth {
        match self.pieces.is_empty() {
            true => SnapshotDepth::Counters,
            false => SnapshotDepth::CountersAndContents,
        }
    }

    /// Describes the changes of a device of `size` bytes between this snapshot and a later one; `None` if there are
    /// none.
    pub(super) fn describe_difference(&self, later: &DeviceSnapshot, size: u64) -> Option<String> {
        let mut differences = Vec::new();
        match (&self.counters, &later.counters) {
            (Some(before), Some(after)) => differences.extend(before.describe_difference(after)),
            (Some(_), None) => differences.push("the kernel does not count its writes any more".to_owned()),
            (None, _) => {}
        }
        if self.file.is_some() && later.file.is_some() && self.file != later.file {
            differences.push("its backing file was modified".to_owned());
        }
        if let Some(place) = self.first_difference(later, size) {
            differences
                .push(format!("its bytes differ from byte {place} on ({} from its start)", Bytes(place)));
        } else if !differences.is_empty() && !self.pieces.is_empty() && !later.pieces.is_empty() {
            let (head, tail) = (Bytes(HEAD.min(size)), Bytes(TAIL.min(size)));
            differences.push(format!(
                "where is not known: its first {head} and last {tail} are as they were, and no more is compared"
            ));
        }
        (!differences.is_empty()).then(|| differences.join("; "))
    }

    /// The place of the first piece that differs, in bytes.
    fn first_difference(&self, later: &DeviceSnapshot, size: u64) -> Option<u64> {
        if self.pieces.is_empty() || later.pieces.is_empty() {
            return None;
        }
        let mut places = piece_places(size).zip(self.pieces.iter().zip(&later.pieces));
        places.find(|(_, (before, after))| before != after).map(|(place, _)| place)
    }
}

impl WriteCount {
    fn read_count(root: &Root, name: &str) -> io::Result<Self> {
        let stat = device_stat(root, name).map_err(io::Error::other)?;
        let (_, discarded) = stat.discards.unwrap_or_default();
        Ok(WriteCount { written: stat.write_sectors, discarded })
    }

    fn plus(self, other: Self) -> Self {
        WriteCount {
            written: self.written.wrapping_add(other.written),
            discarded: self.discarded.wrapping_add(other.discarded),
        }
    }

    fn minus(self, other: Self) -> Self {
        WriteCount {
            written: self.written.wrapping_sub(other.written),
            discarded: self.discarded.wrapping_sub(other.discarded),
        }
    }

    fn describe(self) -> String {
        let bytes = |sectors: u64| Bytes(sectors.saturating_mul(SECTOR));
        match self {
            WriteCount { written, discarded: 0 } => format!("{} written", bytes(written)),
            WriteCount { written: 0, discarded } => format!("{} discarded", bytes(discarded)),
            WriteCount { written, discarded } => {
                format!("{} written and {} discarded", bytes(written), bytes(discarded))
            }
        }
    }
}

impl WriteCounters {
    fn describe_difference(&self, later: &WriteCounters) -> Option<String> {
        if self.own != later.own {
            let names: Vec<&str> = later
                .partitions
                .iter()
                .filter(|(name, count)| self.partition_count(name) != Some(*count))
                .map(|(name, _)| name.as_str())
                .collect();
            let on = if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) };
            return Some(format!("{}{on}", later.own.minus(self.own).describe()));
        }
        match (self.through_disk, later.through_disk) {
            (Some(before), Some(after)) if before != after => {
                Some(format!("{} by the name of its disk", after.minus(before).describe()))
            }
            _ => None,
        }
    }

    fn partition_count(&self, name: &str) -> Option<WriteCount> {
        self.partitions.iter().find(|(known, _)| known == name).map(|(_, count)| *count)
    }
}

/// Reads the counters once nothing is under way any more; a request is counted before it stops being in flight.
fn read_counters(root: &Root, device: &BlockDevice) -> io::Result<Option<WriteCounters>> {
    if !is_counted(root, &device.name).map_err(io::Error::other)? {
        return Ok(None);
    }
    for _ in 0..ATTEMPTS {
        if !is_in_flight(root, &device.name).map_err(io::Error::other)? {
            break;
        }
        std::thread::sleep(PAUSE);
    }
    let device_count = WriteCount::read_count(root, &device.name)?;
    let mut partitions = Vec::new();
    for (name, _) in &device.partitions {
        partitions.push((name.clone(), WriteCount::read_count(root, name)?));
    }
    Ok(Some(WriteCounters { own: device_count, partitions, through_disk: read_through_disk(root, device) }))
}

/// The writes to a partition's disk through the disk's own name: the disk's counts minus those of all its partitions.
/// The files are read one after the other, so a reading is accepted once two readings agree.
fn read_through_disk(root: &Root, device: &BlockDevice) -> Option<WriteCount> {
    let disk = BlockDevice::describe(root, &device.given, device.path.clone(), device.whole?).ok()?;
    let all_partitions = || -> io::Result<WriteCount> {
        disk.partitions.iter().try_fold(WriteCount::default(), |sum, (name, _)| {
            Ok(sum.plus(WriteCount::read_count(root, name)?))
        })
    };
    let mut last = None;
    for _ in 0..ATTEMPTS {
        let before = all_partitions().ok()?;
        let whole = WriteCount::read_count(root, &disk.name).ok()?;
        let reading = whole.minus(before);
        if all_partitions().ok()? == before && last.replace(reading) == Some(reading) {
            return Some(reading);
        }
        std::thread::sleep(PAUSE);
    }
    None
}

/// Where the pieces begin that are compared.
fn piece_places(size: u64) -> impl Iterator<Item = u64> {
    let head = HEAD.min(size);
    let tail = size.saturating_sub(TAIL).max(head);
    let step = |from: u64, until: u64| (0..(until - from).div_ceil(PIECE)).map(move |at| from + at * PIECE);
    step(0, head).chain(step(tail, size))
}

/// Reads both ends from the device itself, and leaves nothing of them in memory.
fn digest_pieces(open: &File, size: u64) -> io::Result<Vec<u64>> {
    let forget = || fadvise(open, 0, None, Advice::DontNeed);
    let _ = forget();
    let mut piece = vec![0; usize::try_from(PIECE).unwrap_or(usize::MAX)];
    let digests = piece_places(size).map(|place| {
        let length = usize::try_from(PIECE.min(size - place)).unwrap_or(usize::MAX);
        open.read_exact_at(&mut piece[..length], place)?;
        Ok(xxh3_64(&piece[..length]))
    });
    let digests = digests.collect();
    let _ = forget();
    digests
}

#[cfg(test)]
mod tests {
    use super::{DeviceSnapshot, HEAD, TAIL, describe_compared_part, piece_places, read_counters};
    use crate::guard::fake::FakeMachine;

    const CALM: &str = "1 0 8 1 10 0 80 1 0 1 1 2 0 16 0 5 0\n";

    /// A disk of two partitions, all calm.
    fn machine() -> FakeMachine {
        let machine = FakeMachine::new();
        machine.disk("sda", "8:0", 2_000_000);
        machine.partition("sda", "sda1", "8:1", 1_000_000);
        machine.partition("sda", "sda2", "8:2", 900_000);
        for name in ["sda", "sda/sda1", "sda/sda2"] {
            machine.write(&format!("sys/devices/{name}/stat"), CALM);
            machine.write(&format!("sys/devices/{name}/inflight"), "0 0\n");
        }
        machine
    }

    fn snapshot(machine: &FakeMachine, name: &str) -> DeviceSnapshot {
        let counters = read_counters(machine.root(), &machine.describe(name)).unwrap();
        DeviceSnapshot { counters, file: None, pieces: Vec::new() }
    }

    #[test]
    fn the_compared_part_is_stated_in_units() {
        assert_eq!(describe_compared_part(), "detected only in the first 128 KiB and the last 64 KiB");
    }

    #[test]
    fn every_counter_of_a_write_is_seen_and_none_of_a_read_or_a_flush() {
        // Fields of stat: what is changed, to what, and what must be said of the device as a whole disk.
        for (field, said) in [
            (0, None),
            (2, None),
            (3, None),
            (4, None),
            (6, Some("40 KiB written")),
            (7, None),
            (9, None),
            (11, None),
            (13, Some("5 KiB discarded")),
            (15, None),
            (16, None),
        ] {
            let machine = machine();
            let before = snapshot(&machine, "sda");
            let mut words: Vec<u64> = CALM.split_whitespace().map(|word| word.parse().unwrap()).collect();
            words[field] += if field == 6 { 80 } else { 10 };
            let text: Vec<String> = words.iter().map(u64::to_string).collect();
            machine.write("sys/devices/sda/stat", &text.join(" "));
            let found = before.describe_difference(&snapshot(&machine, "sda"), 1 << 30);
            match said {
                Some(said) => {
                    assert!(found.as_ref().is_some_and(|found| found.contains(said)), "{field}: {found:?}");
                }
                None => assert_eq!(found, None, "{field}"),
            }
        }
    }

    #[test]
    fn a_write_by_any_name_of_the_same_bytes_is_seen_and_one_to_a_sibling_is_not() {
        let more = "1 0 8 1 11 0 88 1 0 1 1 2 0 16 0 5 0\n";
        // What is leased, which stat files a write moves, and what is said.
        for (leased, moved, said) in [
            ("sda", &["sda"][..], Some("4 KiB written")),
            ("sda", &["sda", "sda/sda2"], Some("4 KiB written (sda2)")),
            ("sda1", &["sda", "sda/sda1"], Some("4 KiB written")),
            ("sda1", &["sda"], Some("4 KiB written by the name of its disk")),
            ("sda1", &["sda", "sda/sda2"], None),
        ] {
            let machine = machine();
            let before = snapshot(&machine, leased);
            for name in moved {
                machine.write(&format!("sys/devices/{name}/stat"), more);
            }
            let found = before.describe_difference(&snapshot(&machine, leased), 1 << 30);
            assert_eq!(found.as_deref(), said, "{leased} {moved:?}");
        }
    }

    #[test]
    fn a_kernel_without_discards_or_counters_is_no_foreign_write() {
        let machine = machine();
        machine.write("sys/devices/sda/stat", "1 0 8 1 10 0 80 1 0 1 1\n");
        let before = snapshot(&machine, "sda");
        assert!(before.counters.is_some());
        assert_eq!(before.describe_difference(&snapshot(&machine, "sda"), 1 << 30), None);
        machine.write("sys/devices/sda/queue/iostats", "0\n");
        let uncounted = snapshot(&machine, "sda");
        assert!(uncounted.counters.is_none());
        assert_eq!(uncounted.describe_difference(&snapshot(&machine, "sda"), 1 << 30), None);
        let found = before.describe_difference(&uncounted, 1 << 30).unwrap();
        assert!(found.contains("does not count"), "{found}");
    }

    #[test]
    fn the_first_piece_that_differs_is_named_on_devices_of_every_size() {
        for size in [512, 4096, 100_000, HEAD, HEAD + 512, HEAD + TAIL + 512, 1 << 30] {
            let places: Vec<u64> = piece_places(size).collect();
            assert!(places.is_sorted() && places[0] == 0 && *places.last().unwrap() < size, "{size}");
            let file = tempfile::tempfile().unwrap();
            file.set_len(size).unwrap();
            let digests = |file| super::digest_pieces(file, size).unwrap();
            let of = |pieces| DeviceSnapshot { counters: None, file: None, pieces };
            let before = of(digests(&file));
            for place in [0, size / 3, size - 1] {
                std::os::unix::fs::FileExt::write_all_at(&file, b"x", place).unwrap();
                let found = before.first_difference(&of(digests(&file)), size);
                let compared = place < HEAD || place >= size.saturating_sub(TAIL).max(HEAD);
                let piece = places.iter().rev().find(|piece| **piece <= place);
                assert_eq!(found, piece.copied().filter(|_| compared), "{size}: {place}");
                std::os::unix::fs::FileExt::write_all_at(&file, b"\0", place).unwrap();
            }
        }
    }
}
