//! Compares the verdicts of different environments (device, kernel, memory) side by side, and finds where the order of
//! the candidates changes.

use std::collections::BTreeSet;

use crate::journal::Trial;
use crate::plan::{AXES, Axis, AxisRole, Environment, Plan};
use crate::statistics::{Estimate, Evidence, FEWEST};
use crate::verdict::contrast::{ContrastTest, judge_family};
use crate::verdict::{ContrastOutcome, Judgement, KernelPair, Slice, Verdict};

/// All pairs of more candidates would take time that grows with the square of their number.
const MOST_PAIRED: usize = 64;

/// The environments of a run side by side, or the devices of several runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Across {
    /// The property that differs: `device`, `kernel` or `memory`, or `circumstance` where several of them differ.
    pub what: &'static str,
    pub columns: Vec<AcrossColumn>,
    /// The configurations, with how many times worse each is than the leader of each column.
    pub rows: Vec<(String, Vec<Option<f64>>)>,
    /// δ: smaller differences count as ties.
    pub tie: f64,
    pub kernels: Vec<KernelPair>,
}

/// The results in one environment.
#[derive(Debug, Clone, PartialEq)]
pub struct AcrossColumn {
    pub title: String,
    pub under: Environment,
    pub verdict: Verdict,
    pairs: Vec<CandidateRatio>,
}

/// The ratio of two candidates' goals, paired within blocks.
#[derive(Debug, Clone, PartialEq)]
struct CandidateRatio {
    one: String,
    other: String,
    evidence: Evidence,
}

/// Whether the order of the candidates changes between columns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Order<'a> {
    /// No pair of candidates was measured in two or more columns.
    NotCompared,
    /// Each of two candidates is certainly ahead of the other in some column, by more than a tie, corrected for all
    /// comparisons. This is the pair with the largest change of order.
    Turns {
        one: &'a str,
        other: &'a str,
        /// How far `one` is ahead, and in which column.
        ahead: (Estimate, &'a str),
        /// How far `one` is behind, and in which column.
        behind: (Estimate, &'a str),
    },
    /// The order is shown to be the same in every column, within a tie.
    Same,
    /// The intervals allow both.
    Untold,
}

/// The column's index, the ratio of the pair there, and whether that is certain.
type ReversedRatio = (usize, Estimate, ContrastOutcome);

impl CandidateRatio {
    /// Every pair of these candidates, with more than `MOST_PAIRED` of the best for the goal; `names` has the name shown
    /// here and the candidate's name in the run.
    fn all_pairs(judged: &Judgement<'_>, names: &[(String, String)]) -> Vec<Self> {
        let score = |trial: &Trial| judged.objective.log_score(trial);
        let mut ratios = Vec::new();
        let best = judged.verdict.ranking.iter().take(MOST_PAIRED).map(|rank| rank.candidate.as_str());
        let best: BTreeSet<&str> = best.collect();
        let is_paired = |name: &str| names.len() <= MOST_PAIRED || best.contains(name);
        let names: Vec<&(String, String)> = names.iter().filter(|(_, name)| is_paired(name)).collect();
        for (at, (one, against)) in names.iter().enumerate() {
            let samples = names[at + 1..]
                .iter()
                .filter(|(_, name)| !judged.free.hides_order(name, against))
                .map(|(other, name)| (other, judged.blocks.differences(name, against, score)));
            let (others, samples): (Vec<&String>, Vec<Vec<f64>>) =
                samples.filter(|(_, sample)| !sample.is_empty()).unzip();
            let pairs = others.into_iter().zip(Evidence::from_paired_samples(&samples));
            let pair = |(other, evidence): (&String, Evidence)| CandidateRatio {
                one: one.clone(),
                other: other.clone(),
                evidence,
            };
            ratios.extend(pairs.map(pair));
        }
        ratios
    }

    fn p(&self) -> f64 {
        if self.evidence.count < FEWEST as usize { 1.0 } else { self.evidence.p_different() }
    }
}

impl AcrossColumn {
    /// A column for these candidates; `names` has the name shown here and the candidate's name in the run.
    pub(crate) fn from_judgement(title: &str, judged: &Judgement<'_>, names: &[(String, String)]) -> Self {
        Self {
            title: title.to_owned(),
            under: Environment::default(),
            verdict: judged.verdict.clone(),
            pairs: CandidateRatio::all_pairs(judged, names),
        }
    }

    /// The recommended configuration, named without its environment.
    pub fn recommended_name(&self) -> Option<String> {
        let taken: Vec<String> = self
            .verdict
            .recommended_names()
            .into_iter()
            .map(|name| self.under.strip_from_name(name))
            .collect();
        (!taken.is_empty()).then(|| taken.join(" or "))
    }
}

impl Across {
    /// Compares the environments of a run, each with its own judgement; `None` where there are none.
    pub fn from_environments(
        whole: &Judgement<'_>,
        environments: &[Slice<Environment>],
        judged: &[Judgement<'_>],
    ) -> Option<Self> {
        if environments.is_empty() {
            return None;
        }
        let mut across = Across {
            what: name_difference(whole.plan),
            columns: Vec::new(),
            rows: Vec::new(),
            tie: whole.plan.protocol.tie,
            kernels: KernelPair::from_judgement(whole),
        };
        for (at, (environment, own)) in environments.iter().zip(judged).enumerate() {
            let title = match environment.key.title() {
                empty if empty.is_empty() => "the plan's own".to_owned(),
                title => title,
            };
            for candidate in &environment.plan.candidates {
                let name = candidate.under.strip_from_name(&candidate.name);
                let row = across.rows.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
                    across.rows.push((name, vec![None; environments.len()]));
                    across.rows.len() - 1
                });
                let entry = own.candidates.iter().find(|entry| entry.name == candidate.name);
                let behind = entry.and_then(|entry| entry.behind).map(|behind| behind.point);
                across.rows[row].1[at] = behind;
            }
            let names = environment.plan.candidates.iter();
            let names = names
                .map(|candidate| (candidate.under.strip_from_name(&candidate.name), candidate.name.clone()));
            let column = AcrossColumn::from_judgement(&title, own, &names.collect::<Vec<_>>());
            across.columns.push(AcrossColumn { under: environment.key.clone(), ..column });
        }
        Some(across)
    }

    /// Whether every environment has a recommendation, or has no candidate left to recommend.
    pub fn is_decided(&self) -> bool {
        self.columns
            .iter()
            .all(|column| column.recommended_name().is_some() || column.verdict.nobody_is_left())
    }

    pub fn compare_order(&self) -> Order<'_> {
        let all = || {
            self.columns
                .iter()
                .enumerate()
                .flat_map(|(at, column)| column.pairs.iter().map(move |pair| (at, pair)))
        };
        let tests = all().map(|(_, pair)| ContrastTest { ratio: pair.evidence.ratio(), p: pair.p() });
        let judged = judge_family(&tests.collect::<Vec<_>>(), self.tie);
        let mut compared: Vec<((&str, &str), Vec<ReversedRatio>)> = Vec::new();
        for ((at, pair), judged) in all().zip(judged) {
            let (names, swapped) =
                ((pair.one.as_str(), pair.other.as_str()), (pair.other.as_str(), pair.one.as_str()));
            let turned = compared.iter().any(|(known, _)| *known == swapped);
            let ratio = pair.evidence.ratio();
            let (names, classified) = match turned {
                true => (swapped, (at, ratio.invert(), judged.outcome.invert())),
                false => (names, (at, ratio, judged.outcome)),
            };
            match compared.iter_mut().find(|(known, _)| *known == names) {
                Some((_, columns)) => columns.push(classified),
                None => compared.push((names, vec![classified])),
            }
        }
        compared.retain(|(_, columns)| columns.len() > 1);
        if compared.is_empty() {
            return Order::NotCompared;
        }
        let turns = compared.iter().filter_map(|(names, columns)| {
            let most = |wanted: ContrastOutcome| {
                let certain = columns.iter().filter(move |(.., outcome)| *outcome == wanted);
                let size = |ratio: &Estimate| libm::fabs(libm::log(ratio.point));
                certain.max_by(|one, other| size(&one.1).total_cmp(&size(&other.1)))
            };
            let (ahead, behind) = (most(ContrastOutcome::Behind)?, most(ContrastOutcome::Better)?);
            Some((ahead.1.point.min(behind.1.point.recip()), *names, *ahead, *behind))
        });
        if let Some((_, (one, other), ahead, behind)) = turns.max_by(|one, other| one.0.total_cmp(&other.0)) {
            let on = |at: usize| self.columns[at].title.as_str();
            return Order::Turns {
                one,
                other,
                ahead: (ahead.1, on(ahead.0)),
                behind: (behind.1.invert(), on(behind.0)),
            };
        }
        let (least, most) = (1.0 / (1.0 + self.tie), 1.0 + self.tie);
        let is_same = |(_, columns): &(_, Vec<ReversedRatio>)| {
            columns.iter().all(|(_, ratio, _)| ratio.low.is_some_and(|low| low >= least))
                || columns.iter().all(|(_, ratio, _)| ratio.high.is_some_and(|high| high <= most))
        };
        if compared.iter().all(is_same) { Order::Same } else { Order::Untold }
    }
}

fn name_difference(plan: &Plan) -> &'static str {
    let differ = |axis: &Axis| {
        let mut levels = plan.candidates.iter().map(|candidate| axis.level(candidate));
        let first = levels.next();
        levels.any(|level| Some(level) != first)
    };
    let mut nouns = AXES.iter().filter_map(|axis| match &axis.role {
        AxisRole::Circumstance(under) => differ(axis).then_some(under.noun),
        _ => None,
    });
    match (nouns.next(), nouns.next()) {
        (Some(noun), None) => noun,
        _ => "circumstance",
    }
}
