//! Measures the computation of a piece of work: natively as processor time, in a guest as the counts of its kernel.

mod pieces;

use std::fmt::Write;
use std::io::{Error, ErrorKind, Result};
use std::path::Path;

use fsverdict_linux::host::results::result_writer;
use fsverdict_linux::host::talk::say;

pub use pieces::{CPU_PIECES, CpuPiece};

/// The subcommand under which a trial starts it: `cpu-work PIECE FOLDER`.
pub const COMMAND: &str = "cpu-work";

/// What a counting kernel has counted (patch 0014).
const COUNTS: &str = "/proc/cpu_price";
/// Nanoseconds that the thread has run, first of three numbers.
const OWN_TIME: &str = "/proc/thread-self/schedstat";
/// What the device was asked for.
const DISKS: &str = "/proc/diskstats";
/// The modelled device in a guest.
const GUEST_DISK: &str = "vda";

/// Fields of a disk's line in `/proc/diskstats` behind its name: bytes read and written (in sectors), and flushes.
const DISK_FIELDS: [(&str, usize, u64); 3] = [("device_read", 2, 512), ("device_written", 6, 512), ("device_flushes", 15, 1)];

/// Does a piece of work, makes it durable, and prints what it took, a line `NAME=NUMBER` each: `own_ns` natively; in a guest
/// `count_0`, `count_1`, … in the order of the kernel's classes, and what the device was asked for.
pub fn main(mut arguments: impl Iterator<Item = String>) -> u8 {
    let (Some(piece), Some(folder), None) = (arguments.next(), arguments.next(), arguments.next()) else {
        say("fsverdict: `fsverdict cpu-work` is called by `fsverdict calibrate --cpu`, not by people");
        return 2;
    };
    let measured = CpuPiece::find(&piece)
        .ok_or_else(|| Error::other("there is no such piece"))
        .and_then(|found| measure(found, Path::new(&folder)))
        .and_then(|text| std::io::Write::write_all(&mut result_writer(), text.as_bytes()));
    match measured {
        Ok(()) => 0,
        Err(error) => {
            say(&format!("fsverdict: cannot do the piece of work {piece} in {folder}: {error}"));
            1
        }
    }
}

fn measure(piece: &CpuPiece, folder: &Path) -> Result<String> {
    // Twice: the kernel begins to count when the file is read first.
    let counting = numbers(COUNTS)?.is_some();
    let (before, disk_before) = (numbers(if counting { COUNTS } else { OWN_TIME })?, disk()?);
    piece.run(folder)?;
    rustix::fs::syncfs(std::fs::File::open(folder)?)?;
    let after = numbers(if counting { COUNTS } else { OWN_TIME })?;
    let missing = || Error::other("there is no clock of the processor: the kernel has no schedstat");
    let (before, after) = (before.ok_or_else(missing)?, after.ok_or_else(missing)?);
    let differences: Vec<u64> =
        before.iter().zip(&after).map(|(before, after)| after.saturating_sub(*before)).collect();
    let mut text = String::new();
    let mut add = |name: &str, value: u64| writeln!(text, "{name}={value}").map_err(Error::other);
    if !counting {
        add("own_ns", differences.first().copied().unwrap_or(0))?;
        return Ok(text);
    }
    // Behind the nanoseconds that passed for computation, and those of them that were slept.
    for (class, count) in differences.iter().skip(2).enumerate() {
        add(&format!("count_{class}"), *count)?;
    }
    for ((name, ..), (before, after)) in DISK_FIELDS.iter().zip(disk_before.iter().zip(disk()?)) {
        add(name, after.saturating_sub(*before))?;
    }
    Ok(text)
}

/// The numbers of a file's first line; none if there is no such file.
fn numbers(path: &str) -> Result<Option<Vec<u64>>> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let line = text.lines().next().unwrap_or_default();
    let all: std::result::Result<Vec<u64>, _> = line.split_ascii_whitespace().map(str::parse).collect();
    all.map(Some).map_err(|error| Error::other(format!("{path}: {error}")))
}

/// What the guest's disk was asked for so far; zeros where there is none.
fn disk() -> Result<[u64; 3]> {
    Ok(disk_fields(&std::fs::read_to_string(DISKS)?))
}

fn disk_fields(text: &str) -> [u64; 3] {
    let line = text.lines().find(|line| line.split_ascii_whitespace().nth(2) == Some(GUEST_DISK));
    let fields: Vec<u64> = line
        .into_iter()
        .flat_map(|line| line.split_ascii_whitespace().skip(3))
        .map(|field| field.parse().unwrap_or(0))
        .collect();
    DISK_FIELDS.map(|(_, at, unit)| fields.get(at).copied().unwrap_or(0) * unit)
}

#[cfg(test)]
mod tests {
    use super::{CpuPiece, disk_fields, measure};

    #[test]
    fn a_piece_natively_takes_time_of_the_processor() {
        let folder = tempfile::tempdir().unwrap();
        let text = measure(CpuPiece::find("tree_write").unwrap(), folder.path()).unwrap();
        let nanoseconds: u64 = text.trim_end().strip_prefix("own_ns=").unwrap().parse().unwrap();
        assert!(nanoseconds > 1_000_000, "3200 files in {nanoseconds} ns");
    }

    #[test]
    fn the_disk_of_a_guest_is_found_among_others() {
        let text = "   7 0 loop0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n 254 0 vda 9 0 80 1 5 0 16 1 0 1 1 0 0 0 0 3 1\n";
        assert_eq!(disk_fields(text), [80 * 512, 16 * 512, 3]);
        assert_eq!(disk_fields("   7 0 loop0 1 2 3\n"), [0; 3]);
    }
}
