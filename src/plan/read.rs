//! From TOML to a resolved plan: the top level, and the sections that are about the run as a whole.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::change::{Overrides, amend, apply};
use super::disturbance;
use super::error::{PlanError, ValueError};
use super::published::{self, read_published};
use super::read_candidate::{self, read_candidates};
use super::read_dataset::{self, read_datasets};
use super::read_phase::{self, read_phases};
use super::read_protocol::{self, read_protocol};
use super::section::{Placed, Problems, Section, absolute_path, filled_text, number, size, text};
use super::source::{Node, Place, Problem, Table, Texts, Value, parse};
use super::suggest::suggest;
use super::twin::Twice;
use super::{
    Bytes, Device, DeviceSource, Goal, LabChoice, Operation, Phase, Plan, StagingChoice, Vocabulary, Work,
    space,
};

/// Keys at the top of a plan.
const TOP: &[&str] = &[
    "title",
    "lab",
    "kernel",
    "device",
    "protocol",
    "goal",
    "dataset",
    "candidate",
    "matrix",
    "phase",
    "published",
];
const DEVICE: &[&str] = &["image", "path", "folder", "staging"];
const GOAL: &[&str] = &["metric", "weights"];

/// Every key a plan may hold, by the section it stands in. The reference (docs/plan-format.md) covers them all.
pub const KEYS: &[(&str, &[&str])] = &[
    ("", TOP),
    ("[device]", DEVICE),
    ("[protocol]", read_protocol::PROTOCOL),
    ("blocks", read_protocol::BLOCKS),
    ("disturbed", disturbance::KEYS),
    ("[goal]", GOAL),
    ("[dataset.NAME]", read_dataset::KEYS),
    ("[[candidate]]", read_candidate::CANDIDATE),
    ("[matrix]", read_candidate::MATRIX),
    ("[[phase]]", read_phase::PHASE),
    ("verify", read_phase::VERIFY),
    ("[[published]]", published::PUBLISHED),
    ("claim", published::CLAIM),
];

const IMAGE: Bytes = Bytes(4 << 30);

/// Reads a plan, checks it, and spells out everything it leaves to defaults.
///
/// # Errors
/// On the first thing wrong: unknown key or word, wrong unit or type, or an impossible combination.
pub fn read(text: &str, file_name: &str, vocabulary: &Vocabulary<'_>) -> Result<Plan, PlanError> {
    read_with(text, file_name, &Overrides::default(), vocabulary)
}

/// As [`read`], with changes from the command line.
///
/// `--set` is applied to the TOML before it is typed, so its mistakes are told like those of a file; then
/// candidates are picked, lab, device and blocks replaced, the data scaled, and the whole checked to fit.
///
/// # Errors
/// On the first thing wrong, in the plan or in a change.
pub fn read_with(
    text: &str,
    file_name: &str,
    overrides: &Overrides,
    vocabulary: &Vocabulary<'_>,
) -> Result<Plan, PlanError> {
    let mut texts = Texts::default();
    let file = texts.add_file(file_name, text);
    let mut tree = parse(&texts, file).map_err(|problem| texts.tell(&problem))?;
    amend(&mut tree, &overrides.set, &mut texts)?;
    let Typed { mut plan, device_at, twice } =
        typed(&tree, vocabulary).map_err(|problem| texts.tell(&problem))?;
    let device_at = apply(
        &mut plan,
        overrides,
        vocabulary,
        &mut texts,
        device_at.unwrap_or(Place { text: file, start: 0, end: 0 }),
    )?;
    // Only now is it known which candidates are left; the command line's word goes before the plan's.
    match (&overrides.twice, twice) {
        (Some(twice), _) => {
            let given = match twice {
                Twice::First => String::new(),
                Twice::Named(name) => name.clone(),
            };
            let at = texts.add_option("--aa", &given);
            let at = texts.whole(at);
            twice.enter(&mut plan).map_err(|error| texts.tell(&Problem::new(at, error)))?;
        }
        (None, Some(twice)) => {
            twice.value.enter(&mut plan).map_err(|error| texts.tell(&Problem::new(twice.at, error)))?;
        }
        (None, None) => {}
    }
    if let Err(error) = space::check(&plan) {
        let problem = Problem::new(device_at, error);
        return Err(texts.tell(&problem));
    }
    Ok(plan)
}

/// The typed plan, with what can only be settled after the command line's changes.
struct Typed {
    plan: Plan,
    /// Where its device is named.
    device_at: Option<Place>,
    /// Which candidate is entered twice.
    twice: Option<Placed<Twice>>,
}

fn typed(tree: &Node, vocabulary: &Vocabulary<'_>) -> Result<Typed, Problem> {
    let problems = Problems::default();
    let plan = read_top(tree, vocabulary, &problems);
    match (problems.into_first(), plan) {
        (Some(problem), _) => Err(problem),
        (None, Some(plan)) => Ok(plan),
        // Unreachable in practice: a part that is missing has noted why. Told rather than trusted.
        (None, None) => {
            Err(Problem { at: tree.at, message: "the plan is incomplete".to_owned(), hint: None })
        }
    }
}

fn read_top(tree: &Node, vocabulary: &Vocabulary<'_>, problems: &Problems) -> Option<Typed> {
    let top = Section::new("", tree, TOP, problems)?;
    let title = top.required("title", "title = \"Backup to a USB disk\"", filled_text);
    let lab = top.optional("lab", lab);
    let kernel = top.optional("kernel", absolute_path);
    if let (Some(kernel), Some(Placed { value: LabChoice::Native, .. })) = (&kernel, &lab) {
        problems.add(
            kernel.at,
            "a kernel of one's own does not go with lab = \"native\", which is this machine's kernel",
            "take `kernel` out, or let lab be \"uml\" or \"vm\"",
        );
    }
    let device = read_device(&top, problems);
    let protocol = read_protocol(&top, problems);
    let datasets = read_datasets(&top, vocabulary, problems);
    let candidates = read_candidates(&top, vocabulary, problems);
    let phases = read_phases(&top, &datasets, vocabulary, problems);
    let goal = read_goal(&top, &phases, vocabulary, problems);
    let published = read_published(&top, &phases, vocabulary, problems);
    let datasets = datasets.into_iter().filter_map(|(name, dataset)| Some((name, dataset?.value))).collect();
    let (device, device_at) = device?;
    let (protocol, twice) = protocol?;
    let plan = Plan {
        title: title?.value,
        lab: lab.map_or(LabChoice::Auto, |lab| lab.value),
        kernel: kernel.map(|kernel| kernel.value),
        device,
        protocol,
        goal: goal?,
        datasets,
        candidates,
        phases,
        published,
        scale: None,
    };
    Some(Typed { plan, device_at, twice })
}

fn lab(node: &Node) -> Result<LabChoice, ValueError> {
    text(node)?.parse()
}

fn read_device(top: &Section<'_>, problems: &Problems) -> Option<(Device, Option<Place>)> {
    let default =
        Device { source: DeviceSource::Image(IMAGE), folder: None, staging: StagingChoice::default() };
    let Some(entry) = top.entry("device") else { return Some((default, None)) };
    let section = Section::new("[device]", &entry.node, DEVICE, problems)?;
    let image = section.optional("image", size);
    let path: Option<Placed<PathBuf>> = section.optional("path", absolute_path);
    let folder = section.optional("folder", absolute_path);
    let staging = section.optional("staging", |node| text(node)?.parse());
    if section.entry("path").is_some() {
        section.forbid(
            &["image", "folder"],
            "`path`",
            "a device is either a scratch image (image, folder) or a block device (path); \
             on the command line, --device replaces either",
        );
    }
    let at = path.as_ref().map(|path| path.at).or(image.as_ref().map(|image| image.at));
    let source = match (path, image) {
        (Some(path), _) => DeviceSource::Path(path.value),
        (None, Some(image)) => DeviceSource::Image(image.value),
        (None, None) => default.source,
    };
    let folder = folder.map(|folder| folder.value);
    let staging = staging.map_or(default.staging, |staging| staging.value);
    Some((Device { source, folder, staging }, at.or(Some(entry.key_at))))
}

fn read_goal(
    top: &Section<'_>,
    phases: &[Phase],
    vocabulary: &Vocabulary<'_>,
    problems: &Problems,
) -> Option<Goal> {
    let mut goal = Goal { metric: "durable".to_owned(), weights: even_weights(phases) };
    let Some(entry) = top.entry("goal") else { return Some(goal) };
    let section = Section::new("[goal]", &entry.node, GOAL, problems)?;
    if let Some(metric) = section.optional("metric", filled_text) {
        problems.must_be_known(metric.at, "metric", &metric.value, vocabulary.metrics);
        goal.metric = metric.value;
    }
    if let Some(entry) = section.entry("weights") {
        let Value::Table(table) = &entry.node.value else {
            let found = entry.node.value.kind();
            let hint = "for example: weights = { write = 5, read = 2 }";
            problems.add(entry.node.at, format!("`weights` must be a table, not {found}"), hint);
            return None;
        };
        if !table.entries.is_empty() {
            goal.weights = read_weights(table, entry.node.at, phases, problems);
        }
    }
    Some(goal)
}

fn read_weights(table: &Table, at: Place, phases: &[Phase], problems: &Problems) -> BTreeMap<String, f64> {
    let names: Vec<&str> = phases.iter().map(|phase| phase.name.as_str()).collect();
    // A phase that could not be read has no name to be found; its own problem is the one to tell.
    let phases_are_sound = problems.is_empty();
    let mut weights = BTreeMap::new();
    for weight in &table.entries {
        if phases_are_sound && !names.contains(&weight.key.as_str()) {
            let message = format!("the weight `{}` names no phase of this plan", weight.key);
            problems.add(weight.key_at, message, suggest(&weight.key, &names));
        }
        let result = number(&weight.node).map_err(|error| {
            ValueError::new(format!("the weight of `{}`: {}", weight.key, error.message), error.hint)
        });
        if let Some(number) = problems.note(weight.node.at, result) {
            weights.insert(weight.key.clone(), number);
        }
    }
    if weights.values().all(|weight| *weight == 0.0) {
        problems.add(
            at,
            "every weight is 0, so nothing would count",
            "give at least one phase a weight above 0",
        );
    }
    weights
}

/// Each phase counts once; checks count only where there is nothing else.
fn even_weights(phases: &[Phase]) -> BTreeMap<String, f64> {
    let is_check = |phase: &&Phase| phase.work == Work::Operation(Operation::Fsck);
    let only_checks = phases.iter().all(|phase| is_check(&phase));
    let counted = phases.iter().filter(|phase| only_checks || !is_check(phase));
    counted.map(|phase| (phase.name.clone(), 1.0)).collect()
}
