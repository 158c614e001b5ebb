//! Turns the requirements and tolerances of a question into keys of a plan.

use fsverdict_judgement::plan::{Flow, Phase, PhaseWork, Plan, least_space, presets};
use fsverdict_text::Reason;

use super::question::{AskedWork, Question};

/// Values for `--set`: the requirements on the recommended candidate, and the difference that does not matter.
///
/// # Errors
/// When latencies of the work are not measured one by one.
pub(super) fn settings(question: &Question, plan: &Plan) -> Result<Vec<String>, Reason> {
    let mut settings: Vec<String> = question
        .properties()
        .iter()
        .map(|property| format!("goal.require.{}=true", property.word()))
        .collect();
    for said in &question.limits {
        let phase = bounded_phase(question, plan)?;
        let key = format!("{}.{}", phase.name, metric_of(phase, said.value.metric));
        settings.push(format!("goal.require.{key:?}={:?}", said.value.bound()));
    }
    for said in &question.throughputs {
        let phase = phase_of_throughput(question, plan, said.value.is_of_reading)?;
        settings.push(format!(
            "goal.require.{:?}={:?}",
            format!("{}.throughput", phase.name),
            said.value.bound()
        ));
    }
    settings.extend(question.faults.iter().map(|said| said.value.setting().to_owned()));
    if let Some(said) = &question.tolerance {
        settings.push(format!("protocol.tie={}", said.value.share));
    }
    Ok(settings)
}

/// The phase of the latencies that a question means if it names none.
fn bounded_phase<'a>(question: &Question, plan: &'a Plan) -> Result<&'a Phase, Reason> {
    let named = match &question.work {
        AskedWork::Preset(preset) => preset.asked_by().latency,
        AskedWork::Folder(_) => None,
    };
    let phase = named.and_then(|name| plan.phases.iter().find(|phase| phase.name == name));
    phase.ok_or_else(|| {
        let timed = presets().iter().filter(|preset| preset.asked_by().latency.is_some());
        let names: Vec<&str> = timed.map(|preset| preset.name).collect();
        Reason::new(
            format!(
                "`{}` does not time single calls, so that no latency of it can be bounded",
                question.name()
            ),
            format!("these do: {}; `ask etcd` is about the log of a database", names.join(", ")),
        )
    })
}

/// The phase of the goal that reads or writes most: a throughput that names no phase is of that one.
///
/// # Errors Fails if no phase of the goal does this with data of known size.
pub(super) fn phase_of_throughput<'a>(
    question: &Question,
    plan: &'a Plan,
    is_of_reading: bool,
) -> Result<&'a Phase, Reason> {
    let flow = if is_of_reading { Flow::Reads } else { Flow::Writes };
    let bytes = |phase: &Phase| {
        let counts = plan.goal.weights.is_empty() || plan.goal.weights.contains_key(&phase.name);
        let PhaseWork::Operation(operation) = phase.work else { return None };
        let dataset = plan.datasets.get(phase.dataset.as_ref()?)?;
        Some(least_space(dataset)).filter(|bytes| counts && *bytes > 0 && operation.flow() == flow)
    };
    let largest = plan.phases.iter().filter(|phase| bytes(phase).is_some()).max_by_key(|phase| bytes(phase));
    largest.ok_or_else(|| {
        let does = if is_of_reading { "reads" } else { "writes" };
        Reason::new(
            format!("no phase of `{}` {does} data of known size, so that no throughput of it can be bounded", question.name()),
            "`fsverdict show vm-image` is a plan whose phases do; in a plan of yours: require = { \"write.throughput\" = \">= 200MB/s\" }",
        )
    })
}

/// The name of a latency in a phase: that of its main call, or the one that its program prints.
fn metric_of(phase: &Phase, metric: &str) -> String {
    match &phase.work {
        PhaseWork::Adapter { name, .. } => {
            let short = match metric {
                "p99.9" => "p999",
                "worst" => "max",
                other => other,
            };
            format!("{name}_latency_{short}")
        }
        PhaseWork::Operation(_) | PhaseWork::Command(_) => metric.to_owned(),
    }
}
