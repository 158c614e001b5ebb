//! Writes a resolved plan as TOML again: `fsverdict show` prints it for a run or a page, so that it can be run again.

use serde_json::{Value, json};

use super::faults::FAULTS;
use super::keys::{PlanLines, PlanValue, is_nothing};
use super::model::TOP;
use super::phase::{PHASE, SERVICE};
use super::protocol::PROTOCOL;
use super::work_source::WORK;
use super::{AXES, Aggregation, AxisLevel, CONTROL_SUFFIX, Candidate, DeviceSource, Plan};
use fsverdict_text::duration_text;

/// The plan as TOML, spelled out; read again it is the same plan. That its data were scaled is not kept: they are as large
/// as they were made.
pub fn write(plan: &Plan) -> String {
    let mut lines = PlanLines::default();
    lines.put_keys(TOP, plan);
    write_device(&mut lines, plan);
    lines.section("[protocol]");
    lines.put_keys(PROTOCOL, plan);
    if let Some(faults) = &plan.faults {
        lines.section("[faults]");
        lines.put_keys(FAULTS, faults);
    }
    if let Some(work) = &plan.work {
        lines.section("[work]");
        lines.put_keys(WORK, work);
    }
    lines.section("[goal]");
    lines.put("metric", &plan.goal.metric);
    lines.put("by", plan.goal.by.word());
    let weighing = if plan.goal.by == Aggregation::Total { "frequency" } else { "weights" };
    lines.put(weighing, &plan.goal.weights);
    lines.put("require", plan.goal.require.to_plan_form());
    if plan.goal.one_ranking {
        lines.put("groups", "one");
    }
    for (name, dataset) in &plan.datasets {
        lines.section(&format!("[dataset.{name}]"));
        dataset.write_keys(&mut lines);
    }
    for candidate in plan.candidates.iter().filter(|candidate| !candidate.name.ends_with(CONTROL_SUFFIX)) {
        lines.section("[[candidate]]");
        of_candidate(&mut lines, candidate);
    }
    for phase in &plan.phases {
        lines.section("[[phase]]");
        lines.put_keys(PHASE, phase);
    }
    for service in &plan.services {
        lines.section("[[service]]");
        lines.put_keys(SERVICE, service);
    }
    for found in &plan.published {
        lines.section("[[published]]");
        lines.put("finding", &found.finding);
        lines.put("source", &found.source);
        lines.put("phase", &found.phase);
        lines.put("metric", &found.metric);
        if found.about_cpu {
            lines.put("about_cpu", true);
        }
        lines.put("figures", &found.figures);
        lines.put("unit", &found.unit);
        let mut claim = json!(found.claim);
        if let Value::Object(keys) = &mut claim {
            keys.retain(|key, value| key != "kind" && !is_nothing(value));
        }
        lines.put("claim", claim);
    }
    lines.text
}

fn write_device(lines: &mut PlanLines, plan: &Plan) {
    lines.section("[device]");
    let paths: Vec<_> = plan
        .device
        .all_sources()
        .filter_map(|source| if let DeviceSource::Path(path) = source { Some(path) } else { None })
        .collect();
    let alike = plan.device.further.iter().all(|other| *other == plan.device.source);
    match &plan.device.source {
        DeviceSource::Image(bytes) => lines.put("image", bytes.to_plan()),
        DeviceSource::Path(path) if paths.len() == 1 => lines.put("path", path),
        DeviceSource::Path(_) => lines.put("path", paths),
        DeviceSource::Folders => {}
        DeviceSource::Model { name, size: bytes } => {
            let names: Vec<&str> = plan
                .device
                .all_sources()
                .filter_map(|source| match source {
                    DeviceSource::Model { name, .. } => Some(name.as_str()),
                    _ => None,
                })
                .collect();
            lines.put("model", if alike { json!(name) } else { json!(names) });
            lines.put("size", bytes.to_plan());
        }
    }
    if alike && !plan.device.further.is_empty() {
        lines.put("count", plan.device.count());
    }
    if let Some(fails) = plan.device.fails {
        lines.put("fails", json!({ "device": fails.device, "after": duration_text(fails.after) }));
    }
    lines.put("folder", &plan.device.folder);
    if plan.device.staging != super::StagingChoice::Auto {
        lines.put("staging", plan.device.staging);
    }
}

fn of_candidate(lines: &mut PlanLines, candidate: &Candidate) {
    lines.put("name", &candidate.name);
    for axis in &AXES {
        let level = axis.set_level(candidate);
        let key = axis.key_of(&level.text());
        match level {
            AxisLevel::Options(_) => lines.put(key, level.text()),
            AxisLevel::Size(bytes) => lines.put(key, bytes.to_plan()),
            level => lines.put(key, level),
        }
    }
}
