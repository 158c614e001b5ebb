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
    let rotten = |one: &PlacedRot| one.finding.state.parse::<RottenBlock>().ok();
    for one in &findings {
        note_finding(by_use.entry(one.held).or_default(), one);
        let decay = rotten(one).filter(|_| one.held != BlockUse::Unused).map(|rotten| rotten.decay.word());
        if let Some(word) = decay {
            note_finding(by_decay.entry(word.to_owned()).or_default(), one);
        }
    }
    let looked = u32::try_from(findings.len()).unwrap_or(u32::MAX);
    // The gravest first, and of each use, decay and outcome one.
    findings.retain(|one| one.finding.outcome.is_loss());
    findings.sort_by_key(|one| (!one.finding.outcome.is_grave(), one.held, rotten(one)));
    let mut kinds_seen = BTreeSet::new();
    findings.retain(|one| {
        kinds_seen.insert((one.held, rotten(one).map(|rotten| rotten.decay.word()), one.finding.outcome))
    });
    findings.truncate(FIRST);
    RottenBlocks {
        candidate: candidate.name.clone(),
        looked,
        held: by_use,
        decays: by_decay,
        first: findings,
        stopped: None,
        accepted: false,
        trace,
    }
}

fn note_finding(tally: &mut RotTally, one: &PlacedRot) {
    tally.looked += 1;
    *tally.outcomes.entry(one.finding.outcome).or_insert(0) += 1;
    if let Some(answer) = one.finding.sync {
        *tally.syncs.entry(answer).or_insert(0) += 1;
    }
    for witness in &one.finding.noticed {
        *tally.noticed.entry(*witness).or_insert(0) += 1;
    }
}
