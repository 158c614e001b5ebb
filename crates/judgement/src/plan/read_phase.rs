//! `[[phase]]`: the timed steps of the workload.

use std::collections::BTreeMap;

use super::keys::{fill_keys, key_names};
use super::limits::{PHASES, check_length};
use super::own_metric::read_own_metrics;
use super::phase::PHASE;
use super::phase_rules::{check_keys, check_sequences, read_remake};
use super::preconditions::LeftByPhases;
use super::read_dataset::Datasets;
use super::read_phase_data::{
    check_dataset, check_replay, folder_of, one_file_one_thread, read_dataset_name, read_verify,
};
use super::read_work::{
    check_line, check_variables, check_work, forbid_what_is_not_taken, operation_of, read_work,
};
use super::{Needs, Phase, PhaseWork, Vocabulary};
use fsverdict_text::{Node, Problems, Section, TextSpan, TomlValue};

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
fn check_name(at: TextSpan, name: &str, earlier: &[Phase], problems: &Problems) {
    if earlier.iter().any(|phase| phase.name == name) {
        problems.add(at, format!("there are two phases `{name}`"), "names of phases are unique");
    }
    if TAKEN.contains(&name) {
        let hint = "every trial reports a step of that name by itself; choose another";
        problems.add(at, format!("a phase may not be called `{name}`"), hint);
    }
}

fn read_phase(
    node: &Node,
    earlier: &[Phase],
    datasets: &Datasets,
    vocabulary: &Vocabulary<'_>,
    problems: &Problems,
) -> Option<Phase> {
    let section = Section::new("[[phase]]", node, &key_names(PHASE), problems)?;
    let mut phase = Phase::default();
    let complete = fill_keys(PHASE, &section, &mut phase);
    if let Some(entry) = section.entry("name").filter(|_| !phase.name.is_empty()) {
        check_name(entry.node.at, &phase.name, earlier, problems);
    }
    let dataset = read_dataset_name(&section, datasets);
    phase.verify = section.entry("verify").and_then(|entry| read_verify(&entry.node, datasets, problems));
    let work = read_work(&section, vocabulary);
    check_variables(work.as_ref(), section.entry("options"), datasets, problems);
    let lines = [
        ("before", &phase.before),
        ("beside", &phase.beside),
        ("after", &phase.after),
        ("recheck", &phase.recheck),
    ];
    for (key, line) in lines {
        if let (Some(line), Some(entry)) = (line, section.entry(key)) {
            check_line(line, entry.node.at, datasets, problems);
        }
    }
    check_work(&section, work.as_ref());
    check_dataset(&section, work.as_ref(), dataset.as_ref(), datasets);
    let metrics = match section.entry("metric") {
        Some(entry) => read_own_metrics(&entry.node, vocabulary.metrics, problems),
        None => Some(BTreeMap::new()),
    };
    forbid_what_is_not_taken(&section, work.as_ref());
    check_keys(&section, work.as_ref());
    check_sequences(&section, &phase, work.as_ref());
    one_file_one_thread(&section, work.as_ref(), dataset.as_ref(), datasets);
    check_replay(&section, work.as_ref(), dataset.as_ref(), datasets);
    phase.dataset = dataset.map(|dataset| dataset.value);
    phase.into = folder_of(&section, work.as_ref(), phase.dataset.as_deref(), phase.into);
    phase.remake = read_remake(&section, operation_of(work.as_ref()), earlier, phase.into.as_deref());
    complete?;
    phase.work = work?.value;
    phase.metrics = metrics?;
    Some(phase)
}
