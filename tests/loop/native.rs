//! Native trials with this kernel's own filesystems: on scratch images, and on a block device named by its path.

use std::collections::BTreeSet;

use crate::common::labs::arrays::goes_through_its_states;
use crate::common::{Disk, Place, not_run, one_command, tool, unmount};

/// Every built-in operation, a command, its verification and a check.
const EVERYTHING: &str = r#"
title             = "Every operation once"
lab               = "native"
device.image      = "384MiB"
protocol          = { blocks = 1, seed = 5, timeout = "60s" }
dataset.tree      = { profile = "mixed", files = 40, directories = 6, size = "1MiB" }
dataset.big       = { file = "1MiB" }
dataset.crowd     = { flat = 50, file_size = "100B" }
matrix.filesystem = ["ext2", "ext3", "ext4", "xfs", "btrfs"]
phase = [
    { name = "write", operation = "tree.write", dataset = "tree" },
    { name = "read", operation = "tree.read", dataset = "tree", cold = true, repeat = 3 },
    { name = "overwrite", operation = "tree.overwrite", dataset = "tree" },
    { name = "copy", command = 'cp -a "$TREE" "$MOUNT/copy"', verify = { dataset = "tree", at = "copy" } },
    { name = "remove", operation = "tree.remove", dataset = "tree" },
    { name = "stream-write", operation = "stream.write", dataset = "big" },
    { name = "stream-read", operation = "stream.read", dataset = "big" },
    { name = "stream-rewrite", operation = "stream.rewrite", dataset = "big" },
    { name = "fill", operation = "directory.fill", dataset = "crowd" },
    { name = "list", operation = "directory.list", dataset = "crowd" },
    { name = "empty", operation = "directory.empty", dataset = "crowd" },
    { name = "check", operation = "fsck", repeat = 2 },
]
"#;

/// Candidates that have two devices.
const ON_TWO: &str = r#"
title        = "On two devices"
lab          = "native"
device       = { image = "512MiB", count = 2 }
protocol     = { blocks = 1, timeout = "60s" }
dataset.tree = { profile = "mixed", files = 40, directories = 6, size = "1MiB" }
phase = [
    { name = "write", operation = "tree.write", dataset = "tree" },
    { name = "read", operation = "tree.read", dataset = "tree", cold = true },
]
[[candidate]]
name = "mirror"
filesystem = "btrfs"
mkfs = "-d raid1 -m raid1"
[[candidate]]
name = "log"
filesystem = "xfs"
mkfs = "-l logdev={device.2}"
[[candidate]]
name = "journal"
filesystem = "ext4"
mkfs = "-J device={device.2}"
"#;

#[test]
fn loop_candidates_have_several_images_and_leave_none() {
    let place = Place::new();
    place.run(ON_TWO, &[]).exits(0).shows(&["mirror", "log", "journal"]);
    place.is_left_clean();
    // An array would outlive an agent that is killed.
    let array = format!("{ON_TWO}[[candidate]]\nfilesystem = \"ext4\"\nlayers = [\"md:raid1\"]\n");
    let seen = place.fsverdict(&["run", &place.plan("array", &array), "--dry-run"]);
    assert!(seen.stdout.contains("a trial that is killed would leave its array (md)"), "{seen:#?}");
    // So would a pool, where this machine has ZFS.
    let pool = format!("{ON_TWO}[[candidate]]\nfilesystem = \"zfs\"\nmkfs = \"mirror\"\n");
    let seen = place.fsverdict(&["run", &place.plan("pool", &pool), "--dry-run"]);
    for words in
        ["would leave its pool here, beside yours", "kernel build --with zfs", "path = \"/tank/folder\""]
    {
        assert!(seen.stdout.contains(words), "{words}: {seen:#?}");
    }
}

#[test]
fn loop_btrfs_loses_a_device_and_gets_it_back() {
    let mirror = ("mirror", "filesystem = \"btrfs\"\nmkfs = \"-d raid1 -m raid1\"");
    goes_through_its_states("native", "image = \"512MiB\"", &[mirror]);
}

#[test]
fn loop_each_of_several_devices_is_guarded_by_itself() {
    let place = Place::new();
    let disks = ["one", "two"].map(|name| Disk::new(&place, name, 512 << 20));
    let [one, two] = &disks;
    let named = |first: &str, second: &str| format!("device.path=[\"{first}\", \"{second}\"]");
    let plan = ON_TWO.replace("device       = { image = \"512MiB\", count = 2 }\n", "");
    // Both are empty: they need no word. A run leaves its filesystem on each.
    place.run(&plan, &["--set", &named(&one.device, &two.device)]).exits(0);
    let refused = |more: &[&str]| {
        let (path, set) = (place.plan("plan", &plan), named(&one.device, &two.device));
        let arguments =
            [&["run", &path, "--out", "again", "--set", &set, "--set", "protocol.disturbed=false"][..], more]
                .concat();
        place.fsverdict(&arguments)
    };
    tool(&["mkfs.ext4", "-q", "-F", &one.device]);
    tool(&["mkfs.ext4", "-q", "-F", &two.device]);
    let before = (one.bytes(), two.bytes());
    let told = refused(&[]).exits(1);
    assert!(told.stderr.contains(&one.device), "{told:#?}");
    let identity = |seen: &str| {
        let after = seen.split("--erase ").nth(1).unwrap_or_else(|| panic!("{seen}"));
        after.split_whitespace().next().unwrap().trim_matches(['`', '\'', ';', ',']).to_owned()
    };
    let first = identity(&told.stderr);
    // The word for the one is none for the other.
    let told = refused(&["--erase", &first]).exits(1);
    assert!(told.stderr.contains(&two.device), "{told:#?}");
    let second = identity(&told.stderr);
    assert_eq!(before, (one.bytes(), two.bytes()), "nothing may be written before both are allowed");
    refused(&["--erase", &first, "--erase", &second]).exits(0);
    let twice = place.run(&plan, &["--set", &named(&one.device, &one.device)]);
    assert!(twice.exits(2).stderr.contains("named twice"));
}

const FILESYSTEMS: [&str; 5] = ["ext2", "ext3", "ext4", "xfs", "btrfs"];

#[test]
fn loop_every_operation_works_on_every_filesystem_and_nothing_is_left() {
    let place = Place::new();
    place.run(EVERYTHING, &[]).exits(0).shows(&FILESYSTEMS).says(&["trial 5/5"]);
    let journal = place.journal();
    assert_eq!(journal.0.first().unwrap()["event"], "run_started");
    assert_eq!(journal.0.last().unwrap()["event"], "run_finished");
    assert_eq!(journal.all("trial_started").count(), 5);
    assert!(journal.all("trial_finished").all(|end| end["status"] == "ok"), "{journal:#?}");
    let name = |line: &'static str| line.trim().strip_prefix("{ name = \"")?.split('"').next();
    let phases: Vec<&str> = EVERYTHING.lines().filter_map(name).collect();
    assert_eq!(phases.len(), 12);
    for filesystem in FILESYSTEMS {
        let seen: BTreeSet<&str> = journal
            .all("observation")
            .filter(|event| event["trial"]["candidate"] == filesystem)
            .map(|event| event["phase"].as_str().unwrap())
            .collect();
        for phase in phases.iter().copied().chain(["mkfs", "mount", "umount"]) {
            assert!(seen.contains(phase), "{filesystem} has no observation of {phase}: {seen:?}");
        }
    }
    for (phase, times) in [("read", 3), ("check", 2), ("list", 1)] {
        let count = journal.all("observation").filter(|event| event["phase"] == phase).count();
        assert_eq!(count, times * FILESYSTEMS.len(), "{phase}");
    }
    // Cold is what comes from the device.
    let read = journal.measured("read", "device_read");
    assert!(read.iter().all(|bytes| *bytes >= f64::from(1 << 20)), "{read:?}");
    assert!(journal.fact("device.loop.auto_clear").iter().all(|fact| fact == "true"));
    place.is_left_clean();
}

#[test]
fn loop_the_json_report_has_the_fields_of_the_contract() {
    let place = Place::new();
    place.run(EVERYTHING, &["--fs", "ext4,ext2", "--blocks", "2"]).exits(0);
    let report = place.report();
    let names = |value: &serde_json::Value| -> Vec<String> {
        value.as_object().unwrap_or_else(|| panic!("{value}")).keys().cloned().collect()
    };
    let wanted = [
        "candidates",
        "estimates",
        "findings",
        "guarantees",
        "kernels",
        "legacy",
        "raw_shares",
        "run",
        "schema",
        "strata",
        "verdict",
    ];
    assert_eq!(names(&report), wanted);
    assert_eq!(report["schema"], fsverdict_report::JSON_SCHEMA);
    for field in ["id", "title", "lab", "fidelity", "blocks", "environment"] {
        assert!(!report["run"][field].is_null(), "run.{field}");
    }
    assert_eq!((&report["run"]["lab"], &report["run"]["blocks"]), (&"native".into(), &2.into()));
    for candidate in report["candidates"].as_array().unwrap() {
        assert_eq!((&candidate["status"], &candidate["reason"]), (&"ok".into(), &"".into()), "{candidate}");
        assert!(candidate["name"] == candidate["filesystem"]);
    }
    let estimates = report["estimates"].as_array().unwrap();
    let of = |phase: &str, metric: &str| {
        estimates.iter().find(|estimate| {
            estimate["candidate"] == "ext4" && estimate["phase"] == phase && estimate["metric"] == metric
        })
    };
    let durable = of("write", "durable").unwrap();
    assert_eq!(names(durable), ["candidate", "high", "low", "metric", "n", "phase", "point", "unit"]);
    assert_eq!((&durable["unit"], &durable["n"]), (&"s".into(), &2.into()));
    assert!(
        durable["point"].as_f64().unwrap() >= of("write", "returned").unwrap()["point"].as_f64().unwrap()
    );
    // What is known exactly must be right: 40 files of 1 MiB together.
    assert_eq!(of("write", "logical_bytes").unwrap()["point"], 1_048_576.0);
    assert_eq!(of("fill", "files").unwrap()["point"], 50.0);
    let verdict = &report["verdict"];
    let wanted = ["behind", "cautions", "goal", "open", "outcome", "tied"];
    // The evidence is beside them; what there is to see depends on it.
    assert!(wanted.iter().all(|field| !verdict[field].is_null()), "{verdict:#}");
}

/// A plan for one ext4 candidate and one phase that writes.
fn one_write(candidate: &str) -> String {
    format!(
        r#"
title        = "One write"
lab          = "native"
protocol     = {{ blocks = 1, timeout = "60s" }}
dataset.tree = {{ profile = "mixed", files = 20, directories = 3, size = "256KiB" }}
phase        = [{{ name = "write", operation = "tree.write", dataset = "tree" }}]
[[candidate]]
filesystem = "ext4"
{candidate}
"#
    )
}

#[test]
fn loop_a_device_that_bears_a_filesystem_is_erased_only_by_its_identity() {
    const UUID: &str = "5eed0f5e-0000-4000-8000-00000000beef";
    let place = Place::new();
    let disk = Disk::new(&place, "disk", 64 << 20);
    tool(&["mkfs.ext4", "-q", "-F", "-U", UUID, &disk.device]);
    let before = disk.bytes();
    let plan = one_write("");

    place.run(&plan, &["--device", &disk.device]).exits(1).says(&[
        "is not empty",
        "ext4",
        UUID,
        "hint:",
        "--erase",
    ]);
    place
        .run(&plan, &["--device", &disk.device, "--erase", "5eed0f5e-0000-4000-8000-00000000dead"])
        .exits(1)
        .says(&["is not the identity of", &disk.device, UUID]);
    assert!(!place.path().join("run").exists(), "a refused device makes no run");
    assert!(disk.bytes() == before, "a refused device was written");

    let mounted = Mounted::new(&place, &disk);
    place.run(&plan, &["--device", &disk.device, "--erase", UUID]).exits(1).says(&[
        "is in use",
        "is mounted on",
        "hint:",
        "umount",
    ]);
    drop(mounted);
    // Mounting is a write of its own; what counts is what a run does.
    let before = disk.bytes();
    place
        .run(&plan, &["--device", &disk.device, "--dry-run"])
        .exits(1)
        .shows(&["would be destroyed"])
        .says(&["--erase"]);
    assert!(disk.bytes() == before, "a dry run wrote");

    place.run(&plan, &["--device", &disk.device, "--erase", UUID]).exits(0);
    assert!(disk.bytes() != before, "nothing was written: where did the trial happen?");
    let journal = place.journal();
    assert_eq!(journal.program("mkfs")["argv"].as_array().unwrap().last().unwrap(), &disk.device);
    let environment = &journal.0[0]["environment"];
    assert_eq!(environment["device.path"], disk.device.as_str());
    assert!(journal.0[0]["fidelity"].as_str().unwrap().contains("loop device over a file"));
    drop(disk);
    place.is_left_clean();
}

struct Mounted(String);

impl Mounted {
    fn new(place: &Place, disk: &Disk) -> Mounted {
        let point = place.path().join("mounted");
        std::fs::create_dir(&point).unwrap();
        let point = point.to_str().unwrap().to_owned();
        tool(&["mount", &disk.device, &point]);
        Mounted(point)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        unmount(self.0.as_ref());
    }
}

#[test]
fn loop_a_scheduler_is_set_for_the_trial_and_put_back() {
    let place = Place::new();
    let disk = Disk::new(&place, "disk", 64 << 20);
    let Some((setting, before, other)) = disk.another_scheduler() else { return };
    let plan = one_write(&format!("scheduler = \"{other}\""));
    place.run(&plan, &["--device", &disk.device]).exits(0);
    let during = place.journal().fact("device.queue.scheduler");
    assert!(during.contains(&other), "wanted {other}: {during:?}");
    assert_eq!(std::fs::read_to_string(&setting).unwrap(), before);
}

#[test]
fn loop_a_scheduler_that_is_not_offered_is_skipped_with_those_that_are() {
    let place = Place::new();
    let plan = one_write("scheduler = \"cfq\"") + "[[candidate]]\nfilesystem = \"ext2\"\n";
    place.run(&plan, &["--device", "image:64MiB"]).exits(3).says(&[
        "skipped ext4@cfq: a loop device here has no I/O scheduler `cfq`: it offers",
        "none",
        "`bfq`",
    ]);
}

#[test]
fn loop_a_program_that_refuses_its_options_is_reported_with_the_way_out() {
    let place = Place::new();
    for (adapter, options, said, way_out) in [
        ("fio", "--name=j --rw=randwrit --size=1M", "failed parsing rw=randwrit", "hint: `fio --cmdhelp`"),
        ("bonnie++", "-s 16 -n 0 --frobnicate", "invalid option", "hint: bonnie++(8)"),
        ("fs_mark", "-n 10 -Z", "invalid option", "hint: fs_mark(1)"),
        ("dbench", "-t 1 --frobnicate 1", "unknown option", "hint: dbench(1)"),
        ("db_bench", "--benchmarks=nonsense", "unknown benchmark", "hint: supported: fillseq"),
        ("sqlite", "-frobnicate", "unknown option", "hint: the options are those of sqlite3(1)"),
        ("git", "frobnicate", "is not a git command", "hint: the options are a command of git's"),
        ("pgbench", "--frobnicate", "unrecognized option", "hint: `pgbench --help`"),
        ("pgbench", "-t 1", "connection to server", "hint: the server is a [[service]]"),
    ] {
        let program = fsverdict_workload::workload::adapter_by_name(adapter).unwrap().program();
        if fsverdict_linux::sandbox::program::find_program(program).is_none() {
            not_run(&format!("{adapter} is not installed"));
            continue;
        }
        let plan = one_command("native", "")
            .replace("command = ''''''", &format!("adapter = {adapter:?}, options = {options:?}"));
        let seen = place.run(&plan, &[]).exits(1).says(&["phase `do`", said, way_out]);
        assert!(!seen.stderr.to_lowercase().contains("usage:"), "{seen:#?}");
        std::fs::remove_dir_all(place.path().join("run")).unwrap();
    }
}

#[test]
fn loop_benchmark_programs_are_understood() {
    for (adapter, options, metrics) in [
        ("fs_mark", "-n 20 -s 4096 -L 2", ["fs_mark_rate", "fs_mark_fsync_max"]),
        ("dbench", "-t 2 1", ["dbench_throughput", "dbench_write_latency_mean"]),
        (
            "db_bench",
            "--benchmarks=fillsync,compact,readrandom --num=200",
            ["db_bench_readrandom_rate", "db_bench_readrandom_latency_p99"],
        ),
        ("sqlite", "-cmd 'PRAGMA synchronous = FULL'", ["sqlite_insert", "sqlite_delete"]),
        ("git", "init", ["git_total", "git_total"]),
        (
            "fio",
            "--name=a --rw=write --size=64k --name=b --stonewall --rw=read --size=64k",
            ["fio_write_iops@a", "fio_read_iops@b"],
        ),
    ] {
        let program = fsverdict_workload::workload::adapter_by_name(adapter).unwrap().program();
        if fsverdict_linux::sandbox::program::find_program(program).is_none() {
            not_run(&format!("{program} is not installed"));
            continue;
        }
        let place = Place::new();
        let plan = one_command("native", "").replace(
            "command = ''''''",
            &format!("adapter = {adapter:?}, options = {options:?}, into = \"work\""),
        );
        place.run(&plan, &[]).exits(0);
        let journal = place.journal();
        for metric in metrics {
            assert!(journal.measured("do", metric)[0] > 0.0, "{metric}");
        }
    }
}

#[test]
fn loop_a_candidate_that_fails_says_why_and_the_others_go_on() {
    let place = Place::new();
    let plan = r#"
title        = "Failures"
lab          = "native"
device.image = "64MiB"
protocol     = { blocks = 1, timeout = "60s" }
dataset.tree = { profile = "mixed", files = 10, directories = 2, size = "64KiB" }
candidate    = [
    { filesystem = "ext4" },
    { filesystem = "ext4", mount = "nosuchoption", name = "bad-option" },
    { filesystem = "ext2" },
    { filesystem = "ext3" },
]
[[phase]]
name    = "copy"
command = '''
cp -a "$TREE" "$MOUNT/copy"
if grep -q " $MOUNT ext2 " /proc/mounts; then echo no such luck >&2; exit 7; fi
if grep -q " $MOUNT ext3 " /proc/mounts; then
    victim=$(find "$MOUNT/copy" -type f -size +1 | sort | head -n 1)
    printf '\377\376\375\374' | dd of="$victim" conv=notrunc status=none
    echo "spoilt ${victim#"$MOUNT/copy/"}"
fi
'''
dataset = "tree"
verify  = { dataset = "tree", at = "copy" }
"#;
    place
        .run(plan, &[])
        .exits(3)
        .says(&["skipped bad-option", "warning: ext2 failed"])
        .shows(&["exited with status 7: no such"]);
    assert_eq!(place.status("ext4").0, "ok");
    let (status, reason) = place.status("bad-option");
    assert!(status == "skipped" && reason.contains("bad option"), "{status}: {reason}");
    place.failed("ext2", &["status 7", "no such luck"]);
    let journal = place.journal();
    let said = journal.all("command").filter_map(|event| event["stdout"].as_str());
    let spoilt = said.flat_map(str::lines).find_map(|line| line.strip_prefix("spoilt ")).unwrap();
    place.failed("ext3", &[spoilt]);
    place.is_left_clean();
}
