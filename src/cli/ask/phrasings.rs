//! Questions as people say them, and what a human would mean by each: `phrasings.txt`, a line each.

use clap::Parser;

use super::super::CliError;
use super::AskArguments;
use super::asked_plan::AskedPlan;
use super::question::{AskedWork, Question};
use super::told::tell;
use super::understanding::{Understood, understand};
use fsverdict_judgement::plan::{DeviceSource, Overrides};

#[derive(Debug, Parser)]
struct OneQuestion {
    #[command(flatten)]
    arguments: AskArguments,
}

fn understood(said: &str) -> Result<Understood, CliError> {
    let question = OneQuestion::try_parse_from(["ask", "--", said]).unwrap();
    understand(&question.arguments, false)
}

fn listed<T>(name: &str, all: impl IntoIterator<Item = T>, word: impl Fn(T) -> String) -> Option<String> {
    let words: Vec<String> = all.into_iter().map(word).collect();
    (!words.is_empty()).then(|| format!("{name} {}", words.join(", ")))
}

/// The understood words, as a line of the file says them; nothing that was not said.
fn line_of(Understood { question, time }: &Understood) -> String {
    let Question { work, device, must, candidates, limits, tolerance, .. } = question;
    let work = match work {
        AskedWork::Preset(preset) => preset.name.to_owned(),
        AskedWork::Folder(folder) => folder.display().to_string(),
    };
    // A device that the user did not name is the preset's own.
    let device = device.iter().filter(|device| !device.said.is_empty()).map(|device| match &device.source {
        DeviceSource::Model { name, .. } => name.split(':').next().unwrap_or(name).to_owned(),
        other => other.to_string(),
    });
    let fields = [
        Some(format!("work {work}")),
        listed("device", device, |name| name),
        listed("candidates", &candidates.named, |said| said.value.shown()),
        listed("layers", &candidates.layers, |said| said.value.to_owned()),
        listed("options", &candidates.options, |said| said.value.shown()),
        listed("not", &candidates.excluded, |said| said.value.to_owned()),
        listed("unencrypted", &candidates.unencrypted, |said| said.words.clone())
            .map(|_| "unencrypted".to_owned()),
        listed("must", must, |said| said.value.word().to_owned()),
        listed("limit", limits, |said| said.value.shown()),
        listed("compare", &candidates.compared, |said| said.value.word().to_owned()),
        listed("tolerance", tolerance, |said| format!("{}%", said.value.share * 100.0)),
        listed("time", time, |time| format!("{}m", time.as_secs() / 60)),
    ];
    fields.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// The candidates of the plan that a question becomes.
fn candidates_for(said: &str) -> Vec<String> {
    let question = understood(said).unwrap_or_else(|error| panic!("{said}: {error}")).question;
    let asked =
        AskedPlan::of(&question, Overrides::default()).unwrap_or_else(|error| panic!("{said}: {error}"));
    asked.plan.candidates.into_iter().map(|candidate| candidate.name).collect()
}

#[test]
fn what_was_named_and_left_out_is_what_is_tried() {
    for (said, names) in [
        ("mail on ssd, not btrfs", &["ext4", "xfs", "f2fs"][..]),
        ("mail on ssd: anything but ext4 and f2fs", &["xfs", "btrfs"]),
        ("mail on ssd: ext4 or xfs or btrfs, no btrfs", &["ext4", "xfs"]),
        ("lvm thin vs btrfs snapshots on ssd", &["btrfs", "ext4+lvm:thin", "xfs+lvm:thin"]),
        ("btrfs compress=lzo vs no compression for git", &["btrfs:compress=lzo", "btrfs"]),
        ("ext4 with and without journal for failed-writes", &["ext4", "ext4:^has_journal"]),
    ] {
        assert_eq!(candidates_for(said), names, "{said}");
    }
}

#[test]
fn questions_are_understood_as_a_human_would_or_asked_back() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    for line in include_str!("phrasings.txt").lines().filter(|line| !line.starts_with('#')) {
        let Some((said, meant)) = line.split_once(" => ") else { panic!("no expectation: {line}") };
        let found = match understood(said) {
            Ok(understood) => line_of(&understood),
            Err(CliError::Usage(reason)) if meant == "asks" => {
                assert!(!reason.hint.is_empty(), "{said}");
                "asks".to_owned()
            }
            Err(error) => format!("asks: {error}"),
        };
        // The order in which fields are written does not matter.
        let sorted = |text: &str| {
            let mut fields: Vec<String> = text.split("; ").map(str::to_owned).collect();
            fields.sort_unstable();
            fields
        };
        count += 1;
        if sorted(&found) != sorted(meant) {
            wrong.push(format!("{said}\n  meant {meant}\n  found {found}"));
        }
    }
    assert!(count >= 60 && wrong.is_empty(), "{} of {count} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn questions_that_hints_give_as_examples_are_understood() {
    let mut count = 0;
    for said in super::outside::example_questions() {
        let understood = understood(said).unwrap_or_else(|error| panic!("{said}: {error}"));
        assert!(understood.question.aside.is_empty(), "{said}: {:?}", understood.question.aside);
        count += 1;
    }
    assert!(count >= 8, "{count}");
}

/// Names of the candidates that a question comes to, its bounds, and how much does not matter.
fn planned(said: &str) -> String {
    let question = understood(said).unwrap_or_else(|error| panic!("{said}: {error}")).question;
    let asked =
        AskedPlan::of(&question, Overrides::default()).unwrap_or_else(|error| panic!("{said}: {error}"));
    for line in tell(&question, &asked).lines() {
        assert!(line.chars().count() <= 80, "{said}: {line}");
    }
    let plan = asked.plan;
    let names: Vec<String> = plan.candidates.iter().map(|candidate| candidate.name.clone()).collect();
    let bounds = plan.goal.require.numbers.iter().map(|one| format!("; {}", one.title())).collect::<String>();
    format!("{}{bounds}; tie {}", names.join(" "), plan.protocol.tie)
}

#[test]
fn options_bounds_and_comparisons_reach_the_plan() {
    for (said, plan) in [
        ("ext4 -b 1024 against 4096 for mail", "ext4:1024 ext4:4096; tie 0.03"),
        ("ext4 -b 1024 for mail", "ext4:1024 ext4 xfs btrfs; tie 0.03"),
        ("mail with compress=zstd", "ext4 xfs btrfs:compress=zstd; tie 0.03"),
        ("mail with noatime", "ext4:noatime xfs:noatime btrfs:noatime; tie 0.03"),
        ("etcd on nvme, p99 below 5 ms", "ext4 xfs btrfs f2fs; log.p99 <= 5ms; tie 0.03"),
        ("mail, worst case under 50ms", "ext4 xfs btrfs; deliver.worst <= 50ms; tie 0.03"),
        (
            "postgres, ext4 or xfs, p99 below 10 ms",
            "ext4 xfs; transactions.pgbench_latency_p99 <= 10ms; tie 0.03",
        ),
        ("mail on ext4 with and without journal", "ext4 ext4:^has_journal; tie 0.03"),
        ("what does compression cost for mail", "btrfs btrfs:compress=zstd; tie 0.03"),
        (
            "ext4 or xfs for mail, with luks, at most 5 % slower than plain",
            "ext4 xfs ext4+luks2 xfs+luks2; tie 0.05",
        ),
        ("photos without encryption", "ext4 xfs btrfs exfat ntfs3; tie 0.03"),
        ("btrfs nodatacow or btrfs for postgres", "btrfs:nodatacow btrfs; tie 0.03"),
    ] {
        assert_eq!(planned(said), plan, "{said}");
    }
}

/// The table of what was understood of `said`, with these options, on one line.
fn table_of(said: &str, options: &[&str]) -> Result<String, CliError> {
    let question = OneQuestion::try_parse_from(["ask"].iter().chain(options).chain(&["--", said])).unwrap();
    let question = understand(&question.arguments, false)?.question;
    let asked = AskedPlan::of(&question, Overrides::default())?;
    Ok(tell(&question, &asked).split_whitespace().collect::<Vec<_>>().join(" "))
}

#[test]
fn encrypted_candidates_are_tried_only_in_questions_that_mention_encryption() {
    let plain = "btrfs-raid1 ext4+md:raid1 xfs+md:raid1 btrfs+md:raid1; tie 0.03";
    assert_eq!(planned("nas"), plain);
    assert_eq!(planned("photos"), planned("photos without encryption"));
    assert!(planned("nas with encryption").starts_with("btrfs-raid1+luks2 ext4+luks2+md:raid1 "));
    assert!(planned("what does luks cost on nvme").contains("+luks2"));
    let table = table_of("nas", &[]).unwrap();
    assert!(table.contains("encryption was not asked for"), "{table}");
}

#[test]
fn words_beside_a_folder_describe_it_or_are_another_work() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs");
    let table = table_of("ext4, xfs or btrfs for my photos", &["--work", path]).unwrap();
    assert!(table.contains("photos") && table.contains("up to 200 MB of"), "{table}");
    let error = table_of("etcd", &["--work", path]).unwrap_err().to_string();
    assert!(error.contains("more than one work is named"), "{error}");
}

#[test]
fn a_number_of_devices_that_the_plan_does_not_have_is_told() {
    for (said, told) in [
        ("nextcloud on two hard disks", Some("the answer is about one")),
        ("a nas on four hard disks", Some("the answer is about 2 of")),
        ("a nas on two hard disks", None),
        ("mail on a hard disk", None),
    ] {
        let table = table_of(said, &[]).unwrap();
        assert_eq!(table.contains("the answer is about"), told.is_some(), "{said}: {table}");
        assert!(told.is_none_or(|told| table.contains(told)), "{said}: {table}");
    }
}

#[test]
fn what_the_plan_cannot_express_is_refused() {
    for (said, words) in [
        ("sqlite, p99 below 10 ms", "does not time single calls"),
        ("what does a journal cost for git on xfs", "can be had both with journal and without"),
    ] {
        let question = understood(said).unwrap_or_else(|error| panic!("{said}: {error}")).question;
        let error = AskedPlan::of(&question, Overrides::default()).unwrap_err().to_string();
        assert!(error.contains(words), "{said}: {error}");
    }
}
