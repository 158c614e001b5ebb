//! The data of a report, gathered once from plan and journal; renderers only lay it out.

use std::path::PathBuf;

use super::{Harness, Note, notes, sentence, words};
use crate::journal::{CandidateStatus, Run, Standing, Status, Trial};
use crate::plan::{Candidate, Phase, Plan, contestants};
use crate::verdict::{
    Combined, PhaseEstimate, RawShare, ThenAndNow, Verdict, combine, estimate_all, judge, raw_shares,
    then_and_now,
};

/// Everything a report tells.
#[derive(Debug, Clone)]
pub struct Report<'a> {
    /// The plan that was run.
    pub plan: &'a Plan,
    /// What the journal says.
    pub run: &'a Run,
    /// The folder of the run, to point the reader to.
    pub folder: Option<PathBuf>,
    /// Which trials the numbers are made from.
    pub basis: TrialBasis,
    /// The candidates: measured ones by rank, then those without a score, skipped and failed ones last.
    pub candidates: Vec<CandidateEntry<'a>>,
    /// The phases that were measured: the plan's in its order, then the steps around them.
    pub phases: Vec<PhaseEntry>,
    /// Medians of every metric; of measured candidates only.
    pub estimates: Vec<PhaseEstimate>,
    /// What may be concluded.
    pub verdict: Verdict,
    /// The outcome in one sentence.
    pub sentence: String,
    /// The verdict as a paragraph; `None` where there is nothing to compare, or not yet.
    pub paragraph: Option<String>,
    /// What the plan's study found, then and now.
    pub findings: Vec<ThenAndNow>,
    /// Runs combined as the study did; `None` where the plan does not say how.
    pub combined: Option<Combined>,
    /// Rates as shares of the bare device's.
    pub raw_shares: Vec<RawShare>,
    /// What a reader of the numbers must know.
    pub notes: Vec<Note>,
    /// What the measuring cost.
    pub harness: Option<Harness>,
    /// Whether the run goes on right now, so that a page of it should be looked at again.
    pub live: bool,
}

/// Which trials the numbers of a report are made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrialBasis {
    /// Those of complete and valid blocks.
    Blocks(usize),
    /// No block is complete yet: the trials of the open one, which may still be thrown out.
    OpenBlock(u32),
    /// No trial has gone well yet.
    Nothing,
}

/// A candidate in a report.
#[derive(Debug, Clone, PartialEq)]
pub struct CandidateEntry<'a> {
    /// As the plan has it; `None` where the plan no longer names it.
    pub plan: Option<&'a Candidate>,
    /// Its name.
    pub name: &'a str,
    /// How it stands.
    pub status: CandidateStatus,
    /// Why it was skipped, failed, or is not tried any more.
    pub reason: String,
    /// What to do about it.
    pub hint: &'a str,
    /// Its score for the goal.
    pub score: Option<f64>,
}

impl CandidateEntry<'_> {
    /// What to say of it where no trial of it counts.
    pub(super) fn untried(&self) -> &'static str {
        if self.reason.is_empty() { "not tried yet" } else { "no result" }
    }
}

/// A phase in a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PhaseEntry {
    /// Its name.
    pub name: String,
    /// Whether the plan names it; otherwise it is a step of every trial, such as mkfs.
    pub planned: bool,
}

impl<'a> Report<'a> {
    /// Gathers the report. `folder` is where the run lies.
    pub fn new(plan: &'a Plan, run: &'a Run, folder: Option<PathBuf>) -> Self {
        let basis = basis(run);
        let ok = |name: &str| {
            run.candidates.iter().any(|state| state.name == name && state.status == CandidateStatus::Ok)
        };
        let estimates = estimate_all(
            run,
            run.trials.iter().filter(|trial| used(trial, basis) && ok(&trial.id.candidate)),
        );
        let states = run.candidates.iter().filter(|state| state.status == CandidateStatus::Ok);
        let measured: Vec<&str> = states
            .map(|state| state.name.as_str())
            .filter(|name| estimates.iter().any(|found| found.candidate == *name))
            .collect();
        let contesting = |name: &&str| contestants(plan).any(|candidate| candidate.name == **name);
        let contestants: Vec<&str> = measured.iter().copied().filter(contesting).collect();
        let verdict = judge(plan, run, &contestants, &estimates);
        let findings = if estimates.is_empty() { Vec::new() } else { then_and_now(plan, &estimates) };
        let raw_shares = raw_shares(plan, &estimates);
        let mut report = Self {
            plan,
            run,
            folder,
            basis,
            candidates: candidates(plan, run, &verdict),
            phases: phases(plan, &estimates),
            estimates,
            verdict,
            sentence: String::new(),
            paragraph: None,
            findings,
            combined: None,
            raw_shares,
            notes: Vec::new(),
            harness: Harness::of(run),
            live: false,
        };
        report.sentence = sentence::outcome(&report);
        report.notes = notes::gather(&report);
        report.combined = report.combine();
        report.paragraph = words::paragraph(&report);
        report
    }

    /// Runs combined as the study did, of measured candidates and the plan's phases.
    fn combine(&self) -> Option<Combined> {
        let way = self.plan.protocol.legacy?;
        let counted = matches!(self.basis, TrialBasis::Blocks(_));
        let used: Vec<&Trial> = self.run.trials.iter().filter(|trial| counted && trial.counts()).collect();
        let scored = self.candidates.iter().filter(|entry| entry.score.is_some());
        let planned = self.phases.iter().filter(|phase| phase.planned).map(|phase| phase.name.as_str());
        let (candidates, phases): (Vec<&str>, Vec<&str>) =
            (scored.map(|entry| entry.name).collect(), planned.collect());
        Some(combine(way, &candidates, &phases, &used))
    }

    /// Whether a phase belongs in the first table: the plan names it, or its goal does (fsck, say).
    pub(super) fn is_headline(&self, phase: &PhaseEntry) -> bool {
        phase.planned || self.plan.goal.weights.get(&phase.name).is_some_and(|weight| *weight > 0.0)
    }

    /// The trials that the numbers are made from.
    pub(super) fn used_trials(&self) -> impl Iterator<Item = &'a Trial> {
        let basis = self.basis;
        let ok = |name: &str| self.with_status(CandidateStatus::Ok).any(|entry| entry.name == name);
        self.run.trials.iter().filter(move |trial| used(trial, basis) && ok(&trial.id.candidate))
    }

    /// How many trials each measured candidate has at least and at most.
    pub fn sample_sizes(&self) -> Option<(usize, usize)> {
        let headline = || self.estimates.iter().filter(|found| found.metric == self.plan.goal.metric);
        let sizes = headline().map(|found| found.estimate.n);
        Some((sizes.clone().min()?, sizes.max()?))
    }

    /// Candidates with this status.
    pub fn with_status(&self, status: CandidateStatus) -> impl Iterator<Item = &CandidateEntry<'a>> {
        self.candidates.iter().filter(move |entry| entry.status == status)
    }
}

fn basis(run: &Run) -> TrialBasis {
    let any = |standing: Standing| {
        run.trials.iter().any(|trial| trial.status == Status::Ok && trial.standing == standing)
    };
    match run.resume_point() {
        _ if any(Standing::Counted) => TrialBasis::Blocks(run.complete_blocks()),
        Some(open) if any(Standing::Open) => TrialBasis::OpenBlock(open.block),
        _ => TrialBasis::Nothing,
    }
}

fn used(trial: &Trial, basis: TrialBasis) -> bool {
    match basis {
        TrialBasis::Blocks(_) => trial.counts(),
        TrialBasis::OpenBlock(_) => trial.status == Status::Ok && trial.standing == Standing::Open,
        TrialBasis::Nothing => false,
    }
}

fn candidates<'a>(plan: &'a Plan, run: &'a Run, verdict: &Verdict) -> Vec<CandidateEntry<'a>> {
    let mut entries: Vec<CandidateEntry<'a>> = run
        .candidates
        .iter()
        .map(|state| CandidateEntry {
            plan: plan.candidates.iter().find(|candidate| candidate.name == state.name),
            name: &state.name,
            status: state.status,
            reason: match &state.dropped {
                Some(evidence) if state.reason.is_empty() => evidence.clone(),
                None if state.status == CandidateStatus::Untried => discarded(run, &state.name),
                _ => state.reason.clone(),
            },
            hint: &state.hint,
            score: verdict.ranking.iter().find(|rank| rank.candidate == state.name).map(|rank| rank.score),
        })
        .collect();
    let place = |entry: &CandidateEntry<'_>| match entry.status {
        CandidateStatus::Ok => 0,
        CandidateStatus::Untried => 1,
        CandidateStatus::Failed => 2,
        CandidateStatus::Skipped => 3,
    };
    // A stable sort: what is equal stays in the plan's order.
    entries.sort_by(|one, other| {
        let score = |entry: &CandidateEntry<'_>| entry.score.unwrap_or(f64::INFINITY);
        place(one).cmp(&place(other)).then(score(one).total_cmp(&score(other)))
    });
    entries
}

/// What became of the trials of a candidate of which none counts; empty where there was none.
fn discarded(run: &Run, candidate: &str) -> String {
    match run.trials.iter().filter(|trial| trial.id.candidate == candidate).count() {
        0 => String::new(),
        1 => "its only trial does not count".to_owned(),
        some => format!("none of its {some} trials counts"),
    }
}

fn phases(plan: &Plan, estimates: &[PhaseEstimate]) -> Vec<PhaseEntry> {
    let planned =
        plan.phases.iter().map(|Phase { name, .. }| PhaseEntry { name: name.clone(), planned: true });
    let mut phases: Vec<PhaseEntry> = planned.collect();
    for found in estimates {
        if !phases.iter().any(|phase| phase.name == found.phase) {
            phases.push(PhaseEntry { name: found.phase.clone(), planned: false });
        }
    }
    phases
}
