//! The steps of a trial: a dry run tells what the journal then has, and the documentation says what the agent walks.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic in its helpers too")]

mod common;

use common::{Place, has_uml, not_run};
use fsverdict::cli::with_vocabulary;
use fsverdict::plan::{Overrides, Plan, read_with};
use fsverdict::trial::{Act, Course, Repeats, Step, Timed, TrialSpec};
use serde_json::Value;

/// Every operation, and a command.
const EVERYTHING: &str = r#"
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
    { name = "fill", operation = "directory.fill", dataset = "crowd" },
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
const SEALED: &str = r#"
[[candidate]]
name       = "sealed"
filesystem = "ext2"
encryption = "luks2"
"#;

/// What it has where a device has schedulers to choose from.
const SCHEDULED: &str = r#"
[[candidate]]
name       = "scheduled"
filesystem = "ext2"
scheduler  = "none"
"#;

/// The same, with a check as its last phase, which spares a trial its own; and nothing that must be verified at its end.
const CHECKED: &str = r#"
title             = "A check at the end"
device.image      = "64MiB"
protocol          = { blocks = 1, timeout = "60s" }
matrix.filesystem = ["ext4"]
phase = [
    { name = "do", command = 'touch "$MOUNT/it"' },
    { name = "check", operation = "fsck" },
]
"#;

fn plan(text: &str) -> Plan {
    with_vocabulary(|words| read_with(text, "plan.toml", &Overrides::default(), words)).unwrap()
}

/// The first trial of a candidate, as a run with this plan makes it.
fn spec(plan: &Plan, candidate: usize) -> TrialSpec {
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
fn told(shown: &str, candidate: &str) -> Vec<String> {
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
            word if word.starts_with("fsverdict-") => "fsverdict-$DEVICE".to_owned(),
            word => word.to_owned(),
        }
    };
    argv.iter().map(word).collect::<Vec<_>>().join(" ")
}

fn told_is_done(lab: &str, text: &str) {
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
        let declared: Vec<&str> = Course::of(&spec).all().filter_map(|step| step.name).collect();
        assert_eq!(declared, steps);
    }
}

#[test]
fn loop_a_dry_run_tells_what_the_journal_then_has() {
    told_is_done("native", &[EVERYTHING, SCHEDULED].concat());
    told_is_done("native", CHECKED);
}

#[test]
fn uml_a_dry_run_tells_what_the_journal_then_has() {
    if !has_uml() {
        return not_run("linux.uml is not there");
    }
    told_is_done("uml", &[EVERYTHING, SEALED].concat());
    told_is_done("uml", CHECKED);
}

/// A dry run names the checks and the waits, too.
#[test]
fn what_is_no_program_is_told_in_its_place() {
    let place = Place::new();
    let path = place.plan("dry", &[EVERYTHING, SCHEDULED].concat());
    let dry = place.unprivileged(&["run", &path, "--lab", "native", "--dry-run"]).stdout;
    let told = told(&dry, "scheduled");
    let at = |words: &str| {
        let found = told.iter().position(|line| line.contains(words));
        found.unwrap_or_else(|| panic!("no `{words}`: {dry}"))
    };
    let order = [
        "[claim $DEVICE]; [I/O scheduler none]",
        "[stage tree]",
        "[device.write on big]; [sync $DEVICE]    [timed as raw-write]",
        "[device.read on big]; [sync $DEVICE]    [timed as raw-read]",
        "[discard $DEVICE]",
        "[timed as mkfs]",
        "[timed as mount]",
        "[timed as write]",
        "umount -i /tmp/fsverdict/mount; [sync $DEVICE]; [put what is cached of $DEVICE out of memory]; mount ",
        "[timed as read, 2 times]",
        "[timed as umount]",
        "[timed as fsck]",
        "[verify everything that was written]",
        "[release $DEVICE]",
    ];
    let places: Vec<usize> = order.map(at).into();
    assert!(places.is_sorted(), "{places:?} {dry}");
    assert!(!dry.contains("drop caches"), "{dry}");
}

/// A step in the words of its acts; a cold start in brackets, since not every phase has one.
fn words(step: &Step<'_>) -> String {
    let acts: Vec<Act<'_>> = step.acts().collect();
    let join = |acts: &[Act<'_>]| acts.iter().filter_map(|act| act.words()).collect::<Vec<_>>().join(" ► ");
    let at = acts.iter().position(|act| matches!(act, Act::Timed(Timed::Phase(_), _)));
    match at {
        Some(at) if at > 0 => format!("[cold: {}] ► {}", join(&acts[..at]), join(&acts[at..])),
        _ => join(&acts),
    }
}

/// One of each kind.
const KINDS: &str = r#"
title             = "One of each kind"
device.image      = "384MiB"
dataset.big       = { file = "1MiB" }
phase = [
    { name = "raw", operation = "device.write", dataset = "big" },
    { name = "write", operation = "stream.write", dataset = "big", cold = true },
    { name = "check", operation = "fsck" },
    { name = "again", operation = "stream.read", dataset = "big", cold = true },
]
[[candidate]]
filesystem = "ext4"
encryption = "luks2"
scheduler  = "none"
"#;

/// The same where there is only a folder.
const FOLDER: &str = r#"
title             = "In a folder"
dataset.big       = { file = "1MiB" }
phase = [
    { name = "write", operation = "stream.write", dataset = "big", cold = true },
]
[[candidate]]
filesystem = "directory"
path       = "/srv"
"#;

/// Steps one after another in a line, each phase in one of its own.
fn outline(text: &str) -> String {
    let plan = plan(text);
    let spec = spec(&plan, 0);
    let mut lines: Vec<String> = Vec::new();
    let mut open = false;
    for step in Course::of(&spec).all().filter(|step| step.name != Some("again")) {
        let label = step.acts().find_map(|act| match act {
            Act::Timed(Timed::Phase(_), _) => Some("  each phase: "),
            Act::Timed(Timed::Raw(_), _) => Some("  each phase on the bare device: "),
            Act::Timed(Timed::Check("check"), _) => Some("  each phase that checks: "),
            _ => None,
        });
        match (label, lines.last_mut()) {
            _ if words(step).is_empty() => {}
            (Some(label), _) => lines.push(format!("{label}{}", words(step))),
            (None, Some(line)) if open => *line += &format!(" ► {}", words(step)),
            (None, _) => lines.push(words(step)),
        }
        open = label.is_none();
    }
    lines.iter().map(|line| format!("    {line}\n")).collect()
}

fn holds(page: &str, wanted: &str) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(page);
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.contains(wanted), "{page} lacks what a trial does:\n{wanted}");
}

#[test]
fn the_documentation_has_the_steps_that_the_agent_walks() {
    holds("ARCHITECTURE.md", &outline(KINDS));
    holds("docs/methodology.md", &table(KINDS));
    holds("docs/methodology.md", &outline(FOLDER));
}

/// A row for each name that the journal has for a step.
fn table(text: &str) -> String {
    let plan = plan(text);
    let spec = spec(&plan, 0);
    let mut rows: Vec<(String, Vec<String>)> = Vec::new();
    for step in Course::of(&spec).all().filter(|step| step.name != Some("again")) {
        let own = |name: &str| match name {
            "raw" => "each phase on the bare device".to_owned(),
            "write" => "each phase".to_owned(),
            "check" => "each phase that checks".to_owned(),
            name => format!("`{name}`"),
        };
        match (step.name, rows.last()) {
            (Some(name), _) => rows.push((own(name), Vec::new())),
            (None, Some((before, _))) if before.starts_with("each") => {
                rows.push(("–".to_owned(), Vec::new()));
            }
            (None, _) => {}
        }
        let (_, said) = rows.last_mut().unwrap();
        said.extend(Some(words(step)).filter(|words| !words.is_empty()));
    }
    let row = |(name, said): &(String, Vec<String>)| format!("| {name} | {} |\n", said.join(" ► "));
    "| step | what is done |\n|---|---|\n".to_owned() + &rows.iter().map(row).collect::<String>()
}
