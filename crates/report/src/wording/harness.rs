//! Reports the cost of the measuring itself, in words.

use std::time::Duration;

use crate::wording::number::percent;
use fsverdict_judgement::verdict::Harness;
use fsverdict_text::duration_text;

/// In a sentence without its end; in simulated time, where shares of wall time say nothing, how much time of the devices
/// went by in how much of ours: `41m of disk time in 2m`. Else `9% of wall time outside the measured steps: boot 3%, settle 2%, …`.
pub(crate) fn write_sentence(harness: &Harness) -> String {
    if let Some(simulated) = harness.simulated {
        return format!("{} of disk time in {}", round_seconds(simulated), round_seconds(harness.worked));
    }
    let parts =
        harness.overhead_parts().into_iter().map(|(part, share)| format!("{part} {}", percent(share)));
    let rest = match parts.collect::<Vec<_>>().join(", ") {
        empty if empty.is_empty() && harness.settle < 0.005 => empty,
        empty if empty.is_empty() => {
            format!(", {} of it waiting for the device to be quiet", percent(harness.settle))
        }
        parts => format!(": {parts}"),
    };
    format!("{} of wall time outside the measured steps{rest}", percent(harness.share))
}

/// Seconds without superfluous digits: `400ms`, `42s`, `41m`.
fn round_seconds(seconds: f64) -> String {
    let step = match seconds {
        short if short < 1.0 => 0.1,
        short if short < 120.0 => 1.0,
        long if long < 1200.0 => 10.0,
        _ => 60.0,
    };
    let seconds = libm::round(seconds.max(0.0) / step) * step;
    duration_text(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
}
