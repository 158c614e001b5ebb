//! The state of a run as its journal records it: candidates, trials, blocks, latencies, and queries on them.

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;

use super::BlockSite;
use super::trial::{Trial, TrialCommands};
use super::{Beginning, Caution, Ending, Facts, LossReason, PowerCuts, RottenBlocks, TrialId};

/// A run, reconstructed from its journal up to the last record.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Run {
    pub header: Header,
    /// Every candidate of the plan, in the plan's order.
    pub candidates: Vec<CandidateState>,
    /// Every trial that ended, in the order in which the trials started; [`Trial::is_counted`] says which ones statistics
    /// may use.
    pub trials: Vec<Trial>,
    /// The commands of one trial per candidate: of the first trial that failed, or else of the first that ended.
    pub commands: Vec<TrialCommands>,
    /// Latencies of the successful trials in complete and valid blocks, added up.
    pub latencies: Vec<Latencies>,
    /// Every attempt at a block, in order.
    pub blocks: Vec<BlockState>,
    pub cautions: Vec<Caution>,
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
    /// The kind of that reason.
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
    pub fn untried_candidates(&self) -> impl Iterator<Item = &str> {
        self.order.iter().filter(|name| !self.done.contains(name)).map(String::as_str)
    }

    /// Whether both blocks belong to the same round, at different sites.
    pub fn is_of_round(&self, other: &BlockState) -> bool {
        let round = |block: &BlockState| block.place.as_ref().map(|place| place.round);
        round(self).is_some() && round(self) == round(other)
    }

    pub(super) fn is_attempt(&self, block: u32, attempt: u32) -> bool {
        self.block == block && self.attempt == attempt
    }
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

impl Run {
    /// Why the results of power cuts or corrupted blocks exclude a candidate from recommendation; `None` if they do
    /// not.
    pub fn why_out(&self, candidate: &str) -> Option<LossReason> {
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
        let is_of_last_block =
            |trial: &&Trial| last.is_some_and(|block| block.is_attempt(trial.id.block, trial.id.attempt));
        // Of several trials of a candidate, the map keeps the last one.
        let latest: HashMap<&str, &Trial> = self
            .trials
            .iter()
            .filter(is_of_last_block)
            .map(|trial| (trial.id.candidate.as_str(), trial))
            .collect();
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
    pub fn counted_blocks(&self) -> impl Iterator<Item = &BlockState> {
        let ended = self.blocks.iter().filter(|block| block.finished && block.invalid.is_none());
        let ended: BTreeMap<u32, &BlockState> = ended.map(|block| (block.block, block)).collect();
        (1..).map_while(move |number| ended.get(&number).copied())
    }

    /// How many blocks count.
    pub fn complete_blocks(&self) -> usize {
        self.counted_blocks().count()
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

    /// The trials that statistics may use.
    pub fn counted_trials(&self) -> impl DoubleEndedIterator<Item = &Trial> + Clone {
        self.trials.iter().filter(|trial| trial.is_counted())
    }

    /// Those of one candidate.
    pub fn counted_trials_of(&self, candidate: &str) -> impl Iterator<Item = &Trial> + Clone {
        self.counted_trials().filter(move |trial| trial.id.candidate == candidate)
    }

    /// The values of a metric that count, by block: the sample that statistics are made from.
    pub fn counted_values(&self, candidate: &str, phase: &str, metric: &str) -> Vec<(u32, f64)> {
        let values = self
            .counted_trials_of(candidate)
            .filter_map(|trial| Some((trial.id.block, trial.value(phase, metric)?)));
        let mut sample: Vec<(u32, f64)> = values.collect();
        // Parallel trials end in any order.
        sample.sort_by_key(|(block, _)| *block);
        sample
    }
}
