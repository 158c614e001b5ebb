//! Sentences that claimed more than was known, each with the run in which it did.

use crate::conclusion::sentence;
use crate::examples::{one, ranked, run_of, undecided};
use crate::fixtures::{PLAIN, Story, id, normals, page_of};
use crate::{Format, Report, TerminalLook};
use fsverdict_judgement::verdict::{ContrastOutcome, RunNoise};

/// Blocks of one phase, by the seconds of each candidate; `None`: its trial failed.
fn told(names: &[&str], blocks: &[Vec<Option<f64>>]) -> Story {
    let mut story = Story::new(names, &["write"]);
    for (block, seconds) in (1..).zip(blocks) {
        story.open_block(block, 1, names);
        for (name, seconds) in names.iter().zip(seconds) {
            match seconds {
                Some(seconds) => story.trial(&id(block, name), &[("write", *seconds)]),
                None => story.failed_trial(&id(block, name), "fsck found errors"),
            };
        }
        story.close_block(block, 1, None);
    }
    story.finish();
    story
}

fn sentence_of(story: &Story) -> String {
    let run = story.run();
    Report::new(&story.plan, &run, None).sentence
}

#[test]
fn who_is_not_shown_to_be_unbeaten_is_open_and_not_in_the_pareto_set() {
    let story = undecided();
    let run = story.run();
    let report = Report::new(&story.plan, &run, None);
    let of = |name: &str| report.judged.verdict.tradeoffs.iter().find(|one| one.candidate == name).unwrap();
    assert!(of("xfs").beaten_by.is_none() && !of("xfs").unbeaten);
    assert!(of("jfs").beaten_by.is_some() && !of("jfs").unbeaten);
    let page = page_of(&story, None, Format::Terminal(TerminalLook { detail: true, ..PLAIN }));
    let is_open = |line: &str| line.starts_with("xfs ") && line.trim_end().ends_with("open");
    assert!(page.contains("Pareto set") && page.lines().any(is_open), "{page}");
}

#[test]
fn nobody_is_called_within_a_tie_by_the_points() {
    let mut normal = normals(3);
    for _ in 0..150 {
        let block = |_| [1.0, 1.1].map(|centre| Some(centre * libm::exp(0.05 * normal()))).to_vec();
        let story = told(&["ext4", "xfs"], &(0..3).map(block).collect::<Vec<_>>());
        let sentence = sentence_of(&story);
        assert!(!sentence.contains("within 3%"), "{sentence}");
    }
    let apart = [[10.0, 9.0], [10.0, 10.0], [10.0, 11.1]].map(|block| block.map(Some).to_vec());
    let sentence = sentence_of(&told(&["ext4", "xfs"], &apart));
    assert!(sentence.contains("no difference can be told yet between ext4 and xfs"), "{sentence}");
}

#[test]
fn that_the_one_ahead_failed_is_in_the_headline_and_the_first_limit() {
    let seconds = |block: u32, base: f64| Some(base * (1.0 + 0.002 * f64::from(block % 3)));
    let block = |block: u32| {
        let ext4 = if block == 6 { None } else { seconds(block, 8.0) };
        vec![ext4, seconds(block + 1, 10.0), seconds(block + 2, 14.0)]
    };
    let story = told(&["ext4", "xfs", "jfs"], &(1..=6).map(block).collect::<Vec<_>>());
    let run = story.run();
    let report = Report::new(&story.plan, &run, None);
    let lost = "ext4, which was ahead, is excluded (1 of 6 trials failed, first in block 6: fsck found errors). Take xfs: ";
    assert!(report.sentence.starts_with(lost), "{}", report.sentence);
    let limit = report.judged.verdict.limits[0].to_string();
    assert!(
        limit.starts_with("ext4 is excluded because it failed (") && limit.contains("it took 0.80 "),
        "{limit}"
    );
    // Who was behind anyway is named with the failed ones only.
    let block = |block: u32| {
        let jfs = if block == 6 { None } else { seconds(block + 2, 14.0) };
        vec![seconds(block, 8.0), seconds(block + 1, 10.0), jfs]
    };
    let story = told(&["ext4", "xfs", "jfs"], &(1..=6).map(block).collect::<Vec<_>>());
    assert!(sentence_of(&story).starts_with("Take ext4: "));
}

#[test]
fn three_that_were_ahead_and_failed_share_a_clause() {
    let seconds = |block: u32, base: f64| Some(base * (1.0 + 0.002 * f64::from(block % 3)));
    let sentence = |failed_in: [u32; 3]| {
        let block = |block: u32| {
            let ahead = [7.0, 8.0, 9.0].into_iter().zip(failed_in);
            let ahead = ahead.map(|(base, failed)| if block == failed { None } else { seconds(block, base) });
            ahead.chain([seconds(block + 1, 12.0), seconds(block + 2, 15.0)]).collect()
        };
        let names = ["ext4", "btrfs", "f2fs", "xfs", "jfs"];
        sentence_of(&told(&names, &(1..=6).map(block).collect::<Vec<_>>()))
    };
    let alike = sentence([6, 6, 6]);
    let clause = "ext4, btrfs and f2fs, which were ahead, are excluded (1 of 6 trials failed, first in block 6: fsck found errors). Take xfs: ";
    assert!(alike.starts_with(clause), "{alike}");
    let differing = sentence([6, 6, 5]);
    let clause = "ext4, btrfs and f2fs, which were ahead, are excluded (the reasons are below). Take xfs: ";
    assert!(differing.starts_with(clause), "{differing}");
    // Two are told of one by one.
    assert!(
        sentence([6, 6, 0]).contains("btrfs, which was ahead, is excluded (1 of 6"),
        "{}",
        sentence([6, 6, 0])
    );
}

#[test]
fn a_run_in_which_every_candidate_failed_says_so() {
    let block = |block: u32| if block == 6 { vec![None, None] } else { vec![Some(8.0), Some(10.0)] };
    let sentence = sentence_of(&told(&["ext4", "xfs"], &(1..=6).map(block).collect::<Vec<_>>()));
    assert!(sentence.starts_with("No candidate is left"), "{sentence}");
    assert!(sentence.contains(": ext4 and xfs are excluded (the reasons are below)."), "{sentence}");
}

/// What reads 1.00 is no factor by which anybody is behind.
#[test]
fn a_rival_whose_ratio_reads_one_is_alike() {
    let mut normal = normals(7);
    let mut seen = 0;
    for _ in 0..60 {
        let block = |_| [1.0, 1.0].map(|centre| Some(centre * libm::exp(0.06 * normal()))).to_vec();
        let story = told(&["ext4", "xfs"], &(0..12).map(block).collect::<Vec<_>>());
        let run = story.run();
        let report = Report::new(&story.plan, &run, None);
        let said = format!("{} {}", report.sentence, report.paragraph.unwrap_or_default());
        assert!(!said.contains(" 1.00 ("), "{said}");
        seen += usize::from(said.contains("the same within") || said.contains("is the same as"));
    }
    assert!(seen > 0);
}

#[test]
fn how_much_trials_stray_is_of_the_noise_by_which_differences_show() {
    let mut story = run_of(&[one("ext4", 8.0, 2.7, 0.002), one("xfs", 8.5, 2.9, 0.002)], 8);
    let names = ["ext4", "xfs"];
    story.open_block(9, 1, &names);
    for (name, write) in [("ext4", 8.0), ("xfs", 14.0)] {
        story.trial(&id(9, name), &[("write", write), ("read", 2.8)]);
    }
    story.close_block(9, 1, None).finish();
    let run = story.run();
    let RunNoise { deviation, detectable, .. } =
        Report::new(&story.plan, &run, None).judged.verdict.noise.unwrap();
    assert!(deviation < detectable && deviation < 0.01, "{deviation} {detectable}");
}

#[test]
fn a_row_that_is_ahead_of_the_one_to_take_is_named() {
    let story = ranked();
    let run = story.run();
    let mut report = Report::new(&story.plan, &run, None);
    let xfs = report.judged.verdict.standings.iter_mut().find(|one| one.of == "xfs").unwrap();
    xfs.ratio = xfs.ratio.map(|ratio| ratio * 0.985);
    let said = sentence::describe_outcome(&report.judged);
    assert!(said.contains("xfs is tied with it (xfs takes 11.0 s (−0.9%, −1.5% to −0.3%)"), "{said}");
    assert!(said.contains("less, by no more than matters); the next, jfs, takes "), "{said}");
    let xfs = report.judged.verdict.standings.iter_mut().find(|one| one.of == "xfs").unwrap();
    xfs.outcome = ContrastOutcome::NotBetter;
    report.judged.verdict.tied.clear();
    let said = sentence::describe_outcome(&report.judged);
    assert!(said.contains("; by the estimates xfs is ahead, by no more than that: it takes "), "{said}");
}
