//! The work of phases: built-in operations, command lines, and benchmark programs, independent of the filesystem.
//!
//! An operation runs at the speed of system calls: names and layout lie in memory, every call is relative to an open
//! directory, and no allocation is made per file. The caller holds the clock and syncs; an operation times only its own
//! calls, for latency histograms. Afterwards, outside the clock, it reads the result back and compares. The static
//! properties of each are in [`fsverdict_judgement::plan::Operation`].

mod adapter;
mod age;
mod cksum;
mod command;
mod copies;
mod course;
mod cut_promises;
mod deep;
mod device;
mod directory;
mod done;
mod error;
mod generations;
mod hands;
mod json;
mod latency;
mod layout;
mod ledger;
mod mover;
mod operation;
mod own_metric;
mod page_buffer;
mod pieces;
mod positioned;
mod printed_number;
mod promise;
mod promised;
mod remake;
mod replace;
mod replay;
mod replay_files;
mod replay_names;
mod replayed;
mod replayed_folder;
mod rotation;
mod save;
mod saved;
mod saved_check;
mod sequence;
mod shared_walk;
mod site;
mod snapshot;
mod space;
mod state_after_cut;
mod stream;
mod tree;
mod verify;
mod walk;
mod written;

pub use adapter::{Adapter, AdapterError, FOLDER, LOG, OutputFault, Reading, adapter_by_name, adapters};
pub use command::{CommandContext, command_program};
pub use cut_promises::CutPromises;
pub use device::{read_device, replay_device, verify_device, verify_replayed, write_device};
pub use done::{OperationResult, RecordedCalls};
pub use error::WorkError;
pub use generations::Generations;
pub use layout::layout_score;
pub use ledger::{KeptSnapshot, Ledger, LedgerEntry, Remains};
pub use operation::{run_operation, verify_operation};
pub use own_metric::{OwnMetricError, Printed, read_own_metric};
pub use promise::{PROMISES, Promise};
pub use promised::{PROMISED, PromiseListener, Recheck};
pub use remake::{renew_files, write_again};
pub use replayed_folder::{ReplayHistory, ReplayedFolder};
pub use saved::{SavedFolder, SavedPhase};
pub use saved_check::SavedReading;
pub use sequence::{
    OneSequence, SequenceBounds, SequenceWindow, SequenceWork, SequencesDone, SequencesLooking,
    SequencesRecord, carry_out,
};
pub use site::Workplace;
pub use verify::verify_written;
pub use written::WrittenFolder;
