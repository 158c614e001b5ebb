//! `[[phase]]`: the timed steps of the workload.

use std::collections::BTreeMap;
use std::path::Path;

use super::command_variables::{offered, unknown};
use super::limits::{PHASES, check_length};
use super::own_metric::read_own_metrics;
use super::read_age::{read_age, read_remake};
use super::read_dataset::{Datasets, may_be_called, variables};
use super::value::{calls, depth, inside_path, name, piece, repetitions, threads};
use super::{
    ArrayState, Dataset, Needs, Operation, OperationKind, Pace, Phase, PhaseWork, Verify, Vocabulary,
};
use fsverdict_text::value::{boolean, filled_text, share, text, time};
use fsverdict_text::{Node, Placed, Problems, Reason, Section, TextSpan, TomlEntry, TomlValue, suggest};

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
pub(super) const VERIFY: &[&str] = &["dataset", "at"];

/// What a trial itself reports under these names; a phase of the same name would be confused with it.
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
        top.lacks(top.at, NONE, EXAMPLE);
    }
    let Some((entry, nodes)) = top.list("phase", "phases") else { return phases };
    if nodes.is_empty() {
        problems.add(entry.node.at, NONE, EXAMPLE);
    }
    if problems.note(entry.key_at, check_length("phases", Some(nodes.len()), PHASES)).is_none() {
        return phases;
    }
    for node in nodes {
        let Some(phase) = read_phase(node, &phases.list, datasets, vocabulary, problems) else { continue };
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

fn read_phase(
    node: &Node,
    earlier: &[Phase],
    datasets: &Datasets,
    vocabulary: &Vocabulary<'_>,
    problems: &Problems,
) -> Option<Phase> {
    let section = Section::new("[[phase]]", node, PHASE, problems)?;
    let name = section.needed("name", "name = \"write\"", name);
    if let Some(Placed { at, value }) = &name {
        if earlier.iter().any(|phase| phase.name == *value) {
            problems.add(*at, format!("there are two phases `{value}`"), "names of phases are unique");
        }
        if TAKEN.contains(&value.as_str()) {
            let hint = "every trial reports a step of that name by itself; choose another";
            problems.add(*at, format!("a phase may not be called `{value}`"), hint);
        }
    }
    let cold = section.get("cold", boolean).unwrap_or(false);
    let network = section.get("network", boolean).unwrap_or(false);
    let into = section.get("into", inside_path);
    let dataset = read_dataset_name(&section, datasets);
    let verify = section.entry("verify").and_then(|entry| read_verify(&entry.node, datasets, problems));
    let work = read_work(&section, vocabulary);
    check_variables(work.as_ref(), section.entry("options"), datasets, problems);
    let around = |key| {
        let line = section.placed(key, filled_text)?;
        check_line(&line.value, line.at, datasets, problems);
        Some(line.value)
    };
    let (before, beside, after) = (around("before"), around("beside"), around("after"));
    let recheck = around("recheck");
    let mounted = |work: &Placed<PhaseWork>| !matches!(work.value, PhaseWork::Operation(one) if one.needs() != Needs::Mounted);
    if !work.as_ref().is_none_or(mounted) {
        let keys = ["before", "beside", "after"];
        section.forbid(
            &keys,
            "a phase without the mounted filesystem",
            "there is nothing that they could work on",
        );
    }
    if let Some(Placed { value: PhaseWork::Operation(operation), at }) = &work {
        section.forbid(&["verify"], "an operation", "built-in operations verify their own data");
        section.forbid(&["network"], "an operation", "built-in operations need none");
        section.forbid(&["metric"], "an operation", "built-in operations print nothing");
        if operation.takes().is_empty() {
            let hint = "it works on the whole filesystem";
            section.forbid(&["dataset", "into"], &format!("`{operation}`"), hint);
        } else if let Some(chosen) = &dataset {
            check_kind(*operation, chosen, datasets, problems);
        } else if section.entry("dataset").is_none() {
            section.lacks(*at, &format!("`{operation}` needs a dataset"), &needs(*operation, datasets));
        }
    }
    if let Some(Placed { value: PhaseWork::Command(_), .. }) = &work {
        section.forbid(&["into"], "`command`", "write the folder into the command line, below \"$MOUNT\"");
    }
    if !work.as_ref().is_none_or(|work| matches!(work.value, PhaseWork::Command(_))) {
        let hint = "what a `command` prints as `promised 1`, `promised 2` and so on is looked for by it";
        section.forbid(&["recheck"], "anything but a command", hint);
    }
    let metrics = match section.entry("metric") {
        Some(entry) => read_own_metrics(&entry.node, vocabulary.metrics, problems),
        None => Some(BTreeMap::new()),
    };
    let changed = section.get("changed", share);
    let repeat = section.get("repeat", repetitions);
    let repeats = |work: &Placed<PhaseWork>| matches!(work.value, PhaseWork::Operation(operation) if operation.leaves_all_as_it_was());
    if !work.as_ref().is_some_and(repeats) {
        let hint = "only what reads or checks can be done again on the same files";
        section.forbid(&["repeat"], "a phase that changes something, or may", hint);
    }
    let rotates = |work: &Placed<PhaseWork>| matches!(work.value, PhaseWork::Operation(operation) if operation.takes_changed());
    if !work.as_ref().is_some_and(rotates) {
        section.forbid(
            &["changed"],
            &format!(
                "anything but `{}`, `{}` and `{}`",
                Operation::RotationNext,
                Operation::RotationClone,
                Operation::AgePull
            ),
            "only there a part of the files changes",
        );
    }
    let piece = section.get("piece", piece);
    let sync_every = section.get("sync_every", calls);
    let pause = section.get("pause", time);
    let threads = section.get("threads", threads);
    let depth = section.get("depth", depth);
    let pace = section.get("pace", pace).unwrap_or_default();
    for (key, takes) in [
        ("piece", Operation::takes_piece as fn(_) -> _),
        ("sync_every", Operation::takes_sync),
        ("pause", Operation::takes_pause),
        ("threads", Operation::takes_threads),
        ("depth", Operation::takes_depth),
        ("pace", Operation::takes_pace),
        ("steps", Operation::takes_steps),
        ("sequences", Operation::takes_steps),
    ] {
        forbid_unless(&section, key, work.as_ref(), takes);
    }
    let (steps, sequences) = read_sequences(&section, work.as_ref());
    one_file_one_thread(&section, work.as_ref(), dataset.as_ref(), datasets);
    check_replay(&section, work.as_ref(), dataset.as_ref(), datasets);
    let state = read_state(&section, work.as_ref());
    let to = section.get("to", share);
    match &work {
        Some(Placed { value: PhaseWork::Operation(operation), at }) if operation.takes_to() => {
            if section.entry("to").is_none() {
                let hint =
                    "to = 0.95: of what df(1) says an ordinary user may fill; 1 is until no more goes in";
                section.lacks(*at, &format!("`{operation}` needs to know how full"), hint);
            }
        }
        _ => section.forbid(
            &["to"],
            &format!(
                "anything but `{}`, `{}` and `{}`",
                Operation::SpaceFill,
                Operation::SpaceFree,
                Operation::AgeChurn
            ),
            "only they go on until so much of the filesystem is in use",
        ),
    }
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

/// The folder that an operation works in: its dataset's own, or beside that where it makes another.
fn folder_of(
    section: &Section<'_>,
    work: Option<&Placed<PhaseWork>>,
    dataset: Option<&str>,
    into: Option<String>,
) -> Option<String> {
    let Some(PhaseWork::Operation(operation)) = work.map(|work| &work.value) else { return into };
    if !operation.makes_another() {
        return into.or_else(|| dataset.map(str::to_owned));
    }
    if let (Some(dataset), Some(into), Some(entry)) = (dataset, &into, section.entry("into"))
        && Path::new(into).starts_with(dataset)
    {
        let message = format!("`{operation}` cannot copy `{dataset}` into itself");
        let hint = format!("name a folder beside it: into = \"{dataset}-clone\", or leave `into` out");
        section.problems.add(entry.node.at, message, hint);
    }
    into.or_else(|| Some(format!("{}-clone", dataset?)))
}

/// Refuses a key that only some operations take, and names those.
fn forbid_unless(
    section: &Section<'_>,
    key: &'static str,
    work: Option<&Placed<PhaseWork>>,
    takes: fn(Operation) -> bool,
) {
    let is_taken =
        |work: &Placed<PhaseWork>| matches!(work.value, PhaseWork::Operation(operation) if takes(operation));
    if !work.is_none_or(is_taken) {
        let names: Vec<&str> = Operation::all().filter(|one| takes(*one)).map(Operation::name).collect();
        let hint = "a command has its own options for that";
        section.forbid(&[key], &format!("anything but {}", names.join(", ")), hint);
    }
}

/// How long sequences are, and how many of them are done.
fn read_sequences(section: &Section<'_>, work: Option<&Placed<PhaseWork>>) -> (Option<u32>, Option<u32>) {
    /// Sequences of three calls are more than a million.
    const MOST: u32 = 200_000;
    let steps = section.placed("steps", calls);
    let sequences = section.get("sequences", calls);
    let Some(Placed { value: PhaseWork::Operation(Operation::Sequences), at }) = work else {
        return (None, None);
    };
    let hint = "steps = 2: of one call, two, or, drawn by the seed, three";
    match &steps {
        None if section.entry("steps").is_none() => {
            section.lacks(*at, "`sequences` needs to know how many calls each has", hint);
        }
        Some(steps) if !(1..=3).contains(&steps.value) => {
            section.problems.add(steps.at, format!("sequences have 1 to 3 calls, not {}", steps.value), hint);
        }
        Some(steps) if steps.value == 3 && section.entry("sequences").is_none() => {
            let message = "sequences of three calls are more than anybody can do";
            section.problems.add(steps.at, message, "sequences = 5000: so many, drawn by the seed");
        }
        _ => {}
    }
    if let Some(entry) = section.entry("sequences")
        && sequences.is_some_and(|count| count == 0 || count > MOST)
    {
        let message = format!("1 to {MOST} sequences can be done");
        section.problems.add(entry.node.at, message, "leave it out for all of one or two calls");
    }
    (steps.map(|steps| steps.value), sequences)
}

/// What grows at its end has one end: several threads want several files.
fn one_file_one_thread(
    section: &Section<'_>,
    work: Option<&Placed<PhaseWork>>,
    dataset: Option<&Placed<String>>,
    datasets: &Datasets,
) {
    let appends = work.is_some_and(|work| work.value == PhaseWork::Operation(Operation::AppendFsync));
    let Some(Some(Dataset::File { .. })) = dataset.and_then(|name| datasets.get(&name.value)) else { return };
    if appends {
        let hint =
            "give it a directory of files, of which each thread has its own: flat = 4, file_size = \"16MiB\"";
        section.forbid(&["threads"], "`append.fsync` on one big file", hint);
    }
}

/// Calls on names keep their order, which several threads would not; and a bare device has no names.
fn check_replay(
    section: &Section<'_>,
    work: Option<&Placed<PhaseWork>>,
    dataset: Option<&Placed<String>>,
    datasets: &Datasets,
) {
    let Some(Placed { value: PhaseWork::Operation(operation), at }) = work else { return };
    let Some(Some(Dataset::Trace { calls })) = dataset.and_then(|name| datasets.get(&name.value)) else {
        return;
    };
    if *operation == Operation::DeviceReplay && !calls.suits_a_device() {
        let hint = "take `trace.replay`, after a phase of `tree.write`; a device has what a log of fio's or of blkparse tells: one file that is there, read and written";
        section.problems.add(*at, "`device.replay` cannot make calls on several files or names", hint);
    }
    if !calls.only_moves_bytes() {
        let hint = "files come and go in it, so that its calls have an order";
        section.forbid(&["threads"], "a trace that does more than read, write and sync open files", hint);
    }
}

fn pace(node: &Node) -> Result<Pace, Reason> {
    match text(node)?.as_str() {
        "unpaced" => Ok(Pace::Unpaced),
        "recorded" => Ok(Pace::Recorded),
        other => Err(Reason::new(
            format!("there is no pace `{}`", other.escape_debug()),
            "`recorded` keeps the pauses between calls, `unpaced` makes each call as soon as the one before has returned",
        )),
    }
}

/// What the devices are at meanwhile.
fn read_state(section: &Section<'_>, work: Option<&Placed<PhaseWork>>) -> Option<ArrayState> {
    let state = section.get("state", |node| text(node)?.parse());
    let mounted = |work: &Placed<PhaseWork>| match work.value {
        PhaseWork::Operation(operation) => {
            operation.needs() == Needs::Mounted && operation != Operation::Fsck
        }
        PhaseWork::Command(_) | PhaseWork::Adapter { .. } => true,
    };
    if !work.is_none_or(mounted) {
        let hint = "only a mounted one can lose a device";
        section.forbid(&["state"], "a phase without the mounted filesystem", hint);
    }
    state
}

fn read_work(section: &Section<'_>, vocabulary: &Vocabulary<'_>) -> Option<Placed<PhaseWork>> {
    let problems = section.problems;
    let kinds = ["operation", "command", "adapter"];
    let mut present = kinds.iter().filter_map(|kind| section.entry(kind)).collect::<Vec<_>>();
    present.sort_by_key(|entry| entry.key_at);
    let hint =
        "a phase is one of operation (built in), command (a shell line) and adapter (a benchmark program)";
    if present.is_empty() {
        section.lacks(section.at, "this phase does not say what is done", hint);
    }
    if let [first, second, ..] = present.as_slice() {
        let message = format!("this phase has both `{}` and `{}`", first.key, second.key);
        problems.add(second.key_at, message, hint);
    }
    if section.entry("adapter").is_none() {
        let hint = "options are for adapters; put them into the command line";
        section.forbid(&["options"], "a phase without `adapter`", hint);
    }
    let operation = section.placed("operation", filled_text);
    let command = section.placed("command", filled_text);
    let adapter = section.placed("adapter", filled_text);
    let options = section.get("options", text).unwrap_or_default();
    if let Some(Placed { at, value }) = operation {
        let known: Vec<&str> = Operation::all().map(Operation::name).collect();
        problems.must_be_known(at, "operation", &value, &known);
        return Some(Placed { at, value: PhaseWork::Operation(value.try_into().ok()?) });
    }
    if let Some(Placed { at, value }) = command {
        return Some(Placed { at, value: PhaseWork::Command(value) });
    }
    let Placed { at, value } = adapter?;
    problems.must_be_known(at, "adapter", &value, vocabulary.adapters);
    Some(Placed { at, value: PhaseWork::Adapter { name: value, options } })
}

/// What a command line, or the options of a program, read must be set by somebody: nothing in its place would copy nothing.
fn check_variables(
    work: Option<&Placed<PhaseWork>>,
    options: Option<&TomlEntry>,
    datasets: &Datasets,
    problems: &Problems,
) {
    let (line, at) = match work {
        Some(Placed { at, value: PhaseWork::Command(line) }) => (line, *at),
        Some(Placed { at, value: PhaseWork::Adapter { options: line, .. } }) => {
            (line, options.map_or(*at, |entry| entry.node.at))
        }
        _ => return,
    };
    check_line(line, at, datasets, problems);
}

/// The same of one line for the shell.
pub(super) fn check_line(line: &str, at: TextSpan, datasets: &Datasets, problems: &Problems) {
    let known: Vec<String> = datasets.keys().flat_map(|name| variables(name)).collect();
    if let Some(name) = unknown(line, &known) {
        // What no dataset may be called is told, and offered to nobody.
        let known: Vec<String> =
            datasets.keys().filter(|name| may_be_called(name)).flat_map(|name| variables(name)).collect();
        let hint = format!(
            "{}; a dataset is found in the variable of its name in capitals, and `${{{name}:-}}` is empty where nothing is set",
            suggest(&name, &offered(&known))
        );
        problems.add(at, format!("nothing sets the variable ${name}"), hint);
    }
}

fn read_dataset_name(section: &Section<'_>, datasets: &Datasets) -> Option<Placed<String>> {
    let chosen = section.placed("dataset", filled_text)?;
    if datasets.contains_key(&chosen.value) {
        return Some(chosen);
    }
    let names: Vec<&str> = datasets.keys().map(String::as_str).collect();
    let hint = if names.is_empty() {
        format!("define it: [dataset.{}]", chosen.value)
    } else {
        suggest(&chosen.value, &names)
    };
    section.problems.add(chosen.at, format!("there is no dataset `{}`", chosen.value), hint);
    None
}

fn check_kind(operation: Operation, chosen: &Placed<String>, datasets: &Datasets, problems: &Problems) {
    // A dataset with something wrong in it has no kind; that is reported at the dataset.
    let Some(Some(dataset)) = datasets.get(&chosen.value) else { return };
    if !suits(operation, dataset) {
        let is = dataset.kind().described();
        let message = format!("`{operation}` cannot work on `{}`, which is {is}", chosen.value);
        problems.add(chosen.at, message, needs(operation, datasets));
    }
    let linked = matches!(dataset, Dataset::Tree(shape)
        if shape.form.hard_links().or(shape.hard_links).is_some_and(|share| share > 0.0) || shape.form.symlinks.is_some());
    if operation.ages() && linked {
        let message =
            format!("`{operation}` cannot work on `{}`, some of whose files are links", chosen.value);
        problems.add(
            chosen.at,
            message,
            "take `hard_links`, `links` and `symlinks` out of it: a file that changes would change under another name",
        );
    }
}

/// What an operation needs, and which datasets of the plan would do.
fn needs(operation: Operation, datasets: &Datasets) -> String {
    // What is said of a tree covers real folders.
    let kinds = operation.takes().iter().filter(|kind| **kind != OperationKind::Folder);
    let wanted: Vec<&str> = kinds.map(|kind| kind.described()).collect();
    let fitting: Vec<String> = datasets
        .iter()
        .filter(|(_, dataset)| dataset.as_ref().is_some_and(|dataset| suits(operation, dataset)))
        .map(|(name, _)| format!("dataset = \"{name}\""))
        .collect();
    let offer = if fitting.is_empty() {
        "this plan has none".to_owned()
    } else {
        format!("write {}", fitting.join(" or "))
    };
    format!("it needs {}; {offer}", wanted.join(" or "))
}

fn suits(operation: Operation, dataset: &Dataset) -> bool {
    operation.takes().contains(&dataset.kind())
}

fn read_verify(node: &Node, datasets: &Datasets, problems: &Problems) -> Option<Verify> {
    let section = Section::new("verify", node, VERIFY, problems)?;
    let example = "verify = { dataset = \"usr\", at = \"usr\" }";
    if section.entry("dataset").is_none() {
        section.need("dataset", example, filled_text);
    }
    let dataset = read_dataset_name(&section, datasets);
    let at = section.need("at", example, inside_path);
    Some(Verify { dataset: dataset?.value, at: at? })
}
