//! How noisy a run is, in a sentence.

use super::Report;
use super::number::{fine_percent, percent, times_within};
use super::text::count;
use crate::plan::{contestants, is_twin};
use crate::verdict::Relation;

/// The sentence, without a full stop; nothing where too little was measured.
pub(super) fn sentence(report: &Report<'_>) -> Option<String> {
    let noise = report.verdict.noise.as_ref()?;
    let most = noise.noisiest.as_ref().map_or(String::new(), |(phase, share)| {
        format!(", {} of the variance from {phase}", percent(*share))
    });
    let mut text = format!(
        "one trial strays by {}{most}; {} show differences of {} and more",
        fine_percent(noise.deviation),
        count(noise.blocks, "block"),
        fine_percent(noise.detectable)
    );
    for pair in &report.twins {
        let (name, ratio) = (&pair.candidate, times_within(&pair.ratio));
        text.push_str(&format!("; {name} entered twice took {ratio} times its own time"));
    }
    Some(text)
}

/// The outcome of a run that compares a candidate with nothing but itself; nothing for any other run, or before there is
/// something to tell.
pub(super) fn against_itself(report: &Report<'_>) -> Option<String> {
    let is_aa = contestants(report.plan).any(|candidate| is_twin(&candidate.name));
    let [pair] = report.twins.as_slice() else { return None };
    if !is_aa {
        return None;
    }
    let (name, ratio) = (&pair.candidate, times_within(&pair.ratio));
    let blocks = count(pair.ratio.n, "block");
    let within = percent(report.plan.protocol.tie);
    let relation = report.verdict.standings.first().map(|standing| standing.relation);
    let found = match relation {
        Some(Relation::Behind) => {
            "told apart, which is a false alarm: something here favours one of two that are the same"
                .to_owned()
        }
        Some(Relation::Tied) => format!("practically tied (within {within})"),
        Some(Relation::NotBetter) => format!("neither told apart nor better by more than {within}"),
        Some(Relation::Open) | None => "not told apart, nor certainly tied".to_owned(),
    };
    Some(format!(
        "{name} against itself: {found}. Entered twice, it took {ratio} times its own time over {blocks}."
    ))
}
