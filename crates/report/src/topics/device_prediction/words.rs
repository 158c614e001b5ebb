//! Predicts the results of one device of a class, in words and as a table: predictions beside the interval of the mean,
//! and the verdict on each of two kinds of devices.

use crate::device_number::{describe_number, describe_value};
use crate::number::{percent, times, times_with_ends};
use crate::text::{count, listing};
use crate::text_table::TextTable;
use fsverdict_judgement::plan::once_each;
use fsverdict_judgement::verdict::{DevicePrediction, DeviceStratum, Judgement};

/// The most candidates that a sentence names.
const MOST_NAMED: usize = 3;

/// The two-valued numbers that `fsverdict calibrate` reads off a device.
const READ_BY_CALIBRATION: [&str; 2] = ["platter.through", "platter.on_arrival"];

/// The predicted results of one device of the class, as sentences; empty if every block had the same device.
pub(crate) fn write_sentences(judged: &Judgement<'_>) -> Vec<String> {
    let found = &judged.verdict.predictions;
    let leaders = once_each(found.iter().map(|one| one.against.as_str()));
    let of = |leader: &str| -> Vec<&DevicePrediction> {
        found.iter().filter(|one| one.against == leader).collect()
    };
    let mut sentences: Vec<String> =
        leaders.into_iter().filter_map(|leader| about(judged, leader, &of(leader))).collect();
    sentences.extend(strata(judged));
    sentences
}

/// The sentence on the rivals of one leader.
fn about(judged: &Judgement<'_>, leader: &str, all: &[&DevicePrediction]) -> Option<String> {
    let known: Vec<&&DevicePrediction> = all.iter().filter(|one| one.low.is_some()).collect();
    if known.is_empty() {
        let needs = all.iter().map(|one| one.needs).min()?;
        return Some(format!(
            "One device of this class cannot be predicted from so few: {} needed (`fsverdict resume RUN --more {needs}`).",
            if needs == 1 { "1 more block is".to_owned() } else { format!("{needs} more blocks are") }
        ));
    }
    let tie = judged.plan.protocol.tie;
    let mut named: Vec<&&DevicePrediction> = known.iter().copied().filter(|one| one.may_lead(tie)).collect();
    let may_lead: Vec<&str> = named.iter().map(|one| one.candidate.as_str()).collect();
    let conclusion = match may_lead.as_slice() {
        [] => format!(", and none is more than {} better there", percent(tie)),
        some => format!(", so that {} may be the better choice for yours", listing(some, MOST_NAMED)),
    };
    // Those that may lead come first, then those nearest to the leader.
    named.extend(known.iter().copied().filter(|one| !one.may_lead(tie)));
    let each: Vec<String> = named
        .iter()
        .take(MOST_NAMED)
        .filter_map(|one| Some(format!("{} {}", one.candidate, range(one.low?, one.high?))))
        .collect();
    Some(format!(
        "On nine devices of ten in this class, compared with {leader}: {}{conclusion} (predicted from {}).",
        each.join("; "),
        count(known.iter().map(|one| one.devices).max()?, "device")
    ))
}

/// `takes 12% less to 3% more`, or multiples where the ends are far from 1.
fn range(low: f64, high: f64) -> String {
    let is_near = |ratio: f64| (0.5..2.0).contains(&ratio);
    if !is_near(low) || !is_near(high) {
        return format!("takes {} to {} times as much", times(low), times(high));
    }
    let (low_side, high_side) = (side(low), side(high));
    match (low < 1.0, high < 1.0) {
        (true, false) => {
            format!("takes {} less to {} more", percent(1.0 - low), percent(high - 1.0))
        }
        _ if percent((low - 1.0).abs()) == percent((high - 1.0).abs()) => format!("takes {high_side}"),
        (true, true) => format!("takes {} to {low_side}", percent(1.0 - high)),
        _ => format!("takes {} to {high_side}", percent(low - 1.0)),
    }
}

/// `12% less`, `3% more`.
fn side(ratio: f64) -> String {
    let word = if ratio < 1.0 { "less" } else { "more" };
    format!("{} {word}", percent((ratio - 1.0).abs()))
}

/// The verdict on each of two kinds of devices, and how to find out which kind a device is.
fn strata(judged: &Judgement<'_>) -> Option<String> {
    let strata = &judged.verdict.device_strata;
    let [one, other, ..] = strata.as_slice() else { return None };
    let found_out = match READ_BY_CALIBRATION.contains(&one.number.as_str()) {
        true => "`fsverdict calibrate DEVICE` finds out which of them yours is, in two minutes, by reading",
        false => "no data sheet tells which of them yours is",
    };
    Some(format!(
        "The answer depends on the device, by {}: {}; {}; {found_out}.",
        describe_number(&one.number),
        stratum(one),
        stratum(other)
    ))
}

fn stratum(one: &DeviceStratum) -> String {
    let next = one.rivals.first().map_or(String::new(), |rival| {
        format!(", then {} {} times", rival.candidate, times_with_ends(&rival.ratio))
    });
    let devices = count(one.devices, "device");
    let leads = match one.recommended {
        true => format!("take {}", one.leader),
        false => format!("{} leads, undecided", one.leader),
    };
    format!("{} ({devices}), {leads}{next}", describe_value(&one.number, one.value, one.value))
}

/// One row for each rival; `None` where every block had the same device.
pub(crate) fn build_table(judged: &Judgement<'_>) -> Option<TextTable> {
    let found = &judged.verdict.predictions;
    if found.iter().all(|one| one.low.is_none()) {
        return None;
    }
    let row = |one: &DevicePrediction| {
        let predicted = match one.low.zip(one.high) {
            Some((low, high)) => format!("{} to {}", times(low), times(high)),
            None => format!("{} needed", count(one.needs, "more device")),
        };
        let seen = format!("{} of {}, {} of {}", one.better, one.devices, one.worse, one.devices);
        vec![one.candidate.clone(), one.against.clone(), times(one.mean), predicted, seen]
    };
    let title = format!(
        "One device of the class: how many times as much the first takes as the second, on average over the devices tried, and \
         on nine of ten; on how many it was better, and worse, by more than {}",
        percent(judged.plan.protocol.tie)
    );
    let header = ["candidate", "against", "mean", "on nine devices of ten", "better, worse on"];
    Some(TextTable::new(title, &header, found.iter().map(row).collect()))
}
