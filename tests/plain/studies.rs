//! The six studies as presets: do they ask their tools for what the authors asked for?

use std::process::Command;

use fsverdict::cli::with_vocabulary;
use fsverdict_judgement::journal::{Beginning, Unit};
use fsverdict_judgement::plan::{
    Assertion, Dataset, DeviceSource, GOAL, Legacy, Overrides, PhaseWork, Plan, measure_variable, preset,
    presets, read_with,
};
use fsverdict_judgement::verdict::{
    ByBlock, Estimate, FindingStatus, FreeComputation, PhaseEstimate, then_and_now,
};

const STUDIES: [&str; 8] = [
    "usb-backup",
    "build-farm",
    "magazine",
    "root-on-flash",
    "backup-server",
    "modern-fs",
    "modern-snapshots",
    "nas-mirrors",
];

fn study(name: &str, scale: Option<f64>) -> Plan {
    let overrides = Overrides { scale, ..Overrides::default() };
    with_vocabulary(|words| read_with(preset(name).unwrap().toml, name, &overrides, words)).unwrap()
}

/// The words of a phase's line as the shell makes them, with the sizes of the plan's datasets.
fn words(plan: &Plan, phase: &str) -> String {
    let phase = plan.phases.iter().find(|found| found.name == phase).unwrap();
    let (PhaseWork::Command(line) | PhaseWork::Adapter { options: line, .. }) = &phase.work else {
        panic!("no line")
    };
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("echo {line}")]).env("MOUNT", "/mnt");
    for (name, dataset) in &plan.datasets {
        let (bytes, files) = match dataset {
            Dataset::File { size, .. } => (size.0, 1),
            Dataset::Flat { files, file_size } => (files * file_size.0, *files),
            Dataset::Tree(shape) => (shape.size.0, shape.files),
            Dataset::Folder { .. } | Dataset::Trace { .. } => continue,
        };
        for (measure, value) in [("bytes", bytes), ("mib", (bytes >> 20).max(1)), ("files", files)] {
            shell.env(measure_variable(name, measure), value.to_string());
        }
    }
    String::from_utf8(shell.output().unwrap().stdout).unwrap().trim().to_owned()
}

#[test]
fn the_magazine_asks_bonnie_for_what_the_study_did_and_for_less_when_scaled() {
    assert_eq!(words(&study("magazine", None), "bonnie"), "-s 2000:8k:8192 -f -n 16 -r 0");
    assert_eq!(words(&study("magazine", Some(0.1)), "bonnie"), "-s 200:8k:819 -f -n 2 -r 0");
    assert_eq!(words(&study("magazine", Some(0.005)), "bonnie"), "-s 10:8k:41 -f -n 1 -r 0");
}

fn names(plan: &Plan) -> Vec<&str> {
    plan.candidates.iter().map(|candidate| candidate.name.as_str()).collect()
}

fn has(plan: &Plan, wanted: &[&str]) {
    for name in wanted {
        assert!(names(plan).contains(name), "{name} is not among {:?}", names(plan));
    }
}

/// What a phase runs, as the plan says it.
fn work<'a>(plan: &'a Plan, phase: &str) -> &'a str {
    let found = plan.phases.iter().find(|found| found.name == phase).unwrap_or_else(|| panic!("no {phase}"));
    match &found.work {
        PhaseWork::Operation(operation) => operation.name(),
        PhaseWork::Command(line) | PhaseWork::Adapter { options: line, .. } => line,
    }
}

fn order(plan: &Plan) -> Vec<&str> {
    plan.phases.iter().map(|phase| phase.name.as_str()).collect()
}

#[test]
fn usb_backup_writes_with_rsync_reads_with_sha1sum_and_removes() {
    let plan = study("usb-backup", None);
    for plain in ["ext2", "ext3", "ext4", "jfs", "xfs", "reiserfs", "btrfs"] {
        has(&plan, &[plain, &format!("{plain}+luks2")]);
    }
    assert_eq!(order(&plan), ["write", "read", "remove", "check"]);
    assert!(work(&plan, "write").starts_with("rsync -a") && work(&plan, "read").contains("sha1sum"));
    assert!(work(&plan, "remove").starts_with("rm -rf"));
    let own = plan.candidates.iter().filter(|candidate| ["ext4", "xfs"].contains(&candidate.name.as_str()));
    assert!(own.into_iter().all(|candidate| candidate.mount.is_empty() && candidate.scheduler.is_none()));
    assert_eq!((plan.goal.metric.as_str(), plan.protocol.legacy), ("durable", None));
}

#[test]
fn build_farm_copies_checks_and_removes_and_keeps_the_better_of_two() {
    let plan = study("build-farm", None);
    has(&plan, &["ext3", "ext4", "xfs", "jfs", "reiserfs"]);
    assert_eq!(order(&plan), ["write", "check", "remove"]);
    let Dataset::Tree(tree) = &plan.datasets["build"] else { panic!("no tree") };
    assert_eq!((tree.files, tree.directories, tree.size.0), (350_000, 19_000, 55_000_000_000));
    assert_eq!((plan.protocol.blocks.min, plan.protocol.legacy), (2, Some(Legacy::BestOf)));
}

#[test]
fn magazine_measures_the_disk_runs_bonnie_and_copies_to_and_fro_without_mount_options() {
    let plan = study("magazine", None);
    has(&plan, &["btrfs", "ext2", "ext3", "ext4", "reiserfs", "reiser4", "xfs"]);
    let of_the_iso: Vec<&str> = order(&plan).into_iter().filter(|name| name.starts_with("iso")).collect();
    // Listing 1.
    assert_eq!(of_the_iso, ["iso-setup", "iso-copy-1", "iso-remove-1", "iso-copy-2", "iso-remove-2"]);
    assert_eq!(order(&plan)[..3], ["raw-write", "raw-read", "bonnie"]);
    let own = plan.candidates.iter().filter(|candidate| candidate.name == candidate.filesystem);
    assert!(own.into_iter().all(|candidate| candidate.mount.is_empty()));
    assert_eq!((plan.protocol.blocks.min, plan.protocol.legacy), (6, Some(Legacy::TrimmedMean)));
}

#[test]
fn root_on_flash_writes_65536_blocks_and_copies_twice_with_noatime() {
    let plan = study("root-on-flash", None);
    has(&plan, &["ext2", "ext3", "ext4", "btrfs", "nilfs2", "nilfs2-gc", "ext4-discard", "nilfs2-discard"]);
    assert!(plan.candidates.iter().all(|candidate| candidate.mount.iter().any(|word| word == "noatime")));
    let btrfs = plan.candidates.iter().find(|candidate| candidate.name == "btrfs").unwrap();
    assert!(btrfs.mount.iter().any(|word| word == "ssd"));
    let dd = words(&plan, "write-big");
    assert!(dd.starts_with("dd if=/dev/zero of=/mnt/2delete bs=64k count=4294967296"), "{dd}");
    assert_eq!(65_536 * 64 * 1024, 4_294_967_296_u64);
    assert_eq!(work(&plan, "write-small"), work(&plan, "overwrite-small"));
    let Dataset::Tree(tree) = &plan.datasets["portage"] else { panic!("no tree") };
    assert_eq!((tree.files, tree.directories), (4499, 1019));
}

#[test]
fn backup_server_writes_links_and_drops_generations_with_and_without_the_huge_directory() {
    let plan = study("backup-server", None);
    let asked = ["ext3", "ext3-big-journal", "ext2", "reiserfs", "xfs", "ext3-2003", "ext2-2003"];
    has(&plan, &asked);
    assert_eq!(order(&plan)[..4], ["first", "next", "links", "drop"]);
    assert!(work(&plan, "next").contains("--link-dest=") && work(&plan, "drop").starts_with("rm -rf"));
    assert_eq!(
        plan.datasets["crowd"],
        Dataset::Flat { files: 500_000, file_size: fsverdict_text::Bytes(1024) }
    );
}

#[test]
fn modern_fs_has_pairs_of_mirrors_and_says_how_to_get_a_kernel_with_zfs() {
    for name in ["modern-fs", "modern-snapshots"] {
        let plan = study(name, None);
        has(&plan, &["zfs-mirror", "zfs-mirror-8k", "btrfs-raid1"]);
        let mirror = plan.candidates.iter().find(|candidate| candidate.name == "zfs-mirror").unwrap();
        // Of four devices; the first, which no option names, is put behind these.
        assert!(mirror.mkfs.join(" ").ends_with("mirror {device.2} {device.3} mirror {device.4}"));
        assert_eq!(plan.device.count(), 4);
    }
    for preset in presets().iter().filter(|preset| preset.toml.contains("filesystem = \"zfs\"")) {
        assert!(preset.toml.contains("#   fsverdict kernel build --with zfs"), "{}", preset.name);
        // The kernel that it names is one in which computation has a price.
        assert_eq!(study(preset.name, None).cpu.as_deref(), Some("epyc-vm"), "{}", preset.name);
    }
}

/// `--scale` shrinks the data in every study, and the image or the modelled device with them.
#[test]
fn a_scaled_study_differs_in_its_data_and_image_alone() {
    for name in STUDIES {
        let (whole, scaled) = (study(name, None), study(name, Some(0.01)));
        assert_ne!(whole.datasets, scaled.datasets);
        let (datasets, device) = (scaled.datasets.clone(), scaled.device.clone());
        let ours = matches!(whole.device.source, DeviceSource::Image(_) | DeviceSource::Model { .. });
        assert_eq!(whole.device != device, ours, "{name}");
        assert_eq!(scaled, Plan { datasets, device, scale: Some(0.01), ..whole });
    }
}

/// A number or a chart of a study is put in a sentence with its source, about a phase that repeats it.
#[test]
fn every_study_has_its_findings() {
    for (name, findings) in [
        ("usb-backup", 12),
        ("build-farm", 3),
        ("magazine", 11),
        ("root-on-flash", 10),
        ("backup-server", 7),
        ("modern-fs", 12),
        ("modern-snapshots", 5),
        ("nas-mirrors", 2),
    ] {
        let plan = study(name, None);
        assert_eq!(plan.published.len(), findings, "{name}");
        for finding in &plan.published {
            let named = plan.phases.iter().any(|phase| phase.name == finding.phase);
            let weighty = named || finding.phase == GOAL;
            assert!(weighty && !finding.source.is_empty(), "{name}: {}", finding.finding);
        }
    }
}

/// What a phase measures of a metric, if anything.
fn measures(plan: &Plan, phase: &str, metric: &str) -> Option<Unit> {
    let of_program = fsverdict_judgement::journal::adapter_metric(metric);
    let known = fsverdict_judgement::journal::metric(metric).or(of_program)?;
    let work = plan.phases.iter().find(|found| found.name == phase).map(|found| &found.work)?;
    let there = match work {
        PhaseWork::Adapter { name, .. } => {
            let own = fsverdict_workload::workload::adapter_by_name(name)?.metrics();
            metric != "throughput" && (of_program.is_none() || own.iter().any(|one| one.name == metric))
        }
        // Only operations know how many bytes they move.
        PhaseWork::Command(_) => of_program.is_none() && metric != "throughput",
        PhaseWork::Operation(_) => of_program.is_none(),
    };
    there.then_some(known.unit)
}

/// With three trials of every candidate and narrow ranges, each finding is judged one way or the other: what it needs is
/// measured by its phase, has a direction, and names candidates of the plan.
#[test]
fn every_finding_can_be_judged_by_a_full_run() {
    for name in STUDIES {
        let mut plan = study(name, None);
        // Of a modelled one nothing is said of CPU.
        plan.device.source = DeviceSource::Path("/dev/sdx".into());
        let mut estimates = Vec::new();
        for finding in &plan.published {
            let mut wanted = vec![(finding.phase.clone(), finding.metric.clone())];
            match &finding.claim {
                Assertion::Better { than_phase: Some(phase), .. } => {
                    wanted.push((phase.clone(), finding.metric.clone()));
                }
                Assertion::Reach { of_metric, of_phase, .. } => wanted.push((
                    of_phase.clone().unwrap_or_else(|| finding.phase.clone()),
                    of_metric.clone().unwrap_or_else(|| finding.metric.clone()),
                )),
                _ => {}
            }
            wanted.extend(finding.claim.denominator().map(|of| {
                (
                    of.of_phase.clone().unwrap_or_else(|| finding.phase.clone()),
                    of.of_metric.clone().unwrap_or_else(|| finding.metric.clone()),
                )
            }));
            for (phase, metric) in wanted {
                // The goal is made of the phases.
                let of = if phase == GOAL { plan.phases[0].name.clone() } else { phase.clone() };
                let unit = measures(&plan, &of, &metric)
                    .unwrap_or_else(|| panic!("{name}: {phase} does not measure {metric}"));
                for (at, candidate) in names(&plan).into_iter().enumerate() {
                    // No ratio that a finding asks for.
                    let point = 10.0 + 1.37 * at as f64;
                    estimates.push(PhaseEstimate {
                        candidate: candidate.to_owned(),
                        phase: phase.clone(),
                        metric: metric.clone(),
                        unit,
                        better: None,
                        estimate: Estimate { point, low: None, high: None, n: 3 },
                        set_aside: 0,
                        min: point * 0.9999,
                        max: point * 1.0001,
                    });
                }
            }
        }
        for judged in then_and_now(
            &plan,
            &Beginning::default(),
            &estimates,
            &ByBlock::default(),
            &FreeComputation::default(),
        ) {
            assert_ne!(
                judged.now,
                FindingStatus::CannotTell,
                "{name}: {} ({:?})",
                judged.published.finding,
                judged.because
            );
            assert!(judged.missing.is_empty(), "{name}: {:?}", judged.missing);
        }
    }
}
