//! Writes a resolved plan as TOML again: `fsverdict show` prints it for a run or a page, so that it can be run again.

use serde_json::{Value, json};

use super::plan_lines::{PlanLines, is_nothing};
use super::protection::Grouping;
use super::{
    AXES, Aggregation, AxisLevel, CONTROL_SUFFIX, Candidate, Dataset, DeviceSource, PhaseWork, Plan,
};
use fsverdict_text::{Bytes, duration_text};

/// The plan as TOML, spelled out; read again it is the same plan. That its data were scaled is not kept: they are as large
/// as they were made.
pub fn write(plan: &Plan) -> String {
    let mut lines = PlanLines::default();
    lines.put("title", &plan.title);
    lines.put("lab", plan.lab);
    lines.put("kernel", &plan.kernel);
    lines.put("memory", plan.memory.map(size));
    lines.put("clock", plan.clock);
    lines.put("cpu", &plan.cpu);
    lines.put("reads", &plan.reads);
    write_device(&mut lines, plan);
    write_protocol(&mut lines, plan);
    if let Some(faults) = plan.faults {
        lines.section("[faults]");
        for (key, number) in [("power_cuts", faults.power_cuts), ("rot", faults.rot)] {
            if number > 0 {
                lines.put(key, number);
            }
        }
        if faults.trials > 1 {
            lines.put("trials", faults.trials);
        }
        for (key, said) in [
            ("refuses_writes", faults.refuses_writes),
            ("keeps_all", faults.keeps_all),
            ("ignores_flushes", faults.ignores_flushes),
            ("accept_loss", faults.accept_loss),
        ] {
            if said {
                lines.put(key, true);
            }
        }
    }
    lines.section("[goal]");
    lines.put("metric", &plan.goal.metric);
    lines.put("by", plan.goal.by.word());
    let weighing = if plan.goal.by == Aggregation::Total { "frequency" } else { "weights" };
    lines.put(weighing, &plan.goal.weights);
    lines.put("require", plan.goal.require.to_plan_form());
    if plan.goal.one_ranking {
        lines.put("groups", Grouping::ONE);
    }
    for (name, dataset) in &plan.datasets {
        lines.section(&format!("[dataset.{name}]"));
        of_dataset(&mut lines, dataset);
    }
    for candidate in plan.candidates.iter().filter(|candidate| !candidate.name.ends_with(CONTROL_SUFFIX)) {
        lines.section("[[candidate]]");
        of_candidate(&mut lines, candidate);
    }
    write_phases(&mut lines, plan);
    for service in &plan.services {
        lines.section("[[service]]");
        lines.put("name", &service.name);
        lines.put("start", &service.start);
        lines.put("ready", &service.ready);
        lines.put("stop", &service.stop);
        lines.put("from", &service.from);
        lines.put("to", &service.to);
        lines.put("within", duration_text(service.within));
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
        DeviceSource::Image(bytes) => lines.put("image", size(*bytes)),
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
            lines.put("size", size(*bytes));
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

fn write_protocol(lines: &mut PlanLines, plan: &Plan) {
    let protocol = &plan.protocol;
    lines.section("[protocol]");
    lines.put("blocks", protocol.blocks);
    lines.put("until", protocol.until);
    lines.put("seed", protocol.seed);
    lines.put("order", protocol.order);
    lines.put("tie", protocol.tie);
    lines.put("timeout", duration_text(protocol.timeout));
    lines.put("for", protocol.budget.map(duration_text));
    lines.put("aa", plan.candidates.iter().find_map(|candidate| candidate.name.strip_suffix(CONTROL_SUFFIX)));
    match protocol.disturbed {
        Some(limits) => lines.put("disturbed", limits),
        None => lines.line("disturbed", "false"),
    }
    lines.put("legacy", protocol.legacy);
    if protocol.circumstances != super::NuisancesChoice::Drawn {
        lines.put("circumstances", protocol.circumstances);
    }
    if protocol.devices != super::DevicesChoice::Class {
        lines.put("devices", protocol.devices);
    }
}

fn of_dataset(lines: &mut PlanLines, dataset: &Dataset) {
    match dataset {
        Dataset::Tree(shape) => {
            lines.put("profile", &shape.profile);
            lines.put("files", shape.files);
            lines.put("directories", shape.directories);
            lines.put("size", size(shape.size));
            lines.put("compressible", shape.compressible);
            lines.put("duplicates", shape.duplicates);
            lines.put("hard_links", shape.hard_links);
            lines.put("sizes", &shape.sizes);
            lines.put("depths", &shape.form.depths);
            lines.put("name_lengths", &shape.form.name_lengths);
            lines.put("links", &shape.form.links);
            lines.put("symlinks", shape.form.symlinks);
            lines.put("target_lengths", &shape.form.target_lengths);
        }
        Dataset::Flat { files, file_size } => {
            lines.put("flat", files);
            lines.put("file_size", size(*file_size));
        }
        Dataset::Trace { calls } => lines.line("calls", &format!("'''\n{calls}'''")),
        Dataset::File { size: bytes, compressible } => {
            lines.put("file", size(*bytes));
            lines.put("compressible", compressible);
        }
        Dataset::Folder { path, size: bytes } => {
            lines.put("path", path);
            lines.put("size", bytes.map(size));
        }
    }
}

fn of_candidate(lines: &mut PlanLines, candidate: &Candidate) {
    lines.put("name", &candidate.name);
    for axis in &AXES {
        let level = axis.set_level(candidate);
        let key = axis.key_of(&level.text());
        match level {
            AxisLevel::Options(_) => lines.put(key, level.text()),
            AxisLevel::Size(bytes) => lines.put(key, size(bytes)),
            level => lines.put(key, level),
        }
    }
}

fn write_phases(lines: &mut PlanLines, plan: &Plan) {
    for phase in &plan.phases {
        lines.section("[[phase]]");
        lines.put("name", &phase.name);
        match &phase.work {
            PhaseWork::Operation(operation) => lines.put("operation", operation),
            PhaseWork::Command(line) => lines.put("command", line),
            PhaseWork::Adapter { name, options } => {
                lines.put("adapter", name);
                lines.put("options", options);
            }
        }
        lines.put("dataset", &phase.dataset);
        lines.put("into", &phase.into);
        lines.put("cold", phase.cold);
        lines.put("repeat", phase.repeat);
        lines.put("changed", phase.changed);
        lines.put("pulls", phase.pulls);
        lines.put("rounds", phase.rounds);
        lines.put("remake", &phase.remake);
        lines.put("state", phase.state);
        lines.put("to", phase.to);
        lines.put("piece", phase.piece.map(size));
        lines.put("sync_every", phase.sync_every);
        lines.put("pause", phase.pause.map(duration_text));
        lines.put("threads", phase.threads);
        lines.put("depth", phase.depth);
        if phase.pace != super::Pace::Unpaced {
            lines.put("pace", phase.pace);
        }
        lines.put("steps", phase.steps);
        lines.put("sequences", phase.sequences);
        lines.put("network", phase.network);
        lines.put("before", &phase.before);
        lines.put("beside", &phase.beside);
        lines.put("after", &phase.after);
        lines.put("recheck", &phase.recheck);
        lines.put("verify", &phase.verify);
        lines.put("metric", &phase.metrics);
    }
}

/// A size so that just as many bytes are read back.
fn size(bytes: Bytes) -> String {
    let shown = bytes.to_string();
    if shown.parse() == Ok(bytes) { shown } else { format!("{}B", bytes.0) }
}
