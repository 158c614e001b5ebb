//! `sequences`: every short sequence of calls on a few names, each with a moment at which data are guaranteed to be
//! durable, and the checks after a power cut.
//!
//! The bounds are those that Mohan et al. chose for ACE ("Finding Crash-Consistency Bugs with Bounded Black-Box Crash
//! Testing", OSDI '18): at most three calls, on few files, from an almost empty filesystem, found most of the known
//! bugs.

mod calls;
mod contents;
mod describe;
mod enumerate;
mod judge_sequence;
mod listing;
mod model;
mod place;
mod recovered;
mod step;
mod work;

#[cfg(test)]
mod tests;

pub use enumerate::SequenceBounds;
pub use recovered::{SequenceWindow, SequencesLooking, SequencesRecord};
pub use work::{OneSequence, SequenceWork, SequencesDone, carry_out};

/// The folder below the mount point that holds the folders of all sequences.
pub(crate) const FOLDER: &str = "sequences";

/// The number of sequences that are in the filesystem at once.
pub(crate) const BATCH: usize = 16;

/// The folder of a sequence, by its number.
fn folder_of(number: u32) -> String {
    format!("{number:06}")
}
