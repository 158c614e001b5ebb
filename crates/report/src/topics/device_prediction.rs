//! Topic: the results that one device of a class will show, beside the interval of the mean, and the verdict on each of
//! two kinds of devices. The picture shows for each rival the devices that were tried, the range of nine of ten, and the
//! line of equality.

use maud::{Markup, html};

use super::{ReportTopic, address_tables};
use crate::Report;
use crate::model::{Clause, ClauseKind};
use crate::page::{Media, PageBlock};
use crate::wording::{
    TextTable, count, describe_number, describe_value, listing, one_line, percent, times, times_with_ends,
};
use fsverdict_judgement::plan::once_each;
use fsverdict_judgement::verdict::{DevicePrediction, DeviceStratum, Judgement};

pub(super) static TOPIC: ReportTopic = ReportTopic {
    build_tables: |report| address_tables(Media::FULL_TEXT, build_table(&report.judged)).collect(),
    build_section,
    list_clauses: |judged| Clause::list(ClauseKind::Prediction, write_sentences(judged)),
    ..ReportTopic::EMPTY
};

/// The most candidates that a sentence names.
const MOST_NAMED: usize = 3;

/// The two-valued numbers that `fsverdict calibrate` reads off a device.
const READ_BY_CALIBRATION: [&str; 2] = ["platter.through", "platter.on_arrival"];

/// The predicted results of one device of the class, as sentences without full stops; empty if every block had the same device.
fn write_sentences(judged: &Judgement<'_>) -> Vec<String> {
    let predictions = &judged.verdict.predictions;
    let leaders = once_each(predictions.iter().map(|prediction| prediction.against.as_str()));
    let rivals = |leader: &str| -> Vec<&DevicePrediction> {
        predictions.iter().filter(|prediction| prediction.against == leader).collect()
    };
    let mut sentences: Vec<String> =
        leaders.into_iter().filter_map(|leader| describe_rivals(judged, leader, &rivals(leader))).collect();
    sentences.extend(describe_strata(judged));
    sentences
}

fn describe_rivals(judged: &Judgement<'_>, leader: &str, all: &[&DevicePrediction]) -> Option<String> {
    let known: Vec<&&DevicePrediction> = all.iter().filter(|rival| rival.low.is_some()).collect();
    if known.is_empty() {
        let needs = all.iter().map(|rival| rival.needs).min()?;
        return Some(format!(
            "One device of this class cannot be predicted from so few: {} needed (`fsverdict resume RUN --more {needs}`)",
            if needs == 1 { "1 more block is".to_owned() } else { format!("{needs} more blocks are") }
        ));
    }
    let tie = judged.plan.protocol.tie;
    let mut named: Vec<&&DevicePrediction> =
        known.iter().copied().filter(|rival| rival.may_lead(tie)).collect();
    let may_lead: Vec<&str> = named.iter().map(|rival| rival.candidate.as_str()).collect();
    let conclusion = match may_lead.as_slice() {
        [] => format!(", and none is more than {} better there", percent(tie)),
        some => format!(", so that {} may be the better choice for yours", listing(some, MOST_NAMED)),
    };
    // Those that may lead come first, then those nearest to the leader.
    named.extend(known.iter().copied().filter(|rival| !rival.may_lead(tie)));
    let each: Vec<String> = named
        .iter()
        .take(MOST_NAMED)
        .filter_map(|rival| Some(format!("{} {}", rival.candidate, describe_range(rival.low?, rival.high?))))
        .collect();
    Some(format!(
        "On nine devices of ten in this class, compared with {leader}: {}{conclusion} (predicted from {})",
        each.join("; "),
        count(known.iter().map(|rival| rival.devices).max()?, "device")
    ))
}

/// `takes 12% less to 3% more`, or multiples where the ends are far from 1.
fn describe_range(low: f64, high: f64) -> String {
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
fn describe_strata(judged: &Judgement<'_>) -> Option<String> {
    let strata = &judged.verdict.device_strata;
    let [first, second, ..] = strata.as_slice() else { return None };
    let found_out = match READ_BY_CALIBRATION.contains(&first.number.as_str()) {
        true => "`fsverdict calibrate DEVICE` finds out which of them yours is, in two minutes, by reading",
        false => "no data sheet tells which of them yours is",
    };
    Some(format!(
        "The answer depends on the device, by {}: {}; {}; {found_out}",
        describe_number(&first.number),
        describe_stratum(first),
        describe_stratum(second)
    ))
}

fn describe_stratum(stratum: &DeviceStratum) -> String {
    let next = stratum.rivals.first().map_or(String::new(), |rival| {
        format!(", then {} {} times", rival.candidate, times_with_ends(&rival.ratio))
    });
    let devices = count(stratum.devices, "device");
    let leads = match stratum.recommended {
        true => format!("take {}", stratum.leader),
        false => format!("{} leads, undecided", stratum.leader),
    };
    format!("{} ({devices}), {leads}{next}", describe_value(&stratum.number, stratum.value, stratum.value))
}

/// One row for each rival; `None` where every block had the same device.
fn build_table(judged: &Judgement<'_>) -> Option<TextTable> {
    let predictions = &judged.verdict.predictions;
    if predictions.iter().all(|prediction| prediction.low.is_none()) {
        return None;
    }
    let row = |rival: &DevicePrediction| {
        let predicted = match rival.low.zip(rival.high) {
            Some((low, high)) => format!("{} to {}", times(low), times(high)),
            None => format!("{} needed", count(rival.needs, "more device")),
        };
        let seen = format!("{} of {}, {} of {}", rival.better, rival.devices, rival.worse, rival.devices);
        vec![rival.candidate.clone(), rival.against.clone(), times(rival.mean), predicted, seen]
    };
    let title = format!(
        "One device of the class: how many times as much the first takes as the second, on average over the devices tried, and \
         on nine of ten; on how many it was better, and worse, by more than {}",
        percent(judged.plan.protocol.tie)
    );
    let header = ["candidate", "against", "mean", "on nine devices of ten", "better, worse on"];
    Some(TextTable::new(title, &header, predictions.iter().map(row).collect()))
}

/// The most rivals that are drawn; the table has all.
const MOST_DRAWN: usize = 12;
const WIDTH: f64 = 640.0;
/// The height of a row, and the room for names left of the marks.
const ROW: f64 = 22.0;
const NAMES: f64 = 170.0;

fn build_section<'a>(report: &'a Report<'_>) -> Option<PageBlock<'a>> {
    let table = PageBlock::plain_table(build_table(&report.judged)?);
    let lead = "Each block was tried on another device of the class. A mark is a device: how many times as much the \
                candidate takes there as the first. The line is where nine further devices of ten will lie. Left of the dashed \
                line the candidate is better.";
    let predictions = &report.judged.verdict.predictions;
    let picture = move || draw_picture(predictions);
    let blocks = vec![PageBlock::Lead(lead.into()), PageBlock::picture(picture), table];
    Some(PageBlock::section("one-device", "On one device", blocks))
}

fn draw_picture(predictions: &[DevicePrediction]) -> Markup {
    let shown: Vec<&DevicePrediction> =
        predictions.iter().filter(|rival| rival.low.is_some()).take(MOST_DRAWN).collect();
    let logs = shown.iter().flat_map(|rival| {
        rival.low.into_iter().chain(rival.high).chain(rival.ratios.iter().copied()).map(libm::log)
    });
    // Equality is always in the picture.
    let (least, most) = logs.fold((0.0_f64, 0.0_f64), |(least, most), log| (least.min(log), most.max(log)));
    let width = (most - least).max(1e-6);
    let x = |ratio: f64| NAMES + (libm::log(ratio) - least) / width * (WIDTH - NAMES - 12.0) + 6.0;
    let height = ROW * (shown.len() as f64 + 1.0);
    html! {
        figure.depends {
            svg viewBox=(format!("0 0 {WIDTH} {height}")) role="img" {
                title { "What candidates take on one device of the class, beside the first" }
                path.equal d=(format!("M{:.1} 0V{height}", x(1.0))) {}
                @for (at, rival) in shown.iter().enumerate() {
                    @let y = ROW * (at as f64 + 1.0);
                    text x="4" y=(format!("{:.1}", y + 4.0)) { (one_line(&rival.candidate)) }
                    @if let Some((low, high)) = rival.low.zip(rival.high) {
                        path.reach d=(format!("M{:.1} {y}H{:.1}", x(low), x(high))) {
                            title { (times(low)) " to " (times(high)) "×" }
                        }
                    }
                    @for ratio in &rival.ratios {
                        circle cx=(format!("{:.1}", x(*ratio))) cy=(format!("{y}")) r="3" {
                            title { (times(*ratio)) "×" }
                        }
                    }
                }
            }
        }
    }
}
