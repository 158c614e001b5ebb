//! What the run leaves open, and what it would take to settle it.

use serde::Serialize;

use super::{Deliberation, Outcome, Verdict};
use crate::journal::Run;
use crate::statistics::{BlockOutcome, FEWEST};

/// Two candidates of which something is not known.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OpenPair {
    pub candidate: String,
    pub against: String,
    /// Shown not to be better than the leader by more than δ: only its place is open.
    pub not_better: bool,
    /// About how many more blocks would tell, should difference and noise stay as they are; `None`: no number worth
    /// promising.
    pub more_blocks: Option<u32>,
    /// About how many seconds those would take.
    pub seconds: Option<f64>,
}

/// Every rival of the last look whose place is not known, the closest first.
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

/// More blocks than these are no way to settle anything that lies within the tie.
const WORTHWHILE: u32 = 100;

impl Verdict {
    /// Of what keeps the run undecided the hardest; of what a recommendation leaves open the easiest.
    pub fn pressing(&self) -> Option<&OpenPair> {
        let open = self.unsettled.iter();
        let needed = |pair: &&OpenPair| pair.more_blocks.unwrap_or(u32::MAX);
        match self.outcome {
            Outcome::Undecided => open.filter(|pair| !pair.not_better).max_by_key(needed),
            Outcome::Recommended | Outcome::Ranked => open.min_by_key(needed),
        }
    }

    /// Who cannot be told apart here with any number of blocks worth it, nor is known to differ by more than matters (`tie`):
    /// whoever it is about, and what it is held against.
    pub fn alike(&self, tie: f64) -> Option<Vec<&str>> {
        let near = |pair: &&OpenPair| {
            let ratio =
                self.standings.iter().find(|one| one.candidate == pair.candidate).map(|one| one.ratio.point);
            ratio.is_some_and(|ratio| ratio <= 1.0 + tie && ratio >= 1.0 / (1.0 + tie))
                && pair.more_blocks.is_none_or(|more| more > WORTHWHILE)
        };
        let hardest = self.pressing().filter(near)?;
        let others = self.unsettled.iter().filter(near).map(|pair| pair.candidate.as_str());
        Some(std::iter::once(hardest.against.as_str()).chain(others).collect())
    }
}
