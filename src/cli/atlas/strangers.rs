//! Runs of others in an atlas: each joins the cell of its work and class of device, with the answer that it gives. Nothing
//! is averaged over machines, and a run that cannot be believed is left out with the reason.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::study::RunFolder;
use fsverdict_judgement::journal::{Facts, Run};
use fsverdict_judgement::plan::{DeviceSource, Phase, Plan};
use fsverdict_linux::host::messages::print_line;
use fsverdict_report::{AtlasCell, AtlasKind, StrangersAnswer, base_name};
use fsverdict_text::{Hinted, quoted};

use super::super::CliError;
use super::super::open_run::{check_plan, open_run};
use super::cells::{PlannedAtlas, PlannedCell};
use super::gather::usual_answer;

/// The runs that a path stands for: itself, or the bundles of a folder that is no run.
fn list_runs(path: &Path) -> Vec<PathBuf> {
    if !path.is_dir() || RunFolder::has_plan(path) {
        return vec![path.to_owned()];
    }
    let names = std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut bundles: Vec<PathBuf> =
        names.filter(|path| path.to_string_lossy().ends_with(".tar.gz")).collect();
    bundles.sort();
    bundles
}

/// Adds the answer of each run to its cell, and tells how many could not be added.
pub(super) fn join_strangers(planned: &PlannedAtlas, cells: &mut [AtlasCell]) {
    let mut known: BTreeSet<String> = BTreeSet::new();
    let (mut joined, mut refused) = (0, 0);
    for path in planned.strangers.iter().flat_map(|path| list_runs(path)) {
        match read_stranger(planned, &path, &mut known) {
            Ok((cell, answer)) => {
                let own = cells.iter_mut().find(|own| (own.work, own.kind) == (cell.work, cell.kind));
                own.into_iter().for_each(|own| own.add_stranger(answer.clone()));
                joined += 1;
            }
            Err(why) => {
                refused += 1;
                print_line(&format!("left out {}: {why}", quoted(&path.to_string_lossy())));
            }
        }
    }
    if joined + refused > 0 {
        print_line(&format!("runs of others: {joined} joined, {refused} left out"));
    }
}

/// The cell of a run, and its answer.
fn read_stranger<'a>(
    planned: &'a PlannedAtlas,
    path: &Path,
    known: &mut BTreeSet<String>,
) -> Result<(&'a PlannedCell, StrangersAnswer), String> {
    let reason = |error: CliError| error.reason().what;
    let (_, plan, run) = open_run(path).map_err(reason)?;
    check_plan(&plan).map_err(reason)?;
    let work = planned.cells.iter().find(|cell| is_same_work(&cell.plan, &plan));
    let work = work.ok_or("its work is none of this atlas")?.work;
    let class = describe_class(&plan, &run.header.environment).ok_or("its device is not of a known class")?;
    let of_class = |cell: &&PlannedCell| {
        cell.work == work && planned.kinds.get(cell.kind).is_some_and(|kind| is_of_class(kind, &class))
    };
    let cell = planned
        .cells
        .iter()
        .find(of_class)
        .ok_or_else(|| format!("its class of device, {class}, is none of this atlas"))?;
    if !is_plausible(&run) {
        return Err("its numbers cannot be those of trials".to_owned());
    }
    let answer = usual_answer(&plan, &run).ok_or("it has no answer")?;
    if !known.insert(run.header.id.clone()) {
        return Err("it is there already".to_owned());
    }
    let device = run.header.environment.get("device.model").cloned().unwrap_or(class);
    let kernel = run.header.kernel().cloned().unwrap_or_else(|| "unknown".to_owned());
    Ok((cell, StrangersAnswer { device, kernel, answer, disagrees: false }))
}

/// Whether two plans do the same work. The size of the data, the device and the candidates may differ.
fn is_same_work(one: &Plan, other: &Plan) -> bool {
    let plain = |plan: &Plan| -> Vec<Phase> { plan.phases.clone() };
    plain(one) == plain(other)
        && one.goal.metric == other.goal.metric
        && one.goal.weights == other.goal.weights
}

fn is_of_class(kind: &AtlasKind, class: &str) -> bool {
    base_name(&kind.model) == class || kind.class == class
}

/// The class of a run's device: its model, or the class that the facts of a real one tell.
fn describe_class(plan: &Plan, facts: &Facts) -> Option<String> {
    if let DeviceSource::Model { name, .. } = &plan.device.source {
        return Some(base_name(name).to_owned());
    }
    let name = facts.get("device.name").map_or("", String::as_str);
    let is_usb = facts.iter().any(|(key, value)| key.starts_with("device.") && value.contains("usb"));
    let rotates = facts.get("device.queue.rotational").map(|value| value == "true" || value == "1");
    let class = match (name, is_usb, rotates) {
        (name, _, _) if name.starts_with("nvme") => "nvme",
        (name, _, _) if name.starts_with("mmcblk") => "card",
        (_, true, Some(true)) => "usb-disk",
        (_, true, Some(false)) => "usb-stick",
        (_, false, Some(true)) => "hdd",
        (_, false, Some(false)) => "ssd",
        (_, _, None) => return None,
    };
    Some(class.to_owned())
}

/// Whether every number of a run is one that a trial can have.
fn is_plausible(run: &Run) -> bool {
    let measured = run.trials.iter().flat_map(|trial| &trial.observations).flat_map(|one| &one.measurements);
    let is_finite = measured.map(|one| one.value).all(|value| value.is_finite() && value >= 0.0);
    is_finite && run.complete_blocks() > 0
}

#[cfg(test)]
mod tests {
    use super::describe_class;
    use fsverdict_judgement::journal::Facts;
    use fsverdict_judgement::plan::{DeviceSource, Plan};

    #[test]
    fn a_real_device_is_of_the_class_that_its_facts_tell() {
        let mut plan: Plan =
            serde_json::from_str(include_str!("../../../tests/runs/demo/plan.json")).unwrap();
        plan.device.source = DeviceSource::Path("/dev/sdz".into());
        let class = |facts: &[(&str, &str)]| {
            let facts: Facts =
                facts.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
            describe_class(&plan, &facts)
        };
        assert_eq!(class(&[("device.name", "nvme0n1")]).as_deref(), Some("nvme"));
        let disk = [("device.name", "sdb"), ("device.queue.rotational", "true")];
        assert_eq!(class(&disk).as_deref(), Some("hdd"));
        let usb = [disk[0], disk[1], ("device.path", "/dev/disk/by-id/usb-WD")];
        assert_eq!(class(&usb).as_deref(), Some("usb-disk"));
        assert_eq!(class(&[("device.name", "sdb")]), None);
    }
}
