//! When to stop: after each block, is there a candidate that nobody beats by more than δ?
//!
//! A pure state machine over log scores, smaller is better: fed the same blocks it answers the same, so that a run that is
//! resumed decides as the uninterrupted one would have. Every answer is read off one kind of interval, that of
//! [differences within blocks](super::Evidence). [`LEVEL`] is one constant for every look; what it amounts to over all
//! looks, candidates and kinds of noise is measured by examples/operating_characteristics (docs/methodology.md).

use libm::log1p;

use super::evidence::{Evidence, FEWEST};
use super::sample::{interquartile_mean, median};

/// One-sided error of one interval at one look. Constant, as Pocock (1977) has it, and so small that looking after every
/// block keeps wrong recommendations at 5 %.
pub const LEVEL: f64 = 0.004;

/// From so many candidates on, those hopelessly behind leave after block 2: by δ and so many standard errors.
const SCREENED: (usize, f64) = (5, 6.0);

/// What the user has fixed in advance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    /// δ, as a fraction: smaller relative differences do not matter.
    pub tie: f64,
    /// Nothing is concluded before this many blocks (nor before [`FEWEST`]).
    pub minimum: u32,
    /// The trials of so many blocks of all candidates are the most; what those that left have saved goes to the others.
    pub maximum: u32,
    /// Go on until each candidate is behind the leader or tied with it.
    pub ranked: bool,
}

/// Whether to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ruling {
    /// Run another block of the candidates that are still in.
    Continue,
    /// Nobody is better than the leader by more than δ; everything asked for is known.
    Recommended,
    /// The trials are used up, or only one candidate is left and nothing was compared.
    Undecided,
}

/// What is known of one candidate beside the leader.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rival {
    /// Which candidate.
    pub candidate: usize,
    /// Its log score less the leader's.
    pub evidence: Evidence,
    /// Shown not to be better than the leader by more than δ.
    pub not_better: bool,
    /// Shown to be worse than the leader.
    pub behind: bool,
    /// Shown to be within δ of the leader.
    pub tied: bool,
}

impl Rival {
    /// Whether nothing is left to be learnt of it.
    pub fn is_placed(&self) -> bool {
        self.not_better && (self.behind || self.tied)
    }
}

/// What one block led to.
#[derive(Debug, Clone, PartialEq)]
pub struct Look {
    /// After this many blocks.
    pub block: u32,
    /// The best of those still in; `None` when there was nothing to compare.
    pub leader: Option<usize>,
    /// Every other candidate that took part in this block, the closest first.
    pub rivals: Vec<Rival>,
    /// Those of them that take part in no further block.
    pub leaving: Vec<usize>,
    /// Whether to go on.
    pub outcome: Ruling,
}

/// The blocks so far, and who is still in.
#[derive(Debug, Clone)]
pub struct Race {
    rule: Rule,
    /// One row per block, one score per candidate; rows end where a candidate left.
    rows: Vec<Vec<Option<f64>>>,
    racing: Vec<bool>,
    trials: usize,
    /// Whether anybody was ever told from the leader: who is left alone by failures is no winner.
    compared: bool,
}

impl Race {
    /// A run of so many candidates is about to begin.
    pub fn new(rule: Rule, candidates: usize) -> Race {
        Race { rule, rows: Vec::new(), racing: vec![true; candidates], trials: 0, compared: false }
    }

    /// Candidates that are still in.
    pub fn racing(&self) -> Vec<usize> {
        (0..self.racing.len()).filter(|candidate| self.racing[*candidate]).collect()
    }

    /// Takes in a block: one log score per candidate. Who is still in and has no finite score withdraws: nothing is
    /// concluded about it any more.
    pub fn block(&mut self, scores: &[Option<f64>]) -> Look {
        self.round(&[scores.to_vec()])
    }

    /// Takes in blocks that were done at the same time, at several sites, and looks once.
    pub fn round(&mut self, blocks: &[Vec<Option<f64>>]) -> Look {
        for scores in blocks {
            let finite =
                |candidate: usize| scores.get(candidate).copied().flatten().filter(|s| s.is_finite());
            self.trials += self.racing().len();
            for candidate in self.racing() {
                self.racing[candidate] = finite(candidate).is_some();
            }
            self.rows.push((0..self.racing.len()).map(finite).collect());
        }
        self.look()
    }

    fn look(&mut self) -> Look {
        let block = self.rows.len() as u32;
        let racing = self.racing();
        let leader = if block >= 2 { self.leader(&racing) } else { None };
        let rivals = leader.map_or(Vec::new(), |leader| self.rivals(&racing, leader));
        let late = block >= self.rule.minimum.max(FEWEST);
        let leaving: Vec<usize> = if late {
            rivals.iter().filter(|rival| rival.behind).map(|rival| rival.candidate).collect()
        } else {
            self.screened(&rivals)
        };
        for candidate in &leaving {
            self.racing[*candidate] = false;
        }
        self.compared |= !leaving.is_empty();
        let outcome = self.outcome(&rivals, late);
        Look { block, leader, rivals, leaving, outcome }
    }

    /// Those hopelessly behind after two blocks. The closest stays all the same: nobody leads alone.
    fn screened(&self, rivals: &[Rival]) -> Vec<usize> {
        let (many, far) = SCREENED;
        if self.rule.minimum > FEWEST || self.racing.len() < many {
            return Vec::new();
        }
        let hopeless = |rival: &&Rival| {
            let evidence = rival.evidence;
            evidence.difference > self.bound() + far * evidence.error
        };
        rivals.iter().skip(1).filter(hopeless).map(|rival| rival.candidate).collect()
    }

    fn outcome(&self, rivals: &[Rival], late: bool) -> Ruling {
        let known = |rival: &Rival| rival.not_better && (!self.rule.ranked || rival.is_placed());
        let left = self.racing().len();
        let alone = rivals.is_empty() && !self.compared;
        if late && !alone && left > 0 && rivals.iter().all(known) {
            Ruling::Recommended
        } else if (late && left < 2) || self.trials + left > self.rule.maximum as usize * self.racing.len() {
            Ruling::Undecided
        } else {
            Ruling::Continue
        }
    }

    fn bound(&self) -> f64 {
        log1p(self.rule.tie)
    }

    /// Leaving is for good and there are many who might wrongly leave: its share of error is divided among them.
    fn leaving_level(&self) -> f64 {
        2.0 * LEVEL / self.racing.len().max(2) as f64
    }

    /// How many blocks in all it would take to know what is not known of this rival, should difference and noise stay as they
    /// are: that it is not better than the leader by more than δ, or if that is known its place. `None` if no number would.
    pub fn settled_after(&self, rival: &Rival) -> Option<usize> {
        let (bound, evidence) = (self.bound(), &rival.evidence);
        let not_better = evidence.blocks_to_exceed(-bound, LEVEL);
        if !rival.not_better {
            return not_better;
        }
        let reversed = Evidence { difference: -evidence.difference, ..*evidence };
        let tied = reversed.blocks_to_exceed(-bound, LEVEL);
        let behind = evidence.blocks_to_exceed(0.0, self.leaving_level());
        [tied, behind].into_iter().flatten().min()
    }

    /// The candidate whose deviations from the blocks' medians have the least interquartile mean: neither drift nor outliers
    /// choose it.
    fn leader(&self, racing: &[usize]) -> Option<usize> {
        let scores = |row: &Vec<Option<f64>>| -> Vec<f64> {
            racing.iter().map(|candidate| row[*candidate].unwrap_or(f64::NAN)).collect()
        };
        let centres: Vec<f64> = self.rows.iter().filter_map(|row| median(&scores(row))).collect();
        let place = |candidate: usize| {
            let away =
                self.rows.iter().zip(&centres).filter_map(|(row, centre)| Some(row[candidate]? - centre));
            interquartile_mean(&away.collect::<Vec<_>>()).unwrap_or(f64::INFINITY)
        };
        racing.iter().copied().min_by(|one, other| place(*one).total_cmp(&place(*other)))
    }

    fn rivals(&self, racing: &[usize], leader: usize) -> Vec<Rival> {
        let others: Vec<usize> = racing.iter().copied().filter(|other| *other != leader).collect();
        let differences: Vec<Vec<f64>> = others
            .iter()
            .map(|other| self.rows.iter().filter_map(|row| Some(row[*other]? - row[leader]?)).collect())
            .collect();
        let (bound, leaving) = (self.bound(), self.leaving_level());
        let mut rivals: Vec<Rival> = others
            .into_iter()
            .zip(Evidence::among(&differences))
            .map(|(candidate, evidence)| {
                let not_better = evidence.p_above(-bound) <= LEVEL;
                let tied = not_better && evidence.p_below(bound) <= LEVEL;
                Rival { candidate, evidence, not_better, behind: evidence.p_above(0.0) <= leaving, tied }
            })
            .collect();
        rivals.sort_by(|one, other| one.evidence.difference.total_cmp(&other.evidence.difference));
        rivals
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, proptest};

    use super::{Look, Race, Rule, Ruling};

    const RULE: Rule = Rule { tie: 0.03, minimum: 3, maximum: 10, ranked: false };

    /// Scores in per cent; a negative number is a missing one.
    fn row(percent: &[f64]) -> Vec<Option<f64>> {
        percent.iter().map(|value| (*value >= 0.0).then_some(value / 100.0)).collect()
    }

    fn after(rule: Rule, blocks: &[Vec<f64>]) -> (Race, Look) {
        let mut race = Race::new(rule, blocks[0].len());
        let mut looks: Vec<Look> = blocks.iter().map(|block| race.block(&row(block))).collect();
        (race, looks.pop().unwrap())
    }

    #[test]
    fn verdicts() {
        let ranked = Rule { ranked: true, ..RULE };
        let blocks = |rows: &[&[f64]]| rows.iter().map(|row| row.to_vec()).collect::<Vec<_>>();
        let same = |row: &[f64], times: usize| vec![row.to_vec(); times];
        let clear = blocks(&[&[1.0, 50.0], &[2.0, 50.5], &[1.5, 51.0]]);
        let close = blocks(&[&[1.0, 9.0], &[2.0, 1.5], &[1.0, 9.5]]);
        let withdrawn = blocks(&[&[1.0, 50.0], &[1.1, 50.0], &[1.0, -1.0]]);
        let [recommended, undecided, go_on] = [Ruling::Recommended, Ruling::Undecided, Ruling::Continue];
        for (name, rule, blocks, outcome, racing) in [
            ("clear", RULE, clear.clone(), recommended, vec![0]),
            ("too early", RULE, clear[..2].to_vec(), go_on, vec![0, 1]),
            ("the same to the last digit", ranked, same(&[1.0, 1.0], 3), recommended, vec![0, 1]),
            ("apart, without any noise", ranked, same(&[1.0, 1.5, 9.0], 3), recommended, vec![0]),
            ("close", RULE, close, go_on, vec![0, 1]),
            ("withdrawn", RULE, withdrawn, undecided, vec![0]),
            ("nobody", RULE, same(&[-1.0, -1.0], 3), undecided, vec![]),
            ("screened", RULE, same(&[0.0, 100.0, 100.5, 0.2, 0.1], 2), go_on, vec![0, 3, 4]),
            ("nobody leads alone", RULE, same(&[0.0, 100.0, 100.5, 90.0, 90.1], 2), go_on, vec![0, 3]),
        ] {
            let (race, look) = after(rule, &blocks);
            assert_eq!((look.outcome, race.racing()), (outcome, racing), "{name}: {look:?}");
        }
    }

    #[test]
    fn trials_that_were_saved_are_used() {
        // Two leave after block 2: three times ten trials last the other two for more than ten blocks.
        let mut race = Race::new(Rule { maximum: 4, ..RULE }, 6);
        let block = |at: u32| row(&[f64::from(at % 2) * 8.0, 4.0, 300.0, 301.0, 302.0, 303.0]);
        let ended = (1..50).find(|at| race.block(&block(*at)).outcome == Ruling::Undecided);
        assert_eq!(ended, Some(8));
    }

    #[test]
    fn what_would_settle_it_is_known() {
        let blocks = [[1.0, 6.0], [3.0, 1.5], [1.0, 4.0], [2.0, 3.0]].map(|row| row.to_vec());
        let (race, look) = after(RULE, &blocks);
        let blocks = race.settled_after(&look.rivals[0]).unwrap();
        assert!((5..60).contains(&blocks), "{blocks}");
    }

    proptest! {
        #[test]
        fn a_replay_decides_alike_and_who_left_stays_out(seed in any::<u64>(), blocks in 3u64..12) {
            let score = |block: u64, candidate: u64| {
                let mixed = (seed ^ (block << 20) ^ candidate).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
                Some(0.2 * candidate as f64 + mixed as f64 / (1 << 24) as f64)
            };
            let mut race = Race::new(RULE, 4);
            let mut again = Race::new(RULE, 4);
            for block in 0..blocks {
                let scores: Vec<_> = (0..4).map(|candidate| score(block, candidate)).collect();
                let before = race.racing();
                let look = race.block(&scores);
                assert_eq!(again.block(&scores), look);
                assert!(race.racing().iter().all(|candidate| before.contains(candidate)));
                assert!(look.leaving.iter().all(|candidate| !race.racing().contains(candidate)));
            }
        }
    }
}
