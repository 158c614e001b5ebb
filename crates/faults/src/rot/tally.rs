//! Summarises the outcomes of a candidate's rotten blocks, by use and by kind of decay.

use std::collections::{BTreeMap, BTreeSet};

use fsverdict_disk::crash::RottenBlock;
use fsverdict_judgement::journal::{BlockUse, PlacedRot, RotTally, RottenBlocks};
use fsverdict_judgement::plan::Candidate;

/// The number of undetected wrong blocks that are kept with their details.
const FIRST: usize = 12;

pub(super) fn tally_findings(
    candidate: &Candidate,
    held: &BTreeMap<u64, BlockUse>,
    mut findings: Vec<PlacedRot>,
    trace: String,
) -> RottenBlocks {
    let (mut by_use, mut by_decay): (BTreeMap<BlockUse, RotTally>, BTreeMap<String, RotTally>) =
        Default::default();
    for of_block in held.values() {
        by_use.entry(*of_block).or_default().blocks += 1;
    }
    let rotten = |rot: &PlacedRot| rot.finding.state.parse::<RottenBlock>().ok();
    for placed in &findings {
        add_finding(by_use.entry(placed.held).or_default(), placed);
        let decay =
            rotten(placed).filter(|_| placed.held != BlockUse::Unused).map(|rotten| rotten.decay.word());
        if let Some(word) = decay {
            add_finding(by_decay.entry(word.to_owned()).or_default(), placed);
        }
    }
    let examined = u32::try_from(findings.len()).unwrap_or(u32::MAX);
    // The gravest first, and of each use, decay and outcome one.
    findings.retain(|rot| rot.finding.outcome.is_loss());
    findings.sort_by_key(|rot| (!rot.finding.outcome.is_grave(), rot.held, rotten(rot)));
    let mut kinds_seen = BTreeSet::new();
    findings.retain(|rot| {
        kinds_seen.insert((rot.held, rotten(rot).map(|rotten| rotten.decay.word()), rot.finding.outcome))
    });
    findings.truncate(FIRST);
    RottenBlocks {
        candidate: candidate.name.clone(),
        looked: examined,
        held: by_use,
        decays: by_decay,
        first: findings,
        stopped: None,
        accepted: false,
        trace,
    }
}

/// Adds one finding to the counts by outcome, by the result of fsync, and by the part of the system that detected the
/// corruption.
fn add_finding(tally: &mut RotTally, placed: &PlacedRot) {
    tally.looked += 1;
    *tally.outcomes.entry(placed.finding.outcome).or_insert(0) += 1;
    if let Some(fsync_result) = placed.finding.sync {
        *tally.syncs.entry(fsync_result).or_insert(0) += 1;
    }
    for detector in &placed.finding.noticed {
        *tally.noticed.entry(*detector).or_insert(0) += 1;
    }
}
