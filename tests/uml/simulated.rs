//! Trials in simulated time, on a modelled device: the same seed gives the same requests at the same nanosecond, and
//! nothing stays. All of it wants a laboratory kernel in the cache (`fsverdict kernel build`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rustix::process::Signal;

use crate::common::{Journal, PROGRAM, Place, is_root, kernels, kill, members, not_run, tool, unmount};

const PLAN: &str = r#"
title        = "In simulated time"
lab          = "uml"
device       = { model = "usb-disk-5400", size = "1GB" }
protocol     = { blocks = 2, timeout = "120s" }
dataset.tree = { profile = "mixed", files = 60, directories = 8, size = "1MiB" }
phase = [
    { name = "write", operation = "tree.write", dataset = "tree" },
    { name = "read", operation = "tree.read", dataset = "tree", cold = true },
    { name = "check", operation = "fsck" },
]
[matrix]
filesystem = ["ext2", "ext4", "xfs", "btrfs", "f2fs", "nilfs2", "jfs", "reiserfs", "vfat", "exfat"]
"#;

/// Block and candidate, and the digest of the trial's trace.
fn digests(place: &Place) -> BTreeMap<(u64, String), String> {
    place
        .journal()
        .all("facts")
        .filter_map(|event| {
            let digest = event["facts"]["device.trace"].as_str()?.to_owned();
            let trial = &event["trial"];
            Some(((trial["block"].as_u64()?, trial["candidate"].as_str()?.to_owned()), digest))
        })
        .collect()
}

#[test]
fn uml_simulated_trials_of_one_seed_are_the_same_and_of_two_blocks_are_not() {
    let (first, second) = (Place::new(), Place::new());
    first.run(PLAN, &[]).exits(0);
    second.run(PLAN, &[]).exits(0);
    let (one, other) = (digests(&first), digests(&second));
    assert_eq!(one.len(), 20);
    assert_eq!(one, other);
    // ext4 spreads its folders by chance, and chance is what a block's seed decides.
    assert_ne!(one[&(1, "ext4".to_owned())], one[&(2, "ext4".to_owned())]);
    let fidelity = first.journal().0[0]["fidelity"].as_str().unwrap().to_owned();
    assert!(
        fidelity.contains("usb-disk-5400 v3") && fidelity.contains("computation priced as on epyc-vm"),
        "{fidelity}"
    );
    first.is_left_clean();
}

/// Neither where the program lies nor how its surroundings are called is anything to a guest.
#[test]
fn uml_simulated_trials_are_the_same_wherever_the_program_lies() {
    let few = ["--fs", "ext4,xfs,btrfs,f2fs", "--blocks", "1"];
    let here = Place::new();
    here.run(PLAN, &few).exits(0);
    assert_eq!(digests(&here).len(), 4);
    // One of them is covered by what a guest's sandbox has there.
    let memory = tempfile::Builder::new().prefix("fsverdict-it-").tempdir_in("/dev/shm").unwrap();
    let there = Place::new();
    let deep = there.path().join("a folder with blanks/".to_owned() + &"and-a-long-name/".repeat(12));
    for folder in [memory.path().to_owned(), deep] {
        let program = folder.join("fsverdict-by-another-name");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::copy(PROGRAM, &program).unwrap();
        let place = Place::new();
        let plan = place.plan("plan", PLAN);
        let arguments = [&["run", &plan, "--out", "run"][..], &few].concat();
        place.any(program.to_str().unwrap(), &arguments).exits(0);
        assert_eq!(digests(&here), digests(&place), "{}", program.display());
    }
}

/// What blocks meet is drawn by the plan's seed, in pairs of opposites; or is the plan's own.
#[test]
fn uml_simulated_blocks_meet_other_circumstances_unless_they_are_fixed() {
    let drawn = |place: &Place, name: &str| -> Vec<(u64, f64)> {
        let journal = place.journal();
        let found = journal.all("facts").filter_map(|event| {
            let value = event["facts"][format!("drawn.{name}")].as_str()?;
            Some((event["trial"]["block"].as_u64()?, value.parse().ok()?))
        });
        found.collect()
    };
    let few = ["--fs", "ext4,xfs", "--jobs", "1"];
    let place = Place::new();
    place.run(PLAN, &few).exits(0);
    for (name, sum) in [("size", 2e9), ("memory", 2.0 * f64::from(1 << 30))] {
        let found = drawn(&place, name);
        let [first, second] = [1, 2].map(|block| {
            let of: Vec<f64> = found.iter().filter(|(of, _)| *of == block).map(|(_, value)| *value).collect();
            assert_eq!(of.len(), 2, "{name}: {found:?}");
            assert_eq!(of[0].to_bits(), of[1].to_bits(), "{name}: {found:?}");
            of[0]
        });
        assert!((first - second).abs() > 1.0 && (first + second - sum).abs() / sum < 0.002, "{found:?}");
    }
    assert_eq!(place.journal().0[0]["environment"]["circumstances"], "drawn");
    let fixed = Place::new();
    fixed.run(PLAN, &[&few[..], &["--set", "protocol.circumstances=fixed"]].concat()).exits(0);
    assert!(drawn(&fixed, "size").is_empty());
    assert_eq!(fixed.journal().0[0]["environment"]["circumstances"], "fixed");
    assert_ne!(digests(&place), digests(&fixed));
}

/// Both candidates of a block meet the same device of the class, the next block the opposite one; what decides is named.
#[test]
fn uml_simulated_blocks_meet_other_devices_of_a_class() {
    let numbers = |place: &Place| -> Vec<(u64, f64)> {
        let journal = place.journal();
        let found = journal.all("facts").filter_map(|event| {
            let value = event["learnt"]["drawn"]["ideal.access_us"]["number"].as_f64()?;
            Some((event["trial"]["block"].as_u64()?, value))
        });
        found.collect()
    };
    let class = "name = \"many\"\nversion = 1\nsummary = \"each another\"\n\
        [device]\ncapacity = \"2GB\"\nlogical_block = \"512B\"\nphysical_block = \"512B\"\n\
        [link]\nmb_s = 100\ncommand_us = 10\n[queue]\ndepth = 1\nlargest = \"128KiB\"\n\
        [ideal]\naccess_us = { from = 10, to = 4000, typical = 200 }\n";
    let place = Place::new();
    let model = place.path().join("many.toml");
    std::fs::write(&model, class).unwrap();
    let model = format!("device.model=\"{}\"", model.display());
    let few = ["--fs", "ext4,xfs", "--blocks", "2", "--all", "--set", model.as_str()];
    place
        .run(PLAN, &few)
        .exits(0)
        .shows_broken(&["each block on another device of its class", "(ideal.access_us drawn)"]);
    let found = numbers(&place);
    let of = |block: u64| -> Vec<f64> {
        found.iter().filter(|(of, _)| *of == block).map(|(_, value)| *value).collect()
    };
    assert!(of(1).len() == 2 && of(1)[0] == of(1)[1] && of(2)[0] == of(2)[1], "{found:?}");
    // Mirrored in the logarithm, in whole microseconds.
    assert!((of(1)[0] * of(2)[0] / (10.0 * 4000.0) - 1.0).abs() < 0.06 && of(1)[0] != of(2)[0], "{found:?}");
    let one = Place::new();
    one.run(PLAN, &[&few[..], &["--set", "protocol.devices=one"]].concat()).exits(0);
    assert!(numbers(&one).is_empty());
}

/// ext4 reads the map of free blocks of every group after a mount. A kernel that does not tell who reads leaves it to the phase, and
/// that is said.
#[test]
fn uml_what_a_filesystem_does_by_itself_is_counted_apart_or_said_to_be_untold() {
    let plan = PLAN.replace("\"1GB\"", "\"400GB\"").replace("blocks = 2", "blocks = 1");
    // It begins within five seconds (EXT4_DEF_LI_MAX_START_DELAY).
    let plan = plan.replace("operation = \"tree.read\", dataset = \"tree\"", "command = \"sleep 10\"");
    let plan = plan + "\nmount = [\"\", \"no_prefetch_block_bitmaps\"]";
    let place = Place::new();
    place.run(&plan, &["--fs", "ext4,ext4:no_prefetch_block_bitmaps"]).exits(0);
    let (journal, report) = (place.journal(), place.report());
    let cautions = report["verdict"]["cautions"].to_string();
    let measured = |candidate: &str| -> Option<f64> {
        let of =
            |event: &&serde_json::Value| event["phase"] == "read" && event["trial"]["candidate"] == candidate;
        let mut metrics =
            journal.all("observation").filter(of).filter_map(|event| event["measurements"].as_array());
        metrics
            .find_map(|all| all.iter().find(|one| one["metric"] == "background_requests")?["value"].as_f64())
    };
    let found = (measured("ext4"), measured("ext4:no_prefetch_block_bitmaps"));
    if found == (None, None) {
        assert!(cautions.contains("does not tell who submits a request"), "{cautions}");
        return not_run("the kernel is from before patch 0010");
    }
    assert!(matches!(found, (Some(reads), Some(none)) if reads > 10.0 && none == 0.0), "{found:?}");
    assert!(cautions.contains("no_prefetch_block_bitmaps among the mount options"), "{cautions}");
    assert_eq!(report["verdict"]["background"][0]["candidate"], "ext4");
}

/// 320 MB hold xfs, and 5 % less do not.
#[test]
fn uml_a_modelled_device_that_may_be_drawn_too_small_is_told_before_the_first_trial() {
    let few = ["--fs", "ext4,xfs", "--blocks", "1", "--set", "device.size=320MB"];
    let (drawn, fixed) = (Place::new(), Place::new());
    drawn.run(PLAN, &few).exits(3);
    let skipped = drawn.journal().all("candidate_skipped").next().unwrap().clone();
    let reason = skipped["reason"].as_str().unwrap();
    assert!(skipped["candidate"] == "xfs" && reason.contains("up to 5 % smaller"), "{skipped}");
    fixed.run(PLAN, &[&few[..], &["--set", "protocol.circumstances=fixed"]].concat()).exits(0);
    assert_eq!(digests(&fixed).len(), 2);
}

/// nilfs2 has no checker: the check counts for nobody, and this is said first.
#[test]
fn uml_a_phase_that_a_candidate_lacks_counts_for_nobody() {
    let place = Place::new();
    let goal = "goal.weights={write=1, check=1000}";
    place.run(PLAN, &["--fs", "ext4,nilfs2", "--blocks", "3", "--set", goal]).exits(0).shows(&[
        "Compared without check (nothing of nilfs2): ",
        "check is not compared: there is no result of nilfs2 in it",
    ]);
    let verdict = &place.report()["verdict"];
    let left_out = serde_json::json!([{ "phase": "check", "lacking": ["nilfs2"] }]);
    assert_eq!(verdict["left_out_phases"], left_out);
    // The goal is then the write alone.
    let write = |name: &str| {
        let report = place.report();
        let all = report["estimates"].as_array().unwrap().clone();
        let is_it = |one: &&serde_json::Value| {
            one["candidate"] == name && one["phase"] == "write" && one["metric"] == "durable"
        };
        all.iter().find(is_it).unwrap()["point"].as_f64().unwrap()
    };
    let ratio = verdict["ranking"][1]["behind"]["point"].as_f64().unwrap();
    let names = [0, 1].map(|at| verdict["ranking"][at]["candidate"].as_str().unwrap().to_owned());
    assert!((write(&names[1]) / write(&names[0]) - ratio).abs() < 1e-9, "{verdict:#}");
}

/// Two blocks of two candidates, one after the other and two at once, with the machine's other work watched for.
#[test]
fn uml_simulated_trials_side_by_side_are_those_that_were_alone() {
    let watch = ["--fs", "ext4,f2fs", "--set", "protocol.disturbed={foreign_cpu=0.0001}"];
    let (one, two) = (Place::new(), Place::new());
    one.run(PLAN, &[&watch[..], &["--jobs", "1"]].concat()).exits(0);
    let mut under_way = two.start(PLAN, &[&watch[..], &["--jobs", "2"]].concat());
    under_way.wait_for("two guests", |_| {
        let is_guest = |line: &[String]| line.iter().any(|word| word.starts_with("mem="));
        two.processes().iter().filter(|(_, line)| is_guest(line) && line[1] != "launch").count() >= 2
    });
    assert_eq!(under_way.end(), Some(0));
    assert_eq!(digests(&one).len(), 4);
    assert_eq!(digests(&one), digests(&two));
    assert_eq!(one.report()["verdict"]["ranking"], two.report()["verdict"]["ranking"]);
    assert!(two.journal().all("block_finished").all(|end| end["invalid"].is_null()));
    two.is_left_clean();
}

/// What phases ask of a device, and what that makes of its medium, is in the journal.
#[test]
fn uml_every_model_serves_every_kind_of_stack() {
    let all = [
        "usb-disk-5400",
        "hdd-7200",
        "smr-5400",
        "usb-stick",
        "sd-card",
        "sd-card-a1",
        "sata-ssd",
        "sata-ssd:filled+write-through",
        "nvme-ssd",
        "ideal",
    ];
    let tried = members(all, |name| (*name).to_owned(), ["hdd-7200", "sata-ssd:filled+write-through"]);
    let models = format!("\nmodel = {tried:?}");
    let plan = PLAN
        .replace("blocks = 2", "blocks = 1")
        .replace("[matrix]", "[matrix]\nencryption = [\"none\", \"luks2\"]");
    let place = Place::new();
    place.run(&(plan + &models), &["--fs", "ext4"]).exits(0);
    let journal = place.journal();
    let measured = |candidate: &str, metric: &str| {
        let mut observations = journal
            .all("observation")
            .filter(|event| event["phase"] == "write" && event["trial"]["candidate"] == candidate);
        observations.find_map(|event| {
            let found = event["measurements"].as_array()?.iter().find(|found| found["metric"] == metric)?;
            found["value"].as_f64()
        })
    };
    assert_eq!(digests(&place).len(), 2 * tried.len());
    for candidate in digests(&place).into_keys().map(|(_, candidate)| candidate) {
        assert!(measured(&candidate, "seeks").is_some_and(|seeks| seeks > 0.0), "{candidate}");
    }
    let page = std::fs::read_to_string(place.path().join("run/report.html")).unwrap();
    assert_eq!(page.matches("<figure class=\"requests\"").count(), 2 * tried.len());
    let pictures = page.split("id=\"requests\"").nth(1).unwrap().split("</section>").next().unwrap();
    assert!(pictures.len() < 300_000, "{}", pictures.len());
}

#[test]
fn uml_simulated_trials_side_by_side_leave_nothing_when_the_conductor_is_killed() {
    let place = Place::new();
    let few = ["--fs", "ext4,xfs,btrfs,reiserfs"];
    let mut running = place.start(PLAN, &[&few[..], &["--jobs", "2"]].concat());
    running.wait_for("two trials under way, one done", |journal| {
        journal.finished() > 0 && journal.all("trial_started").count() > journal.finished() + 1
    });
    let before = place.journal();
    running.signal(Signal::KILL);
    place.is_left_clean();
    assert_eq!(place.journal().0[..before.0.len()], before.0[..]);
    place.fsverdict(&["resume", "run", "--jobs", "1", "--quiet"]).exits(0);
    let (resumed, whole) = (digests(&place), Place::new());
    whole.run(PLAN, &[&few[..], &["--quiet"]].concat()).exits(0);
    assert_eq!(resumed, digests(&whole));
}

#[test]
fn uml_a_simulated_trial_whose_guest_or_device_is_killed_is_done_again() {
    let undisturbed = Place::new();
    undisturbed.run(PLAN, &["--fs", "ext4", "--blocks", "1"]).exits(0);
    for victim in ["device", "linux.uml"] {
        let place = Place::new();
        let mut running = place.start(PLAN, &["--fs", "ext4", "--blocks", "1"]);
        // The first step may be over between two looks.
        running.wait_for("a step", |journal| !journal.step().is_empty());
        kill(place.worker(victim));
        assert_eq!(running.end(), Some(0), "{victim}");
        let journal = place.journal();
        let begun = (journal.all("trial_started").count(), journal.finished());
        assert_eq!(begun, (2, 1), "{victim}: {journal:#?}");
        assert_eq!(digests(&place), digests(&undisturbed), "{victim}");
        place.is_left_clean();
    }
}

/// A disk's answer that never comes is a wait without end; time goes by all the same.
#[test]
fn uml_a_guest_that_waits_for_ever_is_ended_and_one_that_waits_is_not() {
    for (seconds, wanted) in [(3000, "ok"), (4000, "failed")] {
        let place = Place::new();
        let waits = PLAN.replace(
            "operation = \"tree.read\", dataset = \"tree\"",
            &format!("command = \"sleep {seconds}\""),
        );
        let arguments = ["--fs", "ext4", "--blocks", "1", "--set", "protocol.timeout=2h"];
        place.run(&waits, &arguments).exits(i32::from(wanted != "ok"));
        let (status, reason) = place.status("ext4");
        assert_eq!(status, wanted, "{reason}");
        assert_eq!(reason.contains("an hour of its own time"), wanted == "failed", "{reason}");
        assert!(!reason.contains("spins"), "{reason}");
        place.is_left_clean();
    }
}

/// A kernel whose file says what it can do, with `more` besides, and that does nothing; as `--set` names it.
fn answering(place: &Place, more: &[u8]) -> String {
    let simulated = ["UML_TIME_TRAVEL_SUPPORT", "VIRTIO_UML", "VIRTIO_BLK", "CPU_PRICE"];
    let options: Vec<&str> = kernels::OPTIONS.into_iter().chain(simulated).collect();
    let bytes = [&kernels::strings("6.12.0", &options), more].concat();
    format!("kernel={}", kernels::script(place, "exit 1", &bytes).display())
}

#[test]
fn uml_a_kernel_is_asked_for_seccomp_where_it_has_it() {
    let place = Place::new();
    let plan = place.plan("plan", PLAN);
    for (help, asked) in [
        (b"seccomp=<on/auto/off>\n    Configure\n\0".as_slice(), true),
        (b"mem=<RAM>\n    no seccomp= here\n\0", false),
        (b"", false),
    ] {
        let kernel = answering(&place, help);
        let dry = place.fsverdict(&["run", &plan, "--dry-run", "--fs", "ext4", "--set", &kernel]);
        assert_eq!(dry.exits(0).stdout.contains(" seccomp=auto "), asked, "{}", help.escape_ascii());
    }
}

#[test]
fn uml_a_guest_that_ends_before_it_begins_ends_its_simulated_trial() {
    let place = Place::new();
    let kernel = answering(&place, b"");
    place.run(PLAN, &["--fs", "ext4", "--blocks", "1", "--set", &kernel]).exits(1);
    let reason = place.failed("ext4", &["before it asked for its disk"]);
    assert!(!reason.contains("without asking"), "{reason}");
    place.is_left_clean();
}

/// A kernel that is killed before its first word, while the file `kill` is there: what happens to a machine says nothing
/// of a candidate, however often.
#[test]
fn uml_a_guest_that_is_killed_before_it_asks_for_anything_stops_the_run() {
    let place = Place::new();
    let (plan, kill) = hindered(&place, "test -e {} && kill -9 $$");
    let seen = place.run(&plan, &["--fs", "ext4", "--blocks", "1"]);
    seen.exits(1)
        .says(&["was ended from outside again before it asked for anything", "`fsverdict resume run`"]);
    is_resumed(&place, &kill);
}

/// The same of the process that serves its disk, while its kernel waits.
#[test]
fn uml_a_device_that_is_killed_before_its_guest_asks_for_anything_stops_the_run() {
    let place = Place::new();
    let (plan, wait) = hindered(&place, "while test -e {}; do sleep 0.1; done");
    let mut running = place.start(&plan, &["--fs", "ext4", "--blocks", "1"]);
    for tried in [1, 2] {
        let is_served =
            |journal: &Journal| journal.all("trial_started").count() == tried && serving(&place).is_some();
        running.wait_for("its device", is_served);
        kill(serving(&place).unwrap());
    }
    assert_eq!(running.end(), Some(1));
    is_resumed(&place, &wait);
}

/// A plan with a kernel that does this first as long as a file is there, which it is.
fn hindered(place: &Place, first: &str) -> (String, PathBuf) {
    let listed = place.fsverdict(&["kernel", "list"]).stdout;
    let counts = listed.lines().rfind(|line| !line.contains("cannot price computation")).unwrap();
    let kernel = counts.split_whitespace().find(|word| word.starts_with('/')).unwrap().to_owned();
    let hindrance = place.path().join("hindrance");
    let first = first.replace("{}", hindrance.to_str().unwrap());
    let line = format!("case \"$*\" in *mem=*) {first};; esac");
    let script = kernels::wrapped(place, &line, Path::new(&kernel));
    std::fs::write(&hindrance, "").unwrap();
    (format!("kernel = \"{}\"\n{PLAN}", script.display()), hindrance)
}

/// The process that serves a disk, not the sandbox around it.
fn serving(place: &Place) -> Option<u32> {
    let found =
        place.processes().into_iter().find(|(_, line)| line.get(1).is_some_and(|word| word == "device"));
    found.map(|(process, _)| process)
}

/// Two tries, and no end of any that would be the candidate's; without the hindrance it is tried again.
fn is_resumed(place: &Place, hindrance: &Path) {
    let journal = place.journal();
    assert_eq!((journal.all("trial_started").count(), journal.finished()), (2, 0), "{journal:#?}");
    place.is_left_clean();
    std::fs::remove_file(hindrance).unwrap();
    place.fsverdict(&["resume", "run"]).exits(0);
    assert_eq!(place.journal().finished(), 1);
}

/// The disk that holds what is written to modelled devices is as small as this, and full for both trials.
#[test]
fn uml_simulated_trials_on_a_full_disk_of_the_hosts_stop_the_run() {
    if !is_root() {
        return not_run("to make a small disk takes root");
    }
    let place = Place::new();
    let disk = place.path().join("disk");
    std::fs::create_dir(&disk).unwrap();
    let disk = disk.to_str().unwrap();
    let size = |size: &str| tool(&["mount", "-t", "tmpfs", "-o", size, "tmpfs", disk]);
    size("size=80m");
    let device = format!("size = \"100GB\", folder = \"{disk}\" }}");
    let plan = PLAN.replace("size = \"1GB\" }", &device).replace("\"1MiB\"", "\"100MiB\"");
    let seen = place.run(&plan, &["--fs", "ext4,xfs", "--blocks", "1", "--jobs", "2"]);
    let shown = (seen.code, seen.stderr.clone(), place.journal().finished());
    unmount(disk.as_ref());
    size("size=1g");
    let resumed = place.fsverdict(&["resume", "run", "--jobs", "2"]);
    unmount(disk.as_ref());
    assert_eq!((shown.0, shown.2), (Some(1), 0), "{}", shown.1);
    for words in
        ["the disk that holds the modelled device is full", "hint: make room", "`fsverdict resume run`"]
    {
        assert!(shown.1.contains(words), "{}", shown.1);
    }
    resumed.exits(0);
    assert_eq!(place.journal().finished(), 2);
    place.is_left_clean();
}

/// The matrix's models and memories are those of its candidates' guests.
#[test]
fn uml_simulated_trials_are_on_the_model_and_memory_of_their_candidate() {
    let factors = "[matrix]\nmodel = [\"ideal\", \"usb-stick\"]\nmemory = [\"256MiB\", \"512MiB\"]\n";
    // What the guest has, and not what its kernel was told.
    let quarter = "$(( $(grep MemTotal /proc/meminfo | tr -dc 0-9) * 256 ))";
    let fill =
        format!("    {{ name = \"fill\", command = \"head -c {quarter} /dev/zero > $MOUNT/fill\" }},\n]\n");
    let plan = PLAN.replace("model = \"usb-disk-5400\", ", "").replace("]\n[matrix]\n", &(fill + factors));
    let place = Place::new();
    let seen = place.run(&plan, &["--fs", "ext4", "--blocks", "1", "--all"]).exits(0);
    // Each has a verdict of its own.
    seen.shows_broken(&[
        "There is no order to compare by circumstance",
        "Times the best for each circumstance",
    ]);
    let page = std::fs::read_to_string(place.path().join("run/report.html")).unwrap();
    assert!(page.contains("Which on what"));
    let shown = digests(&place);
    let of = |name: &str| shown[&(1, name.to_owned())].clone();
    assert_eq!(shown.len(), 4);
    assert_ne!(of("ext4-on-ideal-with-256MiB"), of("ext4-on-usb-stick-with-256MiB"));
    assert_ne!(of("ext4-on-ideal-with-256MiB"), of("ext4-on-ideal-with-512MiB"));
    let begin = place.journal().0[0].clone();
    let fidelity = begin["fidelity"].as_str().unwrap();
    assert!(fidelity.contains("the models ideal v1, usb-stick v1"), "{fidelity}");
    assert!(fidelity.contains("MiB of memory"), "{fidelity}");
    assert_eq!(begin["environment"]["device.kind"], "modelled: ideal, usb-stick");
}

#[test]
fn uml_only_simulated_trials_may_be_side_by_side() {
    let place = Place::new();
    let image = ["--device", "image:512MiB", "--jobs", "2"];
    place.run(PLAN, &image).exits(2).says(&["this machine's clock", "hint:", "--jobs"]);
    place.run(PLAN, &["--jobs", "9999"]).exits(2).says(&["there is room for", "hint: --jobs"]);
    assert!(!place.path().join("run").exists());
}

/// A phase that waits while the file `hold` is there: in no time of the guest's, but in ours.
fn held(place: &Place, command: &str, limit: &str) -> String {
    let hold = place.path().join("hold");
    std::fs::write(&hold, "").unwrap();
    let command = command.replace("HOLD", hold.to_str().unwrap());
    let hold = format!("    {{ name = \"hold\", command = \"{command}\" }},\n]\n[matrix]");
    PLAN.replace("120s", limit).replace("]\n[matrix]", &hold)
}

#[test]
fn uml_simulated_trials_whose_device_is_killed_are_tried_again() {
    let place = Place::new();
    let plan = held(&place, "while test -e HOLD; do sleep 0.2; done", "20000h");
    let mut running = place.start(&plan, &["--fs", "ext4", "--blocks", "1"]);
    running.wait_for("the held phase", |journal| journal.step() == "hold");
    kill(place.worker("device"));
    running.wait_for("a new trial", |journal| journal.all("trial_started").count() > 1);
    std::fs::remove_file(place.path().join("hold")).unwrap();
    assert_eq!(running.end(), Some(0));
    let journal = place.journal();
    let again = |event: &&serde_json::Value| event["text"].as_str().unwrap().contains("tried a second time");
    assert_eq!(journal.all("caution").filter(again).count(), 1, "{journal:#?}");
    assert_eq!((journal.finished(), place.status("ext4").0.as_str()), (1, "ok"));
    place.is_left_clean();
}

#[test]
fn uml_simulated_programs_that_spin_without_a_clock_are_named() {
    let place = Place::new();
    let plan = held(&place, "while :; do :; done", "48s");
    place.run(&plan, &["--fs", "ext4", "--blocks", "1"]).exits(1);
    place.failed("ext4", &["computed for 12 s", "at `hold`, which runs: while :; do :; done"]);
    place.is_left_clean();
}

/// A shell that spins without a system call until another process has slept: time passes for it, as little as need be.
#[test]
fn uml_simulated_programs_that_spin_until_another_has_slept_end() {
    let place = Place::new();
    let spin = "trap 'exit 0' USR1; (sleep 0.015; kill -USR1 $$) & while :; do :; done";
    place.run(&held(&place, spin, "120s"), &["--fs", "ext4", "--blocks", "1"]).exits(0);
    let journal = place.journal();
    let took = journal.measured("hold", "durable")[0];
    assert!((0.015..0.2).contains(&took), "{took} s");
    place.is_left_clean();
}

/// The same device and work, answered by the machine's clock: what the filesystem asks for is the same within what
/// timers and caches make of it. On a machine too busy to keep the pace a trial is refused, and says so.
#[test]
fn uml_modelled_devices_keep_real_time_too() {
    let (simulated, real) = (Place::new(), Place::new());
    let one = ["--fs", "ext4", "--blocks", "1", "--set", "protocol.circumstances=fixed"];
    simulated.run(PLAN, &one).exits(0);
    let seen = real.run(PLAN, &[&one[..], &["--set", "clock=real"]].concat());
    let (status, reason) = real.status("ext4");
    assert!(status == "ok" || reason.contains("did not keep its pace"), "{seen:#?}");
    let requests = |place: &Place| place.journal().fact("device.requests")[0].parse::<f64>().unwrap();
    let ratio = requests(&real) / requests(&simulated);
    assert!((0.8..1.25).contains(&ratio), "{ratio}");
    assert!(real.journal().fact("device.lateness")[0].contains("p99"));
    assert!(real.journal().fact("device.seconds").is_empty());
    let begin = real.journal().0[0].clone();
    assert!(
        begin["fidelity"].as_str().unwrap().starts_with("real time on the model usb-disk-5400 v3"),
        "{begin}"
    );
    let jobs = ["--set", "clock=real", "--jobs", "2"];
    simulated.run(PLAN, &jobs).exits(2).says(&["this machine's clock"]);
    real.is_left_clean();
}

#[test]
fn uml_simulated_trials_want_a_model_that_there_is() {
    let place = Place::new();
    place
        .run(&PLAN.replace("usb-disk-5400", "usb-disk-5401"), &[])
        .exits(2)
        .says(&["usb-disk-5401", "hint:"]);
}
