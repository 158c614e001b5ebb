//! Compares every other candidate with the leader, and estimates how many blocks would settle what is open.

use libm::exp;

use super::super::evidence::Evidence;
use super::super::looks::{MOST, error_of_look};
use super::{Race, Rival};

/// A lone pair with fewer degrees of freedom in its variance than this is placed at `PLACING_EARLY` times the level:
/// with bimodal noise, three values lie close together by chance in one run of four.
const FEW_DEGREES: f64 = 4.0;
const PLACING_EARLY: f64 = 0.05;

/// Either of two equal candidates may seem to lead, so placing one behind the other is a two-sided test.
const SIDES: f64 = 2.0;

impl Race {
    /// The level for placing a rival after this many blocks of its own, with a variance of this many degrees of
    /// freedom. A candidate that rested early is not placed at the level that later blocks allow, nor as one of the few
    /// candidates that later blocks test.
    fn placing_level(&self, blocks: usize, degrees: f64) -> f64 {
        let share = if self.count_remaining() == 2 && degrees < FEW_DEGREES { PLACING_EARLY } else { 1.0 };
        share * error_of_look(u32::try_from(blocks).unwrap_or(MOST), self.count_remaining())
    }

    /// How many blocks in all the pair would need, if difference and noise stay as they are, to settle the open
    /// question about this rival: which of the two is not better than the other by more than δ, or if that is known,
    /// the rival's place. `None` if no number of blocks is enough.
    pub fn settled_after(&self, rival: &Rival) -> Option<usize> {
        let (bound, evidence, candidates) = (self.log_tie(), &rival.evidence, self.taking_part().len());
        let rested = self.rows.len().saturating_sub(evidence.count);
        let level = |sides: f64| {
            move |blocks: usize| match rival.not_better {
                true => {
                    self.placing_level(blocks, evidence.degrees + (blocks - evidence.count) as f64) / sides
                }
                false => error_of_look(u32::try_from(blocks + rested).unwrap_or(MOST), candidates),
            }
        };
        let reversed = Evidence { difference: -evidence.difference, ..*evidence };
        let leader_not_better = reversed.blocks_to_exceed(-bound, level(1.0));
        let (other, sides) = if rival.not_better { (0.0, SIDES) } else { (-bound, 1.0) };
        let placed = evidence.blocks_to_exceed(other, level(sides));
        [leader_not_better, placed]
            .into_iter()
            .flatten()
            .min()
            .map(|blocks| blocks.max(rival.min_sample_size))
    }

    pub(super) fn rivals(&self, leader: usize) -> Vec<Rival> {
        let pair = |other: usize| -> (Vec<f64>, Vec<usize>) {
            let rows = self.rows.iter().zip(&self.sites);
            rows.filter_map(|(row, site)| Some((row[other]? - row[leader]?, *site))).unzip()
        };
        let others = (0..self.racing.len()).filter(|other| *other != leader && !self.withdrawn[*other]);
        let pairs = others.map(|other| (other, pair(other))).filter(|(_, (sample, _))| !sample.is_empty());
        let (others, (samples, sites)): (Vec<usize>, (Vec<_>, Vec<_>)) = pairs.unzip();
        let pairs = samples.len();
        let (bound, level) =
            (self.log_tie(), error_of_look(self.rows.len() as u32, self.taking_part().len()));
        let mut rivals: Vec<Rival> = others
            .into_iter()
            .zip(samples.iter().zip(Evidence::at_sites(&samples, &sites)))
            .map(|(candidate, (sample, evidence))| {
                let backed = |bound: f64| evidence.min_sample_size(sample, bound, pairs);
                let [above_tie, above_leader] = [backed(-bound), backed(0.0)];
                let not_better = evidence.p_above(-bound) <= level && sample.len() >= above_tie;
                let placing = self.placing_level(sample.len(), evidence.degrees);
                let turned: Vec<f64> = sample.iter().map(|difference| -difference).collect();
                let below_tie = || evidence.min_sample_size(&turned, -bound, pairs);
                let tied = not_better && evidence.p_below(bound) <= placing && sample.len() >= below_tie();
                let behind = evidence.p_above(0.0) <= placing / SIDES && sample.len() >= above_leader;
                let min_sample_size = if not_better { above_leader } else { above_tie };
                let ratio = evidence.ratio_after_stopping_rule();
                let rival = Rival { candidate, evidence, ratio, min_sample_size, not_better, behind, tied };
                rival.with_agreeing_interval(bound)
            })
            .collect();
        rivals.sort_by(|one, other| one.evidence.difference.total_cmp(&other.evidence.difference));
        rivals
    }
}

impl Rival {
    /// Moves the ends of the interval to where the conclusions put them. Conclusions about one look have levels of their
    /// own, which depend on the blocks and candidates, and the signs of outliers must agree with them; without this a
    /// candidate could seem to be behind by its interval while that is not concluded.
    fn with_agreeing_interval(mut self, log_tie: f64) -> Rival {
        let tie = exp(log_tie);
        let Some((low, high)) = self.ratio.ends() else { return self };
        let low = if self.not_better { low.max(tie.recip()) } else { low };
        self.ratio.low = Some(if self.behind { low } else { low.min(1.0) });
        self.ratio.high = Some(if self.tied { high.min(tie) } else { high.max(1.0) });
        self
    }
}
