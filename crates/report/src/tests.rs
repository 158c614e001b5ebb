//! What the user sees, reviewed as text: `snapshots/` holds each page.

use crate::examples::{disturbed, ranked, recommended, under_kernels, with_a_twin, with_tradeoffs};
use crate::fixtures::{PLAIN, Story, data_of, demo, id, page_of, shape};
use crate::study_tests::study;
use crate::{Format, Report, TerminalLook, write};
use fsverdict_judgement::journal::Spent;

fn page(story: &Story, format: Format) -> String {
    page_of(story, Some("/home/u/runs/2026-11-21-usb-backup"), format)
}

fn widest(page: &str) -> usize {
    page.lines().map(fsverdict_text::display_width).max().unwrap_or(0)
}

/// A run in which every kind of mishap occurs.
pub(super) fn mishaps() -> Story {
    let mut story = Story::new(&["ext4", "xfs", "jfs", "reiser4", "nilfs2"], &["write", "read"]);
    story.skip(
        "reiser4",
        "no driver in this kernel",
        "name a kernel that has it: kernel = \"/path/to/linux\"",
    );
    story.open_block(1, 1, &["ext4", "xfs", "jfs"]);
    story.trial(&id(1, "ext4"), &[("write", 9.0), ("read", 3.0)]);
    story.close_block(1, 1, Some("another process used 31% of the CPU"));
    story.open_block(1, 2, &["xfs", "jfs", "ext4"]);
    let second = |name: &str| fsverdict_judgement::journal::TrialId { attempt: 2, ..id(1, name) };
    story.trial(&second("xfs"), &[("write", 2.10), ("read", 1.01)]);
    story.failed_trial(&second("jfs"), "read: 3 files differ from what was written, first `a/b/c`");
    story.trial(&second("ext4"), &[("write", 2.15), ("read", 0.95)]);
    story.close_block(1, 2, None);
    story
}

#[test]
fn sixteen_candidates_in_one_block() {
    let story = demo(1);
    let shown = page(&story, Format::Terminal(PLAIN));
    assert!(widest(&shown) <= 100);
    insta::assert_snapshot!("demo_terminal", shown);
    insta::assert_snapshot!("demo_markdown", page(&story, Format::Markdown));
}

#[test]
fn sixteen_candidates_in_three_blocks_with_detail_in_eighty_columns() {
    let look = TerminalLook { columns: 80, detail: true, ..PLAIN };
    let mut story = demo(3);
    let shown = page(story.finish(), Format::Terminal(look));
    assert!(widest(&shown) <= 80);
    insta::assert_snapshot!("three_blocks_detail", shown);
}

#[test]
fn without_unicode_the_page_is_ascii() {
    let mut story = demo(3);
    let shown = page(story.finish(), Format::Terminal(TerminalLook { unicode: false, ..PLAIN }));
    assert!(shown.is_ascii());
    assert!(widest(&shown) <= 100);
    insta::assert_snapshot!("three_blocks_ascii", shown);
}

#[test]
fn colour_adds_nothing_but_colour() {
    let story = mishaps();
    let coloured = page(&story, Format::Terminal(TerminalLook { colour: true, ..PLAIN }));
    assert!(coloured.contains("\x1b[1m\x1b[32m► "));
    assert_eq!(anstream::adapter::strip_str(&coloured).to_string(), page(&story, Format::Terminal(PLAIN)));
}

#[test]
fn mishaps_are_shown() {
    let story = mishaps();
    insta::assert_snapshot!("mishaps_terminal", page(&story, Format::Terminal(PLAIN)));
    insta::assert_snapshot!("mishaps_markdown", page(&story, Format::Markdown));
    insta::assert_snapshot!("mishaps_csv", page(&story, Format::Csv));
}

#[test]
fn an_open_block_is_provisional() {
    let mut story = Story::new(&["ext4", "xfs", "btrfs"], &["write"]);
    story.open_block(1, 1, &["xfs", "ext4", "btrfs"]);
    story.trial(&id(1, "xfs"), &[("write", 2.0)]);
    story.trial(&id(1, "ext4"), &[("write", 1.5)]);
    story.torn();
    insta::assert_snapshot!("open_block", page(&story, Format::Terminal(PLAIN)));
}

#[test]
fn a_run_with_no_finished_trial_is_shown() {
    let mut story = Story::new(&["ext4", "xfs"], &["write"]);
    story.open_block(1, 1, &["xfs", "ext4"]);
    insta::assert_snapshot!("no_trial", page(&story, Format::Terminal(PLAIN)));
    insta::assert_snapshot!("no_trial_markdown", page(&story, Format::Markdown));
    assert_eq!(page(&story, Format::Csv).lines().count(), 1);
    let json = data_of(&story);
    assert_eq!(json["estimates"], serde_json::json!([]));
    assert_eq!(json["candidates"][0]["status"], "skipped");
}

#[test]
fn many_phases_become_several_tables() {
    let phases: Vec<String> = (1..=14).map(|number| format!("phase-number-{number}")).collect();
    let phases: Vec<&str> = phases.iter().map(String::as_str).collect();
    let mut story = Story::new(&["ext4", "xfs"], &phases);
    story.open_block(1, 1, &["ext4", "xfs"]);
    for (name, factor) in [("ext4", 1.0), ("xfs", 1.2)] {
        let times: Vec<(&str, f64)> = phases.iter().map(|phase| (*phase, 10.0 * factor)).collect();
        story.trial(&id(1, name), &times);
    }
    story.close_block(1, 1, None).finish();
    let shown = page(&story, Format::Terminal(TerminalLook { columns: 80, ..PLAIN }));
    assert!(widest(&shown) <= 80);
    insta::assert_snapshot!("many_phases", shown);
}

/// Names and outputs that would break a page, a table, a data file or a terminal.
pub(super) fn hostile() -> Story {
    const SCRIPT: &str = "<script>alert(1)</script>";
    const TABLE: &str = "a|b,\"c\"\n@all";
    let mut story = Story::new(&[SCRIPT, TABLE, "\x1b[31mred"], &["wr|ite\n", "=1+1"]);
    if let fsverdict_judgement::journal::Event::RunStarted { title, .. } = &mut story.records[0].event {
        *title = "<h1>\x1b[1mbig | *title*\nsecond".to_owned();
    }
    story.open_block(1, 1, &[SCRIPT, TABLE, "\x1b[31mred"]);
    story.trial(&id(1, SCRIPT), &[("wr|ite\n", 1.0), ("=1+1", 2.0)]);
    story.trial(&id(1, TABLE), &[("wr|ite\n", 1.5), ("=1+1", 1.0)]);
    story.caution(&id(1, TABLE), "", "said \x1b]0;owned\x07 `code` | \u{202e}backwards");
    story.failed_trial(&id(1, "\x1b[31mred"), "exit 1: \x1b[2J\x1b[1;1Hgone\r\nline two\u{9b}2J | <b>&amp;");
    story.close_block(1, 1, None).finish();
    story
}

#[test]
fn hostile_names_do_no_harm() {
    let story = hostile();
    let shown = page(&story, Format::Terminal(PLAIN));
    assert!(!shown.chars().any(|character| character.is_control() && character != '\n'));
    assert!(!shown.contains('\u{202e}'));
    insta::assert_snapshot!("hostile_terminal", shown);
    let markdown = page(&story, Format::Markdown);
    assert!(!markdown.contains("<script>") && !markdown.contains("@all"));
    insta::assert_snapshot!("hostile_markdown", markdown);
}

#[test]
fn hostile_names_are_one_cell_of_csv_and_come_back_whole_from_json() {
    let story = hostile();
    let text = page(&story, Format::Csv);
    let mut rows = ::csv::Reader::from_reader(text.as_bytes());
    let names: Vec<String> = rows.records().map(|row| row.unwrap()[3].to_owned()).collect();
    assert!(names.iter().any(|name| name == "a|b,\"c\" @all"), "{names:?}");
    assert!(!text.contains('\x1b'));
    let json = data_of(&story);
    let names: Vec<&str> =
        json["candidates"].as_array().unwrap().iter().map(|entry| entry["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"\x1b[31mred") && names.contains(&"a|b,\"c\"\n@all"));
}

#[test]
fn a_closed_pipe_is_recognised() {
    struct Closed;
    impl std::io::Write for Closed {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Err(std::io::ErrorKind::BrokenPipe.into())
        }
    }
    let story = demo(1);
    let run = story.run();
    let report = Report::new(&story.plan, &run, None);
    for format in [Format::Terminal(PLAIN), Format::Json, Format::Csv, Format::Markdown, Format::Html] {
        match write(&report, format, &mut Closed) {
            Err(super::ReportError::Io(error)) => assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe),
            other => panic!("{format:?}: {other:?}"),
        }
    }
}

#[test]
fn the_harness_pays_for_what_no_step_accounts_for() {
    let mut story = Story::new(&["ext4"], &["write"]);
    story.open_block(1, 1, &["ext4"]);
    // The fixture lets a trial take a tenth longer than its steps, and settle for 2% of each.
    story.trial(&id(1, "ext4"), &[("mkfs", 4.0), ("write", 6.0)]);
    let harness = fsverdict_judgement::verdict::Harness::from_run(&story.run()).unwrap();
    assert!((harness.share - 1.0 / 11.0).abs() < 1e-9, "{harness:?}");
    assert!((harness.settle - 0.2 / 11.0).abs() < 1e-9, "{harness:?}");
    assert_eq!(
        fsverdict_judgement::verdict::Harness::from_run(&Story::new(&["ext4"], &["write"]).run()),
        None
    );
    let mut run = story.run();
    // Whatever the stamps of the steps say, the parts add up to the whole: more than the wall, less, all of it before a step.
    for (boot, work, teardown) in [(0.5, 10.6, 0.4), (0.1, 10.3, 0.2), (0.0, 9.0, 3.0), (4.0, 10.0, 0.0)] {
        run.trials[0].spent = Some(Spent { boot, staging: 0.0, work, teardown });
        let harness = fsverdict_judgement::verdict::Harness::from_run(&run).unwrap();
        let all: f64 = harness.overhead_parts().iter().map(|(_, share)| share).sum();
        assert!((all - harness.share).abs() < 1e-9, "{harness:?}: {:?}", harness.overhead_parts());
    }
    // In simulated time none of it is.
    run.trials[0].learnt.device_seconds = Some(2460.04);
    run.worked = 118.2;
    assert_eq!(
        super::wording::harness::write_sentence(
            &fsverdict_judgement::verdict::Harness::from_run(&run).unwrap()
        ),
        "41m of disk time in 1m58s"
    );
}

/// Every field that the JSON form has in some run, with the kinds of its values: what programs rely on.
#[test]
fn the_json_form_keeps_its_fields() {
    let stories = [
        mishaps(),
        ranked(),
        recommended(),
        disturbed(),
        with_a_twin(),
        with_tradeoffs(),
        study(),
        under_kernels(),
    ];
    let documents: Vec<serde_json::Value> = stories.iter().map(data_of).collect();
    insta::assert_snapshot!("json_schema", shape(&documents));
    let json = &documents[1];
    assert_eq!(json["schema"], super::JSON_SCHEMA);
    assert_eq!(
        (&json["verdict"]["outcome"], &json["verdict"]["recommended"]),
        (&"ranked".into(), &"ext4".into())
    );
    assert_eq!(json["verdict"]["standings"][0]["relation"], "tied");
    let mishaps = &documents[0];
    assert_eq!(
        (&mishaps["candidates"][2]["status"], &mishaps["estimates"][0]["n"]),
        (&"failed".into(), &1.into())
    );
    assert_eq!(
        (&mishaps["estimates"][0]["unit"], &mishaps["estimates"][0]["low"]),
        (&"s".into(), &serde_json::Value::Null)
    );
}

#[test]
fn every_column_and_field_is_documented() {
    let document = include_str!("../../../docs/reference/output-formats.md");
    let named = |name: &str| {
        assert!(document.contains(&format!("`{name}`")), "docs/reference/output-formats.md lacks `{name}`");
    };
    let story = mishaps();
    page(&story, Format::Csv).lines().next().unwrap().split(',').for_each(named);
    let json = data_of(&story);
    let parts = [&json, &json["run"], &json["candidates"][0], &json["estimates"][0], &json["verdict"]];
    for part in parts.into_iter().chain([&json["verdict"]["goal"]]) {
        part.as_object().unwrap().keys().for_each(|key| named(key.as_str()));
    }
    fsverdict_judgement::journal::METRICS.iter().for_each(|metric| named(metric.name));
}

#[test]
fn nothing_but_skipped_or_failed_candidates_is_shown_as_such() {
    let mut story = Story::new(&["jfs", "reiser4"], &["write"]);
    story.skip("jfs", "no mkfs.jfs", "").skip("reiser4", "no driver", "").finish();
    assert!(
        page(&story, Format::Terminal(PLAIN))
            .contains("No result: none of the candidates can be tried here.")
    );
    let mut story = Story::new(&["jfs"], &["write"]);
    story.open_block(1, 1, &["jfs"]);
    story.failed_trial(&id(1, "jfs"), "killed").close_block(1, 1, None).finish();
    let shown = page(&story, Format::Terminal(PLAIN));
    assert!(shown.contains("No result: 1 trial ended, and none can be used."), "{shown}");
    assert!(shown.contains("jfs        failed: killed"), "{shown}");
}

#[test]
fn a_step_that_the_goal_weighs_stands_with_the_phases() {
    let mut story = Story::new(&["ext4", "xfs"], &["write"]);
    story.plan.goal.weights.insert("fsck".to_owned(), 2.0);
    story.open_block(1, 1, &["ext4", "xfs"]);
    story.trial(&id(1, "ext4"), &[("write", 1.0), ("fsck", 0.5)]);
    story.trial(&id(1, "xfs"), &[("write", 2.0), ("fsck", 0.6)]);
    story.close_block(1, 1, None).finish();
    let shown = page(&story, Format::Terminal(PLAIN));
    assert!(shown.lines().any(|line| line.starts_with("candidate") && line.contains("fsck")), "{shown}");
    assert!(shown.contains("write + 2 × fsck added up"), "{shown}");
}
