//! Checks before the first trial whether the data of a plan fit: compares the least space and the inodes that they need
//! with those that each filesystem has on the device. Otherwise a run could fail after hours.
//!
//! Only certain shortages are reported: the space that several phases need at once, and that command lines need, is not
//! known.

use fsverdict_judgement::plan::{Candidate, Dataset, Flow, Needs, Phase, PhaseWork, Plan, least_space};
use fsverdict_stack::filesystem::{FewInodes, Filesystem, find_filesystem};
use fsverdict_text::{Bytes, Reason};

/// Why a candidate cannot hold the plan's data on a device of this size, if that is certain.
pub(super) fn find_shortage(plan: &Plan, candidate: &Candidate, device: u64) -> Option<Reason> {
    let filesystem = find_filesystem(&candidate.filesystem)?;
    let least = fsverdict_stack::layer::least_device(candidate);
    // With other options, mkfs may need less.
    if device < least && candidate.mkfs.is_empty() {
        return Some(Reason::new(
            format!(
                "{} needs {} at least, and the device has {}",
                filesystem.title,
                Bytes(least),
                Bytes(device)
            ),
            "take a larger device or image (--device image:SIZE)",
        ));
    }
    let used = |name: &str| plan.phases.iter().any(|phase| works_on(phase, name));
    let datasets = || plan.datasets.iter().filter(|(name, _)| used(name));
    for (name, dataset) in datasets() {
        let needed = least_space(dataset);
        if needed > device {
            return Some(Reason::new(
                format!(
                    "the dataset `{name}` takes {} at least, and the device has {}",
                    Bytes(needed),
                    Bytes(device)
                ),
                "take a larger device, or less data (--scale 0.1)",
            ));
        }
    }
    datasets()
        .find_map(|(name, dataset)| too_few_inodes(filesystem, candidate, name, dataset, device))
        .or_else(|| too_long_a_log(plan, filesystem, candidate, device))
}

fn works_on(phase: &Phase, dataset: &str) -> bool {
    let compared = phase.verify.as_ref().is_some_and(|verify| verify.dataset == dataset);
    compared || (matches!(phase.work, PhaseWork::Operation(_)) && phase.dataset.as_deref() == Some(dataset))
}

fn too_few_inodes(
    filesystem: &Filesystem,
    candidate: &Candidate,
    name: &str,
    dataset: &Dataset,
    device: u64,
) -> Option<Reason> {
    let FewInodes { inodes, bytes_per_inode, option } = filesystem.few_inodes(device, &candidate.mkfs)?;
    let needed = inodes_of(dataset);
    (needed > inodes).then(|| {
        Reason::new(
            format!(
                "the dataset `{name}` needs {needed} inodes, and {} makes {inodes} on {}: one for every {}",
                filesystem.title,
                Bytes(device),
                Bytes(bytes_per_inode)
            ),
            format!(
                "give mkfs more (mkfs = \"{option} {}\"), or take a larger device",
                needed + needed / 10 + 100
            ),
        )
    })
}

/// The number of files and directories of a dataset; 0 for a folder of the user's, where it is not known.
fn inodes_of(dataset: &Dataset) -> u64 {
    match dataset {
        Dataset::Tree(shape) => {
            let linked = shape.linked().unwrap_or(0.0);
            let linked = (shape.files as f64 * linked).ceil() as u64;
            shape.files.saturating_sub(linked) + shape.directories + shape.form.symlinks_of(shape.files)
        }
        Dataset::Flat { files, .. } => files + 1,
        Dataset::File { .. } => 1,
        Dataset::Trace { calls } => calls.names().len() as u64 + 1,
        Dataset::Folder { .. } => 0,
    }
}

/// Why a log-structured filesystem without its cleaner cannot hold everything that the phases write: nothing frees the
/// space of deleted data.
fn too_long_a_log(
    plan: &Plan,
    filesystem: &Filesystem,
    candidate: &Candidate,
    device: u64,
) -> Option<Reason> {
    let cleaner =
        filesystem.cleaner.filter(|_| filesystem.mount_options(&candidate.mount).cleaner.is_none())?;
    let written = plan.phases.iter().map(|phase| {
        let writes = matches!(phase.work, PhaseWork::Operation(operation)
            if operation.needs() == Needs::Mounted && operation.flow() == Flow::Writes);
        let dataset = phase.dataset.as_ref().filter(|_| writes).and_then(|name| plan.datasets.get(name));
        dataset.map_or(0, least_space)
    });
    let written = written.fold(0, u64::saturating_add);
    (written > device).then(|| Reason::new(format!(
            "the phases write {} at least, the device has {}, and a log that is not cleaned gives nothing back",
            Bytes(written),
            Bytes(device)
        ), format!("let its garbage collector run (mount = \"{}\"), or take a larger device", cleaner.option)))
}

#[cfg(test)]
mod tests {
    use super::find_shortage;
    use fsverdict_judgement::plan::Plan;
    use fsverdict_testutil::journals as made;

    fn plan(
        mkfs: &[&str],
        mount: &[&str],
        filesystem: &str,
        dataset: &serde_json::Value,
        works: &[&str],
    ) -> Plan {
        let phases: Vec<serde_json::Value> = works
            .iter()
            .map(|work| serde_json::json!({ "name": work, "work": { "operation": work }, "dataset": "data" }))
            .collect();
        made::plan(&serde_json::json!({
            "datasets": { "data": dataset },
            "candidates": [{
                "name": "c", "filesystem": filesystem, "mkfs": mkfs, "mount": mount, "encryption": "none"
            }],
            "phases": phases
        }))
    }

    fn told(plan: &Plan, device: u64) -> Option<String> {
        find_shortage(plan, &plan.candidates[0], device)
            .map(|obstacle| format!("{} ({})", obstacle.what, obstacle.hint))
    }

    #[test]
    fn inodes_run_out_where_their_number_is_fixed() {
        let crowd = || serde_json::json!({ "kind": "flat", "files": 500_000, "file_size": 1024 });
        let plan_of = |filesystem, mkfs: &[&str]| plan(mkfs, &[], filesystem, &crowd(), &["directory.fill"]);
        let told_of_ext3 = told(&plan_of("ext3", &[]), 4 << 30).unwrap();
        assert!(
            told_of_ext3.contains("needs 500001 inodes, and ext3 makes 262144 on 4 GiB"),
            "{told_of_ext3}"
        );
        assert!(told_of_ext3.contains("-N 550101"), "{told_of_ext3}");
        assert_eq!(told(&plan_of("ext3", &[]), 16 << 30), None);
        assert_eq!(told(&plan_of("ext3", &["-N", "600000"]), 4 << 30), None);
        assert_eq!(told(&plan_of("xfs", &[]), 4 << 30), None);
        let tiny = told(&plan_of("xfs", &[]), 100 << 20).unwrap();
        assert!(tiny.starts_with("XFS needs 300 MiB at least, and the device has 100 MiB"), "{tiny}");
        let small = told(&plan_of("xfs", &[]), 1 << 30).unwrap();
        assert!(small.contains("at least, and the device has 1 GiB"), "{small}");
    }

    #[test]
    fn a_log_that_nobody_cleans_fills_up() {
        let big = || serde_json::json!({ "kind": "file", "size": 3_u64 << 30, "compressible": 0.0 });
        let works = ["stream.write", "stream.rewrite"];
        let told_of_log = told(&plan(&[], &[], "nilfs2", &big(), &works), 4 << 30).unwrap();
        assert!(told_of_log.contains("mount = \"gc\""), "{told_of_log}");
        assert_eq!(told(&plan(&[], &["gc"], "nilfs2", &big(), &works), 4 << 30), None);
        assert_eq!(told(&plan(&[], &[], "ext4", &big(), &works), 4 << 30), None);
    }
}
