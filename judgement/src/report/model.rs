//! The data of a report, gathered once from plan and journal; renderers only lay it out.

use std::path::PathBuf;

use super::across::Across;
use super::matrix::Matrix;
use super::text_table::TextTable;
use super::{Harness, Note, Requests, ToUse, noise, notes, sentence, tables, words};
use crate::journal::{CandidateStatus, Group, METRICS, Run, Status, Trial, TrialStanding, adapter_metric};
use crate::plan::{Candidate, Phase, Plan, contestants};
use crate::verdict::{
    ByBlock, Combined, CostColumn, Estimate, OptionEffect, PhaseEstimate, RawShare, Sites, ThenAndNow,
    TwinPair, Verdict, Yardstick, combine, cost_columns, estimate_all, judge, option_effects, raw_shares,
    then_and_now, twin_pairs,
};

#[derive(Debug, Clone)]
pub struct Report<'a> {
    pub plan: &'a Plan,
    pub run: &'a Run,
    /// The folder of the run, to point the reader to.
    pub folder: Option<PathBuf>,
    /// The page among its files, if it is there.
    pub page: Option<PathBuf>,
    pub basis: TrialBasis,
    /// The candidates: measured ones by rank, then those without a score, skipped and failed ones last.
    pub candidates: Vec<CandidateEntry<'a>>,
    /// The phases that were measured: the plan's in its order, then the steps around them.
    pub phases: Vec<PhaseEntry>,
    /// Every metric of measured candidates, side by side.
    pub estimates: Vec<PhaseEstimate>,
    pub(super) yardstick: Yardstick,
    pub verdict: Verdict,
    pub sentence: String,
    /// The verdict as a paragraph; `None` where there is nothing to compare, or not yet.
    pub paragraph: Option<String>,
    /// How noisy the run is, without a full stop.
    pub(super) noise: Option<String>,
    /// What the plan's study found, then and now.
    pub findings: Vec<ThenAndNow>,
    /// Runs combined as the study did; `None` where the plan does not say how.
    pub combined: Option<Combined>,
    /// Rates as shares of the bare device's.
    pub raw_shares: Vec<RawShare>,
    pub(super) twins: Vec<TwinPair>,
    /// The trials that the numbers are made from, and the same by block.
    pub(super) trials: Vec<&'a Trial>,
    pub(super) blocks: ByBlock<'a>,
    /// The goal's metric in the phases of the first table.
    pub(super) picture: Option<Matrix>,
    pub(super) around: Option<Matrix>,
    pub(super) details: Vec<Detail>,
    /// What the phases of the goal cost together.
    pub(super) costs: Vec<CostColumn>,
    /// What single options do, in the phases of the first table.
    pub(super) effects: Vec<OptionEffect>,
    /// Time beside its costs, and how far the weights may move.
    pub(super) beside: Vec<TextTable>,
    /// What a plan that repeats a study has of its own.
    pub(super) of_study: Vec<TextTable>,
    /// What each site found, where several did the blocks between them.
    pub sites: Option<Sites>,
    /// The verdicts under several circumstances, where there are several: then the whole of the run has none.
    pub(super) across: Option<Across>,
    /// What a reader of the numbers must know.
    pub notes: Vec<Note>,
    pub harness: Option<Harness>,
    /// What a modelled device was asked for, a trial of each candidate; for pages, and empty until it is put in.
    pub requests: Vec<Requests>,
    /// How whom the verdict takes is made where it is to stay; for pages, and none until it is put in.
    pub to_use: Option<ToUse>,
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
    /// No block counts: the trials of so many that were thrown out, in a run that ended for that.
    Disturbed(usize),
    /// No trial has gone well yet.
    Nothing,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CandidateEntry<'a> {
    /// As the plan has it; `None` where the plan no longer names it.
    pub plan: Option<&'a Candidate>,
    pub name: &'a str,
    pub status: CandidateStatus,
    /// Why it was skipped, failed, or is not tried any more.
    pub reason: String,
    pub hint: &'a str,
    /// How many times worse than the leader for the goal; 1 for the leader.
    pub behind: Option<Estimate>,
}

impl CandidateEntry<'_> {
    /// How it fared, in a word or two.
    pub(super) fn fared(&self) -> &'static str {
        match self.status {
            CandidateStatus::Ok => "measured",
            CandidateStatus::Skipped => "skipped",
            CandidateStatus::Failed => "failed",
            CandidateStatus::Untried if self.reason.is_empty() => "not tried yet",
            CandidateStatus::Untried => "no result",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PhaseEntry {
    pub name: String,
    /// Whether the plan names it; otherwise it is a step of every trial, such as mkfs.
    pub planned: bool,
}

impl<'a> Report<'a> {
    /// Gathers the report. `folder` is where the run lies.
    pub fn new(plan: &'a Plan, run: &'a Run, folder: Option<PathBuf>) -> Self {
        let basis = basis(run);
        let disturbed = matches!(basis, TrialBasis::Disturbed(_));
        let ok = |name: &str| {
            let fits =
                |status| status == CandidateStatus::Ok || disturbed && status == CandidateStatus::Untried;
            run.candidates.iter().any(|state| state.name == name && fits(state.status))
        };
        let trials: Vec<&Trial> =
            run.trials.iter().filter(|trial| used(trial, basis) && ok(&trial.id.candidate)).collect();
        let has_trials = |name: &&str| trials.iter().any(|trial| trial.id.candidate == **name);
        let measured: Vec<&str> =
            run.candidates.iter().map(|state| state.name.as_str()).filter(has_trials).collect();
        let contesting = |name: &&str| contestants(plan).any(|candidate| candidate.name == **name);
        let contestants: Vec<&str> = measured.iter().copied().filter(contesting).collect();
        let blocks = ByBlock::of_run(run, trials.iter().copied());
        let yardstick = Yardstick::of(plan, run);
        let mut verdict = judge(plan, run, &yardstick, &blocks, &contestants);
        if plan.circumstances().len() > 1 {
            verdict.refuse(
                "what is tried on one device, kernel or memory is not ranked against what is on another",
            );
        }
        let leader = verdict.ranking.first().map(|rank| rank.candidate.as_str());
        let estimates = estimate_all(run, &trials, leader);
        let findings =
            if estimates.is_empty() { Vec::new() } else { then_and_now(plan, &estimates, &blocks) };
        let mut report = Self {
            plan,
            run,
            folder,
            page: None,
            basis,
            candidates: candidates(plan, run, &verdict, &measured),
            phases: phases(plan, &estimates),
            raw_shares: raw_shares(plan, &estimates),
            twins: twin_pairs(&yardstick, run),
            yardstick,
            estimates,
            verdict,
            trials,
            blocks,
            findings,
            sentence: String::new(),
            paragraph: None,
            noise: None,
            combined: None,
            picture: None,
            around: None,
            details: Vec::new(),
            costs: Vec::new(),
            effects: Vec::new(),
            beside: Vec::new(),
            of_study: Vec::new(),
            sites: None,
            across: None,
            notes: Vec::new(),
            harness: Harness::of(run),
            requests: Vec::new(),
            to_use: None,
            live: false,
        };
        report.lay_out();
        report
    }

    /// Everything that follows from the estimates and the verdict.
    pub(super) fn lay_out(&mut self) {
        let goal = self.plan.goal.metric.as_str();
        self.picture = Matrix::of(self, goal, |phase| self.is_headline(phase));
        // What the goal weighs of them stands with the phases, if it weighs their time.
        self.around = Matrix::of(self, "durable", |phase| {
            !phase.planned && (goal != "durable" || !self.is_headline(phase))
        });
        self.details = details(self);
        let weighed = self.yardstick.phases();
        let names: Vec<&str> = self.with_status(CandidateStatus::Ok).map(|entry| entry.name).collect();
        self.costs = cost_columns(&weighed, &self.blocks, &names);
        let headline: Vec<&str> = self.headline().map(|phase| phase.name.as_str()).collect();
        self.effects = option_effects(self.plan, &self.blocks, &headline);
        self.combined = self.combine();
        self.sites = Sites::of(self.run, &self.yardstick, &self.blocks, &self.verdict.ranking);
        self.noise = noise::sentence(self);
        self.sentence = sentence::outcome(self);
        self.notes = notes::gather(self);
        self.beside = tables::beside(self);
        self.of_study = tables::of_study(self);
        self.across = Across::of(self);
        self.paragraph = words::paragraph(self);
        if let Some(across) = &self.across {
            self.sentence = across.sentence();
        }
    }

    pub(super) fn headline(&self) -> impl Iterator<Item = &PhaseEntry> {
        self.phases.iter().filter(|phase| self.is_headline(phase))
    }

    /// Runs combined as the study did, of measured candidates and the plan's phases.
    fn combine(&self) -> Option<Combined> {
        let way = self.plan.protocol.legacy?;
        let counted = matches!(self.basis, TrialBasis::Blocks(_));
        let used: Vec<&Trial> = self.run.trials.iter().filter(|trial| counted && trial.counts()).collect();
        let scored = self.candidates.iter().filter(|entry| entry.behind.is_some());
        let planned = self.phases.iter().filter(|phase| phase.planned).map(|phase| phase.name.as_str());
        let (candidates, phases): (Vec<&str>, Vec<&str>) =
            (scored.map(|entry| entry.name).collect(), planned.collect());
        Some(combine(way, &candidates, &phases, &used))
    }

    /// Whether a phase belongs in the first table: the plan names it, or its goal does (fsck, say).
    pub(super) fn is_headline(&self, phase: &PhaseEntry) -> bool {
        phase.planned || self.plan.goal.weights.get(&phase.name).is_some_and(|weight| *weight > 0.0)
    }

    /// How many trials each measured candidate has at least and at most.
    pub fn sample_sizes(&self) -> Option<(usize, usize)> {
        let headline = || self.estimates.iter().filter(|found| found.metric == self.plan.goal.metric);
        let sizes = headline().map(|found| found.estimate.n);
        Some((sizes.clone().min()?, sizes.max()?))
    }

    pub fn with_status(&self, status: CandidateStatus) -> impl Iterator<Item = &CandidateEntry<'a>> {
        self.candidates.iter().filter(move |entry| entry.status == status)
    }
}

fn basis(run: &Run) -> TrialBasis {
    let any = |standing: TrialStanding| {
        run.trials.iter().any(|trial| trial.status == Status::Ok && trial.standing == standing)
    };
    match run.resume_point() {
        _ if any(TrialStanding::Counted) => TrialBasis::Blocks(run.complete_blocks()),
        Some(open) if any(TrialStanding::Open) => TrialBasis::OpenBlock(open.block),
        _ if run.was_too_disturbed() && any(TrialStanding::Discarded) => {
            TrialBasis::Disturbed(run.invalid_blocks().count())
        }
        _ => TrialBasis::Nothing,
    }
}

fn used(trial: &Trial, basis: TrialBasis) -> bool {
    match basis {
        TrialBasis::Blocks(_) => trial.counts(),
        TrialBasis::OpenBlock(_) => trial.status == Status::Ok && trial.standing == TrialStanding::Open,
        TrialBasis::Disturbed(_) => trial.status == Status::Ok,
        TrialBasis::Nothing => false,
    }
}

fn candidates<'a>(
    plan: &'a Plan,
    run: &'a Run,
    verdict: &Verdict,
    measured: &[&str],
) -> Vec<CandidateEntry<'a>> {
    let mut entries: Vec<CandidateEntry<'a>> = run
        .candidates
        .iter()
        .map(|state| CandidateEntry {
            plan: plan.candidates.iter().find(|candidate| candidate.name == state.name),
            name: &state.name,
            // What was thrown out with its block is shown all the same where there is nothing else.
            status: match state.status {
                CandidateStatus::Untried if measured.contains(&state.name.as_str()) => CandidateStatus::Ok,
                status => status,
            },
            reason: match &state.dropped {
                Some(evidence) if state.reason.is_empty() => evidence.clone(),
                None if state.status == CandidateStatus::Untried => discarded(run, &state.name),
                _ => state.reason.clone(),
            },
            hint: &state.hint,
            behind: None,
        })
        .collect();
    for entry in &mut entries {
        let Some(place) = verdict.ranking.iter().position(|rank| rank.candidate == entry.name) else {
            continue;
        };
        let rank = &verdict.ranking[place];
        let leader = Estimate::without_interval(1.0, verdict.blocks);
        entry.behind = rank.behind.or((place == 0).then_some(leader));
    }
    let place = |entry: &CandidateEntry<'_>| match entry.status {
        CandidateStatus::Ok => 0,
        CandidateStatus::Untried => 1,
        CandidateStatus::Failed => 2,
        CandidateStatus::Skipped => 3,
    };
    // A stable sort: what is equal stays in the plan's order.
    entries.sort_by(|one, other| {
        let rank = |entry: &CandidateEntry<'_>| {
            verdict.ranking.iter().position(|rank| rank.candidate == entry.name).unwrap_or(usize::MAX)
        };
        place(one).cmp(&place(other)).then(rank(one).cmp(&rank(other)))
    });
    entries
}

/// What became of the trials of a candidate of which none counts; empty where there was none.
fn discarded(run: &Run, candidate: &str) -> String {
    let own = || run.trials.iter().filter(|trial| trial.id.candidate == candidate);
    let failed = own().rfind(|trial| !trial.reason.is_empty());
    let why = failed.map_or(String::new(), |trial| format!("; the last that failed: {}", trial.reason));
    match own().count() {
        0 => String::new(),
        1 => format!("its only trial does not count{why}"),
        some => format!("none of its {some} trials counts{why}"),
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

/// A metric by phase, with what it means.
#[derive(Debug, Clone)]
pub(super) struct Detail {
    pub(super) metric: String,
    pub(super) meaning: &'static str,
    pub(super) group: Group,
    pub(super) matrix: Matrix,
}

/// Rates, then costs, then whatever adapters measured, where they were measured and are not nothing.
fn details(report: &Report<'_>) -> Vec<Detail> {
    let listed = |group: Group| METRICS.iter().filter(move |metric| metric.group == group);
    let mut metrics: Vec<(&str, &'static str, Group)> = listed(Group::Rate)
        .chain(listed(Group::Cost))
        .map(|metric| (metric.name, metric.meaning, metric.group))
        .collect();
    for found in &report.estimates {
        let built_in = METRICS.iter().any(|metric| metric.name == found.metric);
        if !built_in && !metrics.iter().any(|(name, ..)| *name == found.metric) {
            let meaning = adapter_metric(&found.metric).map_or("", |known| known.meaning);
            metrics.push((&found.metric, meaning, Group::Rate));
        }
    }
    let detail = |(metric, meaning, group): (&str, &'static str, Group)| {
        let matrix = Matrix::of(report, metric, |phase| phase.planned)?;
        (!matrix.is_empty()).then(|| Detail { metric: metric.to_owned(), meaning, group, matrix })
    };
    let goal = report.plan.goal.metric.as_str();
    metrics.into_iter().filter(|(name, ..)| *name != goal).filter_map(detail).collect()
}
