//! Verdicts as the user sees them: recommended, ranked, undecided and A/A, in every form that people read.

use crate::examples::{
    against_itself, disturbed, disturbed_till_its_time_was_up, one, ranked, recommended, repeated, run_of,
    set_aside, undecided, with_a_twin, with_tradeoffs,
};
use crate::fixtures::{PLAIN, Story, data_of, id, page_of};
use crate::{Format, Report, TerminalLook};
use fsverdict_judgement::journal::{BlockSite, Caution, Ending, Event, Unit};
use fsverdict_judgement::plan::Blocks;
use fsverdict_judgement::verdict::{Outcome, estimate_all};

fn page(story: &Story, format: Format) -> String {
    page_of(story, None, format)
}

fn terminal(story: &Story) -> String {
    page(story, Format::Terminal(PLAIN))
}

fn outcome(story: &Story) -> Outcome {
    let run = story.run();
    Report::new(&story.plan, &run, None).judged.verdict.outcome
}

#[test]
fn recommended_ranked_and_undecided() {
    for (name, story, expected) in [
        ("recommended", recommended(), Outcome::Recommended),
        ("ranked", ranked(), Outcome::Ranked),
        ("undecided", undecided(), Outcome::Undecided),
    ] {
        assert_eq!(outcome(&story), expected, "{name}");
        insta::assert_snapshot!(format!("{name}_terminal"), terminal(&story));
        insta::assert_snapshot!(format!("{name}_markdown"), page(&story, Format::Markdown));
    }
}

#[test]
fn a_candidate_against_itself() {
    let tied = against_itself(1.0);
    assert_eq!(outcome(&tied), Outcome::Ranked);
    insta::assert_snapshot!("against_itself_terminal", terminal(&tied));
    let shown = terminal(&against_itself(1.2));
    assert!(shown.contains("false alarm"), "{shown}");
}

#[test]
fn a_twin_that_is_told_apart_is_a_warning() {
    let story = with_a_twin();
    let run = story.run();
    let verdict = Report::new(&story.plan, &run, None).judged.verdict;
    assert_eq!((verdict.outcome, verdict.recommended.as_deref()), (Outcome::Ranked, Some("ext4")));
    let shown = terminal(&story);
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("something here favours one of two identical candidates"), "{shown}");
    insta::assert_snapshot!("with_a_twin_terminal", shown);
}

#[test]
fn what_hangs_on_blocks_that_were_set_aside_says_so_and_is_not_certain() {
    let story = set_aside();
    let run = story.run();
    let verdict = Report::new(&story.plan, &run, None).judged.verdict;
    // What was set aside speaks for the other: ext4 is not even to be taken.
    assert_eq!((verdict.recommended.as_deref(), verdict.behind.len()), (None, 0));
    let shown = page(&story, Format::Markdown);
    let limit = "2 of 7 blocks lie far from the others and were excluded; there ext4:noatime took 0.92 times as long as ext4, and with all blocks the ratio is 1.06 (0.92 to 1.21)";
    assert!(shown.contains(limit), "{shown}");
    let shown = page(&story, Format::Html);
    assert!(!shown.contains("≤ not better<") && !shown.contains("✕ behind<"), "{shown}");
}

#[test]
fn who_measures_nothing_in_a_later_block_is_no_reason_to_take_the_other() {
    let names = ["ext4", "btrfs"];
    for phases in [&["write"][..], &["write", "read"]] {
        let mut story = Story::new(&names, phases);
        for block in 1..=6 {
            story.open_block(block, 1, &names);
            let read = 1.0 + 0.01 * f64::from(block % 3);
            story.trial(&id(block, "ext4"), &[("write", 8.0), ("read", 2.0 * read)][..phases.len()]);
            let written = if block < 4 { 0.5 * read } else { 0.0 };
            story.trial(&id(block, "btrfs"), &[("write", written), ("read", 4.0)][..phases.len()]);
            story.close_block(block, 1, None);
        }
        let run = story.run();
        let verdict = Report::new(&story.plan, &run, None).judged.verdict;
        assert_eq!(verdict.left_out_phases.len(), 1, "{verdict:?}");
        assert_eq!(verdict.left_out_phases[0].lacking, ["btrfs"]);
        let shown = terminal(&story);
        match phases.len() {
            1 => assert!(verdict.recommended.is_none() && !shown.contains("Take "), "{shown}"),
            _ => assert_eq!(verdict.recommended.as_deref(), Some("ext4")),
        }
    }
}

#[test]
fn a_machine_too_busy_ranks_nothing() {
    let story = disturbed();
    let run = story.run();
    let verdict = Report::new(&story.plan, &run, None).judged.verdict;
    assert!(verdict.recommended.is_none() && verdict.ranking.is_empty() && verdict.standings.is_empty());
    assert_eq!(verdict.open, ["ext4", "jfs"]);
    insta::assert_snapshot!("disturbed_terminal", terminal(&story));
    insta::assert_snapshot!("disturbed_markdown", page(&story, Format::Markdown));
    let json = data_of(&story);
    assert_eq!(
        (&json["run"]["blocks_invalid"], &json["run"]["ended"]["by"]),
        (&3.into(), &"disturbed".into())
    );
    assert_eq!(json["run"]["invalid"][2]["attempt"], 3);
    assert!(page(&story, Format::Html).contains("No verdict: 3 blocks were invalid"));
}

/// The text between two places of a page, without its tags.
fn part(page: &str, from: &str, to: &str) -> String {
    let start = page.find(from).unwrap();
    let end = start + page[start..].find(to).unwrap();
    page[start..end].split('<').map(|piece| piece.split_once('>').map_or(piece, |(_, text)| text)).collect()
}

#[test]
fn no_form_crowns_anybody_in_a_run_that_was_disturbed() {
    for format in [Format::Html, Format::Markdown, Format::Terminal(PLAIN)] {
        let shown = page(&disturbed(), format);
        let picture =
            if format == Format::Html { part(&shown, "id=\"picture\"", "id=\"phases\"") } else { shown };
        for crown in ["►", "≈", "best of its phase"] {
            assert!(!picture.contains(crown), "{crown} in {picture}");
        }
        // Its numbers are still there.
        assert!(picture.contains("8.") && picture.contains("14"), "{picture}");
    }
}

#[test]
fn a_machine_too_busy_till_the_time_was_up_shows_its_numbers_and_what_to_do() {
    for format in [Format::Html, Format::Markdown, Format::Terminal(PLAIN)] {
        let shown = page(&disturbed_till_its_time_was_up(), format);
        for words in [
            "No verdict: the time of 20m is up",
            "too busy",
            "repeat the run when the machine is idle",
            "13.7",
        ] {
            assert!(shown.contains(words), "{words} in {shown}");
        }
        assert!(!shown.contains("No result"), "{shown}");
    }
}

#[test]
fn a_twin_has_nothing_to_win() {
    let alone = page(&against_itself(0.9), Format::Html);
    assert!(!part(&alone, "id=\"picture\"", "id=\"phases\"").contains('►'));
    // The twin reads and writes faster than everybody else.
    let contestants =
        [one("ext4", 8.0, 2.7, 0.01), one("jfs", 14.0, 4.0, 0.01), one("ext4~twin", 7.0, 2.0, 0.01)];
    let mut story = run_of(&contestants, 6);
    story.finish_for("6 blocks, as planned");
    let shown = page(&story, Format::Html);
    let row = &shown[shown.rfind("<span class=\"name\">ext4~twin").unwrap()..];
    assert!(!row[..row.find("</tr>").unwrap()].contains('►'));
}

#[test]
fn one_thing_has_one_number_wherever_it_stands() {
    for story in [recommended(), ranked(), undecided(), with_a_twin(), with_tradeoffs()] {
        let run = story.run();
        let report = Report::new(&story.plan, &run, None);
        let leader = &report.judged.verdict.ranking[0].candidate;
        for standing in report.judged.verdict.standings.iter().filter(|standing| standing.against == *leader)
        {
            let entry = report.judged.candidates.iter().find(|entry| entry.name == standing.of).unwrap();
            // The interval in the table belongs to the ratio beside it, and both to the sentences.
            assert_eq!(entry.behind, Some(standing.ratio), "{}", standing.of);
        }
        let words = report.paragraph.as_ref().unwrap();
        if let Some((_, after)) = report.sentence.split_once("takes ") {
            let (number, _) = after.split_once(')').unwrap();
            assert!(words.contains(number), "{number} is not in {words}");
        }
    }
}

#[test]
fn what_the_times_leave_out_of_some_is_the_first_limit() {
    let mut story = recommended();
    let spared = story.run().candidates[1].name.clone();
    let cipher = Caution::of_free_work("what the cipher costs is not in these times");
    story.tell(Some(&id(1, &spared)), Event::Caution(cipher));
    let run = story.run();
    let words = Report::new(&story.plan, &run, None).paragraph.unwrap();
    assert!(words.contains("Limits: what the cipher costs is not in these times; "), "{words}");
}

#[test]
fn a_tie_is_not_to_be_settled_by_hundreds_of_blocks() {
    // The same to a thousandth, in trials that stray by 1.5 %, with a tie far below that.
    let mut story = Story::new(&["ext4", "xfs"], &["write"]);
    story.plan.protocol.tie = 0.002;
    story.plan.protocol.blocks = Blocks { min: 3, max: 8 };
    for (block, stray) in (1..).zip([1.015, 0.985, 1.02, 0.98, 1.012, 0.991, 1.017, 0.983]) {
        story.open_block(block, 1, &["ext4", "xfs"]);
        story.trial(&id(block, "ext4"), &[("write", 1.0)]);
        story.trial(&id(block, "xfs"), &[("write", stray)]);
        story.close_block(block, 1, None);
    }
    story.end("undecided after 8 blocks", Ending::Blocks);
    let shown = page_of(&story, Some("run"), Format::Terminal(PLAIN));
    let flat = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("too small to see here: take any of these"), "{shown}");
    assert!(!shown.contains("--more"), "{shown}");
}

#[test]
fn what_was_thrown_out_has_no_part_in_the_verdict() {
    let story = repeated();
    insta::assert_snapshot!("repeated_terminal", terminal(&story));
    assert_eq!(outcome(&story), Outcome::Ranked);
    let rows = page(&story, Format::Csv);
    let of_the_first_try = |row: &&str| row.contains(",3,1,");
    assert!(rows.lines().filter(of_the_first_try).all(|row| row.ends_with(",discarded")));
    assert_eq!(rows.lines().filter(|row| row.ends_with(",discarded")).count(), 2 * 2 * 9);
    assert!(page(&story, Format::Html).contains("2.1 times as slow"));
}

#[test]
fn the_words_tell_what_time_costs_and_how_firm_the_order_is() {
    let story = with_tradeoffs();
    let run = story.run();
    let report = Report::new(&story.plan, &run, None);
    let set = report.judged.verdict.tradeoffs.iter().filter(|one| one.beaten_by.is_none());
    assert_eq!(set.map(|one| one.candidate.as_str()).collect::<Vec<_>>(), ["ext4", "jfs"]);
    let shown = page(&story, Format::Terminal(TerminalLook { detail: true, ..PLAIN }));
    insta::assert_snapshot!("with_tradeoffs_terminal", shown);
    // xfs leads as soon as it reads so often that the half second it saves each time makes up for four seconds of writing.
    let read = report.judged.verdict.sensitivity.iter().find(|range| range.phase == "read").unwrap();
    let turn = read.high.as_ref().unwrap();
    assert_eq!(turn.winner, "xfs");
    assert!((turn.weight - (10.0 - 6.0) / (3.0 - 2.5)).abs() < 1.0, "{turn:?}");
    assert!(page(&story, Format::Html).contains("Costs beside time, and other frequencies"));
}

#[test]
fn there_are_no_words_before_there_is_something_to_compare() {
    let alone = run_of(&[one("ext4", 8.0, 2.7, 0.01)], 3);
    assert!(!terminal(&alone).contains("In plain words"));
    assert_eq!(data_of(&alone)["verdict"]["words"], serde_json::Value::Null);
}

#[test]
fn tables_leave_out_no_site_either() {
    let mut story = Story::new(&["ext4", "xfs"], &["write"]);
    for (block, seconds) in (1..).zip([11.0, 11.1, 10.9, 11.0, 11.2, 11.1, 6.0, 6.1]) {
        story.open_block(block, 1, &["ext4", "xfs"]);
        story.trial(&id(block, "ext4"), &[("write", 10.0)]).trial(&id(block, "xfs"), &[("write", seconds)]);
        story.close_block(block, 1, None);
    }
    let times = |sites: [&str; 2]| {
        let mut run = story.run();
        for block in &mut run.blocks {
            let site = sites[usize::from(block.block > 6)].to_owned();
            block.place = Some(BlockSite { site, round: block.block });
        }
        let trials: Vec<_> = run.trials.iter().collect();
        let estimates = estimate_all(&run, &trials, Some("ext4"));
        let seconds = estimates.iter().find(|one| one.candidate == "xfs" && one.unit == Unit::Seconds);
        seconds.unwrap().estimate.point
    };
    let (one, two) = (times(["here", "here"]), times(["here", "there"]));
    assert!(one > 11.0 && two < 10.0, "{one} {two}");
}
