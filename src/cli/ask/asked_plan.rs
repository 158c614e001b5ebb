//! The plan for a question: the preset's, or that of a folder, with the question's changes.

use fsverdict_judgement::plan::{Overrides, Plan, read_with};
use fsverdict_lab::kernel::KernelCache;
use fsverdict_text::{Hinted, Reason, TextError};

use super::super::{CliError, with_vocabulary};
use super::changes::QuestionChanges;
use super::kernel::{kernel_cautions, kernel_release};
use super::left_out::LeftOutCandidates;
use super::question::Question;

/// The caution about a plan in which computation should take time, on a machine without a kernel for that.
const FREE_COMPUTATION: &str = "computation takes no time in this answer, because there is no kernel that counts it; \
                                `fsverdict kernel build` builds one in some minutes";

/// A question as a plan.
#[derive(Debug)]
pub(super) struct AskedPlan {
    pub(super) plan: Plan,
    /// The candidates of the plan that are not tried.
    pub(super) left_out: LeftOutCandidates,
    /// Filesystems without a driver in this machine's kernel that the question did not name: each with the reason.
    pub(super) without_driver: Vec<String>,
    /// Cautions about candidates that are tried, to be read before one of them is used.
    pub(super) cautions: Vec<String>,
}

impl AskedPlan {
    /// The plan of this question, with these changes besides its own.
    ///
    /// # Errors
    /// When it cannot be asked so.
    pub(super) fn of(question: &Question, overrides: Overrides) -> Result<Self, CliError> {
        let text = question.text()?;
        let read = |overrides: &Overrides| {
            with_vocabulary(|vocabulary| read_with(&text, question.name(), overrides, vocabulary))
                .map_err(|error| cannot_be_asked(question, &error))
        };
        let begun = read(&Overrides::default())?;
        let changes = QuestionChanges::of(question, &begun).map_err(CliError::Usage)?;
        let mut overrides = Overrides {
            set: changes.settings.clone(),
            candidates: changes.candidates.clone(),
            device: changes.device.clone(),
            scale: overrides.scale.or(question.scale()),
            ..overrides
        };
        let mut plan = read(&overrides)?;
        let mut cautions = kernel_cautions(&plan, &kernel_release());
        if plan.cpu.is_some() && !has_counting_kernel() {
            overrides.set.push("cpu=free".to_owned());
            plan = read(&overrides)?;
            cautions.push(FREE_COMPUTATION.to_owned());
        }
        let QuestionChanges { left_out, without_driver, .. } = changes;
        Ok(AskedPlan { plan, left_out, without_driver, cautions })
    }
}

/// Whether the cache has a kernel for plans in which computation takes time.
fn has_counting_kernel() -> bool {
    KernelCache::of_user().list_kernels().iter().any(|entry| entry.facts.counting)
}

/// The error for a question without a valid plan. The text of the plan is the program's own, so the place in it is left
/// out.
fn cannot_be_asked(question: &Question, error: &TextError) -> CliError {
    match error.0.first() {
        Some(fault) => CliError::Usage(
            Reason::new(&fault.message, fault.hint.as_str())
                .after(format!("`{}` cannot be asked so: ", question.name())),
        ),
        None => CliError::usage(error.reason()),
    }
}
