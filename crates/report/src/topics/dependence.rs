//! Topic: the device properties that change the ranking within a class of devices. The pictures show each block's
//! difference against the number drawn for it.

use maud::{Markup, html};

use super::{ReportTopic, address_tables};
use crate::Report;
use crate::model::{Clause, ClauseKind};
use crate::page::{Media, PageBlock};
use crate::wording::{
    TextTable, describe_number, describe_value, format_values, listing, one_line, times, times_with_ends,
    times_within,
};
use fsverdict_judgement::verdict::{Dependence, DeviceSide, DeviceSpread, Judgement};

pub(super) static TOPIC: ReportTopic = ReportTopic {
    build_tables: |report| address_tables(Media::FULL_TEXT, build_table(&report.judged)).collect(),
    build_section,
    list_clauses: |judged| {
        let turn = describe_turn(judged).map(|turn| format!("It depends {turn}. On the whole:"));
        let mut clauses = Clause::list(ClauseKind::Premise, turn);
        clauses.extend(Clause::list(ClauseKind::Detail, describe_widest(judged)));
        clauses.extend(Clause::list(ClauseKind::Detail, describe_spreads(judged)));
        clauses
    },
    ..ReportTopic::EMPTY
};

/// The most rows of the table; the JSON has all.
const MOST_ROWS: usize = 8;
/// The most device spreads that a paragraph names.
const MOST_SPREADS: usize = 3;

/// The dependence in which a different candidate leads on some devices, without a full stop; `None` where there is
/// none, or where sites turn the ranking.
fn describe_turn(judged: &Judgement<'_>) -> Option<String> {
    let tie = judged.plan.protocol.tie;
    if judged.sites.as_ref().is_some_and(|sites| sites.clearest_turn(tie).is_some()) {
        return None;
    }
    let first = judged.verdict.depends.first()?;
    first.changes_leader(tie).then(|| describe_dependence(first))
}

/// The widest difference that depends on the device, without a full stop; `None` where there is none, or where
/// [another candidate leads](describe_turn), which is reported first.
fn describe_widest(judged: &Judgement<'_>) -> Option<String> {
    let first = judged.verdict.depends.first()?;
    (!first.changes_leader(judged.plan.protocol.tie))
        .then(|| format!("how much depends {}", describe_dependence(first)))
}

/// The widest spreads of differences over single devices, without a full stop; `None` where there are none, or where the
/// [results of one device](crate::topics::device_prediction) are predicted.
fn describe_spreads(judged: &Judgement<'_>) -> Option<String> {
    let spreads = &judged.verdict.device_spreads;
    if judged.verdict.predictions.iter().any(|prediction| prediction.low.is_some()) {
        return None;
    }
    let each = spreads.iter().take(MOST_SPREADS).map(|spread| {
        let DeviceSpread { candidate, against, devices, least, most, better, .. } = spread;
        let (least, most) = (times(*least), times(*most));
        let better = match better {
            0 => String::new(),
            some => format!(", and is better on {some}"),
        };
        format!("{candidate} takes {least} to {most} times as long as {against} on the {devices} that it met{better}")
    });
    let each: Vec<String> = each.collect();
    (!each.is_empty()).then(|| format!("On single devices of the class it differs: {}", each.join("; ")))
}

fn describe_dependence(dependence: &Dependence) -> String {
    let Dependence { candidate, against, sides: [small, large], number, .. } = dependence;
    let value = |side: &DeviceSide| describe_value(number, side.from, side.to);
    format!(
        "on the device, by {}: {} {candidate} takes {} times as long as {against}, {} {} times",
        describe_numbers(dependence),
        value(small),
        times_within(&small.ratio),
        value(large),
        times_within(&large.ratio),
    )
}

/// One row for every pair and number; `None` where nothing depends on the device.
fn build_table(judged: &Judgement<'_>) -> Option<TextTable> {
    let dependences = &judged.verdict.depends;
    let cell = |side: &DeviceSide| {
        format!("{}: {}", format_values(side.from, side.to), times_with_ends(&side.ratio))
    };
    let row = |dependence: &Dependence| {
        let [small, large] = &dependence.sides;
        let (candidate, against) = (dependence.candidate.clone(), dependence.against.clone());
        vec![candidate, against, describe_numbers(dependence), cell(small), cell(large)]
    };
    let more = dependences.len().saturating_sub(MOST_ROWS);
    let rest = if more > 0 { format!(" {more} more are in the JSON.") } else { String::new() };
    let title = format!(
        "It depends on the device: how many times as long the first takes as the second, by what was drawn of the class.{rest}"
    );
    let header = ["candidate", "against", "number", "where small, or false", "where large, or true"];
    TextTable::filled(title, &header, dependences.iter().take(MOST_ROWS).map(row))
}

/// The number in words, and others that varied in the same way.
fn describe_numbers(dependence: &Dependence) -> String {
    let number = describe_number(&dependence.number);
    let others: Vec<String> = dependence.or.iter().map(|other| describe_number(other)).collect();
    match others.as_slice() {
        [] => number,
        some => format!("{number} (or {}, which went with it in these blocks)", listing(some, some.len())),
    }
}

/// The most pictures that are shown.
const MOST_PICTURES: usize = 6;
const WIDTH: f64 = 320.0;
const HEIGHT: f64 = 160.0;
/// The margin around the marks.
const MARGIN: f64 = 12.0;

fn build_section<'a>(report: &'a Report<'_>) -> Option<PageBlock<'a>> {
    let dependences = &report.judged.verdict.depends;
    if dependences.is_empty() {
        return None;
    }
    let lead = "Each block was tried on another device of the class. A mark is a block: across, the number that was drawn \
                for its device; up, how many times as long the first takes as the second. Above the line it is slower.";
    let pictures = move || {
        html! { div.depends { @for dependence in dependences.iter().take(MOST_PICTURES) { (draw_picture(dependence)) } } }
    };
    let blocks = vec![PageBlock::Lead(lead.into()), PageBlock::picture(pictures)];
    Some(PageBlock::section("depends", "It depends on the device", blocks))
}

fn draw_picture(dependence: &Dependence) -> Markup {
    let Dependence { candidate, against, sides: [small, large], .. } = dependence;
    let numbers = describe_numbers(dependence);
    let title = format!("{candidate} against {against}, by {numbers}");
    html! {
        figure.depends {
            figcaption {
                strong { (one_line(candidate)) } " against " strong { (one_line(against)) } " by " (one_line(&numbers))
            }
            (draw_marks(dependence, &title))
            p.note {
                (format_values(small.from, small.to)) ": " (times_within(&small.ratio)) "× · "
                (format_values(large.from, large.to)) ": " (times_within(&large.ratio)) "×"
            }
        }
    }
}

fn draw_marks(dependence: &Dependence, title: &str) -> Markup {
    let across = ValueRange::from_values(dependence.blocks.iter().map(|(number, _)| number.to_scale()));
    // Every picture includes the line of equality.
    let up = ValueRange::from_values(dependence.blocks.iter().map(|(_, behind)| *behind).chain([0.0]));
    let x = |number: f64| MARGIN + across.share(number) * (WIDTH - 2.0 * MARGIN);
    let y = |behind: f64| HEIGHT - MARGIN - up.share(behind) * (HEIGHT - 2.0 * MARGIN);
    html! {
        svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" {
            title { (one_line(title)) }
            path.equal d=(format!("M0 {:.1}H{WIDTH}", y(0.0))) {}
            @for (number, behind) in &dependence.blocks {
                circle cx=(format!("{:.1}", x(number.to_scale()))) cy=(format!("{:.1}", y(*behind))) r="4" {
                    title { (number) ": " (times(libm::exp(*behind))) "×" }
                }
            }
        }
    }
}

/// The range from the smallest to the largest value that is drawn.
struct ValueRange {
    least: f64,
    most: f64,
}

impl ValueRange {
    fn from_values(values: impl Iterator<Item = f64>) -> Self {
        let nothing = Self { least: f64::INFINITY, most: f64::NEG_INFINITY };
        values
            .fold(nothing, |range, value| Self { least: range.least.min(value), most: range.most.max(value) })
    }

    fn share(&self, value: f64) -> f64 {
        let width = self.most - self.least;
        if width > 0.0 { (value - self.least) / width } else { 0.5 }
    }
}

#[cfg(test)]
mod tests {
    use crate::examples::chance;
    use crate::fixtures::{PLAIN, Story, data_of, id, page_of};
    use crate::{Format, TerminalLook};
    use fsverdict_text::{Bytes, DrawnNumber, DrawnNumbers};

    /// jfs takes twice as long as ext4; xfs half as long as it on a disk that reads on, and as long again on one that
    /// does not. What else is drawn does nothing; `effect` 0: nor does that.
    fn story(blocks: u32, effect: f64, world: u32) -> Story {
        let names = ["ext4", "xfs", "jfs"];
        let mut story = Story::new(&names, &["read"]);
        for block in 1..=blocks {
            let place = |what: u32| {
                let place = 0.5 + chance(world * 1000 + block.div_ceil(2), 50, what) / 2.0;
                if block % 2 == 0 { 1.0 - place } else { place }
            };
            let through = place(0) < 0.5;
            story.drawn = DrawnNumbers::from([
                ("platter.through".to_owned(), DrawnNumber::Flag(through)),
                ("cache.delay_ms".to_owned(), DrawnNumber::Number(5.0 + 40.0 * place(1))),
                (
                    "platter.read_ahead".to_owned(),
                    DrawnNumber::Size(Bytes((1 << 18) + (place(2) * 1e7) as u64)),
                ),
            ]);
            story.open_block(block, 1, &names);
            let turn = 1.0 + if through { -effect } else { effect };
            for (at, (name, seconds)) in (0..).zip(names.iter().zip([8.0, 8.0 * turn, 16.0])) {
                let seconds = seconds * (1.0 + 0.02 * chance(world * 1000 + block, at, 3));
                story.trial(&id(block, name), &[("read", seconds)]);
            }
            story.close_block(block, 1, None);
        }
        story.finish_for("all blocks are done");
        story
    }

    #[test]
    fn the_number_that_decides_is_named_on_the_page() {
        let shown =
            page_of(&story(8, 0.5, 0), None, Format::Terminal(TerminalLook { detail: true, ..PLAIN }));
        let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        for told in [
            "It depends on the device, by whether it goes on reading through a gap (platter.through): where it begins anew behind a gap ext4 takes 0.66",
            "It depends on the device: how many times as long the first takes as the second",
        ] {
            assert!(shown.contains(told), "{shown}");
        }
        let page = page_of(&story(8, 0.5, 0), None, Format::Html);
        assert!(page.contains("id=\"depends\"") && page.contains("<circle "), "no picture");
        let data = data_of(&story(8, 0.5, 0));
        assert_eq!(data["verdict"]["depends"][0]["number"], "platter.through");
        // By blocks it is half as long again, or half as long: the interval of the mean tells neither.
        let told = "On nine devices of ten in this class, compared with xfs: ext4 takes 0.";
        assert!(shown.contains(told), "{shown}");
        assert!(
            shown.contains("so that ext4 may be the better choice for yours (predicted from 8 devices)"),
            "{shown}"
        );
        assert!(
            shown.contains(
                "The answer depends on the device, by whether it goes on reading through a gap (platter.through): where it begins anew behind a gap (4 devices), take ext4, then "
            ),
            "{shown}"
        );
        assert!(
            shown.contains("; where it goes on reading through a gap (4 devices), take xfs, then ext4 1.9"),
            "{shown}"
        );
        assert!(page.contains("id=\"one-device\""), "no picture of single devices");
        let strata = data["verdict"]["device_strata"].as_array().unwrap();
        assert_eq!((strata[0]["leader"].as_str(), strata[1]["leader"].as_str()), (Some("ext4"), Some("xfs")));
        assert_eq!(data["verdict"]["predictions"][0]["devices"], 8);
        // The two kinds of disk are known, so that jfs, which is behind on either, is not said to lead on some third.
        assert!(data["verdict"]["predictions"][1]["low"].as_f64().unwrap() > 1.2, "{data}");
        assert_eq!(data["verdict"]["device_spreads"][1]["better"], 4);
    }

    #[test]
    fn of_few_devices_what_was_seen_is_told_and_how_many_are_missing() {
        let shown =
            page_of(&story(4, 0.5, 0), None, Format::Terminal(TerminalLook { detail: true, ..PLAIN }));
        let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(shown.contains("On single devices of the class it differs: ext4 takes 0.6"), "{shown}");
        assert!(
            shown.contains("times as long as xfs on the 4 that it met, and is better on 2; jfs takes 1.3"),
            "{shown}"
        );
        let told = "One device of this class cannot be predicted from so few: 2 more blocks are needed (`fsverdict resume RUN \
                    --more 2`).";
        assert!(shown.contains(told), "{shown}");
        let predictions = &data_of(&story(4, 0.5, 0))["verdict"]["predictions"];
        assert!(predictions[0]["low"].is_null() && predictions[0]["needs"] == 2, "{predictions}");
    }

    #[test]
    fn where_no_kind_of_device_decides_there_is_one_answer() {
        let shown =
            page_of(&story(8, 0.0, 0), None, Format::Terminal(TerminalLook { detail: true, ..PLAIN }));
        assert!(!shown.contains("The answer depends on"), "{shown}");
        assert!(data_of(&story(8, 0.0, 0))["verdict"].get("device_strata").is_none());
    }

    #[test]
    fn where_nothing_was_drawn_nothing_is_said() {
        let mut story = story(0, 0.5, 0);
        story.drawn.clear();
        assert!(data_of(&story)["verdict"].get("depends").is_none());
        assert!(data_of(&story)["verdict"].get("device_spreads").is_none());
        assert!(data_of(&story)["verdict"].get("predictions").is_none());
    }

    /// How often the one that decides is named first, and how often another is named at all, in 200 runs.
    fn rates(blocks: u32, effect: f64) -> (usize, usize) {
        let named = |world: u32| {
            let data = data_of(&story(blocks, effect, world));
            let found = data["verdict"]["depends"].as_array().cloned().unwrap_or_default();
            let is = |dependence: &serde_json::Value| dependence["number"] == "platter.through";
            let or =
                |dependence: &serde_json::Value| dependence["or"].to_string().contains("platter.through");
            (
                found.first().is_some_and(|first| is(first) || or(first)),
                found.iter().any(|other| !is(other) && !or(other)),
            )
        };
        let all: Vec<(bool, bool)> = (1..=200).map(named).collect();
        (all.iter().filter(|run| run.0).count(), all.iter().filter(|run| run.1).count())
    }

    #[test]
    fn who_decides_is_named_and_who_does_not_is_not() {
        for (blocks, least) in [(6, 180), (8, 195), (12, 200)] {
            let (named, wrong) = rates(blocks, 0.5);
            assert!(named >= least && wrong <= 10, "{blocks} blocks: named {named}, wrong {wrong} of 200");
        }
        for blocks in [4, 8, 12] {
            let (chance, wrong) = rates(blocks, 0.0);
            assert!(chance + wrong <= 12, "{blocks} blocks: {chance} and {wrong} of 200");
        }
    }
}
