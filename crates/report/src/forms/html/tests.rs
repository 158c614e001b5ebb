//! What the page holds, for runs of every kind; tests/plain/browser.rs looks at it in a real browser.

use std::io::Read;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;

use crate::Format;
use crate::fixtures::{Story, demo, id, page_of};
use crate::tests::{hostile, mishaps};
use fsverdict_judgement::journal::{CommandRecord, Event, Histogram, Observation, Unit, WorkCourse};
use fsverdict_testutil::journals as made;

fn page(story: &Story) -> String {
    page_of(story, None, Format::Html)
}

fn data(page: &str) -> serde_json::Value {
    let start = page.find("id=\"data\">").unwrap() + "id=\"data\">".len();
    let end = start + page[start..].find("</script>").unwrap();
    serde_json::from_str(&page[start..end]).unwrap()
}

/// What a reader sees: the text outside of scripts, styles and tags.
fn text(page: &str) -> String {
    let body = &page[page.find("<body>").unwrap()..page.find("<script").unwrap()];
    let mut text = String::new();
    let mut within = false;
    for character in body.chars() {
        match character {
            '<' => within = true,
            '>' => {
                within = false;
                text.push(' ');
            }
            other if !within => text.push(other),
            _ => {}
        }
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn every_part_is_there_in_its_order() {
    let page = page(demo(3).finish());
    let parts = [
        "id=\"verdict\"",
        "id=\"picture\"",
        "id=\"phases\"",
        "id=\"costs\"",
        "id=\"effects\"",
        "id=\"steps\"",
        "id=\"drift\"",
        "id=\"evidence\"",
    ];
    let places: Vec<usize> =
        parts.iter().map(|part| page.find(part).unwrap_or_else(|| panic!("{part}"))).collect();
    assert!(places.is_sorted(), "{places:?}");
    // Four phases, durable against returned, time against four costs, mkfs and mount, and the drift.
    assert_eq!(page.matches("<figure class=\"chart\"").count(), 4 + 1 + 4 + 2 + 1);
    assert!(page.len() < 6_000_000, "{}", page.len());
}

#[test]
fn charts_shrink_to_the_paper() {
    let page = page(&demo(1));
    let print = page.split("@media print").nth(1).unwrap();
    assert!(
        print.contains(".drawing > svg { width: 100%") && page.contains("viewBox: `0 0 ${wide} ${tall}`")
    );
}

#[test]
fn the_page_loads_nothing() {
    let page = page(&demo(1));
    for loader in [" src=", "<link", "<iframe", "@import", "url(", "fetch(", "XMLHttpRequest"] {
        assert!(!page.contains(loader), "{loader}");
    }
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn foreign_text_stays_text() {
    let page = page(&hostile());
    // The data, the CSV and our four scripts: nothing that came from the journal.
    assert_eq!(page.matches("<script").count(), 6);
    assert!(!page.contains("<script>alert") && !page.contains("<h1>\u{1b}") && !page.contains("<b>&amp;"));
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    assert!(!page.chars().any(|character| character.is_control() && !"\n\t".contains(character)));
    let data = data(&page);
    let names: Vec<&str> =
        data["candidates"].as_array().unwrap().iter().map(|entry| entry["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"<script>alert(1)</script>") && names.contains(&"a|b,\"c\"\n@all"));
}

#[test]
fn commands_can_be_read_and_repeated() {
    let mut story = Story::new(&["ext4"], &["write"]);
    story.open_block(1, 1, &["ext4"]);
    let trial = id(1, "ext4");
    story.tell(Some(&trial), Event::TrialStarted {});
    let argv = ["sh", "-c", "echo \"a'b\" >'$MOUNT/<x>'\n&& true"].map(str::to_owned).to_vec();
    let (stdout, stderr) = (String::new(), "</pre><script>alert(2)</script>".to_owned());
    let record = CommandRecord {
        step: "write".to_owned(),
        argv,
        exit: Some(3),
        signal: None,
        seconds: 0.25,
        stdout,
        stderr,
    };
    story.tell(Some(&trial), Event::Command(record));
    story.tell(Some(&trial), made::ended(Some("write: exit 3"), 1.0));
    story.close_block(1, 1, None).finish();
    let page = page(&story);
    let shown = "sh -c 'echo &quot;a'\\''b&quot; &gt;'\\''$MOUNT/&lt;x&gt;'\\''\n&amp;&amp; true'</pre>";
    assert!(page.contains(shown), "{page:.0}");
    assert!(page.contains("&lt;/pre&gt;&lt;script&gt;alert(2)"));
    assert!(text(&page).contains("write, exit 3, 0.250"));
}

#[test]
fn failed_and_skipped_candidates_say_why() {
    let shown = text(&page(&mishaps()));
    assert!(shown.contains("jfs failed : read: 3 files differ from what was written"), "{shown}");
    assert!(
        shown.contains("reiser4 skipped : no driver in this kernel hint: name a kernel that has it"),
        "{shown}"
    );
    assert!(shown.contains("nilfs2 not tried yet"), "{shown}");
    assert!(shown.contains("block 1 (attempt 1) was thrown out"), "{shown}");
}

#[test]
fn one_block_claims_nothing() {
    let page = page(demo(1).finish());
    let shown = text(&page);
    assert!(shown.contains("one trial each: how far a repetition would differ is not known"), "{shown}");
    assert!(
        shown.contains("With fewer than three blocks there is no interval, and nothing is claimed."),
        "{shown}"
    );
    assert!(!page.contains("class=\"range\"") && !page.contains("worse: "));
}

#[test]
fn a_run_without_a_trial_has_a_page_without_charts() {
    let mut story = Story::new(&["ext4", "xfs"], &["write"]);
    story.open_block(1, 1, &["xfs", "ext4"]);
    let page = page(&story);
    let shown = text(&page);
    assert!(shown.contains("No result yet: no trial has ended."), "{shown}");
    assert!(shown.contains("Nothing was measured that could be compared."), "{shown}");
    assert!(!page.contains("<figure"));
    assert_eq!(data(&page)["trials"], serde_json::json!([]));
}

#[test]
fn the_rows_in_the_page_are_those_of_the_csv() {
    for story in [demo(2), hostile(), mishaps()] {
        let page = page(&story);
        let (_, packed) = page.split_once("id=\"csv\">").unwrap();
        let packed = STANDARD.decode(packed.split('<').next().unwrap()).unwrap();
        let mut held = String::new();
        GzDecoder::new(packed.as_slice()).read_to_string(&mut held).unwrap();
        assert!(held == page_of(&story, None, Format::Csv));
        let data = data(&page);
        let counted = data["trials"].as_array().unwrap().iter().map(|trial| trial[4].as_u64().unwrap());
        let rows = ::csv::Reader::from_reader(held.as_bytes()).records().count();
        assert_eq!(counted.sum::<u64>(), rows as u64);
    }
}

#[test]
fn what_went_on_within_a_phase_is_there_of_one_trial_of_each_candidate() {
    let data = data(&page(demo(3).finish()));
    let courses = data["courses"].as_array().unwrap();
    // Sixteen candidates, four phases of the plan.
    assert_eq!(courses.len(), 64);
    assert_eq!(courses[0]["unwritten"][1][1].as_f64(), Some(f64::from(60 << 20)));
    assert_eq!((&courses[0]["rate"], &courses[0]["work"]), (&serde_json::json!([]), &serde_json::json!([])));
}

#[test]
fn what_got_done_from_moment_to_moment_is_there_with_its_unit() {
    let mut story = Story::new(&["ext4"], &["write"]);
    story.open_block(1, 1, &["ext4"]);
    let trial = id(1, "ext4");
    story.tell(Some(&trial), Event::TrialStarted {});
    let course = WorkCourse { unit: Unit::PerSecond, every: 0.5, rates: vec![10.0, 0.0, 20.0] };
    let numbers = [("durable", Unit::Seconds, 1.5)];
    let observation = Observation { course: Some(course), ..made::measured("write", &numbers) };
    story.tell(Some(&trial), Event::Observation(observation));
    story.tell(Some(&trial), made::ended(None, 1.5));
    story.close_block(1, 1, None);
    let part = &data(&page(&story))["courses"][0];
    assert_eq!(part["work"], serde_json::json!([[0.25, 10.0], [0.75, 0.0], [1.25, 20.0]]));
    assert_eq!(part["work_unit"], "1/s");
}

#[test]
fn latencies_of_all_trials_are_added_up() {
    let mut story = Story::new(&["ext4"], &["write"]);
    for block in 1..=2 {
        story.open_block(block, 1, &["ext4"]);
        let trial = id(block, "ext4");
        story.tell(Some(&trial), Event::TrialStarted {});
        let histograms = vec![Histogram {
            call: "create".to_owned(),
            buckets: vec![(1_000, 99), (u64::from(block) * 2_000_000, 1)],
        }];
        let numbers = [("durable", Unit::Seconds, 1.0)];
        let observation = Observation { histograms, ..made::measured("write", &numbers) };
        story.tell(Some(&trial), Event::Observation(observation));
        story.tell(Some(&trial), made::ended(None, 1.0));
        story.close_block(block, 1, None);
    }
    let page = page(&story);
    let shown = text(&page);
    assert!(shown.contains("ext4 1.00 µs 1.00 µs 1.00 µs 4.00 ms 4.00 ms 200"), "{shown}");
    assert_eq!(data(&page)["courses"], serde_json::json!([]));
    let curve = &data(&page)["latency"][0];
    assert_eq!((curve["calls"].as_u64(), curve["call"].as_str()), (Some(200), Some("create")));
}
