//! Hand-made plans and journals for the tests of the renderers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde_json::{Value, json};

pub(super) use fsverdict_testutil::journals::id;

use crate::{Format, Report, TerminalLook, write};
use fsverdict_judgement::journal::{
    Caution, Ending, Event, Facts, Journal, Learnt, Observation, Record, Run, TrialId, Unit,
};
use fsverdict_judgement::plan::Plan;
use fsverdict_testutil::journals as made;
use fsverdict_text::DrawnNumbers;

/// The look of a terminal without colour.
pub(super) const PLAIN: TerminalLook =
    TerminalLook { columns: 100, colour: false, unicode: true, detail: false };

/// The same with `--all`.
pub(super) const DETAILED: TerminalLook = TerminalLook { detail: true, ..PLAIN };

/// The report of a story in this format; `folder` is the folder of its run.
pub(super) fn page_of(story: &Story, folder: Option<&str>, format: Format) -> String {
    let run = story.run();
    let report = Report::new(&story.plan, &run, folder.map(PathBuf::from));
    let mut out = Vec::new();
    write(&report, format, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

pub(super) fn data_of(story: &Story) -> Value {
    serde_json::from_str(&page_of(story, None, Format::Json)).unwrap()
}

/// A journal under construction, with its plan.
pub(super) struct Story {
    pub(super) plan: Plan,
    pub(super) records: Vec<Record>,
    torn: bool,
    seconds: i64,
    /// The drawn numbers of the device for the next trials, where it is one of a class.
    pub(super) drawn: DrawnNumbers,
}

impl Story {
    pub(super) fn new(candidates: &[&str], phases: &[&str]) -> Self {
        let mut story = Self {
            plan: plan(candidates, phases),
            records: Vec::new(),
            torn: false,
            seconds: 0,
            drawn: DrawnNumbers::new(),
        };
        let environment = [("kernel.release", "6.1.176"), ("tool.rsync", "3.2.7")];
        story.tell(
            None,
            Event::RunStarted {
                schema: 1,
                id: "2026-11-21-usb-backup".to_owned(),
                title: story.plan.title.clone(),
                plan_digest: "3f9a62c1".to_owned(),
                lab: "uml".to_owned(),
                lab_reason: "no root here, and uml can run every candidate".to_owned(),
                fidelity: "loop image of 1 GiB on ext4, sandbox kernel: CPU costs more than on bare metal"
                    .to_owned(),
                environment: environment.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
                beginning: fsverdict_judgement::journal::Beginning::default(),
            },
        );
        story
    }

    pub(super) fn tell(&mut self, trial: Option<&TrialId>, event: Event) -> &mut Self {
        self.seconds += 1;
        let at = jiff::Timestamp::new(1_795_000_000 + self.seconds, 0).unwrap();
        self.records.push(Record { at, trial: trial.cloned(), event });
        self
    }

    pub(super) fn skip(&mut self, name: &str, reason: &str, hint: &str) -> &mut Self {
        let (candidate, reason, hint) = (name.to_owned(), reason.to_owned(), hint.to_owned());
        self.tell(None, Event::CandidateSkipped { candidate, reason, hint })
    }

    pub(super) fn open_block(&mut self, block: u32, attempt: u32, order: &[&str]) -> &mut Self {
        self.tell(None, made::block_started(block, attempt, order))
    }

    pub(super) fn close_block(&mut self, block: u32, attempt: u32, invalid: Option<&str>) -> &mut Self {
        self.tell(None, Event::BlockFinished { block, attempt, invalid: invalid.map(str::to_owned) })
    }

    /// A successful trial with the seconds until durable of each of its phases.
    pub(super) fn trial(&mut self, id: &TrialId, phases: &[(&str, f64)]) -> &mut Self {
        self.tell(Some(id), Event::TrialStarted {});
        if !self.drawn.is_empty() {
            let learnt = Learnt { drawn: self.drawn.clone(), ..Learnt::default() };
            self.tell(Some(id), Event::Facts { facts: Facts::new(), learnt });
        }
        for (at, (phase, seconds)) in phases.iter().enumerate() {
            let cache = if at == 0 { "fresh" } else { "warm" };
            self.tell(Some(id), Event::Observation(observation(phase, cache, *seconds)));
        }
        let wall = phases.iter().map(|(_, seconds)| seconds).sum::<f64>() * 1.1;
        self.tell(Some(id), made::ended(None, wall))
    }

    /// A trial of one phase, with these numbers.
    pub(super) fn measured_trial(
        &mut self,
        id: &TrialId,
        phase: &str,
        numbers: &[(&'static str, Unit, f64)],
    ) -> &mut Self {
        self.tell(Some(id), Event::TrialStarted {});
        self.tell(Some(id), Event::Observation(made::measured(phase, numbers)));
        self.tell(Some(id), made::ended(None, 1.0))
    }

    pub(super) fn failed_trial(&mut self, id: &TrialId, reason: &str) -> &mut Self {
        self.tell(Some(id), Event::TrialStarted {});
        self.tell(Some(id), made::ended(Some(reason), 1.0))
    }

    pub(super) fn caution(&mut self, id: &TrialId, phase: &str, text: &str) -> &mut Self {
        self.tell(Some(id), Event::Caution(Caution::in_phase(phase, text)))
    }

    pub(super) fn finish(&mut self) -> &mut Self {
        self.finish_for("all blocks are done")
    }

    pub(super) fn finish_for(&mut self, reason: &str) -> &mut Self {
        self.end(reason, Ending::Rule)
    }

    pub(super) fn end(&mut self, reason: &str, ending: Ending) -> &mut Self {
        self.tell(None, Event::RunFinished { reason: reason.to_owned(), ending: Some(ending) })
    }

    pub(super) fn torn(&mut self) -> &mut Self {
        self.torn = true;
        self
    }

    pub(super) fn run(&self) -> Run {
        let journal =
            Journal { path: PathBuf::from("journal.jsonl"), records: self.records.clone(), torn: self.torn };
        Run::derive(&self.plan, &journal).unwrap()
    }
}

/// Every field of these documents with the kinds of its values: the schema as far as the documents use it.
pub(super) fn shape<'a>(documents: impl IntoIterator<Item = &'a Value>) -> String {
    fn walk(path: &str, value: &Value, found: &mut BTreeMap<String, BTreeSet<&'static str>>) {
        let kind = match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(values) => {
                values.iter().for_each(|value| walk(&format!("{path}[]"), value, found));
                "array"
            }
            Value::Object(fields) => {
                // Keys that are names or facts are data.
                let data = ["weights", "figures", "environment", "goal.protection", "goal.safeguards"]
                    .iter()
                    .any(|end| path.ends_with(end));
                for (key, value) in fields {
                    walk(&format!("{path}.{}", if data { "*" } else { key }), value, found);
                }
                "object"
            }
        };
        found.entry(path.to_owned()).or_default().insert(kind);
    }
    let mut found = BTreeMap::new();
    documents.into_iter().for_each(|document| walk("", document, &mut found));
    let line = |(path, kinds): (&String, &BTreeSet<&str>)| {
        format!("{path}: {}\n", kinds.iter().copied().collect::<Vec<_>>().join(" | "))
    };
    found.iter().map(line).collect()
}

fn observation(phase: &str, cache: &str, seconds: f64) -> Observation {
    let bytes = 60.0 * 1024.0 * 1024.0;
    let numbers = [
        ("durable", Unit::Seconds, seconds),
        ("returned", Unit::Seconds, seconds * 0.8),
        ("cpu", Unit::Seconds, seconds * 0.3),
        ("device_written", Unit::Bytes, bytes * 1.1),
        ("write_amplification", Unit::Ratio, 1.1),
        ("throughput", Unit::BytesPerSecond, bytes / seconds),
        ("space_grown", Unit::Bytes, bytes * 1.04),
        ("space_lost", Unit::Bytes, bytes * 0.5),
        ("settle", Unit::Seconds, seconds * 0.02),
    ];
    Observation {
        cache: cache.to_owned(),
        unwritten: vec![(0, 0), ((seconds * 800.0) as u64, 60 << 20), ((seconds * 1000.0) as u64, 0)],
        course: None,
        ..made::measured(phase, &numbers)
    }
}

fn plan(candidates: &[&str], phases: &[&str]) -> Plan {
    let candidate = |name: &&str| {
        let (filesystem, encryption) = name.split_once('+').unwrap_or((name, "none"));
        json!({ "name": name, "filesystem": filesystem, "encryption": encryption })
    };
    let phase = |name: &&str| json!({ "name": name, "work": { "operation": "tree.write" } });
    made::plan(&json!({
        "title": "Backup to a USB disk",
        "device": { "source": { "image": 1 << 30 } },
        "goal": {
            "metric": "durable",
            "by": "total",
            "weights": phases.iter().map(|name| ((*name).to_owned(), 1.0)).collect::<BTreeMap<_, _>>()
        },
        "candidates": candidates.iter().map(candidate).collect::<Vec<_>>(),
        "phases": phases.iter().map(phase).collect::<Vec<_>>(),
    }))
}

/// Sixteen candidates, four phases, one block: what `make demo` makes.
pub(super) fn demo(blocks: u32) -> Story {
    const PLAIN: [(&str, [f64; 4]); 8] = [
        ("ext2", [1.42, 0.611, 0.091, 0.204]),
        ("ext3", [1.71, 0.622, 0.120, 0.214]),
        ("ext4", [1.31, 0.604, 0.102, 0.181]),
        ("jfs", [1.90, 0.832, 0.401, 0.102]),
        ("xfs", [1.38, 0.641, 0.143, 0.095]),
        ("reiserfs", [1.77, 0.701, 0.170, 1.31]),
        ("btrfs", [1.03, 0.588, 0.210, 0.122]),
        ("nilfs2", [1.55, 0.702, 0.052, 0.031]),
    ];
    let names: Vec<String> = ["", "+luks2"]
        .iter()
        .flat_map(|layer| PLAIN.iter().map(move |(name, _)| format!("{name}{layer}")))
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut story = Story::new(&names, &["write", "read", "remove", "check"]);
    for block in 1..=blocks {
        story.open_block(block, 1, &names);
        for (at, name) in names.iter().enumerate() {
            let layer = if at < 8 { 1.0 } else { 1.3 };
            // A variation of a few per cent that is the same in every test.
            let wobble = 1.0 + 0.01 * f64::from((block * 7 + at as u32 * 3) % 5);
            let seconds = PLAIN[at % 8].1.map(|seconds| seconds * layer * wobble);
            let [write, read, remove, check] = seconds;
            let phases = [
                ("mkfs", 0.05),
                ("mount", 0.004),
                ("write", write),
                ("read", read),
                ("remove", remove),
                ("check", check),
            ];
            let id = id(block, name);
            story.trial(&id, &phases);
            story.caution(&id, "read", "more than 90% CPU: this phase is not bound by the filesystem");
            if *name == "jfs" {
                story.caution(&id, "", "the device did not settle within 30 s");
            }
        }
        story.close_block(block, 1, None);
    }
    story
}

/// Normally distributed pseudo-random numbers, the same for the same seed.
pub(super) fn normals(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    let mut uniform = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    };
    move || libm::sqrt(-2.0 * libm::log(uniform())) * libm::cos(std::f64::consts::TAU * uniform())
}
