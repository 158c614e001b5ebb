//! The stopping rule: after each round of blocks, decides whether a candidate can be recommended, because no other is
//! better by more than δ, and which candidates the next block tests.
//!
//! A pure state machine over log scores, where smaller is better: the same blocks give the same answers, whether or not
//! the run was resumed. Every answer comes from [differences within blocks](super::Evidence).
//! examples/operating_characteristics measures the error rates that [`error_of_look`](super::looks::error_of_look) gives over all looks, candidates and
//! kinds of noise (docs/results/error-rates.md).

mod rivals;

use libm::log1p;

use super::estimate::Estimate;
use super::evidence::{Evidence, FEWEST};
use super::looks::is_look;
use super::sample::{interquartile_mean, median};

/// A candidate rests, while others are still open, if the probability that it is better by more than δ is at most this.
const RESTING: f64 = 0.02;

/// With at least this many candidates, some may rest after block 2.
const MANY: usize = 5;

/// The parameters of the stopping rule, which the user fixes in advance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    /// δ, as a fraction: smaller relative differences do not matter.
    pub tie: f64,
    /// Nothing is concluded before this many blocks (nor before [`FEWEST`]).
    pub minimum: u32,
    /// The run uses at most as many trials as this many blocks of all candidates that its first block tried. The trials
    /// that resting candidates save go to the others, which then get more blocks than this.
    pub maximum: u32,
    /// Continue until each candidate is behind the leader or tied with it.
    pub ranked: bool,
    /// Candidates may rest before [`FEWEST`] blocks.
    pub early: bool,
}

impl Rule {
    /// Whether everything that the user asks for is known about a rival.
    fn is_known(&self, rival: &Rival) -> bool {
        rival.not_better && (!self.ranked || rival.is_placed())
    }
}

/// Whether the run continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ruling {
    /// Run another block of the candidates that are [racing](Race::racing).
    Continue,
    /// No candidate is better than the leader by more than δ; everything that the user asks for is known.
    Recommended,
    /// The trials are used up, or only one candidate is left and there is nothing to compare.
    Undecided,
}

/// The comparison of one candidate with the leader.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rival {
    /// The candidate's index.
    pub candidate: usize,
    /// The candidate's log score minus the leader's.
    pub evidence: Evidence,
    /// The ratio to the leader. Its interval is never at odds with the conclusions.
    pub ratio: Estimate,
    /// The number of blocks from which the sample can support the next conclusion about this candidate.
    pub min_sample_size: usize,
    /// The candidate is shown not to be better than the leader by more than δ.
    pub not_better: bool,
    /// The candidate is shown to be worse than the leader.
    pub behind: bool,
    /// The candidate is shown to be within δ of the leader.
    pub tied: bool,
}

impl Rival {
    /// Whether the candidate's place is known: it is not better than the leader, and is behind it or tied with it.
    pub fn is_placed(&self) -> bool {
        self.not_better && (self.behind || self.tied)
    }
}

/// The state of the comparison after a number of blocks.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockOutcome {
    /// The number of blocks so far.
    pub block: u32,
    /// The best candidate of the last block; `None` when there was nothing to compare.
    pub leader: Option<usize>,
    /// Every other candidate that was compared with the leader, including resting ones, the closest first.
    pub rivals: Vec<Rival>,
    /// Whether the run continues.
    pub outcome: Ruling,
}

/// The blocks so far, and the candidates that the next block tests.
#[derive(Debug, Clone)]
pub struct Race {
    rule: Rule,
    /// One row per block, one score per candidate that took part.
    rows: Vec<Vec<Option<f64>>>,
    /// The site of each block.
    sites: Vec<usize>,
    racing: Vec<bool>,
    /// Candidates that were tested without a result: the rule concludes nothing about them any more.
    withdrawn: Vec<bool>,
    trials: usize,
    /// How many candidates the first block tried.
    entrants: usize,
    /// The decision after the last round.
    ruling: Ruling,
    /// If all candidates have withdrawn: the state before that.
    before: Option<Box<BlockOutcome>>,
}

impl Race {
    /// Starts a run of this many candidates.
    pub fn new(rule: Rule, candidates: usize) -> Race {
        let (racing, withdrawn) = (vec![true; candidates], vec![false; candidates]);
        Race {
            rule,
            rows: Vec::new(),
            sites: Vec::new(),
            racing,
            withdrawn,
            trials: 0,
            entrants: 0,
            ruling: Ruling::Continue,
            before: None,
        }
    }

    /// The candidates that the next block tests.
    pub fn racing(&self) -> Vec<usize> {
        (0..self.racing.len()).filter(|candidate| self.racing[*candidate]).collect()
    }

    /// Adds a block: the log scores of the candidates that took part. A candidate withdraws if its score is not finite,
    /// or if it has no score in the first block.
    pub fn add_block(&mut self, scores: &[Option<f64>]) -> BlockOutcome {
        self.add_round(&[(0, scores.to_vec())]);
        self.current_outcome()
    }

    /// Adds blocks that ran at the same time, each with the number of its site, and looks at the data once. The rule
    /// compares candidates only after certain numbers of blocks (`is_look`), which are few in a long run.
    pub fn add_round(&mut self, blocks: &[(usize, Vec<Option<f64>>)]) -> Ruling {
        let before = self.rows.len() as u32;
        let deserted = self.append_blocks(blocks);
        self.ruling = match deserted && self.count_remaining() > 1 && !self.is_spent() {
            true => Ruling::Continue,
            false => self.compare_candidates(before),
        };
        self.ruling
    }

    /// As [`add_round`](Self::add_round), but for replays in which a further round is known: once the trials exceed those of
    /// all planned blocks but one, it only adds the blocks and does not compare candidates.
    pub fn add_decided_round(&mut self, blocks: &[(usize, Vec<Option<f64>>)]) {
        let planned = self.rule.maximum.saturating_sub(1) as usize * self.entrants;
        if self.trials > planned {
            self.append_blocks(blocks);
            self.ruling = Ruling::Undecided;
        } else {
            self.add_round(blocks);
        }
    }

    /// Adds blocks; returns whether so many candidates withdrew that the resting ones are tested again.
    fn append_blocks(&mut self, blocks: &[(usize, Vec<Option<f64>>)]) -> bool {
        let stays = |candidate: usize| {
            !self.withdrawn[candidate]
                && blocks.iter().enumerate().all(|(at, (_, scores))| {
                    let score = scores.get(candidate).copied().flatten();
                    score.map_or(!self.rows.is_empty() || at > 0, f64::is_finite)
                })
        };
        if self.count_remaining() > 0 && !(0..self.withdrawn.len()).any(stays) {
            self.before = Some(Box::new(self.current_outcome()));
        }
        for (site, scores) in blocks {
            let score = |candidate: usize| scores.get(candidate).copied().flatten();
            if self.rows.is_empty() {
                self.entrants = scores.iter().flatten().count();
            }
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
            // A candidate rests in favour of others that have now failed, so it must be tested again: no candidate wins
            // by such failures.
            self.racing = self.withdrawn.iter().map(|withdrawn| !withdrawn).collect();
        }
        deserted
    }

    /// The state of the comparison after the blocks so far.
    pub fn current_outcome(&self) -> BlockOutcome {
        let leader = self.leader();
        let rivals = leader.map_or(Vec::new(), |leader| self.rivals(leader));
        BlockOutcome { block: self.rows.len() as u32, leader, outcome: self.ruling, rivals }
    }

    /// As [`current_outcome`](Self::current_outcome), but every other candidate is compared with this one and not with the
    /// leader.
    pub fn outcome_against(&self, candidate: usize) -> BlockOutcome {
        let rivals = self.rivals(candidate);
        BlockOutcome { leader: Some(candidate), rivals, ..self.current_outcome() }
    }

    /// As [`current_outcome`](Self::current_outcome), or if all candidates have withdrawn, the state before that; `None` if nothing was ever
    /// compared.
    pub fn last_outcome(&self) -> Option<BlockOutcome> {
        let last = self.before.as_deref().cloned().unwrap_or_else(|| self.current_outcome());
        last.leader.is_some().then_some(last)
    }

    /// The decision after the last round.
    pub fn ruling(&self) -> Ruling {
        self.ruling
    }

    fn compare_candidates(&mut self, before: u32) -> Ruling {
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
                self.choose_racing(leader, &rivals);
            }
        }
        if (late && self.count_remaining() < 2) || self.is_spent() {
            Ruling::Undecided
        } else {
            Ruling::Continue
        }
    }

    /// Chooses the candidates of the next block: the leader and those that may well be better than it; if there are
    /// none, all candidates that are not fully known. The closest rival always stays, so that the leader has a
    /// comparison.
    fn choose_racing(&mut self, leader: usize, rivals: &[Rival]) {
        let open = || rivals.iter().filter(|rival| !self.rule.is_known(rival));
        let may_be_better = |rival: &&Rival| rival.evidence.p_above(-self.log_tie()) > RESTING;
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

    /// Whether too few trials are left for another block.
    fn is_spent(&self) -> bool {
        self.racing().len() > self.trials_left()
    }

    /// The number of trials that are left, of those that all blocks may take together. Before the first block it is not
    /// known how many can be tried, so all candidates count.
    pub fn trials_left(&self) -> usize {
        let entrants = if self.rows.is_empty() { self.racing.len() } else { self.entrants };
        (self.rule.maximum as usize * entrants).saturating_sub(self.trials)
    }

    /// How many candidates have not withdrawn.
    fn count_remaining(&self) -> usize {
        self.withdrawn.iter().filter(|withdrawn| !**withdrawn).count()
    }

    fn log_tie(&self) -> f64 {
        log1p(self.rule.tie)
    }

    /// The candidates that took part in the last block.
    fn taking_part(&self) -> Vec<usize> {
        let took_part = |candidate: &usize| self.rows.last().is_some_and(|row| row[*candidate].is_some());
        (0..self.racing.len()).filter(took_part).collect()
    }

    /// The leader: of the candidates in the last block that have not withdrawn, or if all those have, of all that have
    /// not, the one with the smallest interquartile mean of deviations from the blocks' medians. `None` before there
    /// are two blocks.
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
}
