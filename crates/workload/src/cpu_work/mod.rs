//! Measures the computation of a piece of work: natively as processor time, in a guest as the counts of its kernel.

mod pieces;

use std::fmt::Write;
use std::io::{Error, ErrorKind, Result};
use std::path::Path;

use fsverdict_linux::host::messages::print_line;
use fsverdict_linux::host::results::result_writer;

pub use pieces::{CPU_PIECES, CpuPiece};

/// The subcommand with which a trial starts a piece of work: `cpu-work PIECE FOLDER`.
pub const COMMAND: &str = "cpu-work";

/// The file with the counts of a counting kernel (patch 0014).
pub const COUNTS: &str = "/proc/cpu_price";
/// The file with the nanoseconds that the thread has run, as the first of three numbers.
const OWN_TIME: &str = "/proc/thread-self/schedstat";
/// The name of the number that is printed natively; in a guest, a number is printed for each class.
pub const OWN_NANOSECONDS: &str = "own_ns";
pub const COUNT_PREFIX: &str = "count_";

/// Does a piece of work, makes it durable, and prints its cost in lines `NAME=NUMBER`: natively, [`OWN_NANOSECONDS`] of the
/// thread that did it; in a guest, a line for each of the kernel's classes, in their order, with [`COUNT_PREFIX`] before the
/// number of the class.
pub fn main(mut arguments: impl Iterator<Item = String>) -> u8 {
    let (Some(piece), Some(folder), None) = (arguments.next(), arguments.next(), arguments.next()) else {
        print_line(
            "fsverdict: `fsverdict cpu-work` is an internal command that `fsverdict calibrate --cpu` starts",
        );
        return 2;
    };
    let measured = CpuPiece::find(&piece)
        .ok_or_else(|| Error::other("there is no such piece"))
        .and_then(|found| measure(found, Path::new(&folder)))
        .and_then(|text| std::io::Write::write_all(&mut result_writer(), text.as_bytes()));
    match measured {
        Ok(()) => 0,
        Err(error) => {
            print_line(&format!("fsverdict: cannot do the piece of work {piece} in {folder}: {error}"));
            1
        }
    }
}

fn measure(piece: &CpuPiece, folder: &Path) -> Result<String> {
    // The kernel begins to count when the file is read first.
    let counting = numbers(COUNTS)?.is_some();
    let clock = if counting { COUNTS } else { OWN_TIME };
    let missing = || Error::other(format!("the kernel has no {clock}"));
    let before = numbers(clock)?.ok_or_else(missing)?;
    piece.run(folder)?;
    rustix::fs::syncfs(std::fs::File::open(folder)?)?;
    let after = numbers(clock)?.ok_or_else(missing)?;
    let differences = before.iter().zip(&after).map(|(before, after)| after.saturating_sub(*before));
    let mut text = String::new();
    if counting {
        // The counts follow two numbers: the nanoseconds charged for computation, and the part of them that was slept.
        for (class, count) in differences.skip(2).enumerate() {
            writeln!(text, "{COUNT_PREFIX}{class}={count}").map_err(Error::other)?;
        }
    } else if let Some(nanoseconds) = differences.into_iter().next() {
        writeln!(text, "{OWN_NANOSECONDS}={nanoseconds}").map_err(Error::other)?;
    }
    Ok(text)
}

/// The numbers of a file's first line; `None` if the file does not exist.
fn numbers(path: &str) -> Result<Option<Vec<u64>>> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let line = text.lines().next().unwrap_or_default();
    let counts: std::result::Result<Vec<u64>, _> = line.split_ascii_whitespace().map(str::parse).collect();
    counts.map(Some).map_err(|error| Error::other(format!("{path}: {error}")))
}

#[cfg(test)]
mod tests {
    use super::{CpuPiece, measure};

    #[test]
    fn a_piece_natively_takes_time_of_the_processor() {
        let folder = tempfile::tempdir().unwrap();
        let text = measure(CpuPiece::find("tree_write").unwrap(), folder.path()).unwrap();
        let nanoseconds: u64 = text.trim_end().strip_prefix("own_ns=").unwrap().parse().unwrap();
        assert!(nanoseconds > 1_000_000, "3200 files in {nanoseconds} ns");
    }
}
