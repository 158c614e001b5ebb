//! Trials in a Linux kernel that is an ordinary process: every filesystem, with and without encryption, and guests that
//! hang or are killed. All of it must work for root and for an ordinary user.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::common::{Place, Seen, kernels, members, one_command};

#[test]
fn uml_every_filesystem_runs_plain_and_encrypted_but_reiser4_which_says_how() {
    let place = Place::new();
    let all = ["ext2", "ext3", "ext4", "xfs", "btrfs", "jfs", "reiserfs", "nilfs2", "f2fs"];
    let tried = members(all, |name| (*name).to_owned(), ["ext4", "f2fs"]);
    let plan = r#"
title        = "Every filesystem"
lab          = "uml"
device.image = "384MiB"
protocol     = { blocks = 1, timeout = "120s" }
dataset.tree = { profile = "mixed", files = 20, directories = 4, size = "256KiB" }
phase = [
    { name = "write", operation = "tree.write", dataset = "tree" },
    { name = "read", operation = "tree.read", dataset = "tree", cold = true },
    { name = "check", operation = "fsck" },
]
[matrix]
filesystem = [FILESYSTEMS, "reiser4"]
encryption = ["none", "luks2"]
"#;
    let filesystems: Vec<String> = tried.iter().map(|name| format!("\"{name}\"")).collect();
    place.run(&plan.replace("FILESYSTEMS", &filesystems.join(", ")), &[]).exits(3).says(&[
        "skipped reiser4",
        "CONFIG_REISER4_FS",
        "hint:",
        "kernel build SOURCE",
    ]);
    let report = place.report();
    let candidates = report["candidates"].as_array().unwrap();
    assert_eq!(candidates.len(), 2 * (tried.len() + 1));
    for candidate in candidates {
        let wanted = if candidate["filesystem"] == "reiser4" { "skipped" } else { "ok" };
        assert_eq!(candidate["status"], wanted, "{candidate:#}");
        if wanted == "skipped" {
            assert!(candidate["hint"].as_str().unwrap().contains("kernel build"), "{candidate:#}");
        }
    }
    let journal = place.journal();
    let encrypted = journal.all("command").filter(|event| event["step"] == "open encryption").count();
    assert_eq!(encrypted, tried.len());
    // Cold is what comes from the device.
    let read = journal.measured("read", "device_read");
    assert!(
        read.len() == 2 * tried.len() && read.iter().all(|bytes| *bytes >= f64::from(256 << 10)),
        "{read:?}"
    );
    // What a guest runs, it runs on its own kernel.
    let kernel = journal.0[0]["environment"]["lab.kernel_release"].as_str().unwrap().to_owned();
    assert!(journal.0[0]["fidelity"].as_str().unwrap().contains(&kernel));
    place.is_left_clean();
}

/// One LUKS in another, either way round.
#[test]
fn uml_layers_lie_in_their_order_and_are_gone_after_each_trial() {
    let place = Place::new();
    let plan = r#"
title        = "Two layers"
lab          = "uml"
device.image = "128MiB"
protocol     = { blocks = 1, timeout = "120s" }
dataset.tree = { profile = "mixed", files = 20, directories = 4, size = "256KiB" }
phase = [
    { name = "write", operation = "tree.write", dataset = "tree" },
    { name = "read", operation = "tree.read", dataset = "tree", cold = true },
]
[matrix]
filesystem = ["ext4", "ext2"]
layers     = [["luks1", "luks2"], ["luks2", "luks1"]]
"#;
    place.run(plan, &[]).exits(0);
    let journal = place.journal();
    let of = |candidate: &str| -> Vec<String> {
        let own = journal.all("command").filter(|event| event["trial"]["candidate"] == candidate);
        let line = |event: &serde_json::Value| -> String {
            let words = event["argv"].as_array().unwrap().iter().map(|word| word.as_str().unwrap());
            words.collect::<Vec<_>>().join(" ")
        };
        own.map(line).filter(|line| line.starts_with("cryptsetup") || line.starts_with("mkfs")).collect()
    };
    for (candidate, types) in
        [("ext4+luks1+luks2", ["luks1", "luks2"]), ("ext2+luks2+luks1", ["luks2", "luks1"])]
    {
        let done = of(candidate);
        let wanted = [
            ["luksFormat", types[0], "/dev/ubda"],
            ["open", "/dev/ubda", "fsverdict-ubda"],
            ["--deferred", "fsverdict-ubda", ""],
            ["status", "fsverdict-ubda", ""],
            ["luksFormat", types[1], "/dev/dm-0"],
            ["open", "/dev/dm-0", "fsverdict-ubda-2"],
            ["--deferred", "fsverdict-ubda-2", ""],
            ["status", "fsverdict-ubda-2", ""],
            ["mkfs", "/dev/dm-1", ""],
        ];
        assert_eq!(done.len(), wanted.len(), "{done:#?}");
        for (line, words) in done.iter().zip(wanted) {
            assert!(words.iter().all(|word| line.contains(word)), "{line}: {words:?}");
        }
    }
    let read = journal.measured("read", "device_read");
    assert!(read.len() == 4 && read.iter().all(|bytes| *bytes >= f64::from(256 << 10)), "{read:?}");
    place.is_left_clean();
}

/// nilfs_cleanerd was absent without a word here once: it starts, answers, and dies where it has no /dev/shm.
#[test]
fn uml_a_garbage_collector_runs_where_asked_for_and_nowhere_else_and_both_are_recorded() {
    let place = Place::new();
    let plan = r#"
title        = "Garbage"
lab          = "uml"
device.image = "160MiB"
protocol     = { blocks = 1, timeout = "60s" }
candidate    = [{ filesystem = "nilfs2" }, { filesystem = "nilfs2", mount = "gc" }]
phase        = [{ name = "look", command = "sleep 1" }, { name = "look-again", command = "sleep 0.1", cold = true }]
"#;
    let seen = place.run(plan, &["--all"]).exits(0);
    for state in ["was running beside the phases (1 of 2", "was not running"] {
        assert!(seen.stdout.replace("\n            ", " ").contains(state), "{state}: {}", seen.stdout);
    }
    assert!(!seen.stdout.contains("ended by itself"), "{}", seen.stdout);
    let mut states = place.journal().fact("cleaner.nilfs_cleanerd");
    states.sort();
    assert_eq!(states, ["not running", "running"]);
}

/// Wandering between processors, the same guest took 18 s or 34 s on an idle machine.
#[test]
fn uml_a_guest_with_all_its_processes_is_on_the_one_processor_the_facts_name() {
    let place = Place::new();
    let hold = place.path().join("hold");
    std::fs::write(&hold, "").unwrap();
    let command = format!("while test -e {}; do sleep 0.1; done", hold.display());
    let mut running = place.start(&one_command("uml", &command), &["--set", "protocol.timeout=120s"]);
    let journal = running.wait_for("the phase", |journal| journal.step() == "do");
    let guest = &journal.0[0]["environment"]["lab.cpu_of_guest"];
    let mut tree = vec![place.worker("linux.uml")];
    for at in 0.. {
        let Some(pid) = tree.get(at) else { break };
        let children =
            std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        tree.extend(children.split_whitespace().map(|pid| pid.parse::<u32>().unwrap()));
    }
    // The kernel, its helpers, and a process for each address space of the guest.
    assert!(tree.len() > 3, "{tree:?}");
    for pid in tree {
        let Ok(status) = fs::read_to_string(format!("/proc/{pid}/status")) else { continue };
        let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:\t"));
        assert_eq!(allowed, guest.as_str(), "{status}");
    }
    fs::remove_file(&hold).unwrap();
    assert_eq!(running.end(), Some(0));
}

#[test]
fn uml_a_kernel_that_panics_ends_its_trial_at_once_with_its_last_words() {
    let place = Place::new();
    let listed = place.fsverdict(&["kernel", "list"]).stdout;
    let kernel = listed.split_whitespace().find(|word| word.starts_with('/')).unwrap_or("/usr/bin/linux.uml");
    let line =
        "for word; do shift; case $word in init=*) word=init=/nowhere;; esac; set -- \"$@\" \"$word\"; done";
    let script = kernels::wrapped(&place, line, Path::new(kernel));
    let plan = format!("kernel = \"{}\"\n{}", script.display(), one_command("uml", "true"));
    let seen = place.run(&plan, &[]).exits(1);
    // A kernel that crashes is tried once more.
    let journal = place.journal();
    let caution = journal.all("caution").next().unwrap_or_else(|| panic!("{seen:#?}"));
    let (first, second) = (caution["text"].as_str().unwrap(), place.status("ext4").1);
    for words in ["Kernel panic", "signal 6"] {
        assert!(first.contains(words) && second.contains(words), "{first}\n{second}");
    }
    place.is_left_clean();
}

/// What is found here and asked for its version is what makes the filesystem there: somebody's own build goes before the system's.
#[test]
fn uml_a_guest_runs_the_programs_that_its_conductor_found() {
    let place = Place::new();
    let programs = place.path().join("programs");
    fs::create_dir(&programs).unwrap();
    let own = programs.join("mkfs.ext4");
    fs::write(&own, "#!/bin/sh\nexec /usr/sbin/mkfs.ext4 -N 512 \"$@\"\n").unwrap();
    fs::set_permissions(&own, fs::Permissions::from_mode(0o755)).unwrap();
    let plan = place.plan("plan", &one_command("uml", "df --output=itotal $MOUNT | grep -qw 512"));
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let output = place.command(&["run", &plan, "--out", "run"]).env("PATH", path).output().unwrap();
    Seen::of(&output).exits(0);
}

#[test]
fn uml_a_run_can_be_reported_in_every_format() {
    let place = Place::new();
    let plan =
        one_command("uml", "true").replace("One command", "A | title").replace("\"do\"", "\"nothing\"");
    place.run(&plan, &["--all"]).exits(0).shows(&["A | title", "ext4", "Fidelity", "sandbox"]);
    let report = |format: &str| place.fsverdict(&["report", "run", "--format", format]).exits(0).stdout;
    assert!(report("terminal").contains("nothing"));
    assert!(report("markdown").contains("| ext4 |"), "{}", report("markdown"));
    let json: serde_json::Value = serde_json::from_str(&report("json")).unwrap();
    assert_eq!(json["run"]["title"], "A | title");
    assert_eq!(json["run"]["complete"], true);
    let csv = report("csv");
    let mut rows = csv.lines();
    let header: Vec<&str> = rows.next().unwrap().split(',').collect();
    assert!(
        ["candidate", "phase", "metric", "unit", "value"].iter().all(|name| header.contains(name)),
        "{csv}"
    );
    assert!(rows.all(|row| row.split(',').count() == header.len()), "{csv}");
    assert!(csv.contains("nothing"), "{csv}");

    place.fsverdict(&["report", "run", "--format", "markdown", "-o", "out.md"]).exits(0);
    assert_eq!(fs::read_to_string(place.path().join("out.md")).unwrap(), report("markdown"));
    assert_eq!(fs::read_to_string(place.path().join("run/report.md")).unwrap(), report("markdown"));
    place.fsverdict(&["report", "run", "-o", "/proc/out.md"]).exits(1).says(&["cannot write /proc/out.md"]);
    place.fsverdict(&["report", "run", "--format", "pdf"]).exits(2).says(&["markdown", "csv", "json"]);

    // A torn last line is what a crash leaves; a torn line before it is damage.
    let path = place.path().join("run/journal.jsonl");
    let journal = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{journal}{{\"at\":\"2026-")).unwrap();
    place.fsverdict(&["report", "run"]).exits(0);
    fs::write(&path, journal.replacen("\"event\"", "\"evnt\"", 3)).unwrap();
    place.fsverdict(&["report", "run"]).exits(1).says(&["journal.jsonl"]);
    place.is_left_clean();
}
