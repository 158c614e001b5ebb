//! The record of sequences that ran while the device's writes were recorded, and the checks after a power cut.

use std::os::fd::AsFd;
use std::path::Path;

use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::dataset::{Listing, open_directory_below, open_path};
use fsverdict_calls::NodeKind;
use fsverdict_judgement::journal::SequenceBatch;

use super::enumerate::CallSequence;
use super::judge_sequence::{SequenceProgress, judge_sequence, sequence_history};
use super::model::SequenceModel;
use super::step::{STEPS, SequenceCall, SequencePersist};
use super::work::{SequenceWork, describe_calls, progress_at, remove_folder, sequence_identity};
use super::{FOLDER, folder_of};
use crate::workload::saved_check::SavedReading;

/// The sequences of a part, and the times at which their calls returned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SequencesRecord {
    pub work: SequenceWork,
    pub batches: Vec<SequenceBatch>,
    /// The number of different calls: with another number of calls, the numbers of sequences have another meaning.
    #[serde(default)]
    of: usize,
}

/// The period in which a batch of sequences was in the filesystem, in nanoseconds of the device's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SequenceWindow {
    pub ready_ns: u64,
    pub until_ns: u64,
}

impl SequencesRecord {
    pub fn new(work: SequenceWork, batches: Vec<SequenceBatch>) -> SequencesRecord {
        SequencesRecord { work, batches, of: STEPS.len() }
    }

    /// Whether the record's numbers have the same meaning as in this version.
    pub fn is_understood(&self) -> bool {
        self.of == STEPS.len()
    }

    pub fn windows(&self) -> impl Iterator<Item = SequenceWindow> {
        self.batches.iter().map(|batch| SequenceWindow { ready_ns: batch.ready_ns, until_ns: batch.until_ns })
    }

    /// The times of the last guarantee of each sequence.
    pub fn promised_ns(&self) -> Vec<u64> {
        let calls = self.batches.iter().flat_map(|batch| &batch.calls);
        calls.filter(|calls| !calls.refused).filter_map(|calls| calls.done_ns.last().copied()).collect()
    }

    /// The last moment at which a call returned, from the first of these nanoseconds up to the second, which is excluded.
    pub fn last_return(&self, from_ns: u64, until_ns: u64) -> Option<u64> {
        let batch =
            self.batches.iter().filter(|batch| batch.ready_ns < until_ns && batch.until_ns >= from_ns);
        let completion_times = batch.flat_map(|batch| &batch.calls).flat_map(|calls| &calls.done_ns);
        completion_times.copied().filter(|done| (from_ns..until_ns).contains(done)).max()
    }

    /// The calls that had returned by this nanosecond.
    pub fn promised_by(&self, now_ns: u64) -> usize {
        let batches = self.batches.iter().filter(|batch| batch.ready_ns <= now_ns);
        let calls = batches.flat_map(|batch| &batch.calls);
        calls.map(|calls| calls.done_ns.partition_point(|done| *done <= now_ns)).sum()
    }

    /// The part of the record that is relevant at one of these moments.
    pub fn only_at(&self, moments_ns: &[u64]) -> SequencesRecord {
        let is_there = |batch: &&SequenceBatch| {
            moments_ns.iter().any(|now| (batch.ready_ns..batch.until_ns).contains(now))
        };
        SequencesRecord {
            of: self.of,
            work: self.work.clone(),
            batches: self.batches.iter().filter(is_there).cloned().collect(),
        }
    }

    /// The sequences that had begun at this moment, with their number and progress.
    fn begun_at<'a>(
        &'a self,
        sequences: &'a [CallSequence],
        first: u32,
        now_ns: u64,
    ) -> Vec<(u32, &'a CallSequence, SequenceProgress)> {
        let batch = self.batches.iter().find(|batch| (batch.ready_ns..batch.until_ns).contains(&now_ns));
        let Some(batch) = batch else { return Vec::new() };
        let mut begun = Vec::new();
        let mut is_synced = false;
        // A sync covers everything before it.
        for (place, calls) in batch.calls.iter().enumerate().rev() {
            let number = batch.first + place as u32;
            let Some(sequence) = sequences.get((number - first) as usize) else { continue };
            let progress = SequenceProgress { is_synced, ..progress_at(sequence, calls, now_ns) };
            if progress.begun > 0 {
                begun.push((number, sequence, progress));
            }
            let sync = SequenceCall::Persist(SequencePersist::Sync);
            is_synced |= sequence.calls.iter().take(progress.returned).any(|call| *call == sync);
        }
        begun
    }

    /// Checks the guarantees in a mounted filesystem after a power cut at this nanosecond.
    pub fn check_after_cut(
        &self,
        looking: &SequencesLooking,
        mount: &Path,
        now_ns: u64,
        reading: &mut SavedReading,
    ) {
        let folder =
            open_path(mount).and_then(|mount| open_directory_below(mount.as_fd(), Path::new(FOLDER), false));
        let folder = match folder {
            Ok(folder) => folder,
            Err(errno) => {
                if !self.begun_at(&looking.sequences, looking.first, now_ns).is_empty() {
                    reading.note_broken("name", || format!("the folder {FOLDER}: {errno}"));
                }
                return;
            }
        };
        let mut listing = Listing::new();
        for (number, sequence, progress) in self.begun_at(&looking.sequences, looking.first, now_ns) {
            let name = folder_of(number);
            let about = |seen: &str| {
                format!("{name}: {seen} (done: {})", describe_calls(sequence, progress.returned))
            };
            let mut errors = Vec::new();
            let root = match open_directory_below(folder.as_fd(), Path::new(&name), false) {
                Ok(root) => root,
                Err(Errno::NOENT) => {
                    reading.note_broken("name", || about("its folder is gone"));
                    continue;
                }
                Err(errno) => {
                    reading.errors.push(about(&errno.to_string()));
                    continue;
                }
            };
            let identity = sequence_identity(self.work.bounds, number);
            let history = sequence_history(sequence, identity, progress);
            let broken = judge_sequence(&history, identity, root.as_fd(), &mut listing, &mut errors);
            for (promise, seen) in broken {
                reading.note_broken(promise, || about(&seen));
            }
            reading.errors.extend(errors.iter().map(|error| about(error)));
            drop(root);
        }
    }

    /// Removes the folders of this many sequences that had begun, the last first: each directory must be removable.
    pub fn check_removal(
        &self,
        looking: &SequencesLooking,
        mount: &Path,
        now_ns: u64,
        most: usize,
        reading: &mut SavedReading,
    ) {
        let folder =
            open_path(mount).and_then(|mount| open_directory_below(mount.as_fd(), Path::new(FOLDER), false));
        let Ok(folder) = folder else { return };
        let mut listing = Listing::new();
        let begun = self.begun_at(&looking.sequences, looking.first, now_ns);
        for (number, sequence, progress) in begun.into_iter().take(most) {
            let name = folder_of(number);
            match remove_folder(&folder, &name, &mut listing) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(errno) => {
                    let calls = describe_calls(sequence, progress.returned);
                    reading.note_broken("removable", || format!("{name}: {errno} (done: {calls})"));
                }
            }
        }
    }

    /// The numbers of the sequences that had begun, with the number of their calls, the last first.
    pub fn begun_by(&self, now_ns: u64) -> Vec<(u32, u32)> {
        let looking = self.looking();
        let begun = self.begun_at(&looking.sequences, looking.first, now_ns);
        begun.into_iter().map(|(number, sequence, _)| (number, sequence.calls.len() as u32)).collect()
    }

    /// Describes the calls of the sequence of this number, or of the first sequence.
    pub fn describe_sequence(&self, number: Option<u32>) -> Vec<String> {
        let (first, sequences) = self.work.sequences();
        let place = number.map_or(0, |number| number.saturating_sub(first) as usize);
        let calls = sequences.get(place).map(|sequence| sequence.calls.as_slice()).unwrap_or_default();
        calls.iter().map(ToString::to_string).collect()
    }

    /// Whether the selected calls are possible without the others, and the last one makes data durable.
    pub fn can_be_done(work: &SequenceWork) -> bool {
        let (_, sequences) = work.sequences();
        let Some(sequence) = sequences.first() else { return false };
        let mut model = SequenceModel::with_prepared_files(0);
        let mut persists = false;
        let possible = sequence.calls.iter().all(|call| match call {
            SequenceCall::Step(step) => {
                persists = false;
                model.apply_step(*step).is_some()
            }
            SequenceCall::Persist(SequencePersist::Fsync(at) | SequencePersist::Fdatasync(at)) => {
                persists = true;
                // The program that syncs opens the place without following links or waiting for the writer of a FIFO.
                matches!(model.kind(*at), Some(NodeKind::File | NodeKind::Directory))
            }
            SequenceCall::Persist(SequencePersist::FsyncOpen) => {
                persists = true;
                model.open.is_some()
            }
            SequenceCall::Persist(SequencePersist::Sync) => {
                persists = true;
                true
            }
        });
        possible && persists
    }

    /// The number of the sequence in which this was observed.
    pub fn number_in(seen: &str) -> Option<u32> {
        seen.split_once(':')?.0.parse().ok()
    }

    /// Describes the expected state.
    pub fn describe_at(&self, now_ns: u64) -> Vec<String> {
        let looking = self.looking();
        let mut lines = Vec::new();
        for (number, sequence, progress) in
            self.begun_at(&looking.sequences, looking.first, now_ns).iter().rev()
        {
            let returned = describe_calls(sequence, progress.returned);
            let underway =
                sequence.calls.get(progress.returned).filter(|_| progress.begun > progress.returned);
            let underway = underway.map_or(String::new(), |call| format!("; underway: {call}"));
            lines.push(format!("{FOLDER}/{}: what is left by: {returned}{underway}", folder_of(*number)));
        }
        lines
    }

    /// The data needed for checking, computed once.
    pub fn looking(&self) -> SequencesLooking {
        let (first, sequences) = self.work.sequences();
        SequencesLooking { first, sequences }
    }
}

/// The sequences of a part, indexed for the check.
#[derive(Debug)]
pub struct SequencesLooking {
    first: u32,
    sequences: Vec<CallSequence>,
}
