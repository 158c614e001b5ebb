//! What the journal allows to conclude: the rule that ends a run, replayed over every block that counts.
//!
//! Conductor, `resume` and report all ask here, so that a run decides the same whether it was interrupted or not and
//! a report never knows more than the run did.

use crate::journal::{Better, BlockState, Run, Unit, adapter_metric, metric};
use crate::plan::{Plan, Until, contestants};
use crate::statistics::{BlockOutcome, Race, Rival, Rule, Ruling};

use super::paired::site_numbers;
use super::{ByBlock, Objective};

/// The plan's candidates and every look at them so far.
#[derive(Debug, Clone)]
pub struct Deliberation {
    /// Names, in the order in which looks number them.
    pub candidates: Vec<String>,
    /// One per block that counts.
    pub looks: Vec<BlockOutcome>,
    race: Race,
}

impl Deliberation {
    /// Replays the rule over the run.
    pub fn of(plan: &Plan, run: &Run) -> Self {
        let candidates: Vec<String> = contestants(plan).map(|candidate| candidate.name.clone()).collect();
        let blocks = plan.protocol.blocks;
        // Who asks for more blocks wants to know more than who leads.
        let ranked = plan.protocol.until == Until::Ranked || run.extended_to.is_some();
        let maximum = run.extended_to.map_or(blocks.max, |extended| extended.max(blocks.max));
        // So many blocks were asked for, of everybody; and a finding is told from three trials of each.
        let early = blocks.min < maximum && plan.published.is_empty();
        let rule = Rule { tie: plan.protocol.tie, minimum: blocks.min, maximum, ranked, early };
        let mut race = Race::new(rule, candidates.len());
        let objective = Objective::of(plan, run);
        let trials: ByBlock<'_> = run.trials.iter().filter(|trial| trial.counts()).collect();
        // Who was tried without a result withdraws; who was not tried rested.
        let score = |block: &BlockState, name: &String| {
            let found = || trials.trial(block.block, name).and_then(|trial| objective.log_score(trial));
            block.order.contains(name).then(|| found().unwrap_or(f64::NAN))
        };
        let blocks: Vec<&BlockState> = run.prefix().collect();
        let sites = site_numbers(blocks.iter().copied());
        let row = |(block, site): &(&BlockState, usize)| {
            (*site, candidates.iter().map(|name| score(block, name)).collect())
        };
        let placed: Vec<(&BlockState, usize)> = blocks.into_iter().zip(sites).collect();
        let looks = placed
            .chunk_by(|(one, _), (next, _)| one.is_of_round(next))
            .map(|round| race.round(&round.iter().map(row).collect::<Vec<_>>()))
            .collect();
        Deliberation { looks, race, candidates }
    }

    pub fn outcome(&self) -> Ruling {
        self.looks.last().map_or(Ruling::Continue, |look| look.outcome)
    }

    /// The best surviving candidate of a look.
    pub fn leader(&self, look: &BlockOutcome) -> &str {
        look.leader.and_then(|index| self.candidates.get(index)).map_or("the others", String::as_str)
    }

    pub fn last_look(&self) -> Option<&BlockOutcome> {
        self.looks.iter().rfind(|look| look.leader.is_some())
    }

    /// The candidates that the next block is to try.
    pub fn racing(&self) -> impl Iterator<Item = &str> {
        self.race.racing().into_iter().filter_map(|at| self.candidates.get(at).map(String::as_str))
    }

    /// How many blocks in all would tell what is not known of this rival; `None` if no number would.
    pub fn settled_after(&self, rival: &Rival) -> Option<usize> {
        self.race.settled_after(rival)
    }
}

/// Which way a metric is better; one that nobody knows any more goes by its unit.
pub fn better_of(name: &str, unit: Unit) -> Better {
    match (metric(name).or_else(|| adapter_metric(name)), unit) {
        (Some(known), _) => known.better,
        (None, Unit::BytesPerSecond | Unit::PerSecond) => Better::Higher,
        (None, Unit::Seconds | Unit::Bytes) => Better::Lower,
        (None, Unit::Ratio | Unit::Count) => Better::Neither,
    }
}
