//! A few kilobytes of a stranger's neither fill memory nor keep a processor busy: each kind of input is made to say much in little,
//! and is given to each command that reads it. The real binary runs under limits of the kernel's, which end it where it exceeds them.
//!
//! `ENTRY_POINTS` has a row for each way by which bytes of a stranger's come in, `AMPLIFICATIONS` one for each way to make few of
//! them say much. A new reader, or a new list in a plan or a journal, is one more row. Each input is given to one command, which
//! are taken in turn, so that every command gets some of every kind; with `FULL=1` in the environment to all of them.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use flate2::Compression;
use flate2::write::GzEncoder;
use fsverdict_disk::device::Action;
use fsverdict_disk::device::trace::{Flags, TraceWriter, Traced};
use fsverdict_judgement::journal::{JournalBounds, Record};
use serde_json::{Value, json};

use crate::common::{PROGRAM, is_full};

const PLAN: &str = include_str!("../runs/demo/plan.json");
const JOURNAL: &str = include_str!("../runs/demo/journal.jsonl");

/// Memory that any input may take, in KiB, and how much for each byte of it.
const MEMORY_KIB: u64 = 256 << 10;
const MEMORY_PER_BYTE: u64 = 64;
/// Address space that the program takes before it reads anything: its text, its stacks, the second thread's.
const PROGRAM_KIB: u64 = 96 << 10;
/// Seconds of a processor that any input may take, and how many for each MiB that it says, unpacked. Without optimisation
/// everything takes about eight times as long.
const CPU_SECONDS: u64 = if cfg!(debug_assertions) { 16 } else { 2 };
const CPU_SECONDS_PER_MIB: u64 = if cfg!(debug_assertions) { 4 } else { 1 };

/// What an input is, and how it is amplified.
enum Hostile {
    /// The plan of a recorded run, beside the journal that belongs to it.
    Plan(fn() -> Vec<u8>),
    /// Its journal.
    Journal(fn() -> Vec<u8>),
    /// A plan with the journal that belongs to it.
    Run(fn() -> (Vec<u8>, Vec<u8>)),
    /// A plan as its author writes it.
    Toml(fn() -> String),
    /// The trace of a modelled device.
    Trace(fn() -> Vec<u8>),
    /// The record of a workload's calls.
    Calls(fn() -> String),
}

impl Hostile {
    const fn kind(&self) -> Kind {
        match self {
            Hostile::Plan(_) => Kind::Plan,
            Hostile::Journal(_) | Hostile::Run(_) => Kind::Journal,
            Hostile::Toml(_) => Kind::Toml,
            Hostile::Trace(_) => Kind::Trace,
            Hostile::Calls(_) => Kind::Calls,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plan,
    Journal,
    Toml,
    Trace,
    Calls,
}

/// A command that reads such an input; `RUN`, `BUNDLE`, `TOML`, `PAGE`, `SHARED` and `CALLS` stand for where that lies.
struct EntryPoint {
    name: &'static str,
    reads: &'static [Kind],
    words: &'static [&'static str],
}

const ENTRY_POINTS: &[EntryPoint] = &[
    EntryPoint { name: "folder", reads: &[Kind::Plan, Kind::Journal], words: &["report", "RUN"] },
    EntryPoint {
        name: "folder, as a page",
        reads: &[Kind::Plan, Kind::Journal, Kind::Trace],
        words: &["report", "RUN", "--format", "html"],
    },
    EntryPoint {
        name: "folder, as JSON",
        reads: &[Kind::Plan, Kind::Journal],
        words: &["report", "RUN", "--format", "json"],
    },
    EntryPoint { name: "bundle", reads: &[Kind::Plan, Kind::Journal], words: &["report", "BUNDLE"] },
    EntryPoint {
        name: "folder, as CSV",
        reads: &[Kind::Journal],
        words: &["report", "RUN", "--format", "csv"],
    },
    EntryPoint {
        name: "folder, as Markdown",
        reads: &[Kind::Journal],
        words: &["report", "RUN", "--format", "markdown"],
    },
    EntryPoint {
        name: "comparison",
        reads: &[Kind::Plan, Kind::Journal],
        words: &["compare", "BUNDLE", "DEMO"],
    },
    EntryPoint { name: "state of a run", reads: &[Kind::Journal], words: &["status", "RUN"] },
    EntryPoint { name: "plan of a folder", reads: &[Kind::Plan], words: &["show", "RUN"] },
    EntryPoint {
        name: "making a bundle",
        reads: &[Kind::Journal],
        words: &["bundle", "RUN", "--output", "NEW"],
    },
    EntryPoint { name: "shards", reads: &[Kind::Plan, Kind::Journal], words: &["merge", "SHARED"] },
    EntryPoint {
        name: "table of devices",
        reads: &[Kind::Plan, Kind::Journal],
        words: &["merge", "BUNDLE", "DEMO"],
    },
    EntryPoint { name: "trace of a run", reads: &[Kind::Trace], words: &["trace", "RUN", "ext4"] },
    EntryPoint { name: "plan", reads: &[Kind::Toml], words: &["show", "TOML"] },
    EntryPoint { name: "plan in a page", reads: &[Kind::Toml], words: &["show", "PAGE"] },
    EntryPoint {
        name: "record of calls",
        reads: &[Kind::Calls],
        words: &["capture", "--trace", "CALLS", "--below", "/srv"],
    },
];

const AMPLIFICATIONS: &[(&str, Hostile)] = &[
    (
        "identical candidates",
        Hostile::Plan(|| changed(|plan| repeat(&mut plan["candidates"], 20_000, |_| None))),
    ),
    (
        "many candidates",
        Hostile::Plan(|| {
            changed(|plan| repeat(&mut plan["candidates"], 20_000, |at| Some(format!("c{at}"))))
        }),
    ),
    (
        "as many candidates as there may be",
        Hostile::Plan(|| changed(|plan| repeat(&mut plan["candidates"], 1000, |at| Some(format!("c{at}"))))),
    ),
    (
        "as many candidates as there may be, each tried in five blocks",
        Hostile::Run(|| candidates_in_blocks(1000, 5)),
    ),
    (
        "candidates in blocks of which no two have the same",
        Hostile::Run(|| {
            let subsets = (1..=1000_u32).map(|set| (0..12).filter(|at| (set * 4) >> at & 1 == 1).collect());
            run_of_blocks(12, subsets.collect())
        }),
    ),
    (
        "long names",
        Hostile::Plan(|| {
            changed(|plan| repeat(&mut plan["candidates"], 1000, |at| Some(format!("{at:x>1020}"))))
        }),
    ),
    (
        "many phases",
        Hostile::Plan(|| changed(|plan| repeat(&mut plan["phases"], 20_000, |at| Some(format!("p{at}"))))),
    ),
    (
        "as many pairs as there may be",
        Hostile::Plan(|| {
            changed(|plan| {
                repeat(&mut plan["candidates"], 100, |at| Some(format!("c{at}")));
                repeat(&mut plan["phases"], 1000, |at| Some(format!("p{at}")));
                plan["goal"]["weights"] = (0..1000)
                    .map(|at| (format!("p{at}"), json!(1)))
                    .collect::<serde_json::Map<_, _>>()
                    .into();
            })
        }),
    ),
    (
        "many datasets",
        Hostile::Plan(|| {
            changed(|plan| {
                let one = json!({ "kind": "file", "size": 1, "compressible": 0.5 });
                plan["datasets"] = (0..50_000)
                    .map(|at| (format!("d{at}"), one.clone()))
                    .collect::<serde_json::Map<_, _>>()
                    .into();
            })
        }),
    ),
    (
        "many metrics",
        Hostile::Plan(|| {
            changed(|plan| {
                let one = json!({ "match": "(.)", "unit": "s", "better": "lower" });
                plan["phases"][0]["metric"] = (0..50_000)
                    .map(|at| (format!("m{at}"), one.clone()))
                    .collect::<serde_json::Map<_, _>>()
                    .into();
            })
        }),
    ),
    (
        "many options",
        Hostile::Plan(|| changed(|plan| plan["candidates"][0]["mkfs"] = vec![""; 1_000_000].into())),
    ),
    (
        "a field that nobody knows",
        Hostile::Plan(|| changed(|plan| plan["candidates"][0]["unknown"] = vec![0; 1_500_000].into())),
    ),
    ("a long title", Hostile::Plan(|| changed(|plan| plan["title"] = "\"".repeat(2_000_000).into()))),
    (
        "numbers without a bound",
        Hostile::Plan(|| {
            changed(|plan| plan["protocol"]["blocks"] = json!({ "min": 1, "max": 4_000_000_000_u32 }))
        }),
    ),
    (
        "trials without a bound",
        Hostile::Plan(|| {
            changed(|plan| plan["faults"] = json!({ "power_cuts": 1, "trials": 4_000_000_000_u32 }))
        }),
    ),
    (
        "sizes without a bound",
        Hostile::Plan(|| changed(|plan| plan["device"]["source"] = json!({ "image": u64::MAX }))),
    ),
    ("a plan that is too deep", Hostile::Plan(|| b"[".repeat(1_000_000))),
    (
        "a plan that is a key again and again",
        Hostile::Plan(|| [b"{".as_slice(), &b"\"title\":\"\",".repeat(300_000)].concat()),
    ),
    (
        "trials of many candidates",
        Hostile::Journal(|| {
            journal((0..20_000).flat_map(|at| trial(1, &format!("c{at}"), &["write"], &["durable"])))
        }),
    ),
    (
        "blocks of many candidates",
        Hostile::Journal(|| {
            journal((1..20).map(|block| {
                let order: Vec<String> = (0..50_000).map(|at| format!("c{block}-{at}")).collect();
                json!({ "event": "block_started", "block": block, "attempt": 1, "order": order })
            }))
        }),
    ),
    (
        "observations of many phases",
        Hostile::Journal(|| {
            let phases: Vec<String> = (0..20_000).map(|at| format!("p{at}")).collect();
            journal(block(1, "ext4", &phases, &["durable"]))
        }),
    ),
    (
        "as many phases as there may be",
        Hostile::Journal(|| {
            let phases: Vec<String> = (0..2400).map(|at| format!("p{at}")).collect();
            journal(block(1, "ext4", &phases, &["durable"]))
        }),
    ),
    (
        "observations of many metrics",
        Hostile::Journal(|| {
            let metrics: Vec<String> = (0..50_000).map(|at| format!("m{at}")).collect();
            journal(block(1, "ext4", &["write"], &metrics))
        }),
    ),
    (
        "as many metrics as there may be",
        Hostile::Journal(|| {
            let metrics: Vec<String> = (0..2400).map(|at| format!("m{at}")).collect();
            journal(block(1, "ext4", &["write"], &metrics))
        }),
    ),
    (
        "many kinds of call",
        Hostile::Journal(|| {
            let histograms: Vec<Value> = (0..20_000)
                .map(|at| json!({ "call": format!("c{at}"), "buckets": [[1, u64::MAX], [2, u64::MAX]] }))
                .collect();
            journal(with_observation(
                json!({ "event": "observation", "phase": "write", "measurements": [], "histograms": histograms, "cache": "cold" }),
            ))
        }),
    ),
    (
        "many blocks",
        Hostile::Journal(|| {
            journal((1..=2000).flat_map(|number| block(number, "ext4", &["write"], &["durable"])))
        }),
    ),
    (
        "blocks that never end",
        Hostile::Journal(|| {
            journal(
                (1..=60_000).map(
                    |block| json!({ "event": "block_started", "block": block, "attempt": 1, "order": [] }),
                ),
            )
        }),
    ),
    (
        "cautions that differ",
        Hostile::Journal(|| {
            journal((0..20_000).map(|at| json!({ "event": "caution", "text": format!("t{at}") })))
        }),
    ),
    (
        "many resumptions",
        Hostile::Journal(|| {
            journal((0..50_000).map(|_| json!({ "event": "run_resumed", "more": u32::MAX })))
        }),
    ),
    (
        "numbers at their ends",
        Hostile::Journal(|| {
            journal([
        json!({ "event": "block_started", "block": u32::MAX, "attempt": u32::MAX, "order": ["ext4"] }),
        json!({ "event": "block_finished", "block": u32::MAX, "attempt": u32::MAX }),
        json!({ "event": "run_resumed", "more": u32::MAX }),
    ].into_iter())
        }),
    ),
    ("whole numbers at their ends", Hostile::Journal(|| with_numbers(&json!(u64::MAX)))),
    ("smaller numbers at their ends", Hostile::Journal(|| with_numbers(&json!(u32::MAX)))),
    ("numbers that are too large to multiply", Hostile::Journal(|| with_numbers(&json!(1e308)))),
    ("numbers that are too small to divide by", Hostile::Journal(|| with_numbers(&json!(5e-324)))),
    ("numbers below zero", Hostile::Journal(|| with_numbers(&json!(-1e300)))),
    ("nothing but zeros", Hostile::Journal(|| with_numbers(&json!(0)))),
    (
        "a long reason",
        Hostile::Journal(|| {
            journal([
        json!({ "event": "candidate_skipped", "candidate": "ext4", "reason": "\"".repeat(3_500_000), "hint": "" }),
    ].into_iter())
        }),
    ),
    (
        "an event of nothing but numbers",
        Hostile::Journal(|| {
            journal([
        json!({ "event": "block_started", "block": 1, "attempt": 1, "order": [], "unknown": vec![0; 3_000_000] }),
    ].into_iter())
        }),
    ),
    (
        "a journal that is too deep",
        Hostile::Journal(|| [first_line().as_bytes(), &b"[".repeat(5_000_000)].concat()),
    ),
    (
        "a journal of one record again and again",
        Hostile::Journal(|| {
            let record = "{\"at\":\"2026-11-21T07:00:00Z\",\"event\":\"caution\",\"text\":\"\"}\n";
            [first_line().as_bytes(), &record.as_bytes().repeat(100_000)].concat()
        }),
    ),
    (
        "noise behind its end",
        Hostile::Journal(|| [JOURNAL.as_bytes(), &b"\x00\xff\n".repeat(500_000)].concat()),
    ),
    (
        "a long matrix",
        Hostile::Toml(|| {
            let list =
                |name: &str| (0..20_000).map(|at| format!("\"{name}{at}\"")).collect::<Vec<_>>().join(",");
            format!(
                "{TOML}\n[matrix]\nfilesystem = [\"ext4\"]\nmount = [{0}]\nmkfs = [{1}]\n",
                list("m"),
                list("k")
            )
        }),
    ),
    ("a plan of brackets", Hostile::Toml(|| format!("title = {}", "[".repeat(500_000)))),
    ("a plan of dots", Hostile::Toml(|| format!("{}x = 1", "a.".repeat(400_000)))),
    ("a plan of tables", Hostile::Toml(|| (0..40_000).map(|at| format!("[a{at}]\nx=1\n")).collect())),
    ("a plan of one table again and again", Hostile::Toml(|| "[[phase]]\n".repeat(90_000))),
    (
        "requests without end",
        Hostile::Trace(|| {
            let mut writer = TraceWriter::new(Vec::new(), 1 << 30).unwrap();
            for at in 0..1_500_000_u64 {
                let (submitted_ns, completed_ns) = (at * 1000, Some(at * 1000 + 700));
                writer
                    .record(&Traced {
                        submitted_ns,
                        completed_ns,
                        operation: Action::Write,
                        sector: at * 8,
                        sectors: 8,
                        flags: Flags(0),
                        by: None,
                    })
                    .unwrap();
            }
            writer.finish().unwrap().0
        }),
    ),
    (
        "calls on many names",
        Hostile::Calls(|| {
            (0..40_000)
                .map(|at| format!("7 100.{at:06} mkdir(\"/srv/d{at}\", 0755) = 0 <0.000050>\n"))
                .collect()
        }),
    ),
    ("one call again and again", Hostile::Calls(|| "7 100.3 mkdir(\"/srv/d\", 0755) = 0\n".repeat(100_000))),
    (
        "children with copies of very many descriptors",
        Hostile::Calls(|| {
            let copies =
                (4..100_000).map(|number| format!("7 1.1 dup2(3</srv/a>, {number}) = {number}</srv/a>\n"));
            let children = (20..2000).map(|child| format!("7 1.2 fork() = {child}\n"));
            format!("{OPENED}{}{}", copies.collect::<String>(), children.collect::<String>())
        }),
    ),
    (
        "children that end, each with copies of very many descriptors",
        Hostile::Calls(|| {
            let copies =
                (4..50_000).map(|number| format!("7 1.1 dup2(3</srv/a>, {number}) = {number}</srv/a>\n"));
            let children = (20..50_000)
                .map(|child| format!("7 1.2 fork() = {child}\n{child} 1.2 +++ exited with 0 +++\n"));
            format!("{OPENED}{}{}", copies.collect::<String>(), children.collect::<String>())
        }),
    ),
    (
        "processes of which a call never ends",
        Hostile::Calls(|| {
            let begun = (8..200_000)
                .map(|process| format!("{process} 1.1 write(3</srv/a>, \"\", 4 <unfinished ...>\n"));
            format!("{OPENED}{}", begun.collect::<String>())
        }),
    ),
    (
        "processes beyond those that are followed",
        Hostile::Calls(|| {
            let wrote = (8..200_000).map(|process| format!("{process} 1.1 write(3</srv/a>, \"\", 4) = 4\n"));
            format!("{OPENED}{}", wrote.collect::<String>())
        }),
    ),
    (
        "threads that use what none of them opened",
        Hostile::Calls(|| {
            let made = (8..40_000).map(|child| format!("7 1.1 clone(NULL, flags=CLONE_VM) = {child}\n"));
            let wrote = (8..40_000).map(|child| format!("{child} 1.2 write(5</srv/b>, \"\", 4) = 4\n"));
            format!("{OPENED}{}{}", made.collect::<String>(), wrote.collect::<String>())
        }),
    ),
    (
        "a directory of very many open files that is renamed again and again",
        Hostile::Calls(|| {
            let open = "openat(AT_FDCWD</>, \"/srv/d0/f";
            let opened = (3..20_000)
                .map(|number| format!("7 1.0 {open}{number}\", O_CREAT) = {number}</srv/d0/f{number}>\n"));
            let moved =
                (0..20_000).map(|at| format!("7 1.1 rename(\"/srv/d{at}\", \"/srv/d{}\") = 0\n", at + 1));
            format!("{OPENED}{}{}", opened.collect::<String>(), moved.collect::<String>())
        }),
    ),
    (
        "directories one below the other",
        Hostile::Calls(|| {
            format!("{OPENED}7 1.0 chdir(\"/srv\") = 0\n{}", "7 1.1 chdir(\"sub\") = 0\n".repeat(50_000))
        }),
    ),
    (
        "a file that is appended to and turns out to be longer again and again",
        Hostile::Calls(|| {
            let calls = (0..40_000).map(|at| {
                format!(
                    "7 1.1 write(3</srv/a>, \"\", 1) = 1\n7 1.1 pread64(3</srv/a>, \"\", 1, {}) = 1\n",
                    at * 10 + 5
                )
            });
            let opened = "7 1.0 openat(AT_FDCWD</>, \"/srv/a\", O_RDWR|O_APPEND) = 3</srv/a>\n";
            format!("{opened}{}", calls.collect::<String>())
        }),
    ),
    (
        "deep paths where there is a link",
        Hostile::Calls(|| {
            let deep = "a/".repeat(1950);
            let removed = (0..2000).map(|at| format!("7 1.1 unlink(\"/srv/{deep}{at}\") = 0\n"));
            format!("{OPENED}7 1.0 symlink(\"/srv/t\", \"/srv/l\") = 0\n{}", removed.collect::<String>())
        }),
    ),
];

/// The first line of a record of calls.
const OPENED: &str = "7 1.0 openat(AT_FDCWD</>, \"/srv/a\", O_RDWR|O_CREAT, 0600) = 3</srv/a>\n";

const TOML: &str = r#"
title = "t"
protocol.blocks = 3
dataset.tree = { profile = "mixed", files = 10, directories = 2, size = "1MiB" }
phase = [{ name = "write", operation = "tree.write", dataset = "tree" }]
"#;

fn changed(change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let mut plan: Value = serde_json::from_str(PLAN).unwrap();
    change(&mut plan);
    plan.to_string().into_bytes()
}

/// Fills a list with copies of its first entry, under another name where there is one.
fn repeat(list: &mut Value, count: usize, name: impl Fn(usize) -> Option<String>) {
    let copy = |at: usize| {
        let mut copy = list[0].clone();
        if let Some(name) = name(at) {
            copy["name"] = name.into();
        }
        copy
    };
    *list = (0..count).map(copy).collect::<Vec<Value>>().into();
}

fn first_line() -> String {
    JOURNAL.split_inclusive('\n').next().unwrap().to_owned()
}

/// A journal that begins like the demonstration's, and goes on with these events.
fn journal(events: impl Iterator<Item = Value>) -> Vec<u8> {
    let mut text = first_line().into_bytes();
    for mut event in events {
        event["at"] = "2026-11-21T07:00:00Z".into();
        writeln!(text, "{event}").unwrap();
    }
    text
}

/// The demonstration's journal with this number in the place of every other that may be so, one after another; and with what it does
/// not have: cuts of power and rotten blocks.
fn with_numbers(number: &Value) -> Vec<u8> {
    fn numbers(value: &Value, at: &str, found: &mut Vec<String>) {
        match value {
            Value::Number(_) => found.push(at.to_owned()),
            Value::Array(values) => {
                values
                    .iter()
                    .enumerate()
                    .for_each(|(place, value)| numbers(value, &format!("{at}/{place}"), found));
            }
            Value::Object(members) => {
                members.iter().for_each(|(name, value)| numbers(value, &format!("{at}/{name}"), found));
            }
            _ => {}
        }
    }
    let more = [
        json!({ "event": "power_cut", "candidate": "ext4", "states": 1, "outcomes": { "replayed": 1, "silent_loss": 1 },
            "broken": { "fsync": 1, "name": 1 }, "back_s": [1.0, 1.0], "trials": 1, "trials_lost": 1, "trace": "" }),
        json!({ "event": "rotten", "candidate": "xfs", "looked": 1, "trace": "",
            "held": { "content": { "blocks": 1, "looked": 1, "outcomes": {} }, "journal": { "blocks": 1, "looked": 1, "outcomes": {} } },
            "decays": { "zeros": { "blocks": 1, "looked": 1, "outcomes": {} } } }),
    ];
    let mut text = String::new();
    let recorded = JOURNAL.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    for mut value in recorded.chain(more) {
        if value.get("at").is_none() {
            value["at"] = "2026-11-21T07:00:00Z".into();
        }
        let mut places = Vec::new();
        numbers(&value, "", &mut places);
        // Of a histogram the first buckets stand for all.
        for place in
            places.iter().filter(|place| !place.starts_with("/trial/") && !place.ends_with("schema")).take(60)
        {
            let before = std::mem::replace(value.pointer_mut(place).unwrap(), number.clone());
            let is_record = serde_json::from_value::<Record>(value.clone())
                .is_ok_and(|record| JournalBounds::default().check(&record).is_ok());
            if !is_record {
                *value.pointer_mut(place).unwrap() = before;
            }
        }
        text += &format!("{value}\n");
    }
    text.into_bytes()
}

fn trial(block: u32, candidate: &str, phases: &[impl AsRef<str>], metrics: &[impl AsRef<str>]) -> Vec<Value> {
    let id = json!({ "block": block, "candidate": candidate, "attempt": 1 });
    let measurements: Vec<Value> = metrics
        .iter()
        .map(|metric| json!({ "metric": metric.as_ref(), "unit": "s", "value": 1.5 }))
        .collect();
    let observed = phases.iter().map(|phase| {
        json!({ "trial": id, "event": "observation", "phase": phase.as_ref(), "measurements": measurements, "cache": "cold" })
    });
    let begun = json!({ "trial": id, "event": "trial_started" });
    let ended = json!({ "trial": id, "event": "trial_finished", "status": "ok", "wall": 1.0 });
    std::iter::once(begun).chain(observed).chain([ended]).collect()
}

fn block(
    number: u32,
    candidate: &str,
    phases: &[impl AsRef<str>],
    metrics: &[impl AsRef<str>],
) -> impl Iterator<Item = Value> {
    let begun = json!({ "event": "block_started", "block": number, "attempt": 1, "order": [candidate] });
    let ended = json!({ "event": "block_finished", "block": number, "attempt": 1 });
    [vec![begun], trial(number, candidate, phases, metrics), vec![ended]].concat().into_iter()
}

/// A run of so many candidates, all of which were in each of so many blocks.
fn candidates_in_blocks(candidates: usize, blocks: usize) -> (Vec<u8>, Vec<u8>) {
    run_of_blocks(candidates, vec![(0..candidates).collect(); blocks])
}

/// A run of so many candidates, of which each block has some, with measured numbers that differ.
fn run_of_blocks(candidates: usize, blocks: Vec<Vec<usize>>) -> (Vec<u8>, Vec<u8>) {
    let plan = changed(|plan| repeat(&mut plan["candidates"], candidates, |at| Some(format!("c{at}"))));
    let phases: Vec<String> = serde_json::from_slice::<Value>(&plan).unwrap()["phases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|phase| phase["name"].as_str().unwrap().to_owned())
        .collect();
    let of_block = |(number, members): (u32, Vec<usize>)| {
        let order: Vec<String> = members.iter().map(|at| format!("c{at}")).collect();
        let begun = json!({ "event": "block_started", "block": number, "attempt": 1, "order": order });
        let ended = json!({ "event": "block_finished", "block": number, "attempt": 1 });
        let trials = members.into_iter().flat_map(|at| {
            let mut events = trial(number, &format!("c{at}"), &phases, &["durable", "cpu", "device_written"]);
            for (place, event) in events.iter_mut().enumerate() {
                for measured in event["measurements"].as_array_mut().into_iter().flatten() {
                    // Noise without a pattern, so that no two candidates are alike.
                    let noise = (at * 7919 + number as usize * 104_729 + place * 31) % 1009;
                    measured["value"] = json!(1.0 + at as f64 / 100.0 + noise as f64 / 5000.0);
                }
            }
            events
        });
        std::iter::once(begun).chain(trials).chain([ended]).collect::<Vec<Value>>()
    };
    (plan, journal((1..).zip(blocks).flat_map(of_block)))
}

fn with_observation(mut observation: Value) -> impl Iterator<Item = Value> {
    let mut events: Vec<Value> = block(1, "ext4", &[""; 0], &[""; 0]).collect();
    observation["trial"] = json!({ "block": 1, "candidate": "ext4", "attempt": 1 });
    events.insert(2, observation);
    events.into_iter()
}

fn bundle(plan: &[u8], journal: &[u8]) -> Vec<u8> {
    let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (name, content) in [("plan.json", plan), ("journal.jsonl", journal)] {
        let mut header = tar::Header::new_ustar();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, Path::new("run").join(name), content).unwrap();
    }
    archive.into_inner().unwrap().finish().unwrap()
}

/// Puts the input wherever a command may look for it. Returns how many bytes it is unpacked.
fn lay_out(place: &Path, hostile: &Hostile) -> usize {
    let write = |name: &str, bytes: &[u8]| {
        let path = place.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    };
    let run = |plan: &[u8], journal: &[u8]| {
        write("run/plan.json", plan);
        write("run/journal.jsonl", journal);
        write("bundle.tar.gz", &bundle(plan, journal));
        write("shared/plan.json", plan);
        write("shared/sites/a/block-0001.jsonl", journal);
    };
    match hostile {
        Hostile::Plan(make) => {
            let plan = make();
            run(&plan, JOURNAL.as_bytes());
            plan.len() + JOURNAL.len()
        }
        Hostile::Journal(make) => {
            let journal = make();
            run(PLAN.as_bytes(), &journal);
            PLAN.len() + journal.len()
        }
        Hostile::Run(make) => {
            let (plan, journal) = make();
            run(&plan, &journal);
            plan.len() + journal.len()
        }
        Hostile::Toml(make) => {
            let toml = make();
            write("plan.toml", toml.as_bytes());
            let escaped =
                toml.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
            let page = format!("<!DOCTYPE html><pre id=\"plan\" tabindex=\"0\">{escaped}</pre>");
            write("page.html", page.as_bytes());
            page.len()
        }
        Hostile::Trace(make) => {
            let trace = make();
            run(PLAN.as_bytes(), JOURNAL.as_bytes());
            write("run/traces/1-ext4-1.trace", &trace);
            trace.len() + JOURNAL.len()
        }
        Hostile::Calls(make) => {
            let calls = make();
            write("calls.txt", calls.as_bytes());
            calls.len()
        }
    }
}

/// Runs a command under the limits that its input sets; how it failed to keep within them, if so.
fn exceeded(place: &Path, entry: &EntryPoint, unpacked: usize) -> Option<String> {
    let file = |word: &str| match word {
        "RUN" => "run".to_owned(),
        "BUNDLE" => "bundle.tar.gz".to_owned(),
        "SHARED" => "shared".to_owned(),
        "TOML" => "plan.toml".to_owned(),
        "PAGE" => "page.html".to_owned(),
        "CALLS" => "calls.txt".to_owned(),
        "NEW" => "new.tar.gz".to_owned(),
        "DEMO" => concat!(env!("CARGO_MANIFEST_DIR"), "/tests/runs/demo").to_owned(),
        other => other.to_owned(),
    };
    let words: Vec<String> = entry.words.iter().map(|word| file(word)).collect();
    // What a bundle takes is measured by what was sent, and not by what it says it is.
    let size = match entry.words.contains(&"BUNDLE") {
        true => fs::metadata(place.join("bundle.tar.gz")).unwrap().len(),
        false => unpacked as u64,
    };
    let memory = PROGRAM_KIB + MEMORY_KIB + (MEMORY_PER_BYTE * size).div_ceil(1 << 10);
    let seconds = CPU_SECONDS + CPU_SECONDS_PER_MIB * (unpacked as u64).div_ceil(1 << 20);
    let _ = fs::remove_file(place.join("new.tar.gz"));
    // The kernel holds it to them: what asks for more memory gets none and fails, what takes more time is ended.
    let limited = format!("ulimit -v {memory} && ulimit -t {seconds} && exec \"$0\" \"$@\"");
    let output = Command::new("sh")
        .args(["-c", &limited, PROGRAM])
        .args(&words)
        .current_dir(place)
        // Without this each thread would reserve address space by itself, used or not.
        .env("MALLOC_ARENA_MAX", "1")
        .env("HOME", place)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let fine = output.status.code().is_some_and(|code| code <= 4) && !said.contains("memory allocation");
    (!fine).then(|| {
        format!(
            "{memory} KiB, {seconds} s: {}: {}",
            output.status,
            said.chars().take(300).collect::<String>()
        )
    })
}

/// The entry points that the input of this number is tried with: one of them in turn; or all.
fn entry_points(kind: Kind, number: usize) -> Vec<&'static EntryPoint> {
    let mut entries: Vec<&EntryPoint> =
        ENTRY_POINTS.iter().filter(|entry| entry.reads.contains(&kind)).collect();
    if !is_full() {
        let readers = entries.len();
        entries.rotate_left(number % readers);
        entries.truncate(1);
    }
    entries
}

fn every_amplification_of(kinds: &[Kind]) {
    let mut tried = 0;
    let mut wrong = Vec::new();
    for (number, (name, hostile)) in AMPLIFICATIONS.iter().enumerate() {
        if !kinds.contains(&hostile.kind()) {
            continue;
        }
        let place = tempfile::tempdir().unwrap();
        let unpacked = lay_out(place.path(), hostile);
        for entry in entry_points(hostile.kind(), number) {
            tried += 1;
            if let Some(how) = exceeded(place.path(), entry, unpacked) {
                wrong.push(format!("{name} by {}: {how}", entry.name));
            }
        }
    }
    assert!(tried >= 2, "{tried}");
    assert!(wrong.is_empty(), "{} of {tried}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_plan_of_a_strangers_takes_bounded_memory_and_time_wherever_it_comes_in() {
    every_amplification_of(&[Kind::Plan]);
}

#[test]
fn a_journal_of_a_strangers_takes_bounded_memory_and_time_wherever_it_comes_in() {
    every_amplification_of(&[Kind::Journal]);
}

#[test]
fn texts_and_traces_of_a_strangers_take_bounded_memory_and_time() {
    every_amplification_of(&[Kind::Toml, Kind::Trace, Kind::Calls]);
}

/// A few hundred kilobytes may unpack to gigabytes: what a bundle may hold hangs on its own size, and is looked at before it is read.
#[test]
fn a_bundle_that_unpacks_to_far_more_than_it_is_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let record = b"{\"at\":\"2026-11-21T07:00:00Z\",\"event\":\"caution\",\"text\":\"\"}\n";
    let journal = [first_line().as_bytes(), &record.repeat(1_500_000)].concat();
    fs::write(place.path().join("bundle.tar.gz"), bundle(PLAN.as_bytes(), &journal)).unwrap();
    let output =
        Command::new(PROGRAM).args(["report", "bundle.tar.gz"]).current_dir(place.path()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("that a bundle of this size may hold"), "{said}");
}

#[test]
fn every_kind_of_input_has_an_entry_point_and_an_amplification() {
    for kind in [Kind::Plan, Kind::Journal, Kind::Toml, Kind::Trace, Kind::Calls] {
        assert!(ENTRY_POINTS.iter().any(|entry| entry.reads.contains(&kind)), "{kind:?}");
    }
    // In turn, every entry point gets some of what it reads.
    for kind in [Kind::Plan, Kind::Journal] {
        let numbers = AMPLIFICATIONS.iter().enumerate().filter(|(_, (_, hostile))| hostile.kind() == kind);
        let tried: std::collections::BTreeSet<&str> =
            numbers.flat_map(|(number, _)| entry_points(kind, number)).map(|entry| entry.name).collect();
        let readers = ENTRY_POINTS.iter().filter(|entry| entry.reads.contains(&kind)).count();
        assert_eq!(tried.len(), readers, "{kind:?}: {tried:?}");
    }
    let names: std::collections::BTreeSet<&str> = AMPLIFICATIONS.iter().map(|(name, _)| *name).collect();
    assert_eq!(names.len(), AMPLIFICATIONS.len());
}
