//! Labs: each provides a kernel and a block device for the agent. `trial/` defines the agent's work.

mod attachment;
mod attachments;
pub mod backend;
mod backend_reports;
mod background;
mod by_default;
mod choose;
mod console;
mod description;
mod device_process;
mod drive;
mod entry;
mod error;
mod event_lines;
mod first_process;
mod free_cpu;
mod guest;
mod guest_command;
mod guest_trial;
mod guests;
mod hidden;
mod interruption;
mod kernel;
mod kernel_image;
mod kernels;
mod launch;
mod missing_tools;
mod modelled;
mod native;
mod processors;
mod report_bounds;
mod running_trial;
mod scheduler_obstacle;
mod staged_datasets;
mod stop_watcher;
mod stub_messages;
mod time_limit;
mod trace_file;
mod traced;
mod trial_end;
mod trial_processes;
mod try_kernel;
mod uml;
mod vm;
mod write_log;

use std::collections::BTreeMap;

use crate::trial::TrialSpec;
use fsverdict_judgement::journal::{Event, Facts, ProcessorModel};
use fsverdict_judgement::plan::Candidate;
use fsverdict_text::Reason;

pub use attachment::Attachment;
pub use attachments::Attachments;
pub use backend::LogPurpose;
pub use by_default::{ByDefault, by_default};
pub use choose::{Candidacy, ChosenLab, choose_lab, choose_to_look, list_candidacies};
pub use entry::LabEntry;
pub use error::LabError;
pub use guest::main as guest;
pub use hidden::{hidden_from, list_missing_content};
pub use interruption::{ATTEMPTS, Interruption, describe_interruptions};
pub use kernel_image::KernelImage;
pub use launch::main as launch;
pub use missing_tools::not_installed;
pub use trace_file::{FOLDER as TRACES, TraceFile};
pub use trial_end::TrialEnd;
pub use trial_processes::{TRIAL_PROCESSES, TrialProcess};
pub use try_kernel::try_kernel;
pub use vm::is_kernel_package;
pub use write_log::WriteLogFile;

/// Every lab, the preferred one first.
pub static LABS: &[LabEntry] = &[native::ENTRY, uml::ENTRY, vm::ENTRY];

/// Receives events as they arrive.
pub type Watch<'a> = &'a mut dyn FnMut(Event);

/// A kernel that runs trials.
pub trait Lab: Send + Sync {
    /// `native`, `uml` …
    fn name(&self) -> &'static str;

    /// The basis of results from this lab, apart from the device.
    fn fidelity(&self) -> String;

    /// Facts about the lab for the reader of the results, beyond those about the host.
    fn facts(&self) -> Facts;

    /// Why a candidate cannot be tried here, if so.
    fn find_obstacle(&self, candidate: &Candidate) -> Option<Reason>;

    /// Memory of the guests; `None` where trials use this machine's.
    fn guest_memory(&self) -> Option<GuestMemory> {
        None
    }

    /// The processor models that price computation; none where it takes no time, or this machine's.
    fn processor_models(&self) -> Vec<ProcessorModel> {
        Vec::new()
    }

    /// By how much times of modelled devices may be wrong, by kind of access: the largest of all models (one standard
    /// deviation of the logarithm). None on a device that is not modelled.
    fn access_errors(&self) -> BTreeMap<String, f64> {
        BTreeMap::new()
    }

    /// The command line that starts a trial.
    fn command_line(&self) -> Vec<String>;

    /// How many trials may be under way at once, where nothing on this machine can disturb one; `None` where they are timed
    /// by this machine's clock, and each has to be alone.
    fn side_by_side(&self) -> Option<usize> {
        None
    }

    /// Why the options of mkfs and mount cannot be tried when only looking, if so.
    fn against_trying(&self) -> Option<&'static str> {
        None
    }

    /// Compiles modules that a candidate needs and that were never compiled, before the first trial.
    ///
    /// # Errors
    /// When it cannot be compiled.
    fn compile_missing(&self) -> Result<(), LabError> {
        Ok(())
    }

    /// Runs one trial to its end; events are handed to `watch` as they come. `job` is the number of the trial among those
    /// that are under way at once, from 0.
    ///
    /// # Errors
    /// When the trial could not be started. A trial that fails is not an error but a [`TrialEnd`].
    fn run_trial(
        &self,
        spec: &TrialSpec,
        attachments: &Attachments,
        job: usize,
        watch: Watch<'_>,
    ) -> Result<TrialEnd, LabError>;
}

/// In bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuestMemory {
    /// The memory sizes of the guests in bytes, the smallest first.
    pub each: Vec<u64>,
    /// The part of it for staged datasets, in bytes.
    pub datasets: u64,
}

/// Why a lab is prepared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Intent {
    Run,
    /// To show the commands of a run: nothing is unpacked, and no makefile runs.
    Look,
}
