//! Reads the folder of a sequence, and judges it by the history of the sequence.

use std::os::fd::BorrowedFd;

use fsverdict_calls::FileHistory;

use super::calls::{ATTRIBUTE_NAME, attribute_bytes};
use super::enumerate::CallSequence;
use super::model::{SequenceModel, fill_of};
use super::place::label_text;
use super::step::SequenceCall;
use crate::dataset::Listing;
use crate::workload::state_after_cut::{Broken, FolderJudge, FolderReader};

/// The maximum number of entries that are read; folders of sequences have fewer.
const MOST: usize = 64;
const DEEPEST: u32 = 4;

/// The progress of a sequence when power was cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SequenceProgress {
    /// The number of calls that had returned.
    pub(super) returned: usize,
    /// The number of calls that had begun.
    pub(super) begun: usize,
    /// Whether all calls that had returned were synced afterwards.
    pub(super) is_synced: bool,
    /// The number of the call that was refused; no call followed it.
    pub(super) refused: Option<usize>,
}

/// The history of a sequence that had come so far.
pub(super) fn sequence_history(
    sequence: &CallSequence,
    identity: u64,
    progress: SequenceProgress,
) -> FileHistory {
    let mut model = SequenceModel::with_prepared_files(identity);
    let mut history = FileHistory::new(&mut model.files);
    for (number, call) in sequence.calls.iter().enumerate().take(progress.begun) {
        if progress.refused == Some(number) {
            break;
        }
        match call {
            SequenceCall::Step(step) => {
                model.apply_step(*step);
                history.note_step(&mut model.files);
            }
            SequenceCall::Persist(persist) if number < progress.returned => {
                model.promise(&mut history, *persist);
            }
            SequenceCall::Persist(_) => {}
        }
    }
    if progress.is_synced {
        history.promise_all();
    }
    history
}

/// The broken promises in the folder of a sequence; `errors` collects files that the filesystem could not read.
pub(super) fn judge_sequence(
    history: &FileHistory,
    identity: u64,
    folder: BorrowedFd<'_>,
    listing: &mut Listing,
    errors: &mut Vec<String>,
) -> Vec<Broken> {
    let attribute = Some(ATTRIBUTE_NAME);
    let mut reader =
        FolderReader { listing, errors, most: MOST, deepest: DEEPEST, attribute, passed_over: None };
    let Some(found) = reader.read_folder(folder) else { return Vec::new() };
    let (text, fill) = (|label| label_text(label).to_owned(), fill_of(identity));
    let attribute = |value| attribute_bytes(value).to_vec();
    FolderJudge { history, text: &text, fill: &fill, attribute, folder }.judge(&found, errors)
}
