//! The work that a verdict rests on: warns where it is too little to decide about daily work, because it is over at
//! once, one phase is nearly all of it, or its data came from memory.

use std::fmt;

use crate::journal::{Measurement, Observation, Trial, Unit};
use crate::plan::{Better, Flow, Needs, Operation, PhaseWork, Plan};
use crate::statistics;
use crate::verdict::{Rank, VerdictEvidence};
use fsverdict_text::join_names;

/// The largest share of the goal that one of several phases may be.
const LARGEST_SHARE: f64 = 0.8;
/// The share of the goal from which it matters that phases read from memory.
const NOTICEABLE_SHARE: f64 = 0.1;
/// The share of a phase's bytes that the device must have been asked for. Compression and holes spare it some of them.
const LEAST_FROM_DEVICE: f64 = 0.1;
/// Bytes per second above which a rate is that of memory: four lanes of PCIe 4.0 carry 7.9 GB/s, those of 5.0 15.8 GB/s,
/// of which the device is asked, however.
const FASTEST_DEVICE: f64 = 10e9;
/// The most phases that are named.
const MOST_NAMES: usize = 4;

/// Why the work that was measured is too little to decide by.
#[derive(Debug, Clone, PartialEq)]
pub enum TooLittle {
    /// All of the goal's work takes so many seconds, with its repetitions in a trial.
    Short(f64),
    /// These phases of the goal got their data from memory.
    FromMemory { phases: Vec<String> },
    /// One of several phases is this share of the goal.
    OnePhase { phase: String, share: f64 },
}

impl TooLittle {
    /// The shortest work, in seconds, that allows conclusions about daily work.
    pub const LEAST_SECONDS: f64 = 1.0;

    /// Whether work of so many seconds is too short.
    pub fn from_seconds(seconds: f64) -> Option<Self> {
        (seconds < Self::LEAST_SECONDS).then_some(Self::Short(seconds))
    }
}

impl fmt::Display for TooLittle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short(seconds) => write!(
                formatter,
                "all of the work, done once, takes {}: too little to decide about a day's work",
                in_short_units(*seconds)
            ),
            Self::FromMemory { phases } => write!(
                formatter,
                "{} got {} data from memory: this says nothing of filesystem or device; `cold = true` in the phase, or \
                 more data than memory, asks the device",
                name_phases(phases),
                if phases.len() == 1 { "its" } else { "their" }
            ),
            Self::OnePhase { phase, share } => write!(
                formatter,
                "the phase `{phase}` is {} of the goal: the verdict is about it alone",
                in_percent(*share)
            ),
        }
    }
}

fn name_phases(phases: &[String]) -> String {
    let quoted: Vec<String> = phases.iter().map(|phase| format!("`{phase}`")).collect();
    let noun = if phases.len() == 1 { "phase" } else { "phases" };
    format!("the {noun} {}", join_names(&quoted, MOST_NAMES, "and"))
}

/// `0.42 s`, `5.3 ms` or `310 µs`.
fn in_short_units(seconds: f64) -> String {
    let (value, unit) = match seconds {
        some if some >= 0.1 => (some, "s"),
        some if some >= 1e-3 => (some * 1e3, "ms"),
        some => (some * 1e6, "µs"),
    };
    let digits = if value < 1.0 { 2 } else { usize::from(value < 10.0) };
    format!("{value:.digits$} {unit}")
}

/// A share that is no whole, rounded to no whole either.
fn in_percent(share: f64) -> String {
    if share > 0.995 { "more than 99 %".to_owned() } else { format!("{:.0} %", share * 100.0) }
}

/// Why the work is too little to decide by, the gravest reason first. A plan that repeats a published study has the work
/// of that study.
pub(crate) fn list_too_little(evidence: &VerdictEvidence<'_>, ranking: &[Rank]) -> Vec<TooLittle> {
    if ranking.len() < 2 || evidence.plan.protocol.legacy.is_some() {
        return Vec::new();
    }
    let work = GoalWork { evidence, ranking };
    let short = work.shortest_mean(|trial| work.seconds_of(trial)).and_then(TooLittle::from_seconds);
    short.into_iter().chain(work.find_phases_in_memory()).chain(work.find_one_phase()).collect()
}

/// The work of the goal, as the ranked candidates did it.
struct GoalWork<'a> {
    evidence: &'a VerdictEvidence<'a>,
    ranking: &'a [Rank],
}

impl GoalWork<'_> {
    fn list_trials(&self) -> impl Iterator<Item = &Trial> {
        self.ranking.iter().flat_map(|rank| self.evidence.trials.trials_of(&rank.candidate))
    }

    /// The mean of the candidate that has the smallest: a slow rival does not make the work of the others more.
    fn shortest_mean(&self, number: impl Fn(&Trial) -> Option<f64>) -> Option<f64> {
        let mean = |rank: &Rank| {
            let trials = self.evidence.trials.trials_of(&rank.candidate);
            let values: Vec<f64> = trials.filter_map(&number).collect();
            statistics::mean(&values)
        };
        self.ranking.iter().filter_map(mean).min_by(f64::total_cmp)
    }

    fn mean_of_trials(&self, number: impl Fn(&Trial) -> Option<f64>) -> Option<f64> {
        let values: Vec<f64> = self.list_trials().filter_map(number).collect();
        statistics::mean(&values)
    }

    fn observations_of<'t>(&'t self, phase: &'t str) -> impl Iterator<Item = &'t Observation> {
        let own = move |trial: &'t Trial| trial.observations.iter().find(|found| found.phase == phase);
        self.list_trials().filter_map(own)
    }

    /// The seconds that a trial worked on the goal's phases; `None` if the time of one is unknown.
    fn seconds_of(&self, trial: &Trial) -> Option<f64> {
        let of_phase = |phase: &String| {
            let found = trial.observations.iter().find(|found| found.phase == *phase)?;
            let once = found.value("durable").or_else(|| found.value("returned"))?;
            Some(once * (f64::from(found.repetition) + 1.0))
        };
        self.evidence.objective.weights.keys().map(of_phase).sum()
    }

    /// The share of the goal that a phase is: of its total, or of the weights of its ratios.
    fn share_of(&self, phase: &str) -> Option<f64> {
        let objective = self.evidence.objective;
        let weight = objective.weights.get(phase)?;
        if !objective.is_total() {
            return Some(weight / objective.weights.values().sum::<f64>());
        }
        self.mean_of_trials(|trial| {
            let total = libm::exp(objective.log_score(trial)?);
            Some(weight * objective.phase_cost(phase, trial)? / total)
        })
    }

    /// The phase that most of a total comes from. The weights of ratios are the choice of the plan's author.
    fn find_one_phase(&self) -> Option<TooLittle> {
        let objective = self.evidence.objective;
        let phases = objective.weights.keys().filter(|_| objective.is_total() && objective.weights.len() > 1);
        let shares = phases.filter_map(|phase| Some((phase, self.share_of(phase)?)));
        let (phase, share) = shares.max_by(|one, other| one.1.total_cmp(&other.1))?;
        (share > LARGEST_SHARE).then(|| TooLittle::OnePhase { phase: phase.clone(), share })
    }

    fn find_phases_in_memory(&self) -> Option<TooLittle> {
        let plan = self.evidence.plan;
        let phases = self.evidence.objective.weights.keys().filter(|phase| self.is_from_memory(phase));
        let mut phases: Vec<String> = phases.cloned().collect();
        phases.sort_by_key(|name| plan.phases.iter().position(|phase| phase.name == *name));
        let share: f64 = phases.iter().filter_map(|phase| self.share_of(phase)).sum();
        (share >= NOTICEABLE_SHARE).then_some(TooLittle::FromMemory { phases })
    }

    /// Whether a phase reads with warm caches or is faster than any device, and hardly asked the device for its bytes.
    fn is_from_memory(&self, phase: &str) -> bool {
        let is_reading = reads_files(self.evidence.plan, phase);
        let (mut moved, mut asked) = (0.0, 0.0);
        for found in self.observations_of(phase) {
            let is_warm = is_reading && found.cache != "cold";
            let bytes = found.value("logical_bytes").filter(|_| is_warm).or_else(|| bytes_at_rate(found));
            let Some(bytes) = bytes else { return false };
            moved += bytes;
            asked +=
                [found.value("device_read"), found.value("device_written")].iter().flatten().sum::<f64>();
        }
        moved > 0.0 && asked < LEAST_FROM_DEVICE * moved
    }
}

/// The bytes that a phase moved, if it moved them faster than a device can.
fn bytes_at_rate(found: &Observation) -> Option<f64> {
    let is_rate = |one: &&Measurement| one.unit == Unit::BytesPerSecond && one.direction() == Better::Higher;
    let rates = found.measurements.iter().filter(is_rate);
    let rate = rates.map(|one| one.value).fold(0.0, f64::max);
    Some(rate * found.value("durable")?).filter(|_| rate > FASTEST_DEVICE)
}

fn reads_files(plan: &Plan, phase: &str) -> bool {
    let reads = |operation: Operation| operation.flow() == Flow::Reads && operation.needs() == Needs::Mounted;
    plan.phases.iter().any(|own| {
        own.name == phase && matches!(own.work, PhaseWork::Operation(operation) if reads(operation))
    })
}

#[cfg(test)]
mod tests;
