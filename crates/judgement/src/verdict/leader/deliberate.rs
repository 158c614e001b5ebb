//! The stopping rule: decides after each block whether the run can end, by replaying all blocks that count.
//!
//! The conductor, `resume` and the report all use it, so that a run decides the same whether it was interrupted or not,
//! and a report never knows more than the run did.

use crate::journal::{BlockState, Run};
use crate::plan::{Plan, Until, ranked_candidates};
use crate::statistics::{BlockOutcome, Race, Rival, Rule, Ruling};

use crate::verdict::protection::is_ruled_out;
use crate::verdict::work::site_numbers;
use crate::verdict::{ByBlock, Objective};

/// The stopping rule's state: the plan's candidates and the results of the blocks so far.
#[derive(Debug, Clone)]
pub struct Deliberation {
    /// Candidate names, in the order of the indices that looks use.
    pub candidates: Vec<String>,
    rule: Rule,
    objective: Objective,
    race: Race,
    /// The number of trials that the objective has taken in; `blocks` is the number of blocks that the race has.
    trials: usize,
    blocks: usize,
}

impl Deliberation {
    /// Replays the stopping rule over the run.
    pub fn from_run(plan: &Plan, run: &Run) -> Self {
        let candidates: Vec<String> =
            ranked_candidates(plan).map(|candidate| candidate.name.clone()).collect();
        let rule = stopping_rule(plan, run);
        let race = Race::new(rule, candidates.len());
        let (trials, blocks) = (run.trials.len(), 0);
        let mut begun = Deliberation {
            rule,
            objective: Objective::from_run(plan, run),
            race,
            candidates,
            trials,
            blocks,
        };
        begun.replay(plan, run);
        begun
    }

    /// Continues over a run that has only grown by whole blocks, with the same result as [`from_run`](Self::from_run). Earlier
    /// blocks are not replayed, unless the rule changed or another phase is left out of the objective.
    pub fn go_on(&mut self, plan: &Plan, run: &Run) {
        let before = (self.rule, self.objective.weights.len());
        self.rule = stopping_rule(plan, run);
        self.objective.add_trials(run.trials.get(self.trials..).unwrap_or_default());
        self.trials = run.trials.len();
        if before != (self.rule, self.objective.weights.len()) {
            self.race = Race::new(self.rule, self.candidates.len());
            self.blocks = 0;
        }
        self.replay(plan, run);
    }

    /// Adds the blocks that the race does not have yet.
    fn replay(&mut self, plan: &Plan, run: &Run) {
        let blocks: Vec<&BlockState> = run.counted_blocks().collect();
        let sites = site_numbers(blocks.iter().copied());
        let placed: Vec<(&BlockState, usize)> = blocks.into_iter().zip(sites).skip(self.blocks).collect();
        let Some((first, _)) = placed.first() else { return };
        let own = run.counted_trials().filter(|trial| trial.id.block >= first.block);
        let trials: ByBlock<'_> = own.collect();
        // A candidate withdraws if it was tried without a result, misses a requirement, or loses data that it promised
        // to keep. One that was not tried rested.
        let is_out: Vec<bool> = self.candidates.iter().map(|name| run.why_out(name).is_some()).collect();
        let score = |block: &BlockState, name: &String| {
            let at = self.candidates.iter().position(|known| known == name);
            if at.and_then(|at| is_out.get(at)) == Some(&true) {
                return Some(f64::NAN);
            }
            let found = || {
                let trial = trials.find_trial(block.block, name)?;
                self.objective.log_score(trial).filter(|_| !is_ruled_out(plan, run, name, block.block))
            };
            block.order.contains(name).then(|| found().unwrap_or(f64::NAN))
        };
        let row = |(block, site): &(&BlockState, usize)| {
            (*site, self.candidates.iter().map(|name| score(block, name)).collect())
        };
        let mut rounds = placed.chunk_by(|(one, _), (next, _)| one.is_of_round(next)).peekable();
        while let Some(round) = rounds.next() {
            let round: Vec<_> = round.iter().map(row).collect();
            match rounds.peek() {
                Some(_) => self.race.add_decided_round(&round),
                None => drop(self.race.add_round(&round)),
            }
        }
        self.blocks += placed.len();
    }

    pub fn outcome(&self) -> Ruling {
        self.race.ruling()
    }

    /// The best surviving candidate of a look.
    pub fn leader(&self, look: &BlockOutcome) -> &str {
        look.leader.and_then(|index| self.candidates.get(index)).map_or("the others", String::as_str)
    }

    /// How the candidates compared at the last look; `None` where none were compared.
    pub fn last_look(&self) -> Option<BlockOutcome> {
        self.race.last_outcome()
    }

    /// How the other candidates compare with this one; `None` if it is not among the plan's.
    pub fn look_against(&self, name: &str) -> Option<BlockOutcome> {
        let at = self.candidates.iter().position(|known| known == name)?;
        Some(self.race.outcome_against(at))
    }

    /// The candidates that the next block tries.
    pub fn racing(&self) -> impl Iterator<Item = &str> {
        self.race.racing().into_iter().filter_map(|at| self.candidates.get(at).map(String::as_str))
    }

    /// The number of trials that are left after the last block that counts, of those that the plan allows.
    pub fn trials_left(&self) -> usize {
        self.race.trials_left()
    }

    /// The total number of blocks after which this rival would be decided; `None` if no number would suffice.
    pub fn settled_after(&self, rival: &Rival) -> Option<usize> {
        self.race.settled_after(rival)
    }
}

fn stopping_rule(plan: &Plan, run: &Run) -> Rule {
    let blocks = plan.protocol.blocks;
    // An extended run is to give a full ranking, not only a recommendation.
    let ranked = plan.protocol.until == Until::Ranked || run.extended_to.is_some();
    let maximum = run.extended_to.map_or(blocks.max, |extended| extended.max(blocks.max));
    // Without a range of blocks, all candidates get every block that was asked for; published findings need three
    // trials of each.
    let early = blocks.min < maximum && plan.published.is_empty();
    Rule { tie: plan.protocol.tie, minimum: blocks.min, maximum, ranked, early }
}

#[cfg(test)]
mod tests {
    use super::Deliberation;
    use crate::journal::{Event, Fold, made};

    #[test]
    fn going_on_knows_what_a_replay_knows_also_when_a_phase_is_left_out() {
        let plan = made::plan(&serde_json::json!({
            "candidates": [
                { "name": "a", "filesystem": "ext4", "encryption": "none" },
                { "name": "b", "filesystem": "xfs", "encryption": "none" },
                { "name": "c", "filesystem": "jfs", "encryption": "none" },
            ],
            "goal": { "metric": "durable", "weights": { "write": 1.0, "read": 1.0 } },
        }));
        let mut events = vec![(None, made::started())];
        for block in 1..=12 {
            events.push((None, made::block_started(block, 1, &["a", "b", "c"])));
            for (at, name) in ["a", "b", "c"].into_iter().enumerate() {
                let id = Some(made::id(block, name));
                events.push((id.clone(), Event::TrialStarted {}));
                let seconds = 1.0 + 0.04 * at as f64 + 0.1 * f64::from(block * (at as u32 + 3) % 5);
                events.push((id.clone(), made::durable("write", seconds)));
                // In the seventh block b reads nothing.
                if (block, name) != (7, "b") {
                    events.push((id.clone(), made::durable("read", 2.0 - seconds / 4.0)));
                }
                events.push((id, made::ended(None, 1.0)));
            }
            events.push((None, Event::BlockFinished { block, attempt: 1, invalid: None }));
        }
        let (mut fold, mut known) = (Fold::new(&plan), None::<Deliberation>);
        for record in made::journal(events).records {
            let ended = matches!(record.event, Event::BlockFinished { .. });
            fold.add_record(record);
            let Some(run) = fold.run().filter(|_| ended) else { continue };
            let replayed = Deliberation::from_run(&plan, run);
            let known = known.get_or_insert_with(|| Deliberation::from_run(&plan, run));
            known.go_on(&plan, run);
            let of = |one: &Deliberation| {
                let racing: Vec<String> = one.racing().map(str::to_owned).collect();
                (one.outcome(), one.last_look(), racing, one.objective.clone())
            };
            assert_eq!(of(known), of(&replayed));
        }
        assert_eq!(known.unwrap().objective.phases(), ["write"]);
    }
}
