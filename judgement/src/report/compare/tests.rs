//! The comparison as a user sees it; `snapshots/` holds each page.

use serde_json::Value;

use super::{ComparisonFormat, ComparisonReport, write_comparison};
use crate::report::Look;
use crate::report::fixtures::{Story, id, shape};
use crate::verdict::{Side, compare};

const PLAIN: Look = Look { columns: 100, colour: false, unicode: true, detail: true };

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

fn page(before: &Story, after: &Story, format: ComparisonFormat) -> String {
    let (one, other) = (before.run(), after.run());
    let found =
        compare(Side { plan: &before.plan, run: &one }, Side { plan: &after.plan, run: &other }).unwrap();
    let mut out = Vec::new();
    let report = ComparisonReport { before: &one, after: &other, found: &found };
    write_comparison(report, format, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn a_regression_in_every_form() {
    let (before, mut after) = (story(1.0), story(1.25));
    after.plan.candidates[0].mkfs = vec!["-O".to_owned(), "^has_journal".to_owned()];
    insta::assert_snapshot!("terminal", page(&before, &after, ComparisonFormat::Terminal(PLAIN)));
    insta::assert_snapshot!("markdown", page(&before, &after, ComparisonFormat::Markdown));
    let json: Value = serde_json::from_str(&page(&before, &after, ComparisonFormat::Json)).unwrap();
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
    let json: Value = serde_json::from_str(&page(&before, &after, ComparisonFormat::Json)).unwrap();
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
    let shown = page(&few(1.0), &few(3.0), ComparisonFormat::Terminal(PLAIN));
    assert!(
        shown.contains("Neither a change nor its absence could be shown: 1 comparison undecided."),
        "{shown}"
    );
    assert!(shown.contains("too few blocks: with 1 before and 1 after"), "{shown}");
}

#[test]
fn colour_and_unicode_add_no_meaning() {
    let (before, after) = (story(1.0), story(1.25));
    let shown = |look| page(&before, &after, ComparisonFormat::Terminal(look));
    let coloured = shown(Look { colour: true, ..PLAIN });
    assert!(coloured.contains("\x1b["));
    assert_eq!(anstream::adapter::strip_str(&coloured).to_string(), shown(PLAIN));
    let ascii = shown(Look { unicode: false, ..PLAIN });
    assert!(ascii.is_ascii() && !ascii.contains('?'), "{ascii}");
}

#[test]
fn foreign_text_stays_text() {
    let (before, mut after) = (story(1.0), story(1.0));
    after.plan.candidates[0].mkfs = vec!["\x1b[31m|<b>".to_owned()];
    assert!(!page(&before, &after, ComparisonFormat::Terminal(PLAIN)).contains('\x1b'));
    assert!(page(&before, &after, ComparisonFormat::Markdown).contains("none → \\|&lt;b&gt;\n"));
}
