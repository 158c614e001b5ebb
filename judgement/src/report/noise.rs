//! What the noise floor of a run is and where it comes from, in a sentence.

use super::Report;
use super::number::{fine_percent, percent, times_within};
use super::text::count;
use crate::plan::{contestants, is_twin};
use crate::statistics::FloorSource;
use crate::verdict::{Outcome, TwinPair};

/// The sentence, without a full stop; nothing where too little was measured for a floor.
pub(super) fn floor(report: &Report<'_>) -> Option<String> {
    let floor = report.verdict.floor?;
    let least = fine_percent(floor.floor);
    let blocks = count(floor.n, "block");
    Some(match floor.source {
        FloorSource::Twin => {
            let pairs = report.twins.iter().map(pair).collect::<Vec<_>>().join("; ");
            format!("differences below {least} are noise, measured over {blocks}: {pairs}")
        }
        FloorSource::SplitHalves => format!("differences below {least} are noise, estimated from {blocks}"),
    })
}

/// The same, with the way to know better.
pub(super) fn floor_and_hint(report: &Report<'_>) -> Option<String> {
    let measured = report.verdict.floor?.source == FloorSource::Twin;
    let hint = if measured { "" } else { " (--aa measures it)" };
    report.noise.as_ref().map(|floor| format!("{floor}{hint}"))
}

fn pair(pair: &TwinPair) -> String {
    format!("{} entered twice took {} times its own time", pair.candidate, times_within(&pair.ratio))
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
    let verdict = &report.verdict;
    let found = match verdict.outcome {
        _ if !verdict.below_floor.is_empty() => {
            "told apart, which is a false alarm: something here favours one of two that are the same"
                .to_owned()
        }
        Outcome::Tied => format!("practically tied (within {})", percent(report.plan.protocol.tie)),
        Outcome::Decided | Outcome::Undecided => "not told apart, nor certainly tied".to_owned(),
    };
    Some(format!(
        "{name} against itself: {found}. Entered twice, it took {ratio} times its own time over {blocks}."
    ))
}
