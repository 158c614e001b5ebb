//! A phase cannot break out of the native lab, and no option of a plan reaches another device.

use std::fs;

use crate::common::labs::confinement::{
    has_an_environment_of_its_own, tries_to_break_out, tries_to_break_out_above,
};
use crate::common::{Disk, Place, one_command, tool};

#[test]
fn loop_a_phase_cannot_break_out_of_the_native_lab() {
    tries_to_break_out("native");
}

#[test]
fn loop_a_phase_has_an_environment_of_its_own() {
    has_an_environment_of_its_own("native");
}

#[test]
fn loop_a_phase_that_starts_processes_without_end_is_ended() {
    let place = Place::new();
    let bomb =
        "perl -e 'for (1 .. 20000) { fork() // last or sleep(60), exit } print \"too many\\n\"; sleep 60'";
    place.run(&one_command("native", bomb), &[]);
    place.failed("ext4", &["more than 8192 processes and threads at a time"]);
    place.is_left_clean();
}

#[test]
fn loop_a_phase_cannot_break_out_through_a_layer_above() {
    for layer in ["fuse", "overlay", "overlay:metacopy"] {
        tries_to_break_out_above("native", layer);
    }
}

/// What this process' agent could write to, and a phase cannot.
const FOLDERS_OF_THE_AGENT: [&str; 3] = ["/run", "/dev/shm", "/sys/fs/cgroup"];

/// Work of the agent's own below a folder that a plan names.
const WORK_BELOW: [&str; 8] = [
    "adapter = \"fio\", options = \"--name=a --rw=write --size=64k\", into = \"INTO\"",
    "adapter = \"git\", options = \"init\", into = \"INTO\"",
    "operation = \"tree.write\", dataset = \"tree\", into = \"INTO\"",
    "operation = \"stream.write\", dataset = \"big\", into = \"INTO\"",
    "operation = \"directory.fill\", dataset = \"flat\", into = \"INTO\"",
    "operation = \"rotation.create\", dataset = \"tree\", into = \"INTO\"",
    "operation = \"append.fsync\", dataset = \"big\", into = \"INTO\"",
    "operation = \"age.pull\", dataset = \"tree\", pulls = 2, changed = 0.5, into = \"INTO\"",
];

#[test]
fn loop_a_link_that_a_phase_left_leads_the_agent_nowhere() {
    for (number, folder) in FOLDERS_OF_THE_AGENT.iter().enumerate() {
        for work in WORK_BELOW {
            let place = Place::new();
            let name = format!("fsverdict-test-{}-link-{number}", std::process::id());
            let link = one_command("native", &format!("ln -s {folder} \"$MOUNT/link\""));
            let next = format!(", {{ name = \"next\", {} }}]", work.replace("INTO", &format!("link/{name}")));
            let datasets = "dataset.tree = { profile = \"mixed\", files = 20, directories = 3, size = \"100KiB\" }\n\
                            dataset.big = { file = \"64KiB\" }\ndataset.flat = { flat = 20, file_size = \"1KiB\" }\n";
            let plan = link.replace(" }]\n", &format!(" }}{next}\n")) + datasets;
            let seen = place.run(&plan, &[]);
            let outside = std::path::Path::new(folder).join(&name);
            let is_there = outside.exists();
            if is_there {
                let _ = fs::remove_dir_all(&outside).or_else(|_| fs::remove_dir(&outside));
            }
            assert!(!is_there, "{work}: {} was made", outside.display());
            // It got as far as that: the link was there, and the work was refused.
            assert!(!seen.stderr.contains("plan.toml"), "{work}: {seen:?}");
            let journal = place.journal();
            assert_eq!(journal.program("do")["exit"], 0, "{work}: {seen:?}");
            assert!(journal.all("trial_finished").all(|end| end["status"] == "failed"), "{work}: {seen:?}");
            place.is_left_clean();
        }
    }
}

/// A plan's mkfs and mount options, NODE being the path of a victim's node, FILE of one that is not there.
const OPTIONS: &[(&str, &str, &str)] = &[
    ("btrfs", "NODE", ""),
    ("btrfs", "-- NODE", ""),
    ("btrfs", "-d raid0 NODE", ""),
    ("btrfs", "", "device=NODE"),
    ("ext4", "-z NODE", ""),
    ("ext4", "-z FILE", ""),
    ("ext4", "-J device=NODE", ""),
    ("ext4", "", "journal_path=NODE"),
    ("ext4", "", "loop=NODE"),
    ("ext4", "-d TREE", "dev"),
    ("ext2", "-z NODE", ""),
    ("xfs", "-l logdev=NODE,size=16m", ""),
    ("xfs", "-r rtdev=NODE", ""),
    ("xfs", "-N -- NODE", ""),
    ("xfs", "", "logdev=NODE"),
    ("xfs", "-p PROTOTYPE", "dev"),
];

#[test]
fn loop_no_option_of_a_plan_reaches_another_device() {
    let place = Place::new();
    let victim = Disk::new(&place, "victim", 320 << 20);
    // As a journal of ext4, it is what -J is for.
    tool(&["mke2fs", "-q", "-b", "4096", "-O", "journal_dev", &victim.device]);
    let before = victim.bytes();
    let at = |name: &str| place.path().join(name).display().to_string();
    let number = fs::read_to_string(format!("/sys/block/{}/dev", victim.name())).unwrap();
    let (major, minor) = number.trim().split_once(':').unwrap();
    fs::create_dir(at("tree")).unwrap();
    for node in [at("node"), at("tree/node")] {
        tool(&["mknod", &node, "b", major, minor]);
    }
    let prototype = format!("x\n0 0\nd--755 0 0\nnode b--666 0 0 {major} {minor}\n$\n");
    fs::write(at("prototype"), prototype).unwrap();
    let undo = format!("/run/fsverdict-test-{}-undo", std::process::id());
    let candidates = OPTIONS.iter().enumerate().map(|(number, (filesystem, mkfs, mount))| {
        let right = |text: &str| {
            text.replace("NODE", &at("node"))
                .replace("FILE", &undo)
                .replace("TREE", &at("tree"))
                .replace("PROTOTYPE", &at("prototype"))
        };
        let (mkfs, mount) = (right(mkfs), right(mount));
        format!("{{ name = \"c{number}\", filesystem = {filesystem:?}, mkfs = {mkfs:?}, mount = {mount:?} }}")
    });
    let candidates: Vec<String> = candidates.collect();
    let write = "dd if=/dev/zero of=\"$MOUNT/node\" bs=4096 count=1 conv=nocreat,fsync && echo BROKE; true";
    let plan = one_command("native", write)
        .replace("64MiB", "384MiB")
        .replace("matrix.filesystem = [\"ext4\"]", &format!("candidate = [{}]", candidates.join(", ")));
    let seen = place.run(&plan, &[]);
    let journal = place.journal();
    // Most were refused when they were tried on a scratch image.
    let refused = journal.all("candidate_skipped").count();
    assert_eq!(journal.finished() + refused, OPTIONS.len(), "{seen:#?}");
    assert!(victim.bytes() == before, "the victim was written");
    let broke: Vec<_> = journal
        .all("command")
        .filter(|event| event["stdout"].as_str().is_some_and(|said| said.contains("BROKE")))
        .collect();
    assert!(broke.is_empty(), "a phase opened a node that mkfs made: {broke:#?}");
    assert!(!std::path::Path::new(&undo).exists(), "mkfs wrote a file of this machine's");
    drop(victim);
    place.is_left_clean();
}

/// Work of the agent's own that writes to a file which is there already.
const WORK_ON_A_FILE: [&str; 2] = ["stream.rewrite", "random.write"];

/// Options with which mkfs makes a node named `big`, and options of mount.
const NODE_MAKERS: [(&str, &str, &str, &str); 4] = [
    ("xfs", "-p PROTOTYPE", "", "[]"),
    ("xfs", "-p PROTOTYPE", "dev,suid", "[]"),
    ("ext4", "-d TREE", "dev", "[]"),
    ("ext4", "-d TREE", "dev", "[\"fuse\"]"),
];

#[test]
fn loop_a_node_that_mkfs_made_leads_the_agent_to_no_device() {
    for work in WORK_ON_A_FILE {
        let place = Place::new();
        let victim = Disk::new(&place, "victim", 1 << 20);
        let at = |name: &str| place.path().join(name).display().to_string();
        let number = fs::read_to_string(format!("/sys/block/{}/dev", victim.name())).unwrap();
        let (major, minor) = number.trim().split_once(':').unwrap();
        fs::create_dir(at("tree")).unwrap();
        tool(&["mknod", &at("tree/big"), "b", major, minor]);
        let prototype = format!("x\n0 0\nd--755 0 0\nbig b--666 0 0 {major} {minor}\n$\n");
        fs::write(at("prototype"), prototype).unwrap();
        let candidates = NODE_MAKERS.iter().enumerate().map(|(number, (filesystem, mkfs, mount, layers))| {
            let mkfs = mkfs.replace("TREE", &at("tree")).replace("PROTOTYPE", &at("prototype"));
            format!(
                "{{ name = \"c{number}\", filesystem = {filesystem:?}, mkfs = {mkfs:?}, mount = {mount:?}, layers = {layers} }}"
            )
        });
        let candidates: Vec<String> = candidates.collect();
        let plan = one_command("native", "test -b \"$MOUNT/big\"")
            .replace("64MiB", "384MiB")
            .replace(
                " }]\n",
                &format!(
                    " }}, {{ name = \"next\", operation = \"{work}\", dataset = \"big\", into = \"big\" }}]\n"
                ),
            )
            .replace("matrix.filesystem = [\"ext4\"]", &format!("candidate = [{}]", candidates.join(", ")));
        let seen = place.run(&(plan + "dataset.big = { file = \"64KiB\" }\n"), &[]);
        let journal = place.journal();
        // The node was there in each trial, and the work was refused.
        let nodes =
            journal.all("command").filter(|event| event["step"] == "do" && event["exit"] == 0).count();
        assert_eq!((nodes, journal.finished()), (NODE_MAKERS.len(), NODE_MAKERS.len()), "{work}: {seen:#?}");
        assert!(journal.all("trial_finished").all(|end| end["status"] == "failed"), "{work}: {seen:#?}");
        assert!(victim.bytes().iter().all(|byte| *byte == 0), "{work}: the victim was written: {seen:#?}");
        drop(victim);
        place.is_left_clean();
    }
}
