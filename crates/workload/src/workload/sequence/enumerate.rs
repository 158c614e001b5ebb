//! Enumerates the sequences within the bounds; each sequence has a number.

use std::collections::{BTreeSet, HashSet};

use serde::{Deserialize, Serialize};

use fsverdict_calls::NodeKind;

use crate::dataset::mix_bits;

use super::model::SequenceModel;
use super::place::SequencePlace;
use super::step::{STEPS, SequenceCall, SequencePersist, SequenceStep};

/// The length of the sequences, and how many of them are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SequenceBounds {
    /// The number of calls that change something: 1 to 3.
    pub steps: u32,
    /// The number of sequences that the seed draws; `None` for all.
    pub count: Option<u32>,
    pub seed: u64,
}

/// A sequence of calls. The last call makes data durable.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct CallSequence {
    pub(super) calls: Vec<SequenceCall>,
}

/// The call after each step but the last: none, or one that makes data durable.
type Between = Option<SequencePersist>;

impl SequenceBounds {
    /// All sequences within the bounds, in the order of their numbers.
    pub(super) fn all_sequences(self) -> Vec<CallSequence> {
        let sequences = match (self.steps, self.count) {
            (3.., count) => return self.draw_sequences(count.unwrap_or(0) as usize),
            (2, _) => two_step_sequences(),
            _ => one_step_sequences(),
        };
        let Some(count) = self.count.map(|count| count as usize).filter(|count| *count < sequences.len())
        else {
            return sequences;
        };
        let mut order: Vec<usize> = (0..sequences.len()).collect();
        order.sort_by_key(|number| mix_bits(self.seed ^ mix_bits(*number as u64)));
        order.truncate(count);
        order.sort_unstable();
        order.into_iter().filter_map(|number| sequences.get(number).cloned()).collect()
    }

    /// The number of sequences.
    pub fn count_sequences(self) -> usize {
        self.all_sequences().len()
    }

    /// Draws this many different sequences of three steps.
    fn draw_sequences(self, count: usize) -> Vec<CallSequence> {
        let (mut drawn, mut seen) = (Vec::with_capacity(count), HashSet::new());
        let draws = (count as u64).saturating_mul(200);
        for draw in 0..draws {
            if drawn.len() >= count {
                break;
            }
            let mut chance = draw_chances(self.seed, draw);
            let mut model = SequenceModel::with_prepared_files(0);
            let (mut calls, mut steps) = (Vec::new(), Vec::new());
            for last in [false, false, true] {
                let step = STEPS[chance(STEPS.len())];
                if model.apply_step(step).is_none() {
                    break;
                }
                steps.push(step);
                calls.push(SequenceCall::Step(step));
                let persists = if last { persists_at_end(&steps, &model) } else { Vec::new() };
                let between = persists_between(step, &model);
                let chosen = match last {
                    true => persists.get(chance(persists.len())).copied(),
                    false => between.get(chance(between.len())).copied().flatten(),
                };
                calls.extend(chosen.map(SequenceCall::Persist));
            }
            let sequence = CallSequence { calls };
            if steps.len() == 3 && seen.insert(sequence.clone()) {
                drawn.push(sequence);
            }
        }
        drawn
    }
}

/// Creates a generator of random numbers below a given limit.
fn draw_chances(seed: u64, draw: u64) -> impl FnMut(usize) -> usize {
    let mut state = mix_bits(seed ^ mix_bits(draw));
    move |limit| {
        state = mix_bits(state);
        (state % limit.max(1) as u64) as usize
    }
}

fn one_step_sequences() -> Vec<CallSequence> {
    let mut sequences = Vec::new();
    for step in STEPS {
        let mut model = SequenceModel::with_prepared_files(0);
        if model.apply_step(*step).is_none() {
            continue;
        }
        for persist in persists_at_end(&[*step], &model) {
            sequences.push(CallSequence {
                calls: vec![SequenceCall::Step(*step), SequenceCall::Persist(persist)],
            });
        }
    }
    sequences
}

fn two_step_sequences() -> Vec<CallSequence> {
    let mut sequences = Vec::new();
    for first in STEPS {
        let mut once = SequenceModel::with_prepared_files(0);
        if once.apply_step(*first).is_none() {
            continue;
        }
        let between = persists_between(*first, &once);
        for second in STEPS {
            let mut twice = once.clone();
            if twice.apply_step(*second).is_none() {
                continue;
            }
            let persists = persists_at_end(&[*first, *second], &twice);
            for middle in &between {
                for persist in &persists {
                    let mut calls = vec![SequenceCall::Step(*first)];
                    calls.extend(middle.map(SequenceCall::Persist));
                    calls.extend([SequenceCall::Step(*second), SequenceCall::Persist(*persist)]);
                    sequences.push(CallSequence { calls });
                }
            }
        }
    }
    sequences
}

/// The calls that may persist between two steps: none, fsync of the step's file or of its directory, sync.
fn persists_between(step: SequenceStep, model: &SequenceModel) -> Vec<Between> {
    let last = step.places().last().copied().unwrap_or(SequencePlace::Root);
    let mut between: Vec<Between> = vec![None];
    between.extend(can_be_synced(model, last).then_some(Some(SequencePersist::Fsync(last))));
    between.push(Some(SequencePersist::Sync));
    between.extend(step.leaves_open().then_some(Some(SequencePersist::FsyncOpen)));
    if step.changes_names() && can_be_synced(model, last.parent()) {
        between.push(Some(SequencePersist::Fsync(last.parent())));
    }
    between
}

/// The calls that may persist at the end: fsync of every existing file of the steps, of their directories if names
/// changed, fdatasync of files, sync.
fn persists_at_end(steps: &[SequenceStep], model: &SequenceModel) -> Vec<SequencePersist> {
    let places: BTreeSet<SequencePlace> = steps.iter().flat_map(|step| step.places()).collect();
    let changing = steps.iter().filter(|step| step.changes_names()).flat_map(|step| step.places());
    let directories: BTreeSet<SequencePlace> = changing.map(SequencePlace::parent).collect();
    let synced: BTreeSet<SequencePlace> =
        places.union(&directories).copied().filter(|at| can_be_synced(model, *at)).collect();
    let written = steps.iter().filter(|step| !step.changes_names()).flat_map(|step| step.places());
    let written: BTreeSet<SequencePlace> =
        written.filter(|at| model.kind(*at) == Some(NodeKind::File)).collect();
    let mut persists: Vec<SequencePersist> = synced.into_iter().map(SequencePersist::Fsync).collect();
    persists.extend(written.into_iter().map(SequencePersist::Fdatasync));
    persists.extend(model.open.map(|_| SequencePersist::FsyncOpen));
    persists.push(SequencePersist::Sync);
    persists
}

fn can_be_synced(model: &SequenceModel, at: SequencePlace) -> bool {
    match at {
        SequencePlace::Root => true,
        at => matches!(model.kind(at), Some(NodeKind::File | NodeKind::Directory)),
    }
}
