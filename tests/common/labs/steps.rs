//! A dry run tells what the journal then has.

use fsverdict::cli::with_vocabulary;
use fsverdict_judgement::plan::{Overrides, Plan, read_with};
use fsverdict_lab::trial::{Repeats, TrialCourse, TrialSpec};
use serde_json::Value;

use crate::common::Place;

/// Every operation, and a command.
pub const EVERYTHING: &str = r#"
title             = "Every kind of step"
device.image      = "384MiB"
protocol          = { blocks = 1, seed = 5, timeout = "60s" }
dataset.tree      = { profile = "mixed", files = 40, directories = 6, size = "1MiB" }
dataset.big       = { file = "1MiB" }
dataset.crowd     = { flat = 50, file_size = "100B" }
phase = [
    { name = "raw-write", operation = "device.write", dataset = "big" },
    { name = "raw-read", operation = "device.read", dataset = "big" },
    { name = "write", operation = "tree.write", dataset = "tree" },
    { name = "read", operation = "tree.read", dataset = "tree", cold = true, repeat = 2 },
    { name = "again", operation = "tree.read", dataset = "tree", repeat = 2 },
    { name = "overwrite", operation = "tree.overwrite", dataset = "tree" },
    { name = "copy", command = 'cp -a "$TREE" "$MOUNT/copy"', verify = { dataset = "tree", at = "copy" } },
    { name = "touch", command = 'touch "$MOUNT/it"', cold = true },
    { name = "early", operation = "fsck", repeat = 2 },
    { name = "remove", operation = "tree.remove", dataset = "tree" },
    { name = "stream-write", operation = "stream.write", dataset = "big" },
    { name = "stream-read", operation = "stream.read", dataset = "big" },
    { name = "stream-rewrite", operation = "stream.rewrite", dataset = "big" },
    { name = "random-write", operation = "random.write", dataset = "big", threads = 2 },
    { name = "random-read", operation = "random.read", dataset = "big", cold = true },
    { name = "log", operation = "append.fsync", dataset = "crowd", into = "logs", piece = "64B" },
    { name = "fill", operation = "directory.fill", dataset = "crowd" },
    { name = "replace", operation = "rename.replace", dataset = "crowd", sync_every = 5 },
    { name = "list", operation = "directory.list", dataset = "crowd", cold = true },
    { name = "empty", operation = "directory.empty", dataset = "crowd" },
    { name = "create", operation = "rotation.create", dataset = "tree", into = "kept" },
    { name = "next", operation = "rotation.next", dataset = "tree", into = "kept", changed = 0.1 },
    { name = "drop", operation = "rotation.drop", dataset = "tree", into = "kept" },
]
[[candidate]]
name       = "plain"
filesystem = "ext4"
"#;

/// What a second candidate has below its filesystem; this machine's own kernel may not know it.
pub const SEALED: &str = r#"
[[candidate]]
name       = "sealed"
filesystem = "ext2"
encryption = "luks2"
"#;

/// What it has where a device has schedulers to choose from.
pub const SCHEDULED: &str = r#"
[[candidate]]
name       = "scheduled"
filesystem = "ext2"
scheduler  = "none"
"#;

/// Snapshots, each made and given up by programs.
pub const KEPT: &str = r#"
title             = "Snapshots"
device.image      = "384MiB"
protocol          = { blocks = 1, timeout = "60s" }
dataset.tree      = { profile = "mixed", files = 40, directories = 6, size = "1MiB" }
matrix.filesystem = ["btrfs"]
phase = [
    { name = "write", operation = "tree.write", dataset = "tree" },
    { name = "keep", operation = "snapshot.create", dataset = "tree" },
    { name = "give-up", operation = "snapshot.delete", dataset = "tree" },
]
"#;

/// A check as the last phase, which spares a trial its own; and nothing that must be verified at its end.
pub const CHECKED: &str = r#"
title             = "A check at the end"
device.image      = "64MiB"
protocol          = { blocks = 1, timeout = "60s" }
matrix.filesystem = ["ext4"]
phase = [
    { name = "do", command = 'touch "$MOUNT/it"' },
    { name = "check", operation = "fsck" },
]
"#;

pub fn plan(text: &str) -> Plan {
    with_vocabulary(|words| read_with(text, "plan.toml", &Overrides::default(), words)).unwrap()
}

/// The first trial of a candidate, as a run with this plan makes it.
pub fn spec(plan: &Plan, candidate: usize) -> TrialSpec {
    let repeats = plan
        .phases
        .iter()
        .filter_map(|phase| Some((phase.name.clone(), Repeats { times: phase.repeat?, asked_for: true })));
    TrialSpec {
        datasets: plan.datasets.clone(),
        phases: plan.phases.clone(),
        repeats: repeats.collect(),
        ..TrialSpec::without_work(plan.candidates[candidate].clone(), 1, plan.protocol.timeout)
    }
}

/// The lines of a candidate in a dry run, those of repeated steps as often as they are done.
pub fn told(shown: &str, candidate: &str) -> Vec<String> {
    let lines = shown.lines().skip_while(|line| *line != format!("{candidate}:")).skip(1);
    let lines: Vec<&str> = lines.take_while(|line| line.starts_with("  ")).map(str::trim_start).collect();
    let times =
        |line: &str| -> Option<usize> { line.strip_suffix(" times]")?.rsplit_once(", ")?.1.parse().ok() };
    let repeated = |line: &str| line.ends_with("[each time]") || times(line).is_some();
    let mut all = Vec::new();
    for group in lines.chunk_by(|one, next| {
        // What follows a timed line belongs to it; a line of a cold start begins the next step.
        let ends = one.contains("[settle]") && !one.contains("[timed as");
        repeated(one) && repeated(next) && !ends
    }) {
        let often = group.iter().find_map(|line| times(line)).unwrap_or(1);
        all.extend(std::iter::repeat_n(group, often).flatten().map(|line| (*line).to_owned()));
    }
    all
}

/// The name after `[timed as`, without how often.
fn timed_as(line: &str) -> Option<&str> {
    let name = line.split_once("[timed as ")?.1.strip_suffix(']')?;
    Some(name.split(',').next().unwrap_or(name))
}

/// The programs of a line: what stands in no brackets.
fn programs(line: &str) -> Vec<String> {
    let line = line.split("    [").next().unwrap_or(line);
    line.split("; ").filter(|part| !part.starts_with('[')).map(str::to_owned).collect()
}

/// A program of the journal with the names that a dry run has.
fn without_names(command: &Value) -> String {
    let argv: Vec<&str> =
        command["argv"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
    if let ["/bin/sh", "-u", "-c", line] = argv[..] {
        return line.to_owned();
    }
    let word = |word: &&str| -> String {
        let number = |rest: &str| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit());
        match *word {
            "/tmp/fsverdict/key" => "$KEY".to_owned(),
            "/dev/vda" | "/dev/ubda" => "$DEVICE".to_owned(),
            word if word.strip_prefix("/dev/loop").is_some_and(number) => "$DEVICE".to_owned(),
            word if word.strip_prefix("/dev/dm-").is_some_and(number) => {
                "/dev/mapper/fsverdict-$DEVICE".to_owned()
            }
            word if word.starts_with("/tmp/fsverdict/mount/.snapshot-") => {
                "/tmp/fsverdict/mount/.snapshot-$SNAPSHOT".to_owned()
            }
            word if word.starts_with("fsverdict-") => "fsverdict-$DEVICE".to_owned(),
            word => word.to_owned(),
        }
    };
    argv.iter().map(word).collect::<Vec<_>>().join(" ")
}

pub fn told_is_done(lab: &str, text: &str) {
    let place = Place::new();
    let path = place.plan("dry", text);
    let dry = place.fsverdict(&["run", &path, "--lab", lab, "--dry-run"]).exits(0).stdout;
    place.run(text, &["--lab", lab]).exits(0);
    let journal = place.journal();
    let plan = plan(text);
    for (number, candidate) in plan.candidates.iter().enumerate() {
        let of = |event: &&Value| event["trial"]["candidate"] == candidate.name.as_str();
        let told = told(&dry, &candidate.name);
        assert!(told.len() > 8, "{dry}");
        let done: Vec<String> = journal.all("command").filter(of).map(without_names).collect();
        let said: Vec<String> = told.iter().flat_map(|line| programs(line)).collect();
        assert_eq!(said, done, "{dry}");
        let done: Vec<&str> =
            journal.all("observation").filter(of).map(|event| event["phase"].as_str().unwrap()).collect();
        let said: Vec<&str> = told.iter().filter_map(|line| timed_as(line)).collect();
        assert_eq!(said, done, "{dry}");
        let spec = spec(&plan, number);
        let steps = journal.all("step_started").filter(of).map(|event| event["step"].as_str().unwrap());
        let steps: Vec<&str> = steps.filter(|step| !step.starts_with("stage")).collect();
        let declared: Vec<&str> =
            TrialCourse::for_trial(&spec).all_steps().filter_map(|step| step.name).collect();
        assert_eq!(declared, steps);
    }
}
