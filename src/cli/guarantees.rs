//! The guarantees of each candidate of a plan besides its speed, for the report.

use fsverdict_disk::device::Model;
use fsverdict_judgement::plan::{Candidate, Plan, ProtectionFeature};
use fsverdict_report::Guarantees;
use fsverdict_stack::filesystem::{Filesystem, Property, find_filesystem};
use fsverdict_stack::layer::{keeps_copies, properties_of, protection_of};

const FLUSHES: &str = "flushes of the device's cache";

/// The guarantees of every candidate, by the facts of its filesystem and by its layers and options. Nothing is known of
/// a folder of the user's.
pub(super) fn guarantees(plan: &Plan) -> Vec<Guarantees> {
    plan.candidates
        .iter()
        .filter_map(|candidate| of_candidate(candidate, is_on_disk(plan, candidate)))
        .collect()
}

/// Whether a candidate is tried on a model of a disk, which rotates.
pub(super) fn is_on_disk(plan: &Plan, candidate: &Candidate) -> bool {
    plan.models_of(candidate).iter().any(|model| is_disk(model.name))
}

/// Whether a model is one of a disk, which rotates.
pub(super) fn is_disk(model: &str) -> bool {
    Model::named(model).is_ok_and(|known| known.limits(known.capacity()).rotational)
}

fn of_candidate(candidate: &Candidate, is_on_disk: bool) -> Option<Guarantees> {
    let filesystem = find_filesystem(&candidate.filesystem)?;
    let properties = properties_of(candidate)?;
    let (mut has, mut lacks) = (properties.has, properties.lacks);
    let protection = protection_of(candidate);
    // That flushes are sent is said of the one that leaves them out.
    if protection.has(ProtectionFeature::NoFlushes) {
        lacks.push(FLUSHES);
    }
    has.extend(
        ProtectionFeature::ALL
            .into_iter()
            .filter(|&feature| protection.has(feature) && !feature.is_weaker())
            .map(ProtectionFeature::noun),
    );
    Some(Guarantees {
        candidate: candidate.name.clone(),
        has,
        lacks,
        grave: vec![
            (Property::Journal.words(), "after a power cut a check must repair it"),
            (Property::Checker.words(), "no program can look for damage"),
            (Property::Permissions.words(), "all files on it have the same owner and mode"),
            (FLUSHES, "a power cut loses data that were synced"),
        ],
        read_by: properties.read_by.to_vec(),
        status: filesystem.facts.kernel_status,
        status_source: filesystem.facts.status_source,
        drawback: list_drawbacks(candidate, filesystem, is_on_disk),
        source: filesystem.facts.source,
    })
}

/// The drawback of checksums of data on an array whose copies the filesystem does not know.
const CANNOT_REPAIR: &str =
    "it detects rot but cannot repair it, because it does not know of md's second copy";

/// The drawback of a time without work that a real system has.
const NO_CLEANER: &str = "it was measured without its garbage collector, which a real system starts, and without which space does not come back";

/// The drawbacks of the candidate itself, independent of other candidates.
fn list_drawbacks(candidate: &Candidate, filesystem: &Filesystem, is_on_disk: bool) -> Option<String> {
    let facts = &filesystem.facts;
    let is_on_copies = protection_of(candidate).has(ProtectionFeature::Redundant)
        && !keeps_copies(filesystem, &candidate.mkfs)
        && facts.data_checksums;
    let lacks_cleaner =
        filesystem.cleaner.is_some() && filesystem.mount_options(&candidate.mount).cleaner.is_none();
    let all = [
        (NO_CLEANER, lacks_cleaner),
        (facts.status_drawback, true),
        (facts.drawback_on_disks, is_on_disk),
        (CANNOT_REPAIR, is_on_copies),
    ];
    let all: Vec<&str> = all
        .into_iter()
        .filter(|(words, holds)| *holds && !words.is_empty())
        .map(|(words, _)| words)
        .collect();
    (!all.is_empty()).then(|| all.join("; "))
}

#[cfg(test)]
mod tests {
    use super::of_candidate;
    use fsverdict_judgement::plan::{Candidate, DIRECTORY, Layers};

    fn candidate(filesystem: &str, layers: &[&str], mount: &str) -> Candidate {
        Candidate {
            layers: Layers::from_names(layers.iter().copied()).unwrap(),
            mount: mount.split_whitespace().map(str::to_owned).collect(),
            ..Candidate::with_defaults(filesystem)
        }
    }

    #[test]
    fn filesystem_layers_and_options_say_what_there_is() {
        let of =
            |filesystem, layers: &[&str], mount| of_candidate(&candidate(filesystem, layers, mount), false);
        let ext2 = of("ext2", &[], "").unwrap();
        assert!(ext2.lacks.contains(&"a journal") && ext2.lacks.contains(&"snapshots"), "{ext2:?}");
        assert!(ext2.has.contains(&"a checker") && ext2.drawback.unwrap().contains("6.9"));
        let thin = of("xfs", &["lvm:thin"], "").unwrap();
        assert!(thin.has.contains(&"snapshots") && !thin.lacks.contains(&"snapshots"), "{thin:?}");
        let nilfs2 = of("nilfs2", &["luks2"], "").unwrap();
        assert!(nilfs2.has.contains(&"snapshots") && nilfs2.has.contains(&"encryption"), "{nilfs2:?}");
        assert!(
            nilfs2.lacks.contains(&"a checker") && nilfs2.drawback.unwrap().contains("garbage collector")
        );
        let bold = of("ext4", &[], "nobarrier").unwrap();
        assert!(bold.lacks.contains(&"flushes of the device's cache"), "{bold:?}");
        assert_eq!(of("exfat", &[], "").unwrap().read_by, ["Windows", "macOS"]);
        assert!(of("exfat", &["luks2"], "").unwrap().read_by.is_empty());
        let reiserfs = of("reiserfs", &[], "").unwrap();
        assert!(reiserfs.drawback.unwrap().contains("removed") && reiserfs.status_source.contains("2025"));
        assert!(of(DIRECTORY, &[], "").is_none());
        assert!(of("f2fs", &[], "").unwrap().drawback.is_none());
        let on_disk = of_candidate(&candidate("f2fs", &[], ""), true).unwrap();
        assert!(on_disk.drawback.unwrap().contains("designed for flash"));
        let on_md = of("btrfs", &["md:raid1"], "").unwrap();
        assert!(on_md.drawback.unwrap().contains("cannot repair"));
        assert!(of("ext4", &["md:raid1"], "").unwrap().drawback.is_none());
    }
}
