//! From TOML to a resolved plan: the top level, and the sections that are about the run as a whole.

use std::collections::BTreeMap;

use fsverdict_text::Reason;

use super::asked_by::{self, read_ask};
use super::change::{Overrides, amend, apply, forget_models};
use super::control::Twice;
use super::disturbance;
use super::environment;
use super::faults::{self, read_faults};
use super::folders;
use super::lab::KernelOwner;
use super::own_metric;
use super::protection::{Grouping, assign_protection, parse_grouping};
use super::published::{self, read_published};
use super::read_candidate::{self, read_candidates};
use super::read_dataset::{self, read_datasets};
use super::read_device::{self, read_device};
use super::read_phase::{self, Phases, read_phases};
use super::read_phase_data;
use super::read_protocol::{self, read_protocol};
use super::read_service::{self, read_services};
use super::require::{RequireContext, read_requirements, short_name};
use super::value::kernel;
use super::{
    Aggregation, FREE_CPU, Goal, LabChoice, Operation, OwnMetric, Phase, PhaseWork, Plan, Requirements,
    Vocabulary, recorded, space,
};
use fsverdict_text::value::{filled_text, number, paths, text};
use fsverdict_text::{
    Node, Placed, Problems, Section, TextError, TextSpan, Texts, TomlValue, read_tree, suggest,
};

const TOP: &[&str] = &[
    "title",
    "lab",
    "kernel",
    "memory",
    "clock",
    "cpu",
    "reads",
    "device",
    "protocol",
    "faults",
    "goal",
    "dataset",
    "candidate",
    "matrix",
    "phase",
    "service",
    "published",
    "ask",
];
const GOAL: &[&str] = &["metric", "by", "frequency", "weights", "require", "groups"];

/// Every key a plan may hold, by the section it stands in. The reference (docs/reference/plan-format.md) covers them all.
pub fn keys() -> Vec<(&'static str, Vec<&'static str>)> {
    vec![
        ("", TOP.to_vec()),
        ("[device]", read_device::DEVICE.to_vec()),
        ("fails", read_device::FAILS.to_vec()),
        ("[protocol]", read_protocol::PROTOCOL.to_vec()),
        ("blocks", read_protocol::BLOCKS.to_vec()),
        ("disturbed", disturbance::KEYS.to_vec()),
        ("[faults]", faults::FAULTS.to_vec()),
        ("[goal]", GOAL.to_vec()),
        ("[dataset.NAME]", read_dataset::KEYS.to_vec()),
        ("[[candidate]]", read_candidate::candidate_keys()),
        ("[matrix]", read_candidate::matrix_keys()),
        ("[[phase]]", read_phase::PHASE.to_vec()),
        ("verify", read_phase_data::VERIFY.to_vec()),
        ("[phase.metric.NAME]", own_metric::OWN_METRIC.to_vec()),
        ("[[service]]", read_service::SERVICE.to_vec()),
        ("[[published]]", published::PUBLISHED.to_vec()),
        ("claim", published::CLAIM.to_vec()),
        ("[ask]", asked_by::ASK.to_vec()),
    ]
}

/// Reads a plan, makes the changes that the command line asks for, checks it, and spells out everything it leaves to
/// defaults.
///
/// `--set` is applied to the TOML before it is typed, so that its mistakes are reported like those of a file; then
/// candidates are picked, lab, device and blocks replaced, the data scaled, and the whole checked to fit.
///
/// # Errors Returns every fault of the plan and of the changes. Some faults can be found only in a plan that is
/// otherwise right (in a change to its candidates, or whether its data fit); they are looked for once there are no
/// others.
pub fn read_with(
    text: &str,
    file_name: &str,
    overrides: &Overrides,
    vocabulary: &Vocabulary<'_>,
) -> Result<Plan, TextError> {
    read_tree(file_name, text, |mut tree, texts, problems| {
        if !overrides.device.is_empty() {
            forget_models(&mut tree);
        }
        amend(&mut tree, &overrides.set, texts, problems);
        let typed = read_top(&tree, vocabulary, problems).filter(|_| problems.is_empty())?;
        Some(finish(typed, overrides, vocabulary, texts, problems))
    })
}

/// Makes the changes that the command line asks for, and does the checks that are possible only after them.
fn finish(
    Typed { mut plan, device_at, network_at, twice }: Typed,
    overrides: &Overrides,
    vocabulary: &Vocabulary<'_>,
    texts: &mut Texts,
    problems: &Problems,
) -> Plan {
    let device_at = apply(&mut plan, overrides, vocabulary, texts, problems).or(device_at);
    // Only now is it known which candidates are left; the command line's word goes before the plan's.
    let asked = overrides.twice.as_ref().map(|twice| {
        let given = if let Twice::Named(name) = twice { name.as_str() } else { "" };
        Placed { at: texts.add_option("--aa", given), value: twice.clone() }
    });
    if let Some(Placed { at, value }) = asked.or(twice) {
        problems.record_error(at, value.enter(&mut plan));
    }
    if !plan.goal.one_ranking {
        assign_protection(&mut plan, vocabulary.protection);
    }
    if problems.is_empty() {
        problems.record_error(device_at.unwrap_or_default(), models(&plan, vocabulary));
        problems.record_error(device_at.unwrap_or_default(), environment::check_cpus(&plan, vocabulary));
        problems
            .record_error(network_at.or(device_at).unwrap_or_default(), environment::check_network(&plan));
        problems.record_error(device_at.unwrap_or_default(), environment::check(&plan));
        problems.record_error(device_at.unwrap_or_default(), folders::check(&plan));
        problems.record_error(device_at.unwrap_or_default(), read_device::check(&plan, vocabulary));
        problems.record_error(device_at.unwrap_or_default(), faults::check(&plan));
        problems.record_error(device_at.unwrap_or_default(), space::check(&plan));
        problems.record_error(device_at.unwrap_or_default(), recorded::check_bounds(&plan));
    }
    plan
}

/// Whether there are such modelled devices, the command line's included.
fn models(plan: &Plan, vocabulary: &Vocabulary<'_>) -> Result<(), Reason> {
    let every = plan.candidates.iter().flat_map(|candidate| plan.models_of(candidate));
    every.into_iter().try_for_each(|model| (vocabulary.model)(model.name, Some(model.size)))
}

/// The typed plan, with the settings that are completed only after the command line's changes.
struct Typed {
    plan: Plan,
    device_at: Option<TextSpan>,
    /// Where a phase asks for this machine's network.
    network_at: Option<TextSpan>,
    twice: Option<Placed<Twice>>,
}

fn read_top(tree: &Node, vocabulary: &Vocabulary<'_>, problems: &Problems) -> Option<Typed> {
    let top = Section::new("the plan", tree, TOP, problems)?;
    let title = top.need("title", "title = \"Backup to a USB disk\"", filled_text);
    let lab = top.get("lab", |node| text(node)?.parse());
    let kernel = top.get_placed("kernel", kernel);
    let clock = top.get("clock", |node| text(node)?.parse());
    let cpu = top.get("cpu", environment::known_cpu(vocabulary.cpu));
    let on_machine = |lab: &LabChoice| lab.offer().kernel == KernelOwner::Machine;
    if let (Some(kernel), Some(lab)) = (&kernel, lab.filter(on_machine)) {
        problems.add(
            kernel.at,
            format!("a kernel of one's own does not go with lab = \"{lab}\", which is this machine's kernel"),
            format!("take `kernel` out, or let lab be {}", LabChoice::guests(["\""; 2])),
        );
    }
    let memory = top.get("memory", environment::memory);
    let reads = top.get("reads", paths).unwrap_or_default();
    let protocol = read_protocol(&top);
    let faults = read_faults(&top);
    let datasets = read_datasets(&top, vocabulary);
    let candidates = read_candidates(&top, vocabulary);
    let device = read_device(&top, &candidates, vocabulary);
    let phases = read_phases(&top, &datasets, vocabulary);
    let goal = read_goal(&top, &phases, vocabulary);
    let services = read_services(&top, &phases);
    let published = read_published(&top, &phases, vocabulary);
    // `[ask]` is checked like the rest and kept out of the plan: its words do not change the run.
    let _ = read_ask(&top);
    let datasets = datasets.into_iter().filter_map(|(name, dataset)| Some((name, dataset?))).collect();
    let (device, device_at) = device?;
    let (protocol, twice) = protocol?;
    let plan = Plan {
        title: title?,
        lab: lab.unwrap_or(LabChoice::Auto),
        kernel: kernel.map(|kernel| kernel.value),
        memory,
        clock: clock.unwrap_or_default(),
        cpu: cpu.filter(|cpu| cpu != FREE_CPU),
        reads,
        device,
        protocol,
        faults,
        goal: goal?,
        datasets,
        candidates,
        phases: phases.list,
        services,
        published,
        scale: None,
    };
    let network_at = phases.network_at;
    Some(Typed { plan, device_at, network_at, twice })
}

fn read_goal(top: &Section<'_>, phases: &Phases, vocabulary: &Vocabulary<'_>) -> Option<Goal> {
    let mut goal = Goal {
        metric: "durable".to_owned(),
        by: Aggregation::Total,
        weights: even_weights(&phases.list, "durable"),
        require: Requirements::default(),
        one_ranking: false,
        protection: BTreeMap::new(),
    };
    own_metrics_agree(&phases.list, top);
    let Some(entry) = top.entry("goal") else { return Some(goal) };
    if let TomlValue::Text(_) = entry.node.value {
        goal.by = top.problems.record_error(entry.node.at, parse_aggregation(&entry.node))?;
        return Some(goal);
    }
    let section = Section::new("[goal]", &entry.node, GOAL, top.problems)?;
    let own = phases.list.iter().flat_map(|phase| phase.metrics.keys()).map(String::as_str);
    let known: Vec<&str> = own.chain(vocabulary.metrics.iter().copied()).collect();
    if let Some(metric) = section.get_placed("metric", filled_text) {
        let name = short_name(&metric.value).unwrap_or(&metric.value);
        // That of one of several groups of jobs (`fio_read_iops@NAME`) is known where that of one is; and it may be that of a phase
        // which is wrong.
        let is_known = known.contains(&name) || name.contains('@') && (vocabulary.unit_of)(name).is_some();
        if is_known || phases.complete && top.problems.must_be_known(metric.at, "metric", name, &known) {
            goal.metric = name.to_owned();
        }
        goal.weights = even_weights(&phases.list, &goal.metric);
    }
    if let Some(entry) = section.entry("require") {
        let context = RequireContext {
            phases: &phases.list,
            vocabulary,
            problems: top.problems,
            complete: phases.complete,
        };
        goal.require = read_requirements(&entry.node, &context);
    }
    goal.one_ranking = section.get("groups", parse_grouping) == Some(Grouping::One);
    let by = section.get_placed("by", parse_aggregation);
    goal.by = read_aggregation(&section, by, &goal.metric, vocabulary, top.problems)?;
    for key in ["frequency", "weights"] {
        let Some(entry) = section.entry(key) else { continue };
        let TomlValue::Table(table) = &entry.node.value else {
            let message = format!("`{key}` must be a table, not {}", entry.node.value.type_name());
            top.problems.add(
                entry.node.at,
                message,
                format!("for example: {key} = {{ write = 5, read = 2 }}"),
            );
            return None;
        };
        if !table.entries.is_empty() {
            goal.weights = read_weights(key, &entry.node, phases, top.problems);
        }
    }
    Some(goal)
}

/// `goal.by`, or `goal` as a word.
fn parse_aggregation(node: &Node) -> Result<Aggregation, Reason> {
    match text(node)?.as_str() {
        "total" => Ok(Aggregation::Total),
        "ratios" => Ok(Aggregation::Ratios),
        other => Err(Reason::new(
            format!("there is no goal by `{other}`"),
            "\"total\" adds up frequency × time over the phases, \"ratios\" is the mean of the phases' ratios",
        )),
    }
}

/// How the phases are put together: as the plan says, as the key of its numbers implies, or else as a total where the metric adds up.
fn read_aggregation(
    section: &Section<'_>,
    by: Option<Placed<Aggregation>>,
    metric: &str,
    vocabulary: &Vocabulary<'_>,
    problems: &Problems,
) -> Option<Aggregation> {
    let (frequency, weights) = (section.entry("frequency"), section.entry("weights"));
    let adds_up = (vocabulary.adds_up)(metric);
    let chosen = match (by.as_ref().map(|by| by.value), frequency, weights) {
        (_, Some(entry), Some(_)) => {
            let hint = "`frequency` says how often each phase happens and adds up times; `weights` weighs the phases' ratios";
            problems.add(entry.key_at, "`frequency` and `weights` are two ways to put phases together", hint);
            return None;
        }
        (Some(Aggregation::Total), None, Some(entry)) => {
            problems.add(
                entry.key_at,
                "`weights` do not go with by = \"total\"",
                "call them `frequency`, or take by = \"ratios\"",
            );
            return None;
        }
        (Some(Aggregation::Ratios), Some(entry), None) => {
            problems.add(
                entry.key_at,
                "`frequency` does not go with by = \"ratios\"",
                "call it `weights`, or take by = \"total\"",
            );
            return None;
        }
        (Some(by), ..) => by,
        (None, Some(_), None) => Aggregation::Total,
        (None, None, Some(_)) => Aggregation::Ratios,
        (None, None, None) if adds_up => Aggregation::Total,
        (None, None, None) => Aggregation::Ratios,
    };
    if chosen == Aggregation::Total && !adds_up {
        let at = by.map(|by| by.at).or(frequency.map(|entry| entry.key_at)).unwrap_or(section.at);
        let message = format!("`{metric}` does not add up over phases");
        problems.add(at, message, "take by = \"ratios\" with `weights`, or a metric that does: durable, returned, device_written, …");
        return None;
    }
    Some(chosen)
}

fn read_weights(key: &str, node: &Node, phases: &Phases, problems: &Problems) -> BTreeMap<String, f64> {
    let names = phases.names();
    let noun = if key == "weights" { "weight" } else { key };
    let mut weights = BTreeMap::new();
    let TomlValue::Table(table) = &node.value else { return weights };
    for weight in &table.entries {
        if phases.complete && !names.contains(&weight.key.as_str()) {
            let message = format!("`{key}` names `{}`, which is no phase of this plan", weight.key);
            problems.add(weight.key_at, message, suggest(&weight.key, &names));
        }
        let result =
            number(&weight.node).map_err(|error| error.after(format!("the {noun} of `{}`: ", weight.key)));
        if let Some(number) = problems.record_error(weight.node.at, result) {
            weights.insert(weight.key.clone(), number);
        }
    }
    if weights.len() == table.entries.len() && weights.values().all(|weight| *weight == 0.0) {
        let hint = "give at least one phase a number above 0";
        problems.add(node.at, format!("every number of `{key}` is 0, so nothing would count"), hint);
    }
    weights
}

/// Refuses a metric's name that is used for numbers of different units or directions, which cannot be compared.
fn own_metrics_agree(phases: &[Phase], top: &Section<'_>) {
    let mut known: BTreeMap<&str, (&Phase, &OwnMetric)> = BTreeMap::new();
    for phase in phases {
        for (name, metric) in &phase.metrics {
            let (first, other) = *known.entry(name).or_insert((phase, metric));
            if (other.kept_in(), other.better) != (metric.kept_in(), metric.better) {
                let message = format!(
                    "the metric `{name}` has another unit or direction in `{}` than in `{}`",
                    phase.name, first.name
                );
                let at = top.entry("phase").map_or(top.at, |entry| entry.key_at);
                top.problems.add(at, message, "give both the same `unit` and `better`, or rename one");
            }
        }
    }
}

/// Each phase counts once. Checks are rare, and how much fills a filesystem is another for each: they count where a plan says
/// so, or has nothing else. A metric of the plan's own is that of the phases that print it.
fn even_weights(phases: &[Phase], metric: &str) -> BTreeMap<String, f64> {
    let print = |phase: &&Phase| phase.metrics.contains_key(metric);
    let is_own = phases.iter().any(|phase| print(&phase));
    let is_aside = |phase: &&Phase| matches!(phase.work, PhaseWork::Operation(operation) if operation == Operation::Fsck || operation.takes_to());
    let nothing_else = phases.iter().all(|phase| is_aside(&phase));
    let counts = |phase: &&Phase| if is_own { print(phase) } else { nothing_else || !is_aside(phase) };
    phases.iter().filter(counts).map(|phase| (phase.name.clone(), 1.0)).collect()
}
