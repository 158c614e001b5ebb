//! Runs a phase of sequences on the clocks like any other, and reports the moments of their calls.

use std::path::Path;

use fsverdict_judgement::journal::{Event, Observation};
use fsverdict_judgement::plan::Phase;
use fsverdict_workload::measure::WorkDone;
use fsverdict_workload::workload::{SequenceBounds, SequenceWork, carry_out};

use super::act::{CacheState, Timed};
use super::agent::Agent;
use super::error::TrialError;
use super::phase::{clock_work, may_be_quiet};
use super::stack::{MOUNT, Stack};

/// Number of batches in one event.
const BATCHES: usize = 16;

impl Agent<'_> {
    pub(super) fn run_sequences(
        &mut self,
        stack: &mut Stack<'_>,
        phase: &Phase,
        cache: CacheState,
    ) -> Result<Observation, TrialError> {
        let bounds = sequence_bounds(phase, self.spec.seed);
        let chosen = SequenceWork { bounds, part: self.spec.part, only: self.spec.only.clone() };
        let may_rest = self.assignment.bench.is_in_guest();
        let work = |_: &mut Stack<'_>| Ok::<_, TrialError>(carry_out(Path::new(MOUNT), &chosen, may_rest)?);
        let (sequences, clocked) = clock_work(self.meter.as_ref(), stack, Timed::Phase(phase), cache, work)?;
        self.quiet = may_be_quiet(stack);
        for batches in sequences.batches.chunks(BATCHES) {
            stack.sink.send_event(&Event::Sequences { phase: phase.name.clone(), batches: batches.to_vec() });
        }
        let done = sequences.done;
        let work = WorkDone {
            files: done.files,
            histograms: done.histograms(),
            main_call: Some(done.main_call.to_owned()),
            ..WorkDone::default()
        };
        Ok(clocked.finish(work, stack.fresh_copy())?)
    }
}

/// Which sequences a phase is about.
pub fn sequence_bounds(phase: &Phase, seed: u64) -> SequenceBounds {
    SequenceBounds { steps: phase.steps.unwrap_or(1), count: phase.sequences, seed }
}
