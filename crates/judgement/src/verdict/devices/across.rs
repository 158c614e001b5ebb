//! Compares the verdicts of different environments (device, kernel, memory) side by side, and finds where the order of
//! the candidates changes.

use std::collections::BTreeSet;

use crate::journal::Trial;
use crate::plan::{AXES, Axis, AxisRole, Environment, GOAL, Plan, group_by_key, once_each};
use crate::statistics::{Estimate, Evidence, FEWEST};
use crate::verdict::contrast::{ContrastTest, judge_family};
use crate::verdict::{Contrast, ContrastOutcome, Judgement, KernelPair, Slice, SliceVerdict};

/// All pairs of more candidates would take time that grows with the square of their number.
const MOST_PAIRED: usize = 64;

/// The environments of a run side by side, or the devices of several runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Across {
    /// The property that differs: `device`, `kernel` or `memory`, or `circumstance` where several of them differ.
    pub what: &'static str,
    /// The configurations, named without their environment.
    pub candidates: Vec<String>,
    pub columns: Vec<AcrossColumn>,
    /// δ: smaller differences count as ties.
    pub tie: f64,
    pub kernels: Vec<KernelPair>,
}

/// The results in one environment.
#[derive(Debug, Clone, PartialEq)]
pub struct AcrossColumn {
    pub title: String,
    pub under: Environment,
    pub result: SliceVerdict,
    /// Every pair of candidates, each with its test.
    pairs: Vec<(Contrast, ContrastTest)>,
}

/// Whether the order of the candidates changes between columns.
#[derive(Debug, Clone, PartialEq)]
pub enum Order<'a> {
    /// No pair of candidates was measured in two or more columns.
    NotCompared,
    /// Each of two candidates is certainly ahead of the other in some column, by more than a tie, corrected for all
    /// comparisons. This is the pair with the largest change of order; each contrast has the title of its column.
    Turns {
        /// The first is behind.
        behind: (Box<Contrast>, &'a str),
        /// The first is ahead.
        ahead: (Box<Contrast>, &'a str),
    },
    /// The order is shown to be the same in every column, within a tie.
    Same,
    /// The intervals allow both.
    Untold,
}

/// Every pair of these candidates, not judged yet; with more than [`MOST_PAIRED`] of the best for the goal.
fn list_pairs(
    judged: &Judgement<'_>,
    under: &Environment,
    names: &[String],
) -> Vec<(Contrast, ContrastTest)> {
    let score = |trial: &Trial| judged.objective.log_score(trial);
    let best = judged.verdict.ranking.iter().take(MOST_PAIRED).map(|rank| &rank.candidate);
    let best: BTreeSet<&String> = best.collect();
    let is_paired = |name: &&String| names.len() <= MOST_PAIRED || best.contains(name);
    let names: Vec<&String> = names.iter().filter(is_paired).collect();
    let mut pairs = Vec::new();
    for (at, against) in names.iter().enumerate() {
        let others = names[at + 1..].iter().filter(|name| !judged.free.hides_order(name, against));
        let samples = others.map(|name| (name, judged.blocks.differences(name, against, score)));
        let (others, samples): (Vec<&&String>, Vec<Vec<f64>>) =
            samples.filter(|(_, sample)| !sample.is_empty()).unzip();
        for (of, evidence) in others.into_iter().zip(Evidence::from_paired_samples(&samples)) {
            let is_tested = evidence.count >= FEWEST as usize;
            let p = if is_tested { evidence.p_different() } else { 1.0 };
            let contrast = Contrast {
                subject: GOAL.to_owned(),
                of: under.strip_from_name(of),
                against: under.strip_from_name(against),
                ratio: evidence.ratio(),
                outcome: ContrastOutcome::Undecided,
            };
            pairs.push((contrast, ContrastTest { ratio: evidence.ratio(), p }));
        }
    }
    pairs
}

impl AcrossColumn {
    /// A column for these candidates of a run.
    pub(crate) fn new(title: String, under: Environment, judged: &Judgement<'_>, names: &[String]) -> Self {
        let pairs = list_pairs(judged, &under, names);
        Self { title, under, result: SliceVerdict::from_judgement(judged), pairs }
    }

    /// The recommended configuration, named without its environment.
    pub fn recommended_name(&self) -> Option<String> {
        let taken = self.result.verdict.recommended_names().into_iter();
        let taken: Vec<String> = taken.map(|name| self.under.strip_from_name(name)).collect();
        (!taken.is_empty()).then(|| taken.join(" or "))
    }

    /// How many times worse than the best of the column a configuration is.
    pub fn find_ratio(&self, name: &str) -> Option<f64> {
        let mut all = self.result.behind.iter();
        all.find(|(known, _)| self.under.strip_from_name(known) == name).map(|(_, behind)| behind.point)
    }
}

impl Across {
    /// Compares the environments of a run, each with its own judgement; `None` where there are none.
    pub fn from_environments(
        whole: &Judgement<'_>,
        environments: &[Slice<Environment>],
        judged: &[Judgement<'_>],
    ) -> Option<Self> {
        let columns = environments.iter().zip(judged).map(|(environment, own)| {
            let title = Some(environment.key.title()).filter(|title| !title.is_empty());
            let title = title.unwrap_or_else(|| "the plan's own".to_owned());
            let names = environment.plan.candidates.iter().map(|candidate| candidate.name.clone());
            AcrossColumn::new(title, environment.key.clone(), own, &names.collect::<Vec<_>>())
        });
        let candidates = environments.iter().flat_map(|environment| &environment.plan.candidates);
        (!environments.is_empty()).then(|| Across {
            what: name_difference(whole.plan),
            candidates: once_each(
                candidates.map(|candidate| candidate.under.strip_from_name(&candidate.name)),
            ),
            columns: columns.collect(),
            tie: whole.plan.protocol.tie,
            kernels: KernelPair::from_judgement(whole),
        })
    }

    /// Whether every environment has a recommendation, or has no candidate left to recommend.
    pub fn is_decided(&self) -> bool {
        let is_decided = |column: &AcrossColumn| {
            column.recommended_name().is_some() || column.result.verdict.nobody_is_left()
        };
        self.columns.iter().all(is_decided)
    }

    /// The contrasts of all columns, judged together, by pairs of candidates that several columns have; each pair is seen
    /// from the side on which it is first met.
    fn judge_pairs(&self) -> Vec<Vec<(Contrast, &str)>> {
        let all =
            || self.columns.iter().flat_map(|column| column.pairs.iter().map(move |pair| (column, pair)));
        let tests: Vec<ContrastTest> = all().map(|(_, (_, test))| *test).collect();
        let judged = all().zip(judge_family(&tests, self.tie)).map(|((column, (pair, _)), judged)| {
            let contrast = Contrast { outcome: judged.outcome, ..pair.clone() };
            let mut names = [&pair.of, &pair.against];
            names.sort_unstable();
            (names, (contrast, column.title.as_str()))
        });
        let mut pairs: Vec<Vec<(Contrast, &str)>> =
            group_by_key(judged).into_iter().map(|(_, columns)| columns).collect();
        pairs.retain(|columns| columns.len() > 1);
        for columns in &mut pairs {
            let of = columns[0].0.of.clone();
            let turned = columns.iter_mut().filter(|(contrast, _)| contrast.of != of);
            turned.for_each(|(contrast, _)| *contrast = contrast.invert());
        }
        pairs
    }

    pub fn compare_order<'a>(&'a self) -> Order<'a> {
        let pairs = self.judge_pairs();
        if pairs.is_empty() {
            return Order::NotCompared;
        }
        let turns = pairs.iter().filter_map(|columns| {
            let most = |wanted: ContrastOutcome| {
                let certain = columns.iter().filter(move |(contrast, _)| contrast.outcome == wanted);
                let size = |ratio: &Estimate| libm::fabs(libm::log(ratio.point));
                certain.max_by(|one, other| size(&one.0.ratio).total_cmp(&size(&other.0.ratio)))
            };
            let (behind, ahead) = (most(ContrastOutcome::Behind)?, most(ContrastOutcome::Better)?);
            Some((behind.0.ratio.point.min(ahead.0.ratio.point.recip()), behind, ahead))
        });
        if let Some((_, behind, ahead)) = turns.max_by(|one, other| one.0.total_cmp(&other.0)) {
            let boxed = |(contrast, title): &(Contrast, &'a str)| (Box::new(contrast.clone()), *title);
            return Order::Turns { behind: boxed(behind), ahead: boxed(ahead) };
        }
        let (least, most) = (1.0 / (1.0 + self.tie), 1.0 + self.tie);
        let is_same = |columns: &Vec<(Contrast, &str)>| {
            let all =
                |is: &dyn Fn(&Estimate) -> bool| columns.iter().all(|(contrast, _)| is(&contrast.ratio));
            all(&|ratio| ratio.low.is_some_and(|low| low >= least))
                || all(&|ratio| ratio.high.is_some_and(|high| high <= most))
        };
        if pairs.iter().all(is_same) { Order::Same } else { Order::Untold }
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
