//! What a candidate's states came to, all in all.

use std::collections::BTreeMap;

use crate::filesystem::{DocumentedPrice, documented_prices};
use fsverdict_disk::crash::CrashState;
use fsverdict_judgement::journal::{PowerCuts, StateFinding};
use fsverdict_judgement::plan::Candidate;

/// Of so many states that lost something it is kept what was seen.
const FIRST: usize = 12;

/// What the candidate's options cost by their documentation, each with where that stands.
fn prices(candidate: &Candidate) -> Vec<String> {
    let told = |price: &DocumentedPrice| format!("{}: {} ({})", price.option, price.says, price.source);
    documented_prices(candidate).map(told).collect()
}

pub(super) fn summary(candidate: &Candidate, mut findings: Vec<StateFinding>, trace: String) -> PowerCuts {
    let (mut outcomes, mut broken) = (BTreeMap::new(), BTreeMap::new());
    for finding in &findings {
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
    findings.sort_by_key(|finding| finding.state.parse::<CrashState>().ok());
    findings.truncate(FIRST);
    PowerCuts {
        candidate: candidate.name.clone(),
        states,
        outcomes,
        broken,
        first: findings,
        priced: prices(candidate),
        back_s,
        accepted: false,
        trace,
    }
}
