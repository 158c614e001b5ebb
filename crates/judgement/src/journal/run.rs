//! The state of a run as its journal records it: candidates, trials, blocks, latencies, and queries on them.

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;

use super::BlockSite;
use super::{
    Beginning, Caution, CommandRecord, CpuPrices, Ending, Facts, Learnt, Observation, PowerCuts,
    RottenBlocks, Status, Surroundings, TrialId,
};

/// A run, reconstructed from its journal up to the last record.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Run {
    pub header: Header,
    /// Every candidate of the plan, in the plan's order.
    pub candidates: Vec<CandidateState>,
    /// Every trial that ended, in the order in which the trials started; [`Trial::counts`] says which ones statistics
    /// may use.
    pub trials: Vec<Trial>,
    /// The commands of one trial per candidate: of the first trial that failed, or else of the first that ended.
    pub commands: Vec<TrialCommands>,
    /// Latencies of the successful trials in complete and valid blocks, added up.
    pub latencies: Vec<Latencies>,
    /// Every attempt at a block, in order.
    pub blocks: Vec<BlockState>,
    pub cautions: Vec<Caution>,
    /// The measured prices of computation, if they were measured.
    pub prices: Option<CpuPrices>,
    /// The results of the power cuts, by candidate.
    pub power_cuts: Vec<PowerCuts>,
    /// The results of the corrupted blocks, if any were examined.
    pub rotten: Vec<RottenBlocks>,
    /// The trials that had started but not ended when the journal ends.
    pub interrupted: Vec<TrialId>,
    /// How often the run was resumed after an interruption.
    pub resumed: u32,
    /// The device (its number, from 1) that another program wrote to, and the evidence for it. It stays set until the
    /// user names that device again.
    pub foreign_write: Option<(usize, String)>,
    /// The maximum number of blocks after an ended run was extended.
    pub extended_to: Option<u32>,
    /// Why the run ended; `None` while it continues, or if it was interrupted.
    pub finished: Option<String>,
    /// The kind of that reason; also `None` in older journals.
    pub ending: Option<Ending>,
    /// Seconds from record to record so far, without the time between an interruption and the resumption.
    pub worked: f64,
    /// Whether the journal's last line was torn by a crash.
    pub torn: bool,
    pub last: Timestamp,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Header {
    pub started: Timestamp,
    pub id: String,
    pub title: String,
    pub plan_digest: String,
    pub lab: String,
    pub lab_reason: String,
    /// The basis of the results.
    pub fidelity: String,
    /// Host, kernel, device, tools.
    pub environment: Facts,
    /// Facts about the start of the run that the program itself uses.
    pub beginning: Beginning,
}

impl Header {
    /// The release of the kernel under test: the guest's if there is a guest, otherwise the host's.
    pub fn kernel(&self) -> Option<&String> {
        kernel_release(&self.environment)
    }
}

/// The release of the kernel that these facts describe: the guest's if there is a guest, otherwise the host's.
pub fn kernel_release(facts: &Facts) -> Option<&String> {
    facts.get("lab.kernel_release").or_else(|| facts.get("kernel.release"))
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CandidateState {
    pub name: String,
    pub status: CandidateStatus,
    /// Why the candidate was skipped or failed; empty otherwise.
    pub reason: String,
    /// Advice to the user; empty if none is known.
    pub hint: String,
    /// The evidence for which the stopping rule dropped the candidate.
    pub dropped: Option<String>,
    /// The candidate is skipped because something outside ended its trial; this machine could test it.
    pub ended_from_outside: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CandidateStatus {
    /// Every trial that counts succeeded, and there is at least one.
    Ok,
    /// Its first trial has not ended yet.
    Untried,
    Skipped,
    /// A trial that counts failed.
    Failed,
}

/// One attempt at a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockState {
    /// Block number, from 1.
    pub block: u32,
    /// 1 for the first attempt, more for a repetition.
    pub attempt: u32,
    /// Candidates in the order they are tried.
    pub order: Vec<String>,
    /// The site that ran the block, in a run of several sites.
    pub place: Option<BlockSite>,
    /// Candidates with an ended trial, with or without success, in the order in which the trials ended.
    pub done: Vec<String>,
    pub finished: bool,
    /// The rule, fixed in advance, by which the block does not count.
    pub invalid: Option<String>,
}

impl BlockState {
    /// The candidates that this block has still to test, in its order.
    pub fn remaining(&self) -> impl Iterator<Item = &str> {
        self.order.iter().filter(|name| !self.done.contains(name)).map(String::as_str)
    }

    /// Whether both blocks belong to the same round, at different sites.
    pub fn is_of_round(&self, other: &BlockState) -> bool {
        let round = |block: &BlockState| block.place.as_ref().map(|place| place.round);
        round(self).is_some() && round(self) == round(other)
    }

    pub(super) fn is(&self, block: u32, attempt: u32) -> bool {
        self.block == block && self.attempt == attempt
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrialStanding {
    /// The trial's block is complete and valid, and so is every block before it.
    Counted,
    /// The trial's block, or a block before it, has not ended yet.
    Open,
    /// The trial's block is invalid or was repeated.
    Discarded,
}

/// A trial that ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    pub id: TrialId,
    pub started: Timestamp,
    pub status: Status,
    pub reason: String,
    /// Advice about a failure; empty if none is known.
    pub hint: String,
    /// Seconds of wall time.
    pub wall: f64,
    /// How the wall time is divided; `None` if the steps were not recorded.
    pub spent: Option<Spent>,
    pub standing: TrialStanding,
    /// The measurements of the phases, in order. Once the block has ended, the histograms are in [`Run::latencies`]
    /// only.
    pub observations: Vec<Observation>,
    pub facts: Facts,
    /// Facts about the trial that the program itself uses.
    pub learnt: Learnt,
    pub cautions: Vec<Caution>,
    pub surroundings: Option<Surroundings>,
}

/// How the wall time of a trial is divided, in seconds, from the times at which its steps began.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Spent {
    /// Until the trial claimed the device; includes the start of a guest.
    pub boot: f64,
    pub staging: f64,
    /// The steps of the workload: measurement, verification and settling.
    pub work: f64,
    pub teardown: f64,
}

/// The latencies of one kind of call, of one candidate in one phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Latencies {
    pub candidate: String,
    pub phase: String,
    pub call: String,
    /// The number of calls by their latency in nanoseconds.
    pub counts: BTreeMap<u64, u64>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct TrialCommands {
    pub trial: TrialId,
    pub status: Status,
    pub commands: Vec<CommandRecord>,
}

impl Trial {
    /// Whether statistics may use the trial: it succeeded, in a block that is complete and valid.
    pub fn counts(&self) -> bool {
        self.status == Status::Ok && self.standing == TrialStanding::Counted
    }

    /// Whether the trial failed because of its candidate.
    pub fn is_failure(&self) -> bool {
        self.status == Status::Failed && !self.is_from_outside()
    }

    /// Whether something outside ended the trial at every attempt, so that the failure says nothing about the
    /// candidate.
    pub fn is_from_outside(&self) -> bool {
        self.status == Status::Failed && self.surroundings.is_some_and(|seen| seen.from_outside)
    }

    /// The content of each of the user's folders when it was staged: the dataset's name, and the number of files, bytes
    /// and digest.
    pub fn datasets(&self) -> impl Iterator<Item = (&str, &str)> {
        self.learnt.held.iter().map(|(name, held)| (name.as_str(), held.as_str()))
    }

    pub fn value(&self, phase: &str, metric: &str) -> Option<f64> {
        self.observations.iter().find(|observation| observation.phase == phase)?.value(metric)
    }
}

/// The prefix of the caution about times without computation, when computation takes no simulated time.
const FREE_CPU: &str = "CPU is taken as free: ";

/// A caution with the number of trials that raised it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HeldCaution {
    pub text: String,
    /// The phases it concerns; empty for the whole trial, or the run.
    pub phases: Vec<String>,
    /// How many trials raised it; 0 when it is about the run.
    pub trials: usize,
    /// Candidates that the caution concerns, in the plan's order; empty when it is about the run.
    pub candidates: Vec<String>,
}

impl HeldCaution {
    /// The part of the work that the measured times leave out for some of these candidates but not for others. Such an
    /// omission biases a comparison, so reports say more about it than about other limits.
    pub fn tilts(&self, candidates: &[&str]) -> Option<&str> {
        let concerned =
            candidates.iter().filter(|name| self.candidates.iter().any(|one| one == *name)).count();
        let left_out = self.text.strip_prefix(FREE_CPU)?;
        (0 < concerned && concerned < candidates.len()).then_some(left_out)
    }
}

impl Run {
    /// Why the results of power cuts or corrupted blocks exclude a candidate from recommendation; `None` if they do
    /// not.
    pub fn why_out(&self, candidate: &str) -> Option<String> {
        let cuts = self.power_cuts.iter().find(|cuts| cuts.candidate == candidate);
        let rotten = self.rotten.iter().find(|rotten| rotten.candidate == candidate);
        cuts.and_then(PowerCuts::why_out).or_else(|| rotten?.why_out())
    }

    /// Whether the journal was merged from those of several sites, even if it contains none of their blocks yet.
    pub fn is_merged(&self) -> bool {
        self.header.beginning.sites.is_some()
    }

    /// The block with which a resumed run continues: the first that has started and not ended.
    pub fn resume_point(&self) -> Option<&BlockState> {
        self.blocks.iter().find(|block| !block.finished)
    }

    /// The candidates with a killed last trial in the last block, unless that block is repeated anyway. A resumed run
    /// tests them again.
    pub fn killed_in_last_block(&self) -> impl Iterator<Item = &str> {
        let last = self.blocks.last().filter(|block| block.invalid.is_none());
        let own = |trial: &&Trial| last.is_some_and(|block| block.is(trial.id.block, trial.id.attempt));
        // Of several trials of a candidate, the map keeps the last one.
        let latest: HashMap<&str, &Trial> =
            self.trials.iter().filter(own).map(|trial| (trial.id.candidate.as_str(), trial)).collect();
        let names = last.into_iter().flat_map(|block| block.order.iter().map(String::as_str));
        names.filter(move |name| {
            latest.get(name).is_some_and(|trial| trial.surroundings.is_some_and(|seen| seen.killed))
        })
    }

    /// Number and attempt of the first block that is neither complete and valid nor under way.
    pub fn next_block(&self) -> (u32, u32) {
        let last: HashMap<u32, &BlockState> = self.blocks.iter().map(|block| (block.block, block)).collect();
        (1..)
            .find_map(|number| match last.get(&number) {
                None => Some((number, 1)),
                Some(block) => block.invalid.is_some().then(|| (number, block.attempt.saturating_add(1))),
            })
            .unwrap_or((u32::MAX, 1))
    }

    /// The blocks that count, by number: each is complete and valid, and so is every block before it. Parallel blocks
    /// end in any order; conclusions use this prefix, so that a replay of the journal reaches the same conclusions.
    pub fn prefix(&self) -> impl Iterator<Item = &BlockState> {
        let ended = self.blocks.iter().filter(|block| block.finished && block.invalid.is_none());
        let ended: BTreeMap<u32, &BlockState> = ended.map(|block| (block.block, block)).collect();
        (1..).map_while(move |number| ended.get(&number).copied())
    }

    /// How many blocks count.
    pub fn complete_blocks(&self) -> usize {
        self.prefix().count()
    }

    /// Blocks that were discarded, with the rule that they broke.
    pub fn invalid_blocks(&self) -> impl Iterator<Item = (&BlockState, &str)> {
        self.blocks.iter().filter_map(|block| Some((block, block.invalid.as_deref()?)))
    }

    /// Whether the run ended because other programs disturbed the machine. Reports show its numbers but draw no
    /// conclusion from them.
    pub fn was_too_disturbed(&self) -> bool {
        let no_block_counts = self.complete_blocks() == 0 && self.invalid_blocks().next().is_some();
        match self.ending {
            Some(Ending::Disturbed) => true,
            Some(Ending::Budget) => no_block_counts,
            _ => false,
        }
    }

    /// The values of a metric that count, by block: the sample that statistics are made from.
    pub fn sample(&self, candidate: &str, phase: &str, metric: &str) -> Vec<(u32, f64)> {
        let trials = self.trials.iter().filter(|trial| trial.counts() && trial.id.candidate == candidate);
        let values = trials.filter_map(|trial| Some((trial.id.block, trial.value(phase, metric)?)));
        let mut sample: Vec<(u32, f64)> = values.collect();
        // Parallel trials end in any order.
        sample.sort_by_key(|(block, _)| *block);
        sample
    }

    /// Cautions of the run and of every trial that is not discarded, each once, with the phases that raised it.
    pub fn held_cautions(&self) -> Vec<HeldCaution> {
        let (mut held, mut places) = (Vec::new(), HashMap::new());
        for caution in &self.cautions {
            hold_caution(&mut held, &mut places, caution);
        }
        for trial in self.trials.iter().filter(|trial| trial.standing != TrialStanding::Discarded) {
            let mut own: Vec<usize> =
                trial.cautions.iter().map(|caution| hold_caution(&mut held, &mut places, caution)).collect();
            own.sort_unstable();
            own.dedup();
            for at in own {
                held[at].trials += 1;
                if !held[at].candidates.contains(&trial.id.candidate) {
                    held[at].candidates.push(trial.id.candidate.clone());
                }
            }
        }
        let place = |name: &String| self.candidates.iter().position(|state| state.name == *name);
        for caution in &mut held {
            caution.candidates.sort_by_key(place);
        }
        held
    }
}

/// Adds a caution to `held`, where `places` gives the index of each text; returns the caution's index.
fn hold_caution<'a>(
    held: &mut Vec<HeldCaution>,
    places: &mut HashMap<&'a str, usize>,
    caution: &'a Caution,
) -> usize {
    let at = *places.entry(caution.text.as_str()).or_insert_with(|| {
        held.push(HeldCaution { text: caution.text.clone(), ..HeldCaution::default() });
        held.len() - 1
    });
    let phases = &mut held[at].phases;
    if !caution.phase.is_empty() && !phases.contains(&caution.phase) {
        phases.push(caution.phase.clone());
    }
    at
}
