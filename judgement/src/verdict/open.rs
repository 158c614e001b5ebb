//! What the run leaves open, and what it would take to settle it.

use serde::Serialize;

use super::Deliberation;
use crate::journal::Run;
use crate::statistics::FEWEST;

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
pub(super) fn open_pairs(deliberation: &Deliberation, run: &Run, measured: &[&str]) -> Vec<OpenPair> {
    let Some(look) = deliberation.last_look().filter(|look| look.block >= FEWEST) else { return Vec::new() };
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
