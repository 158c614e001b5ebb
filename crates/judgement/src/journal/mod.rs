//! The record of a run: its events in order, never changed afterwards.
//!
//! Everything later (statistics, verdict, reports) is derived from it and can be derived again.

mod adapter_file;
mod beginning;
mod bounded;
mod bounds;
mod caution_summary;
mod derive;
#[cfg(test)]
mod derive_tests;
mod error;
mod event;
mod folder_content;
mod follow;
mod labelled;
mod loss_age;
#[cfg(test)]
#[path = "../../../testutil/src/journals.rs"]
pub mod made;
mod metric;
mod observation;
mod parallel;
mod power_cut;
mod processor;
mod reader;
mod reading;
mod rot;
mod run;
mod trial;
mod writer;

pub use adapter_file::{
    AdapterFile, AdapterMetric, OutputCourse, OutputMark, OutputTable, TakenNumber, adapter_file_metrics,
    adapter_files, check_adapter_options,
};
pub use beginning::{BackgroundWork, Beginning, Learnt};
pub use bounds::{BoundError, JournalBounds};
pub use derive::{Fold, UnderwayTrial};
pub use error::JournalError;

pub use caution_summary::CautionSummary;
pub use event::{
    BlockSite, CLAIM, Caution, CautionKind, CommandRecord, DATASET_FACT, DeviceEvent, Ending, Event, Facts,
    HIDDEN_DIGEST, MERGED_FACT, Record, STAGE, Status, TEAR_DOWN, TrialId,
};
pub use folder_content::FolderContent;
pub use follow::JournalFollower;
pub use loss_age::{AgeBin, LossAges};
pub use metric::{
    Better, Group, METRICS, MetricInfo, Unit, adapter_metric, adds_up, better_of, busy_kind, busy_metric,
    is_of_cpu, metric,
};
pub use observation::{FINEST_TIME, Histogram, Measurement, Observation, WorkCourse};
pub use parallel::map_in_parallel;
pub use power_cut::{
    ACKNOWLEDGED, CutOutcome, LossReason, PowerCuts, ProgramPromise, Save, SequenceBatch, SequenceCalls,
    StateFinding,
};
pub use processor::{CountedComputation, ProcessorModel};
pub use reader::{Journal, read, read_first_record, read_in_folder, read_open};
pub use reading::{ReadingStopped, StopReason};
pub use rot::{BlockUse, PlacedRot, RotFinding, RotOutcome, RotTally, RotWitness, RottenBlocks, SyncAnswer};
pub use run::{BlockState, CandidateState, CandidateStatus, Header, Latencies, Run, kernel_release};
pub use trial::{Sentinel, Spent, Surroundings, Trial, TrialCommands, TrialStanding};
pub use writer::{OpenJournal, Writer, check_record_length};

/// The version of the journal's schema that this program writes, and the latest it can read.
pub const SCHEMA: u32 = 1;

/// The journal's file name within the folder of a run.
pub const FILE_NAME: &str = "journal.jsonl";
