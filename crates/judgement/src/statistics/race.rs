//! When to stop: after a block, is there a candidate that nobody beats by more than δ? And whom does the next block try?
//!
//! A pure state machine over log scores, smaller is better: fed the same blocks it answers the same, resumed or not. Every answer
//! is read off [differences within blocks](super::Evidence). What [`level`] amounts to over all looks, candidates and kinds of
//! noise is measured by examples/operating_characteristics (docs/results/error-rates.md).

use libm::log1p;

use super::evidence::{Evidence, FEWEST};
use super::looks::{MOST, is_look, level};
use super::sample::{interquartile_mean, median};

/// Who is better by more than δ with no more than this probability rests while there are others to ask about.
const RESTING: f64 = 0.02;

/// A lone pair of which the variance has fewer degrees of freedom takes this share of the level for a place: of noise with two
/// modes three values lie close together by chance in one run of four.
const FEW_DEGREES: f64 = 4.0;
const PLACING_EARLY: f64 = 0.05;

/// Of two that are the same either may seem to lead.
const SIDES: f64 = 2.0;

/// From so many candidates on some may rest after block 2 already.
const MANY: usize = 5;

/// What the user has fixed in advance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    /// δ, as a fraction: smaller relative differences do not matter.
    pub tie: f64,
    /// Nothing is concluded before this many blocks (nor before [`FEWEST`]).
    pub minimum: u32,
    /// The trials of so many blocks of all are the most; what those that rest have saved goes to the others.
    pub maximum: u32,
    /// Go on until each candidate is behind the leader or tied with it.
    pub ranked: bool,
    /// Somebody may rest before [`FEWEST`] blocks.
    pub early: bool,
}

impl Rule {
    /// Whether all that is asked for is known of a rival.
    fn is_known(&self, rival: &Rival) -> bool {
        rival.not_better && (!self.ranked || rival.is_placed())
    }
}

/// Whether to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ruling {
    /// Run another block of the candidates that are [racing](Race::racing).
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
    /// From so many blocks on what is open next may be said of it.
    pub backed_from: usize,
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
pub struct BlockOutcome {
    /// After this many blocks.
    pub block: u32,
    /// The best of those tried in it; `None` when there was nothing to compare.
    pub leader: Option<usize>,
    /// Every other candidate that was compared with it, resting ones too, the closest first.
    pub rivals: Vec<Rival>,
    /// Whether to go on.
    pub outcome: Ruling,
}

/// The blocks so far, and who is tried in the next.
#[derive(Debug, Clone)]
pub struct Race {
    rule: Rule,
    /// One row per block, one score per candidate that took part.
    rows: Vec<Vec<Option<f64>>>,
    /// Where each was done.
    sites: Vec<usize>,
    racing: Vec<bool>,
    /// Those that were tried without a result: nothing is concluded about them any more.
    withdrawn: Vec<bool>,
    trials: usize,
    /// What the last round led to.
    ruling: Ruling,
    /// Where all have withdrawn: what was known before.
    before: Option<Box<BlockOutcome>>,
}

impl Race {
    /// A run of so many candidates is about to begin.
    pub fn new(rule: Rule, candidates: usize) -> Race {
        let (racing, withdrawn) = (vec![true; candidates], vec![false; candidates]);
        Race {
            rule,
            rows: Vec::new(),
            sites: Vec::new(),
            racing,
            withdrawn,
            trials: 0,
            ruling: Ruling::Continue,
            before: None,
        }
    }

    /// Those whom the next block is to try.
    pub fn racing(&self) -> Vec<usize> {
        (0..self.racing.len()).filter(|candidate| self.racing[*candidate]).collect()
    }

    /// Takes in a block: the log scores of those that took part. Who has none that is finite, or none in the first, withdraws.
    pub fn block(&mut self, scores: &[Option<f64>]) -> BlockOutcome {
        self.round(&[(0, scores.to_vec())]);
        self.now()
    }

    /// Takes in blocks that were done at the same time, each at the site of this number, and looks once. Candidates are compared
    /// only where the rule looks: of a long run that is after few of its blocks.
    pub fn round(&mut self, blocks: &[(usize, Vec<Option<f64>>)]) -> Ruling {
        let before = self.rows.len() as u32;
        let deserted = self.take(blocks);
        self.ruling = match deserted && self.left() > 1 && !self.is_spent() {
            true => Ruling::Continue,
            false => self.look(before),
        };
        self.ruling
    }

    /// The same where a further round is known: of blocks beyond what was planned only the last are looked at.
    pub fn pass(&mut self, blocks: &[(usize, Vec<Option<f64>>)]) {
        let planned = self.rule.maximum.saturating_sub(1) as usize * self.racing.len();
        if self.trials > planned {
            self.take(blocks);
            self.ruling = Ruling::Undecided;
        } else {
            self.round(blocks);
        }
    }

    /// Whether so many withdrew that those who rested are tried again.
    fn take(&mut self, blocks: &[(usize, Vec<Option<f64>>)]) -> bool {
        let stays = |candidate: usize| {
            !self.withdrawn[candidate]
                && blocks.iter().enumerate().all(|(at, (_, scores))| {
                    let score = scores.get(candidate).copied().flatten();
                    score.map_or(!self.rows.is_empty() || at > 0, f64::is_finite)
                })
        };
        if self.left() > 0 && !(0..self.withdrawn.len()).any(stays) {
            self.before = Some(Box::new(self.now()));
        }
        for (site, scores) in blocks {
            let score = |candidate: usize| scores.get(candidate).copied().flatten();
            for candidate in 0..self.racing.len() {
                let lacks = score(candidate).map_or(self.rows.is_empty(), |score| !score.is_finite());
                self.trials += usize::from(score(candidate).is_some());
                self.withdrawn[candidate] |= lacks;
                self.racing[candidate] &= !lacks;
            }
            let finite = |candidate: usize| score(candidate).filter(|score| score.is_finite());
            self.rows.push((0..self.racing.len()).map(finite).collect());
            self.sites.push(*site);
        }
        let deserted = self.racing().len() < 2;
        if deserted {
            // Those that rest do so for others who have now failed: nobody wins by that.
            self.racing = self.withdrawn.iter().map(|withdrawn| !withdrawn).collect();
        }
        deserted
    }

    /// How things stand after the blocks so far.
    pub fn now(&self) -> BlockOutcome {
        let leader = self.leader();
        let rivals = leader.map_or(Vec::new(), |leader| self.rivals(leader));
        BlockOutcome { block: self.rows.len() as u32, leader, outcome: self.ruling, rivals }
    }

    /// The same, or where all have withdrawn how they stood before; `None` where nothing was ever compared.
    pub fn last(&self) -> Option<BlockOutcome> {
        let last = self.before.as_deref().cloned().unwrap_or_else(|| self.now());
        last.leader.is_some().then_some(last)
    }

    /// What the last round led to.
    pub fn ruling(&self) -> Ruling {
        self.ruling
    }

    fn look(&mut self, before: u32) -> Ruling {
        let block = self.rows.len() as u32;
        let late = block >= self.rule.minimum.max(FEWEST);
        let early =
            self.rule.early && block >= 2 && self.rule.minimum <= FEWEST && self.taking_part().len() >= MANY;
        let looks = (late || early) && ((before + 1..=block).any(is_look) || self.is_spent());
        if let Some(leader) = looks.then(|| self.leader()).flatten() {
            let rivals = self.rivals(leader);
            if late && !rivals.is_empty() && rivals.iter().all(|rival| self.rule.is_known(rival)) {
                return Ruling::Recommended;
            }
            if !rivals.is_empty() {
                self.choose(leader, &rivals);
            }
        }
        if (late && self.left() < 2) || self.is_spent() { Ruling::Undecided } else { Ruling::Continue }
    }

    /// Whom to try next: the leader and those who may well be better; if there are none, all of whom something is open. The
    /// closest stays all the same: nobody leads alone.
    fn choose(&mut self, leader: usize, rivals: &[Rival]) {
        let open = || rivals.iter().filter(|rival| !self.rule.is_known(rival));
        let may_be_better = |rival: &&Rival| rival.evidence.p_above(-self.bound()) > RESTING;
        let mut next: Vec<usize> = open().filter(may_be_better).map(|rival| rival.candidate).collect();
        if next.is_empty() {
            next = open().map(|rival| rival.candidate).collect();
        }
        if next.is_empty() {
            next.extend(rivals.first().map(|rival| rival.candidate));
        }
        next.push(leader);
        self.racing = (0..self.racing.len()).map(|candidate| next.contains(&candidate)).collect();
    }

    /// Whether there are too few trials left for another block.
    fn is_spent(&self) -> bool {
        self.trials + self.racing().len() > self.rule.maximum as usize * self.racing.len()
    }

    /// How many have not withdrawn.
    fn left(&self) -> usize {
        self.withdrawn.iter().filter(|withdrawn| !**withdrawn).count()
    }

    /// The level for placing a rival by so many blocks of its own and a variance of so many degrees of freedom: who rested early
    /// is not placed by what later blocks allow, nor as one of the few that they try.
    fn placing(&self, blocks: usize, degrees: f64) -> f64 {
        let share = if self.left() == 2 && degrees < FEW_DEGREES { PLACING_EARLY } else { 1.0 };
        share * level(u32::try_from(blocks).unwrap_or(MOST), self.left())
    }

    fn bound(&self) -> f64 {
        log1p(self.rule.tie)
    }

    /// Those that took part in the last block.
    fn taking_part(&self) -> Vec<usize> {
        let took_part = |candidate: &usize| self.rows.last().is_some_and(|row| row[*candidate].is_some());
        (0..self.racing.len()).filter(took_part).collect()
    }

    /// How many blocks in all a pair would need, should all stay as it is, for what is not known of this rival: which of the two
    /// is not better than the other by more than δ, or if that is known its place. `None` if no number would.
    pub fn settled_after(&self, rival: &Rival) -> Option<usize> {
        let (bound, evidence, candidates) = (self.bound(), &rival.evidence, self.taking_part().len());
        let rested = self.rows.len().saturating_sub(evidence.count);
        let level = |sides: f64| {
            move |blocks: usize| match rival.not_better {
                true => self.placing(blocks, evidence.degrees + (blocks - evidence.count) as f64) / sides,
                false => level(u32::try_from(blocks + rested).unwrap_or(MOST), candidates),
            }
        };
        let reversed = Evidence { difference: -evidence.difference, ..*evidence };
        let leader_not_better = reversed.blocks_to_exceed(-bound, level(1.0));
        let (other, sides) = if rival.not_better { (0.0, SIDES) } else { (-bound, 1.0) };
        let placed = evidence.blocks_to_exceed(other, level(sides));
        [leader_not_better, placed].into_iter().flatten().min().map(|blocks| blocks.max(rival.backed_from))
    }

    /// Of those in the last block, or if all have failed of those that are left, the one whose deviations from the blocks' medians have the least interquartile mean.
    /// `None` before there are two blocks.
    fn leader(&self) -> Option<usize> {
        if self.rows.len() < 2 {
            return None;
        }
        let left = |candidate: &usize| !self.withdrawn[*candidate];
        let mut here = self.taking_part();
        if !here.iter().any(left) {
            here = (0..self.racing.len()).filter(left).collect();
        }
        let centre = |row: &Vec<Option<f64>>| {
            median(&here.iter().filter_map(|candidate| row[*candidate]).collect::<Vec<_>>())
        };
        let centres: Vec<Option<f64>> = self.rows.iter().map(centre).collect();
        let place = |candidate: usize| {
            let away =
                self.rows.iter().zip(&centres).filter_map(|(row, centre)| Some(row[candidate]? - (*centre)?));
            interquartile_mean(&away.collect::<Vec<_>>()).unwrap_or(f64::INFINITY)
        };
        here.iter().copied().filter(left).min_by(|one, other| place(*one).total_cmp(&place(*other)))
    }

    fn rivals(&self, leader: usize) -> Vec<Rival> {
        let pair = |other: usize| -> (Vec<f64>, Vec<usize>) {
            let rows = self.rows.iter().zip(&self.sites);
            rows.filter_map(|(row, site)| Some((row[other]? - row[leader]?, *site))).unzip()
        };
        let others = (0..self.racing.len()).filter(|other| *other != leader && !self.withdrawn[*other]);
        let pairs = others.map(|other| (other, pair(other))).filter(|(_, (sample, _))| !sample.is_empty());
        let (others, (samples, sites)): (Vec<usize>, (Vec<_>, Vec<_>)) = pairs.unzip();
        let pairs = samples.len();
        let (bound, level) = (self.bound(), level(self.rows.len() as u32, self.taking_part().len()));
        let mut rivals: Vec<Rival> = others
            .into_iter()
            .zip(samples.iter().zip(Evidence::at_sites(&samples, &sites)))
            .map(|(candidate, (sample, evidence))| {
                let backed = |bound: f64| evidence.backed_from(sample, bound, pairs);
                let [above_tie, above_leader] = [backed(-bound), backed(0.0)];
                let not_better = evidence.p_above(-bound) <= level && sample.len() >= above_tie;
                let placing = self.placing(sample.len(), evidence.degrees);
                let turned: Vec<f64> = sample.iter().map(|difference| -difference).collect();
                let below_tie = || evidence.backed_from(&turned, -bound, pairs);
                let tied = not_better && evidence.p_below(bound) <= placing && sample.len() >= below_tie();
                let behind = evidence.p_above(0.0) <= placing / SIDES && sample.len() >= above_leader;
                let backed_from = if not_better { above_leader } else { above_tie };
                Rival { candidate, evidence, backed_from, not_better, behind, tied }
            })
            .collect();
        rivals.sort_by(|one, other| one.evidence.difference.total_cmp(&other.evidence.difference));
        rivals
    }
}
