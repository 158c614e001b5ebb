//! Many simulated runs of one kind, and what came of them.

use fsverdict_judgement::statistics::{BlockOutcome, Race, Rule, Ruling};

use crate::world::{Noise, World};
use crate::{MOST_BLOCKS, Request, TIE};

/// What is true of the candidates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Truth {
    /// Their log centres are normal with a standard deviation of 20 %.
    Scattered,
    /// One is best, and all others are worse by a hair more than δ: the most chances to be wrong.
    Hardest,
    /// All are the same.
    Equal,
}

pub(crate) const TRUTHS: [(Truth, &str); 3] = [
    (Truth::Scattered, "scattered by 20 %"),
    (Truth::Hardest, "all others worse by δ"),
    (Truth::Equal, "all equal"),
];

fn centres(truth: Truth, candidates: usize, normal: &mut dyn FnMut() -> f64) -> Vec<f64> {
    let hair = 1.001;
    let centre = |place: usize| match truth {
        Truth::Scattered => 0.2 * normal(),
        Truth::Hardest if place > 0 => libm::log1p(TIE) * hair,
        _ => 0.0,
    };
    (0..candidates).map(centre).collect()
}

/// Counts over many runs.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) runs: u32,
    /// Runs that recommend somebody worse than the best by more than δ.
    pub(crate) wrong: u32,
    /// Runs that end with somebody behind the leader.
    pub(crate) behind: u32,
    /// … who is no worse than it.
    pub(crate) falsely_behind: u32,
    /// Runs that end with somebody tied who is further than δ from the leader.
    pub(crate) falsely_tied: u32,
    pub(crate) undecided: u32,
    pub(crate) blocks: u64,
    pub(crate) trials: u64,
    /// Intervals that are shown at the end, and those that hold the truth.
    pub(crate) intervals: u32,
    pub(crate) cover: u32,
    /// The same of the closest rival alone, which is what the first sentence is about.
    pub(crate) closest: u32,
    pub(crate) closest_cover: u32,
}

pub(crate) fn simulate(
    truth: Truth,
    candidates: usize,
    noise: Noise,
    deviation: f64,
    stream: u64,
    request: &Request,
) -> Tally {
    let mut tally = Tally::default();
    let rule = Rule { tie: TIE, minimum: 3, maximum: MOST_BLOCKS, ranked: request.ranked, early: true };
    for repetition in 0..request.repetitions {
        let seed = stream << 24 | u64::from(repetition);
        let mut world = World::new(|normal| centres(truth, candidates, normal), noise, deviation, seed);
        let mut race = Race::new(rule, candidates);
        let look = loop {
            tally.trials += race.racing().len() as u64;
            let look = race.add_block(&world.next_block(&race.racing()));
            // A run ends where nobody is left to try, whatever the rule says.
            if look.outcome != Ruling::Continue || race.racing().is_empty() {
                break look;
            }
        };
        tally.runs += 1;
        tally.blocks += u64::from(look.block);
        tally.count(&look, &world);
    }
    tally
}

impl Tally {
    fn count(&mut self, look: &BlockOutcome, world: &World) {
        let bound = libm::log1p(TIE);
        let Some(leader) = look.leader else {
            self.undecided += 1;
            return;
        };
        if look.outcome == Ruling::Recommended {
            self.wrong += u32::from(world.centres()[leader] - world.best() > bound);
        } else {
            self.undecided += 1;
        }
        let truth = |candidate: usize| world.centres()[candidate] - world.centres()[leader];
        let behind = || look.rivals.iter().filter(|rival| rival.behind && !rival.tied);
        self.behind += u32::from(behind().count() > 0);
        self.falsely_behind += u32::from(behind().any(|rival| truth(rival.candidate) <= 0.0));
        let tied = look.rivals.iter().filter(|rival| rival.tied);
        self.falsely_tied += u32::from(tied.map(|rival| truth(rival.candidate)).any(|far| far.abs() > bound));
        for (place, rival) in look.rivals.iter().enumerate() {
            let shown = rival.evidence.estimate_after_stopping_rule();
            let (Some(low), Some(high)) = (shown.low, shown.high) else { continue };
            // What agrees to the last digit is off by the rounding of logs.
            let rounding = 1e-12;
            let truth = truth(rival.candidate);
            let covers = u32::from(low - rounding <= truth && truth <= high + rounding);
            self.intervals += 1;
            self.cover += covers;
            if place == 0 {
                self.closest += 1;
                self.closest_cover += covers;
            }
        }
    }
}
