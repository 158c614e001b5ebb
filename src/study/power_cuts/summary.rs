//! What a candidate's states came to, all in all.

use std::collections::BTreeMap;

use crate::filesystem::{DocumentedPrice, documented_prices};
use crate::workload::{PROMISES, Promise};
use fsverdict_judgement::journal::{LossAges, PowerCuts, StateFinding};
use fsverdict_judgement::plan::Candidate;

use super::CutName;

/// Of so many states that lost something it is kept what was seen, and of so many of each kind.
const FIRST: usize = 12;
const FIRST_OF_KIND: usize = 3;

/// What the candidate's options cost by their documentation, each with where that stands.
fn prices(candidate: &Candidate) -> Vec<String> {
    let told = |price: &DocumentedPrice| format!("{}: {} ({})", price.option, price.says, price.source);
    documented_prices(candidate).map(told).collect()
}

/// What was broken that nobody promised to who mounts so: ext4 alone makes renames wait for the content (`auto_da_alloc`), and an fsync
/// of a file brings its names along on some by agreement and on f2fs in one mode (Documentation/filesystems/f2fs.rst).
fn unpromised(candidate: &Candidate, broken: &BTreeMap<String, u32>) -> Vec<String> {
    let is_made = |promise: &&Promise| match promise.name {
        "whole" => candidate.filesystem == "ext4",
        "entry" => match candidate.filesystem.as_str() {
            "f2fs" => candidate.mount.iter().any(|option| option == "fsync_mode=strict"),
            filesystem => ["ext3", "ext4", "xfs", "btrfs"].contains(&filesystem),
        },
        _ => true,
    };
    let unmade = PROMISES.iter().filter(|promise| !is_made(promise)).map(|promise| promise.name.to_owned());
    unmade.filter(|name| broken.contains_key(name)).collect()
}

pub(super) fn summary(candidate: &Candidate, mut findings: Vec<StateFinding>, trace: String) -> PowerCuts {
    let (mut outcomes, mut broken) = (BTreeMap::new(), BTreeMap::new());
    let mut ages = LossAges::default();
    for finding in &findings {
        ages.merge(&finding.ages);
        *outcomes.entry(finding.outcome).or_insert(0) += 1;
        for promise in &finding.broken {
            *broken.entry(promise.clone()).or_insert(0) += 1;
        }
    }
    let mut back: Vec<f64> = findings.iter().map(|finding| finding.back_s).collect();
    back.sort_by(f64::total_cmp);
    let back_s = [back.get(back.len() / 2), back.last()].map(|one| one.copied().unwrap_or(0.0));
    let states = u32::try_from(findings.len()).unwrap_or(u32::MAX);
    // In the order of the cuts, however many looked at them.
    findings.retain(|finding| finding.outcome.is_loss());
    findings.sort_by_key(|finding| finding.state.parse::<CutName>().ok());
    // What is rare is not to be hidden by what is frequent.
    let mut of_kind: BTreeMap<Vec<String>, usize> = BTreeMap::new();
    findings.retain(|finding| {
        let seen = of_kind.entry(finding.broken.clone()).or_default();
        *seen += 1;
        *seen <= FIRST_OF_KIND
    });
    findings.truncate(FIRST);
    findings.iter_mut().for_each(|finding| finding.ages = LossAges::default());
    PowerCuts {
        candidate: candidate.name.clone(),
        states,
        outcomes,
        unpromised: unpromised(candidate, &broken),
        broken,
        first: findings,
        priced: prices(candidate),
        back_s,
        trials: 0,
        trials_lost: 0,
        ages,
        accepted: false,
        trace,
    }
}
