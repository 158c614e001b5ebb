//! The steps of a trial: a dry run tells what the journal then has, and the documentation says what the agent walks.

use crate::common::Place;
use crate::common::labs::steps::{EVERYTHING, SCHEDULED, plan, spec, told};
use fsverdict_lab::trial::{Act, Step, Timed, TrialCourse, command_lines};

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

#[test]
fn layers_are_told_from_the_device_up_and_closed_from_the_top_down() {
    let stacked =
        "\n[[candidate]]\nname = \"stacked\"\nfilesystem = \"ext2\"\nlayers = [\"luks2\", \"luks1\"]\n";
    let told = command_lines(&plan(&[EVERYTHING, stacked].concat()), 1);
    let at = |words: &str| {
        let found = told.iter().position(|line| line.contains(words));
        found.unwrap_or_else(|| panic!("no `{words}`: {told:#?}"))
    };
    let order = [
        "--type luks2 --pbkdf",
        "--key-file $KEY $DEVICE fsverdict-$DEVICE",
        "--deferred fsverdict-$DEVICE",
        "--type luks1",
        "--key-file $KEY /dev/mapper/fsverdict-$DEVICE fsverdict-$DEVICE-2",
        "mkfs.ext2",
        "[close fsverdict-$DEVICE-2]; [close fsverdict-$DEVICE]; [release $DEVICE]",
    ];
    let places: Vec<usize> = order.map(at).into();
    assert!(places.is_sorted(), "{places:?} {told:#?}");
    assert!(told[at("mkfs.ext2")].contains(" /dev/mapper/fsverdict-$DEVICE-2"), "{told:#?}");
}

/// A step in the words of its acts; a cold start in brackets, since not every phase has one.
fn words(step: &Step<'_>) -> String {
    let acts: Vec<Act<'_>> = step.all_acts().collect();
    let join =
        |acts: &[Act<'_>]| acts.iter().filter_map(|act| act.describe_act()).collect::<Vec<_>>().join(" ► ");
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
    for step in TrialCourse::for_trial(&spec).all_steps().filter(|step| step.name != Some("again")) {
        let label = step.all_acts().find_map(|act| match act {
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
    holds("docs/background/methodology.md", &table(KINDS));
    holds("docs/background/methodology.md", &outline(FOLDER));
}

/// A row for each name that the journal has for a step.
fn table(text: &str) -> String {
    let plan = plan(text);
    let spec = spec(&plan, 0);
    let mut rows: Vec<(String, Vec<String>)> = Vec::new();
    for step in TrialCourse::for_trial(&spec).all_steps().filter(|step| step.name != Some("again")) {
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

#[test]
fn a_filesystem_that_lacks_a_device_is_told_to_be_mounted_without_it() {
    let text = r#"
title        = "Two"
lab          = "uml"
device       = { image = "1GiB", count = 2 }
protocol     = { blocks = 1 }
dataset.tree = { profile = "mixed", files = 9, directories = 2, size = "1MiB" }
phase = [
    { name = "write", operation = "tree.write", dataset = "tree" },
    { name = "lost", operation = "tree.read", dataset = "tree", cold = true, state = "degraded" },
    { name = "rebuilt", operation = "tree.read", dataset = "tree", cold = true, state = "rebuilding" },
    { name = "whole", operation = "tree.read", dataset = "tree", cold = true },
]
[[candidate]]
filesystem = "btrfs"
mkfs       = "-d raid1 -m raid1"
"#;
    let told = command_lines(&plan(text), 0);
    let mounts = |told: &[String]| -> Vec<bool> {
        let lines = told.iter().flat_map(|line| line.split("; ")).filter(|line| line.starts_with("mount "));
        lines
            .map(|line| {
                assert_ne!(line.contains("degraded"), line.contains("device=$DEVICE2"), "{line}");
                line.contains("degraded")
            })
            .collect()
    };
    // First, cold and without it twice, cold and whole again, and for what is verified at the end.
    assert_eq!(mounts(&told), [false, true, true, false, false], "{told:#?}");
}

/// The table "Following `fsverdict run`" names functions that exist, and as few stops and returns as it says.
#[test]
fn each_stop_of_a_run_is_a_function_of_its_file() {
    let page = include_str!("../../ARCHITECTURE.md");
    let (_, table) = page.split_once("| stop | file | function | what it adds |\n").unwrap();
    let rows = table.lines().skip(1).take_while(|line| line.starts_with('|'));
    let code = |cell: &str| cell.trim().trim_matches('`').to_owned();
    let stops: Vec<(String, String)> = rows
        .map(|row| {
            let cells: Vec<&str> = row.split('|').collect();
            (code(cells[2]), code(cells[3]))
        })
        .collect();
    assert!((10..=20).contains(&stops.len()), "{stops:?}");
    for (file, function) in &stops {
        let package = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(package.join(format!("src/{file}.rs"))).unwrap();
        let (owner, name) = function.rsplit_once("::").unwrap_or(("", function));
        assert!(text.contains(&format!("fn {name}(")), "{file} has no function {name}");
        assert!(owner.is_empty() || text.contains(&format!("impl {owner}")), "{file} has no type {owner}");
    }
}
