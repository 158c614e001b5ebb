//! Checks whether two runs can be compared: they must do the same work on the same kind of device.
//!
//! Kernel, options, tool versions and date may differ, because they are compared. Lab, device, data and workload may
//! not: their effect would be mistaken for one of kernels or options.

use crate::journal::{FolderContent, Run, Trial};
use crate::plan::{Dataset, DeviceSource, Phase, Plan, TreeShape};
use crate::verdict::Slice;
use fsverdict_text::Bytes;

/// Every reason against a comparison, one sentence each; empty when the runs can be compared.
pub(crate) fn list_obstacles(before: &Slice, after: &Slice) -> Vec<String> {
    let mut obstacles = Vec::new();
    let labs = (&before.run.header.lab, &after.run.header.lab);
    if labs.0 != labs.1 {
        obstacles.push(format!("another lab: {} before, {} after", labs.0, labs.1));
    }
    obstacles.extend(device_difference(before, after));
    obstacles.extend(workload_difference(&before.plan.phases, &after.plan.phases));
    obstacles.extend(dataset_differences(&before.plan, &after.plan));
    obstacles.extend(folder_differences(&before.run, &after.run));
    for (side, name) in [(before, "before"), (after, "after")] {
        if side.run.complete_blocks() == 0 {
            obstacles.push(format!("no block of the run {name} is complete and valid"));
        }
    }
    obstacles
}

/// Compares the devices by kind, by size, and by identity where they have one.
fn device_difference(before: &Slice, after: &Slice) -> Option<String> {
    let kind = |side: &Slice| match &side.plan.device.source {
        DeviceSource::Image(_) => "a scratch image".to_owned(),
        DeviceSource::Path(_) => "a block device".to_owned(),
        DeviceSource::Folders => "folders".to_owned(),
        DeviceSource::Model { name, .. } => format!("a modelled {name}"),
    };
    let number = |side: &Slice| side.plan.device.count();
    if number(before) != number(after) {
        return Some(format!(
            "another number of devices: {} before, {} after",
            number(before),
            number(after)
        ));
    }
    if before.plan.device.source.is_modelled() && before.plan.device.further != after.plan.device.further {
        return Some("other devices besides the first".to_owned());
    }
    let (one, other) = (kind(before), kind(after));
    if one != other {
        return Some(format!("another kind of device: {one} before, {other} after"));
    }
    let size = |side: &Slice| match (&side.plan.device.source, side.run.header.beginning.device_size) {
        (_, Some(size)) => Bytes(size).to_string(),
        (DeviceSource::Image(size) | DeviceSource::Model { size, .. }, None) => size.to_string(),
        (DeviceSource::Path(_) | DeviceSource::Folders, None) => "of unknown size".to_owned(),
    };
    let (one, other) = (size(before), size(after));
    if one != other {
        return Some(format!("another size of device: {one} before, {other} after"));
    }
    // A path such as /dev/sdb may be another disk after a boot, so it counts only where the device has no identity.
    let identity = |side: &Slice| match &side.plan.device.source {
        DeviceSource::Image(_) | DeviceSource::Model { .. } | DeviceSource::Folders => String::new(),
        DeviceSource::Path(path) => {
            let fact = side.run.header.environment.get("device.identity");
            fact.cloned().unwrap_or_else(|| path.display().to_string())
        }
    };
    let (one, other) = (identity(before), identity(after));
    (one != other).then(|| format!("another device: {one} before, {other} after"))
}

/// Compares the phases in order, because each phase starts from the state that the previous one leaves.
fn workload_difference(before: &[Phase], after: &[Phase]) -> Option<String> {
    if before.len() != after.len() {
        return Some(format!("another workload: {} phases before, {} after", before.len(), after.len()));
    }
    let (one, other) = before.iter().zip(after).find(|(one, other)| one != other)?;
    Some(if one.name == other.name {
        format!("another workload: phase `{}` does something else", one.name)
    } else {
        format!(
            "another workload: the earlier run has phase `{}` where the later one has `{}`",
            one.name, other.name
        )
    })
}

/// The data of every phase: the same description, and where they are generated the same seed.
fn dataset_differences(before: &Plan, after: &Plan) -> Vec<String> {
    let mut names: Vec<&String> = Vec::new();
    for phase in &before.phases {
        let dataset_names = phase.dataset.iter().chain(phase.verify.iter().map(|verify| &verify.dataset));
        names.extend(dataset_names);
    }
    // A command may use any dataset through its variable.
    if before.phases.iter().any(|phase| phase.dataset.is_none()) {
        names.extend(before.datasets.keys());
    }
    names.sort();
    names.dedup();
    let mut differences: Vec<String> = names
        .iter()
        .filter_map(|name| match (before.datasets.get(*name), after.datasets.get(*name)) {
            (one, other) if one == other => None,
            (Some(one), Some(other)) => Some(format!(
                "another dataset `{name}`: {} before, {} after",
                describe_dataset(one),
                describe_dataset(other)
            )),
            (_, other) => {
                let which = if other.is_none() { "before" } else { "after" };
                Some(format!("another dataset: `{name}` is there only {which}"))
            }
        })
        .collect();
    let drawn =
        |name: &&String| !matches!(before.datasets.get(*name), Some(Dataset::Folder { size: None, .. }));
    let seeds = (before.protocol.seed, after.protocol.seed);
    if seeds.0 != seeds.1 && names.iter().any(drawn) {
        differences.push(format!(
            "other data: they are drawn with seed {} before and {} after (--set protocol.seed={})",
            seeds.0, seeds.1, seeds.0
        ));
    }
    differences
}

/// Compares the contents of the user's folders as they were staged: `/usr`, for example, changes with every upgrade.
fn folder_differences(before: &Run, after: &Run) -> Vec<String> {
    let last = |run: &Run, name: &str| {
        let counting = run.counted_trials().rev();
        counting.flat_map(Trial::datasets).find(|(known, _)| *known == name).map(|(_, held)| held.to_owned())
    };
    let counting = before.counted_trials().next();
    let names = counting.into_iter().flat_map(Trial::datasets).map(|(name, _)| name);
    let pairs = names.filter_map(|name| Some((name, last(before, name)?, last(after, name)?)));
    pairs
        .filter(|(_, one, other)| one != other)
        .map(|(name, one, other)| {
            let contents = [&one, &other].map(|held| FolderContent::parse(held));
            if let [Some(before), Some(after)] = contents
                && before.amount == after.amount
                && before.has_hidden_digest() != after.has_hidden_digest()
            {
                return format!(
                    "whether the folder of dataset `{name}` held the same cannot be told: one of the runs is a bundle, and digests are hidden in bundles; compare bundles of both, made on one machine"
                );
            }
            format!("the folder of dataset `{name}` held {one} before, {other} after")
        })
        .collect()
}

/// A short description of a dataset, detailed enough to show the common differences.
fn describe_dataset(dataset: &Dataset) -> String {
    match dataset {
        Dataset::Tree(TreeShape { profile, files, directories, size, .. }) => {
            format!("{profile} tree of {files} files in {directories} directories, {size}")
        }
        Dataset::Flat { files, file_size } => format!("{files} files of {file_size}"),
        Dataset::Trace { calls } => format!("{} calls on {} names", calls.calls().len(), calls.names().len()),
        Dataset::File { size, compressible } => format!("file of {size}, {compressible} compressible"),
        Dataset::Folder { path, size } => match size {
            Some(size) => format!("{size} of {}", path.display()),
            None => path.display().to_string(),
        },
    }
}
