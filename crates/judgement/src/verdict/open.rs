//! Pairs of candidates that the run leaves undecided, and how many more blocks would decide them.

use serde::Serialize;

use super::{Deliberation, Outcome, Verdict};
use crate::journal::Run;
use crate::statistics::{BlockOutcome, FEWEST};

/// Two candidates that are not yet fully ordered.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OpenPair {
    pub candidate: String,
    pub against: String,
    /// The candidate is shown not to be better than the leader by more than δ, so only its place is open.
    pub not_better: bool,
    /// About how many more blocks would decide, if difference and noise stay as they are; `None` where no useful number
    /// can be given.
    pub more_blocks: Option<u32>,
    /// About how many seconds those blocks would take.
    pub seconds: Option<f64>,
}

/// Every rival of the last look with an unknown place, in the order of that look.
pub(super) fn open_pairs(
    deliberation: &Deliberation,
    look: &BlockOutcome,
    run: &Run,
    measured: &[&str],
) -> Vec<OpenPair> {
    if look.block < FEWEST {
        return Vec::new();
    }
    let leader = deliberation.leader(look);
    let walls = run.trials.iter().map(|trial| trial.wall).sum::<f64>();
    let seconds_per_block = walls / run.trials.len().max(1) as f64 * deliberation.racing().count() as f64;
    look.rivals
        .iter()
        .filter(|rival| !rival.is_placed())
        .filter_map(|rival| {
            let name = deliberation.candidates.get(rival.candidate)?;
            measured.contains(&name.as_str()).then(|| {
                let more = deliberation.settled_after(rival).map(|blocks| {
                    u32::try_from(blocks.saturating_sub(rival.evidence.count)).unwrap_or(u32::MAX).max(1)
                });
                OpenPair {
                    candidate: name.clone(),
                    against: leader.to_owned(),
                    not_better: rival.not_better,
                    more_blocks: more,
                    seconds: more.map(|more| f64::from(more) * seconds_per_block),
                }
            })
        })
        .collect()
}

/// The most blocks that are worth running to decide a difference within the tie.
const WORTHWHILE: u32 = 100;

impl Verdict {
    /// The pair to settle first: the one that needs the most blocks where the run is undecided, else the one that needs
    /// the fewest.
    pub fn first_to_settle(&self) -> Option<&OpenPair> {
        let open = self.unsettled.iter();
        let needed = |pair: &&OpenPair| pair.more_blocks.unwrap_or(u32::MAX);
        match self.outcome {
            Outcome::Undecided => open.filter(|pair| !pair.not_better).max_by_key(needed),
            Outcome::Recommended | Outcome::Ranked => open.min_by_key(needed),
        }
    }

    /// The candidates that no reasonable number of blocks can separate and that are not known to differ by more than
    /// `tie`: the candidate in question and the one that it is compared with.
    pub fn inseparable_candidates(&self, tie: f64) -> Option<Vec<&str>> {
        let near = |pair: &&OpenPair| {
            let ratio = self.standings.iter().find(|one| one.of == pair.candidate).map(|one| one.ratio.point);
            ratio.is_some_and(|ratio| ratio <= 1.0 + tie && ratio >= 1.0 / (1.0 + tie))
                && pair.more_blocks.is_none_or(|more| more > WORTHWHILE)
        };
        let hardest = self.first_to_settle().filter(near)?;
        let others = self.unsettled.iter().filter(near).map(|pair| pair.candidate.as_str());
        Some(std::iter::once(hardest.against.as_str()).chain(others).collect())
    }
}
