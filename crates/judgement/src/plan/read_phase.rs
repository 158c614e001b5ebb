//! `[[phase]]`: the timed steps of the workload.

use std::collections::BTreeMap;

use super::limits::{PHASES, check_length};
use super::own_metric::read_own_metrics;
use super::preconditions::LeftByPhases;
use super::read_age::{read_age, read_remake};
use super::read_dataset::Datasets;
use super::read_manner::{read_changed, read_pace, read_repeat, read_sequences, read_state, read_to};
use super::read_phase_data::{
    check_dataset, check_replay, folder_of, one_file_one_thread, read_dataset_name, read_verify,
};
use super::read_work::{check_line, check_variables, check_work, forbid_what_is_not_taken, read_work};
use super::value::{inside_path, name, read_depth, read_piece_bytes, read_sync_interval, read_threads};
use super::{Needs, Phase, PhaseWork, Vocabulary};
use fsverdict_text::value::{boolean, filled_text, time};
use fsverdict_text::{Node, Placed, Problems, Section, TextSpan, TomlValue};

pub(super) const PHASE: &[&str] = &[
    "name",
    "operation",
    "command",
    "adapter",
    "options",
    "dataset",
    "into",
    "cold",
    "repeat",
    "changed",
    "pulls",
    "rounds",
    "remake",
    "state",
    "to",
    "piece",
    "sync_every",
    "pause",
    "threads",
    "depth",
    "pace",
    "steps",
    "sequences",
    "network",
    "before",
    "beside",
    "after",
    "recheck",
    "verify",
    "metric",
];

/// Names under which a trial reports its own steps; a phase of the same name would be confused with them.
const TAKEN: &[&str] = &["mkfs", "mount", "umount", "unmount", "seal", "fsck"];

const EXAMPLE: &str = "for example: [[phase]] name = \"write\" operation = \"tree.write\" dataset = \"tree\"";

pub(super) struct Phases {
    pub(super) list: Vec<Phase>,
    /// Whether they are all: else a name that is not among them may be that of one that is wrong.
    pub(super) complete: bool,
    /// Where the first asks for this machine's network.
    pub(super) network_at: Option<TextSpan>,
}

impl Phases {
    pub(super) fn names(&self) -> Vec<&str> {
        self.list.iter().map(|phase| phase.name.as_str()).collect()
    }
}

pub(super) fn read_phases(top: &Section<'_>, datasets: &Datasets, vocabulary: &Vocabulary<'_>) -> Phases {
    const NONE: &str = "the plan has no phase, so there is nothing to time";
    let (problems, mut phases) =
        (top.problems, Phases { list: Vec::new(), complete: false, network_at: None });
    if top.entry("phase").is_none() {
        top.report_missing(top.at, NONE, EXAMPLE);
    }
    let Some((entry, nodes)) = top.list_of_tables("phase", "phases") else { return phases };
    if nodes.is_empty() {
        problems.add(entry.node.at, NONE, EXAMPLE);
    }
    if problems.record_error(entry.key_at, check_length("phases", Some(nodes.len()), PHASES)).is_none() {
        return phases;
    }
    let mut left = LeftByPhases::new(top.entry("service").is_some());
    for node in nodes {
        let Some(phase) = read_phase(node, &phases.list, datasets, vocabulary, problems) else {
            left.follow_unreadable_phase();
            continue;
        };
        let dataset = phase.dataset.as_ref().and_then(|name| datasets.get(name)?.as_ref());
        left.check_phase(&phase, node, dataset, problems);
        if let (true, TomlValue::Table(table)) = (phase.network, &node.value) {
            let at = table.get("network").map(|entry| entry.key_at);
            phases.network_at = phases.network_at.or(at);
        }
        if on_bare_device(&phase) && !phases.list.iter().all(on_bare_device) {
            let message = format!("`{}` needs the bare device, but comes after other phases", phase.name);
            problems.add(node.at, message, "put it before all others: mkfs comes after it");
        }
        phases.list.push(phase);
    }
    phases.complete = phases.list.len() == nodes.len();
    phases
}

fn on_bare_device(phase: &Phase) -> bool {
    matches!(phase.work, PhaseWork::Operation(operation) if operation.needs() == Needs::BareDevice)
}

/// No other phase of the plan has the name, and no step that every trial reports.
fn check_name(name: &Placed<String>, earlier: &[Phase], problems: &Problems) {
    let Placed { at, value } = name;
    if earlier.iter().any(|phase| phase.name == *value) {
        problems.add(*at, format!("there are two phases `{value}`"), "names of phases are unique");
    }
    if TAKEN.contains(&value.as_str()) {
        let hint = "every trial reports a step of that name by itself; choose another";
        problems.add(*at, format!("a phase may not be called `{value}`"), hint);
    }
}

fn read_phase(
    node: &Node,
    earlier: &[Phase],
    datasets: &Datasets,
    vocabulary: &Vocabulary<'_>,
    problems: &Problems,
) -> Option<Phase> {
    let section = Section::new("[[phase]]", node, PHASE, problems)?;
    let name = section.need_placed("name", "name = \"write\"", name);
    if let Some(name) = &name {
        check_name(name, earlier, problems);
    }
    let cold = section.get("cold", boolean).unwrap_or(false);
    let network = section.get("network", boolean).unwrap_or(false);
    let into = section.get("into", inside_path);
    let dataset = read_dataset_name(&section, datasets);
    let verify = section.entry("verify").and_then(|entry| read_verify(&entry.node, datasets, problems));
    let work = read_work(&section, vocabulary);
    check_variables(work.as_ref(), section.entry("options"), datasets, problems);
    let around = |key| {
        let line = section.get_placed(key, filled_text)?;
        check_line(&line.value, line.at, datasets, problems);
        Some(line.value)
    };
    let (before, beside, after) = (around("before"), around("beside"), around("after"));
    let recheck = around("recheck");
    check_work(&section, work.as_ref());
    check_dataset(&section, work.as_ref(), dataset.as_ref(), datasets);
    let metrics = match section.entry("metric") {
        Some(entry) => read_own_metrics(&entry.node, vocabulary.metrics, problems),
        None => Some(BTreeMap::new()),
    };
    let repeat = read_repeat(&section, work.as_ref());
    let changed = read_changed(&section, work.as_ref());
    let piece = section.get("piece", read_piece_bytes);
    let sync_every = section.get("sync_every", read_sync_interval);
    let pause = section.get("pause", time);
    let threads = section.get("threads", read_threads);
    let depth = section.get("depth", read_depth);
    let pace = section.get("pace", read_pace).unwrap_or_default();
    forbid_what_is_not_taken(&section, work.as_ref());
    let (steps, sequences) = read_sequences(&section, work.as_ref());
    one_file_one_thread(&section, work.as_ref(), dataset.as_ref(), datasets);
    check_replay(&section, work.as_ref(), dataset.as_ref(), datasets);
    let state = read_state(&section, work.as_ref());
    let to = read_to(&section, work.as_ref());
    let age = read_age(&section, work.as_ref());
    let dataset = dataset.map(|dataset| dataset.value);
    let into = folder_of(&section, work.as_ref(), dataset.as_deref(), into);
    let remake = read_remake(&section, work.as_ref(), earlier, into.as_deref());
    Some(Phase {
        name: name?.value,
        work: work?.value,
        dataset,
        into,
        cold,
        repeat,
        changed,
        pulls: age.pulls,
        rounds: age.rounds,
        remake,
        to,
        state,
        piece,
        sync_every,
        pause,
        threads,
        depth,
        pace,
        steps,
        sequences,
        network,
        before,
        after,
        beside,
        recheck,
        verify,
        metrics: metrics?,
    })
}
