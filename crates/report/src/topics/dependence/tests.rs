//! Tests of what depends on the device.

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
            ("platter.read_ahead".to_owned(), DrawnNumber::Size(Bytes((1 << 18) + (place(2) * 1e7) as u64))),
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
    let shown = page_of(&story(8, 0.5, 0), None, Format::Terminal(TerminalLook { detail: true, ..PLAIN }));
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
    let shown = page_of(&story(4, 0.5, 0), None, Format::Terminal(TerminalLook { detail: true, ..PLAIN }));
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
    let shown = page_of(&story(8, 0.0, 0), None, Format::Terminal(TerminalLook { detail: true, ..PLAIN }));
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
        let or = |dependence: &serde_json::Value| dependence["or"].to_string().contains("platter.through");
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
