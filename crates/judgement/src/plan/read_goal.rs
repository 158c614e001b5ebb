//! Reads a plan's goal: its metric, how the phases are put together, their weights, and what is required.

use std::collections::BTreeMap;

use fsverdict_text::Reason;
use fsverdict_text::value::{filled_text, number, text};
use fsverdict_text::{Node, Placed, Problems, Section, TomlValue, suggest};

use super::protection::read_grouping;
use super::read_phase::Phases;
use super::require::{RequireContext, read_requirements, short_name};
use super::{Aggregation, Goal, OwnMetric, Phase, PhaseWork, Vocabulary};

/// The keys of `[goal]`.
pub(super) const KEYS: &[&str] = &["metric", "by", "frequency", "weights", "require", "groups"];

pub(super) fn read_goal(top: &Section<'_>, phases: &Phases, vocabulary: &Vocabulary<'_>) -> Option<Goal> {
    let mut goal = Goal {
        metric: "durable".to_owned(),
        by: Aggregation::Total,
        weights: even_weights(&phases.list, "durable"),
        ..Goal::default()
    };
    own_metrics_agree(&phases.list, top);
    let Some(entry) = top.entry("goal") else { return Some(goal) };
    if let TomlValue::Text(_) = entry.node.value {
        goal.by = top.problems.record_error(entry.node.at, parse_aggregation(&entry.node))?;
        return Some(goal);
    }
    let section = Section::new("[goal]", &entry.node, KEYS, top.problems)?;
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
    goal.one_ranking = section.get("groups", read_grouping).unwrap_or_default();
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
    let word = text(node)?;
    Aggregation::from_word(&word).ok_or_else(|| {
        Reason::new(
            format!("there is no goal by `{word}`"),
            "\"total\" adds up frequency × time over the phases, \"ratios\" is the mean of the phases' ratios",
        )
    })
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
    let is_aside =
        |phase: &&Phase| matches!(phase.work, PhaseWork::Operation(operation) if operation.is_aside());
    let nothing_else = phases.iter().all(|phase| is_aside(&phase));
    let counts = |phase: &&Phase| if is_own { print(phase) } else { nothing_else || !is_aside(phase) };
    phases.iter().filter(counts).map(|phase| (phase.name.clone(), 1.0)).collect()
}
