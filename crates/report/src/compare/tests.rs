//! The comparison as a user sees it; `snapshots/` holds each page.

use serde_json::Value;

use crate::compare::ComparisonReport;
use crate::fixtures::{self, Story, id, shape};
use crate::{Format, TerminalLook};
use fsverdict_judgement::journal::{Event, Run};
use fsverdict_judgement::verdict::{Slice, compare_runs};

const PLAIN: TerminalLook = TerminalLook { detail: true, ..fixtures::PLAIN };

/// Eight blocks in which `ext4` writes for so long, and `xfs` as it always does.
fn story(write: f64) -> Story {
    let mut story = Story::new(&["ext4", "xfs"], &["write", "read"]);
    for block in 1..=8 {
        story.open_block(block, 1, &["ext4", "xfs"]);
        let wobble = 1.0 + 0.003 * f64::from(block * 5 % 8);
        for (name, write) in [("ext4", write), ("xfs", 1.3)] {
            story.trial(&id(block, name), &[("write", write * wobble), ("read", 0.5 * wobble)]);
        }
        story.close_block(block, 1, None);
    }
    story.finish();
    story
}

fn page(before: &Story, after: &Story, format: Format) -> String {
    history(&[before, after], format)
}

fn history(stories: &[&Story], format: Format) -> String {
    let runs: Vec<Run> = stories.iter().map(|story| story.run()).collect();
    let sides: Vec<Slice> = stories
        .iter()
        .zip(&runs)
        .map(|(story, run)| Slice { key: String::new(), plan: story.plan.clone(), run: run.clone() })
        .collect();
    let found = compare_runs(&sides, None).unwrap();
    let all: Vec<&Run> = runs.iter().collect();
    let [before, between @ .., after] = all.as_slice() else { panic!("two at least") };
    let mut out = Vec::new();
    ComparisonReport { before, between, after, found: &found }.write(format, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn a_regression_in_every_form() {
    let (before, mut after) = (story(1.0), story(1.25));
    after.plan.candidates[0].mkfs = vec!["-O".to_owned(), "^has_journal".to_owned()];
    insta::assert_snapshot!("terminal", page(&before, &after, Format::Terminal(PLAIN)));
    insta::assert_snapshot!("markdown", page(&before, &after, Format::Markdown));
    let json: Value = serde_json::from_str(&page(&before, &after, Format::Json)).unwrap();
    insta::assert_snapshot!("json_schema", shape([&json]));
    assert_eq!(json["comparisons"][1]["outcome"], "worse");
}

#[test]
fn the_change_is_that_of_the_numbers_beside_it() {
    let story = |times: [f64; 7]| {
        let mut story = Story::new(&["ext4"], &["write"]);
        for (block, seconds) in (1..).zip(times) {
            story.open_block(block, 1, &["ext4"]).trial(&id(block, "ext4"), &[("write", seconds)]);
            story.close_block(block, 1, None);
        }
        story.finish();
        story
    };
    // Medians of 310 and 280 ms, but most pairs of trials lie closer together: that was shown as -3 %.
    let before = story([0.310, 0.310, 0.310, 0.310, 0.290, 0.289, 0.288]);
    let after = story([0.280, 0.280, 0.280, 0.280, 0.299, 0.300, 0.301]);
    let json: Value = serde_json::from_str(&page(&before, &after, Format::Json)).unwrap();
    for change in
        json["comparisons"].as_array().unwrap().iter().chain(json["information"].as_array().unwrap())
    {
        let of = |part: &str| change[part]["point"].as_f64().unwrap();
        assert!((of("ratio") - of("after") / of("before")).abs() < 1e-12, "{change}");
    }
}

#[test]
fn nothing_found_is_not_shown_as_good_news() {
    let few = |write: f64| {
        let mut story = Story::new(&["ext4"], &["write"]);
        story.open_block(1, 1, &["ext4"]).trial(&id(1, "ext4"), &[("write", write)]);
        story.close_block(1, 1, None).finish();
        story
    };
    let shown = page(&few(1.0), &few(3.0), Format::Terminal(PLAIN));
    assert!(
        shown.contains("Neither a change nor its absence could be shown: 1 comparison undecided."),
        "{shown}"
    );
    assert!(shown.contains("too few blocks: with 1 before and 1 after"), "{shown}");
}

#[test]
fn colour_and_unicode_add_no_meaning() {
    let (before, after) = (story(1.0), story(1.25));
    let shown = |look| page(&before, &after, Format::Terminal(look));
    let coloured = shown(TerminalLook { colour: true, ..PLAIN });
    assert!(coloured.contains("\x1b["));
    assert_eq!(anstream::adapter::strip_str(&coloured).to_string(), shown(PLAIN));
    let ascii = shown(TerminalLook { unicode: false, ..PLAIN });
    assert!(ascii.is_ascii() && !ascii.contains('?'), "{ascii}");
}

#[test]
fn foreign_text_stays_text() {
    let (before, mut after) = (story(1.0), story(1.0));
    after.plan.candidates[0].mkfs = vec!["\x1b[31m|<b>".to_owned()];
    assert!(!page(&before, &after, Format::Terminal(PLAIN)).contains('\x1b'));
    assert!(page(&before, &after, Format::Markdown).contains("none → \\|&lt;b&gt;\n"));
    assert!(page(&before, &after, Format::Html).contains("none → |&lt;b&gt;"));
}

/// Four nights: the kernel of the third made ext4 slower, and that of the fourth did not mend it.
fn nights() -> [Story; 4] {
    let mut nights = [1.0, 1.01, 1.25, 1.25].map(story);
    for (night, release) in nights.iter_mut().zip(["6.1", "6.2", "6.3", "6.4"]) {
        if let Event::RunStarted { id, environment, .. } = &mut night.records[0].event {
            *id = format!("night-{release}");
            environment.insert("kernel.release".to_owned(), release.to_owned());
        }
    }
    nights
}

#[test]
fn a_history_in_every_form() {
    let nights = nights();
    let shown = |format| history(&nights.each_ref(), format);
    insta::assert_snapshot!("history_terminal", shown(Format::Terminal(PLAIN)));
    assert!(shown(Format::Terminal(TerminalLook { unicode: false, ..PLAIN })).is_ascii());
    let two = history(&[&nights[1], &nights[2]], Format::Markdown);
    assert!(two.contains("That is Linux 6.3 against 6.2.**"), "{two}");
    let markdown = shown(Format::Markdown);
    assert!(markdown.contains("▲ **worse** | ▁▁██ | same |"), "{markdown}");
    let json: Value = serde_json::from_str(&shown(Format::Json)).unwrap();
    assert_eq!((json["regression"].as_bool(), json["steps"].as_array().unwrap().len()), (Some(true), 3));
    assert_eq!(json["steps"][1]["comparisons"][1]["outcome"], "worse");
    let csv = shown(Format::Csv);
    let rows: Vec<::csv::StringRecord> =
        ::csv::Reader::from_reader(csv.as_bytes()).records().map(Result::unwrap).collect();
    // The whole and three steps, each with what is judged and what informs.
    assert_eq!(rows.len(), 4 * (6 + 8));
    let step =
        rows.iter().find(|row| &row[0] == "night-6.2" && &row[2] == "ext4" && &row[3] == "write").unwrap();
    assert_eq!((&step[1], &step[19]), ("night-6.3", "worse"));
    let page = shown(Format::Html);
    assert!(page.contains("night-6.2 → night-6.3") && page.contains("kernel.release: 6.2 → 6.3"));
    // Six courses of four runs; two of them have a step that is a change, by more than two runs of the same may differ: a phase, and
    // the whole job with it.
    assert_eq!((page.matches("<svg").count(), page.matches("<circle class=\"worse\"").count()), (6, 2));
    assert!(!page.contains("<script") && page.len() < 60_000, "{}", page.len());
}
