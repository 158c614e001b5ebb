//! Everything that must exist after a power cut, as a recorded trial promised it.

use serde::{Deserialize, Serialize};

use super::promised::Recheck;
use super::replayed_folder::ReplayedFolder;
use super::saved::SavedFolder;
use super::sequence::SequencesRecord;
use super::written::WrittenFolder;

/// The promises of a recorded trial, by their origin. All times are in nanoseconds of the device's clock.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CutPromises {
    /// Folders of saved files.
    pub folders: Vec<SavedFolder>,
    /// The sequences that were done, if any were.
    #[serde(default)]
    pub sequences: Option<SequencesRecord>,
    /// Durability promises that programs printed.
    #[serde(default)]
    pub rechecks: Vec<Recheck>,
    /// Folders that phases copied and then synced.
    #[serde(default)]
    pub written: Vec<WrittenFolder>,
    /// Folders in which traces were replayed.
    #[serde(default)]
    pub replayed: Vec<ReplayedFolder>,
}

impl CutPromises {
    /// From when to when promises were made, sorted by the beginning.
    pub fn windows(&self) -> Vec<[u64; 2]> {
        let began = self.folders.iter().filter_map(SavedFolder::began_ns).min();
        let until = self.folders.iter().filter_map(SavedFolder::synced_ns).max();
        let saved = began.zip(until).map(|(from_ns, until_ns)| [from_ns, until_ns]);
        let sequences = self.sequences.iter().flat_map(SequencesRecord::windows);
        let sequences = sequences.map(|window| [window.ready_ns, window.until_ns]);
        let programs = self.rechecks.iter().filter_map(Recheck::window);
        let replayed = self.replayed.iter().map(ReplayedFolder::window);
        let mut windows: Vec<[u64; 2]> =
            saved.into_iter().chain(sequences).chain(programs).chain(replayed).collect();
        windows.sort_by_key(|window| window[0]);
        windows
    }

    /// The number of promises that must hold in a state at this nanosecond, if the device holds the same until another.
    pub fn count_by(&self, now_ns: u64, until_ns: u64) -> usize {
        let folders: usize = self.folders.iter().map(|folder| folder.promised_by(now_ns)).sum();
        let programs: usize = self.rechecks.iter().map(|recheck| recheck.made_before(until_ns)).sum();
        let replayed: usize = self.replayed.iter().map(|folder| folder.promised_by(now_ns)).sum();
        let written = self.written.iter().filter(|folder| folder.synced_ns <= now_ns).count();
        let sequences = self.sequences.as_ref().map_or(0, |sequences| sequences.promised_by(now_ns));
        folders + programs + replayed + written + sequences
    }

    /// When the last promise was made from one moment to just before another: a call of a sequence that returned, a line
    /// of a program, a file that was saved, a sync of a trace.
    pub fn last_between(&self, from_ns: u64, until_ns: u64) -> Option<u64> {
        let sequences = self.sequences.iter().filter_map(|all| all.last_return(from_ns, until_ns));
        let programs = self.rechecks.iter().filter_map(|recheck| recheck.last_between(from_ns, until_ns));
        let saved = self.folders.iter().filter_map(|folder| folder.last_between(from_ns, until_ns));
        let replayed = self.replayed.iter().filter_map(|folder| folder.last_between(from_ns, until_ns));
        sequences.chain(programs).chain(saved).chain(replayed).max()
    }

    /// Describes the data that must exist at this nanosecond beside saved files.
    pub fn describe_at(&self, cut_ns: u64) -> Vec<String> {
        let mut lines: Vec<String> =
            self.sequences.iter().flat_map(|sequences| sequences.describe_at(cut_ns)).collect();
        lines.extend(self.written.iter().filter_map(|folder| folder.describe_at(cut_ns)));
        lines.extend(self.replayed.iter().filter_map(|folder| folder.describe_at(cut_ns)));
        lines.extend(self.rechecks.iter().filter_map(|recheck| recheck.describe_at(cut_ns)));
        lines
    }
}
