//! Cuts of power by reckoning: a filesystem that keeps its promises loses nothing, one that is told not to does and is found, and the
//! image of a state is the same as what its guest saw.

use serde_json::Value;

use crate::common::{PROGRAM, Place, is_full, members, not_run};

const PLAN: &str = r#"
title         = "Saved files"
lab           = "uml"
device        = { model = "sata-ssd", size = "1GiB" }
protocol      = { blocks = 3, timeout = "120s" }
faults        = { power_cuts = 24 }
dataset.notes = { flat = 60, file_size = "8KiB" }
phase = [
    { name = "write", operation = "directory.fill", dataset = "notes" },
    { name = "save", operation = "directory.save", dataset = "notes" },
]
[[candidate]]
filesystem = "ext4"
[[candidate]]
filesystem = "xfs"
[[candidate]]
filesystem = "ext2"
[[candidate]]
name = "bold"
filesystem = "ext4"
mount = "barrier=0"
"#;

fn outcome(cuts: &Value, outcome: &str) -> u64 {
    cuts["outcomes"][outcome].as_u64().unwrap_or(0)
}

#[test]
fn uml_power_cuts_find_who_breaks_a_promise_and_nobody_else() {
    let place = Place::new();
    // One candidate fails by what it lost.
    place.run(PLAN, &[]).exits(3).says(&["power cuts: ext4: 24 states"]);
    let report = place.report();
    let of = |name: &str| -> Value {
        let all = report["power_cuts"].as_array().unwrap();
        all.iter().find(|cuts| cuts["candidate"] == name).unwrap().clone()
    };
    for name in ["ext4", "xfs"] {
        let cuts = of(name);
        assert_eq!(outcome(&cuts, "unharmed") + outcome(&cuts, "replayed"), 24, "{cuts}");
        assert!(outcome(&cuts, "replayed") > 0, "{cuts}");
    }
    assert!(outcome(&of("ext2"), "repaired") > 0, "{}", of("ext2"));
    let bold = of("bold");
    assert!(outcome(&bold, "silent_loss") > 0, "{bold}");
    assert!(bold["priced"][0].as_str().unwrap().starts_with("barrier=0"), "{bold}");
    assert_ne!(report["verdict"]["recommended"], "bold");
    // The image of the first of its states is made, once, and it is said what must be in it.
    let state = bold["first"][0]["state"].as_str().unwrap().to_owned();
    let image = place.path().join("state.img");
    let arguments = ["crash", "run", "bold", &state, "--image", image.to_str().unwrap()];
    place.fsverdict(&arguments).exits(0).shows(&["the image must contain", "notes/"]);
    assert_eq!(std::fs::metadata(&image).unwrap().len(), 1 << 30);
    place.fsverdict(&arguments).exits(1).says(&["cannot make", "hint: remove it, or name another file"]);
    place.fsverdict(&["crash", "run", "nobody"]).exits(2);
    place.is_left_clean();
}

#[test]
fn uml_the_careless_lose_by_what_is_documented_and_all_lose_on_a_faulty_device() {
    let (asked, save) = ("{ power_cuts = 24 }", r#"operation = "directory.save", dataset = "notes""#);
    assert!(PLAN.contains(asked) && PLAN.contains(save) && PLAN.contains("barrier=0"));
    // Six files of 60 are saved with fsync, which makes the names of the others durable, too.
    let careless = PLAN
        .replace(save, r#"operation = "directory.replace", sync_every = 10, dataset = "notes""#)
        .replace("barrier=0", "noauto_da_alloc");
    let place = Place::new();
    place.run(&careless, &["--fs", "ext4,bold", "--blocks", "1"]).exits(3);
    let report = place.report();
    let [plain, bold] = report["power_cuts"].as_array().unwrap().as_slice() else { panic!("{report}") };
    assert_eq!(outcome(plain, "replayed"), 24, "{plain}");
    assert!(
        outcome(bold, "silent_loss") > 0 && bold["broken"]["whole"] == bold["outcomes"]["silent_loss"],
        "{bold}"
    );
    assert!(bold["priced"][0].as_str().unwrap().starts_with("noauto_da_alloc"), "{bold}");
    let place = Place::new();
    let faulty = PLAN.replace(asked, "{ power_cuts = 24, ignores_flushes = true }");
    place.run(&faulty, &["--fs", "xfs", "--blocks", "1"]).exits(1);
    let report = place.report();
    let cuts = &report["power_cuts"][0];
    assert!(outcome(cuts, "silent_loss") > 0 && cuts["priced"].is_null(), "{cuts}");
}

#[test]
fn uml_a_device_that_keeps_all_loses_nothing_not_even_for_the_careless() {
    let asked = "{ power_cuts = 24 }";
    assert!(PLAN.contains(asked));
    let careless = PLAN.replace(asked, "{ power_cuts = 24, keeps_all = true }");
    let place = Place::new();
    place.run(&careless, &["--fs", "ext4,bold", "--blocks", "1"]).exits(0);
    for cuts in place.report()["power_cuts"].as_array().unwrap() {
        assert_eq!(
            outcome(cuts, "unharmed") + outcome(cuts, "replayed"),
            cuts["states"].as_u64().unwrap(),
            "{cuts}"
        );
    }
}

#[test]
fn uml_short_sequences_keep_their_promises_on_ext4_and_their_looking_goes_on_where_it_was_ended() {
    let (save, asked) =
        (r#"{ name = "save", operation = "directory.save", dataset = "notes" },"#, "{ power_cuts = 24 }");
    assert!(PLAN.contains(save) && PLAN.contains(asked));
    let plan = PLAN
        .replace(save, r#"{ name = "short", operation = "sequences", steps = 1 },"#)
        .replace(asked, "{ power_cuts = 20 }");
    let place = Place::new();
    // One candidate loses something, and fails by it.
    place.run(&plan, &["--fs", "ext4,bold", "--blocks", "1"]).exits(3);
    let report = place.report();
    let [plain, bold] = report["power_cuts"].as_array().unwrap().as_slice() else { panic!("{report}") };
    assert!(plain["states"].as_u64().unwrap() > 100, "{plain}");
    assert_eq!(plain["broken"].as_object().map_or(0, serde_json::Map::len), 0, "{plain}");
    // What was synced with their folder is gone with it.
    assert!(outcome(bold, "silent_loss") > 0 && bold["broken"]["name"].as_u64() > Some(0), "{bold}");
    // What is kept on the way is gone once the journal has it.
    assert!(!place.path().join("run/cuts/ext4.found").exists());
    place.is_left_clean();
}

const DATABASE: &str = r#"
title    = "Committed rows"
lab      = "uml"
device   = { model = "sata-ssd", size = "1GiB" }
protocol = { blocks = 3, timeout = "120s" }
faults   = { power_cuts = 16 }
[[candidate]]
filesystem = "ext4"
[[phase]]
name    = "commits"
command = '''
{ echo "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE log (id INTEGER PRIMARY KEY, text TEXT);"
for n in $(seq 20); do echo "INSERT INTO log (text) VALUES (hex(randomblob(100)));"; echo ".shell echo promised $n;sleep 0.5"; done
} | sqlite3 -bail "$MOUNT/rows.db"
'''
recheck = '''
said=$(sqlite3 -bail "$MOUNT/rows.db" "PRAGMA integrity_check; SELECT count(*) FROM log WHERE id <= $FSVERDICT_PROMISED" 2>&1)
echo $said of $FSVERDICT_PROMISED rows
test "$(echo $said)" = "ok $FSVERDICT_PROMISED"
'''
"#;

#[test]
fn uml_transactions_that_a_program_was_promised_are_there_and_those_it_was_not_are_not() {
    if std::process::Command::new("sqlite3").arg("--version").output().is_err() {
        return not_run("sqlite3 is not there");
    }
    let place = Place::new();
    place.run(DATABASE, &["--blocks", "1"]).exits(0).says(&["power cuts: ext4: 16 states"]);
    let cuts = place.report()["power_cuts"][0].clone();
    assert_eq!(outcome(&cuts, "unharmed") + outcome(&cuts, "replayed"), 16, "{cuts}");
    // The same program without a sync of its own: what it says it had is gone, and it says so itself.
    assert!(DATABASE.contains("synchronous = FULL"));
    let bold = DATABASE.replace("synchronous = FULL", "synchronous = OFF");
    let place = Place::new();
    place.run(&bold, &["--blocks", "1"]).exits(1);
    let cuts = place.report()["power_cuts"][0].clone();
    assert!(outcome(&cuts, "silent_loss") > 0 && cuts["broken"]["recheck"].as_u64() > Some(0), "{cuts}");
    let first = &cuts["first"][0];
    assert!(first["seen"].as_str().unwrap().starts_with("commits, promised "), "{cuts}");
    // The image of that state is made, with what was promised by then.
    let state = first["state"].as_str().unwrap().to_owned();
    place.fsverdict(&["crash", "run", "ext4", &state]).exits(0).shows(&["phase commits: promised "]);
    place.is_left_clean();
}

#[test]
fn uml_layers_and_mirrors_keep_what_they_promise_and_integrity_without_a_journal_does_not() {
    // With a journal a sector and its checksum become durable together; without one a cut of power may part them
    // (Documentation/admin-guide/device-mapper/dm-integrity.rst), and the checker has to repair what then cannot be read.
    let head = PLAN.split("[[candidate]]").next().unwrap().replace("power_cuts = 24", "power_cuts = 16");
    let plan = |layers: &[&str]| {
        let each =
            layers.iter().map(|layer| format!("[[candidate]]\nfilesystem = \"ext4\"\nlayers = [{layer}]\n"));
        head.clone() + &each.collect::<String>()
    };
    let place = Place::new();
    let layers = [r#""luks2""#, r#""integrity""#, r#""integrity:none""#];
    let layers = members(layers, |layer| (*layer).to_owned(), [r#""luks2""#, r#""integrity:none""#]);
    place.run(&plan(&layers), &["--blocks", "1"]);
    let report = place.report();
    let [of_others @ .., none] = report["power_cuts"].as_array().unwrap().as_slice() else {
        panic!("{report}")
    };
    assert_eq!(of_others.len() + 1, layers.len());
    for cuts in of_others {
        assert_eq!(outcome(cuts, "replayed"), 16, "{cuts}");
    }
    assert!(outcome(none, "repaired") > 0, "{none}");
    place
        .fsverdict(&["crash", "run", "ext4+luks2", "300-none", "--script", "it.sh"])
        .exits(2)
        .says(&["has layers"]);
    if !is_full() {
        return;
    }
    // Both disks lose their power at the same moment, each with what it had in its own cache.
    let place = Place::new();
    let mirror = plan(&[r#""md:raid1""#]).replace(r#"size = "1GiB""#, r#"size = "256MiB", count = 2"#);
    place.run(&mirror, &["--blocks", "1"]).exits(0);
    let report = place.report();
    assert_eq!(outcome(&report["power_cuts"][0], "replayed"), 16, "{report}");
    let image = place.path().join("state.img");
    let arguments = ["crash", "run", "ext4+md:raid1", "700-none", "--image", image.to_str().unwrap()];
    place.fsverdict(&arguments).exits(0).shows(&["state.img.device-2", "the devices of", "notes/"]);
    place.is_left_clean();
}

/// Options of mount(8) that it deals with itself, or that are flags of the system call: with any of these, that refuses the text.
const MOUNT_OPTIONS: &str = "defaults,nofail,auto,user,exec,suid,dev,group,owner,_netdev,comment=text,iversion,noiversion,\
    silent,loud,mand,nostrictatime,norelatime,nouser,X-mount.mkdir,X-mount.mode=755,X-any.thing=1,x-systemd.automount";

/// Trials are mounted by mount(8), and states were by mount(2), which refuses such options: each state was unmountable.
#[test]
fn uml_options_that_mount_itself_deals_with_leave_no_state_unmountable() {
    let asked = "{ power_cuts = 24 }";
    assert!(PLAN.contains(asked));
    let head = PLAN.split("[[candidate]]").next().unwrap().replace(asked, "{ power_cuts = 8, rot = 8 }");
    let candidate = |name: &str, filesystem: &str, options: &str| {
        format!("[[candidate]]\nname = \"{name}\"\nfilesystem = \"{filesystem}\"\nmount = \"{options}\"\n")
    };
    let plan = head
        + &candidate("all", "ext4", MOUNT_OPTIONS)
        + &candidate("usual", "btrfs", "defaults,nofail,x-systemd.automount,user,exec,compress=zstd");
    let place = Place::new();
    place.run(&plan, &["--blocks", "1"]).says(&["power cuts: all: 8 states", "power cuts: usual: 8 states"]);
    let report = place.report();
    for cuts in report["power_cuts"].as_array().unwrap() {
        assert_eq!(outcome(cuts, "unharmed") + outcome(cuts, "replayed"), 8, "{cuts}");
    }
    for rot in report["rot"].as_array().unwrap() {
        assert!(rot["outcomes"]["unmountable"].is_null(), "{rot}");
    }
    place.is_left_clean();
}

/// Messages of a kernel about a replay are left out if there are too many, and each guest was given more states the fewer
/// processors there are: on one, 12 of 60 states counted as replayed, and on two 25.
#[test]
fn uml_what_power_cuts_find_does_not_depend_on_the_processors() {
    let asked = "{ power_cuts = 24 }";
    assert!(PLAN.contains(asked));
    let head = PLAN.split("[[candidate]]").next().unwrap().replace(asked, "{ power_cuts = 40 }");
    let plan = head + "[[candidate]]\nfilesystem = \"btrfs\"\n";
    let place = Place::new();
    place.run(&plan, &["--blocks", "1"]).exits(0);
    let all = place.report()["power_cuts"].clone();
    // All but those that were cut before the log tree was written, or after it was dropped.
    assert!(outcome(&all[0], "replayed") > 30, "{all}");
    let alone = Place::new();
    let path = alone.plan("plan", &plan);
    let run = ["run", path.as_str(), "--out", "run", "--blocks", "1", "--set", "protocol.disturbed=false"];
    alone.any("taskset", &[&["-c", "0", PROGRAM], &run[..]].concat()).exits(0);
    assert_eq!(alone.report()["power_cuts"], all);
}

/// A file whose records are written over with a sync each, and one that is written beside another, synced and renamed
/// over it.
fn recorded_calls() -> String {
    let mut calls = "file 0 8 65536\nfile 0 8 4096\nname 0 9\nopen 1 1\n".to_owned();
    for number in 0..40 {
        calls += &format!("write 1 {} 4096\nfdatasync 1\n", number % 8 * 4096);
        calls += "open 2 3 create\nwrite 2 0 4096\nfsync 2\nclose 2\nrename 3 2\nfsyncdir 0\n";
    }
    calls
}

#[test]
fn uml_what_a_recorded_trace_synced_is_there_and_what_a_barrier_would_have_kept_is_not() {
    let place = Place::new();
    let (saved, data) = (
        r#"    { name = "save", operation = "directory.save", dataset = "notes" },"#,
        r#"dataset.notes = { flat = 60, file_size = "8KiB" }"#,
    );
    assert!(PLAN.contains(saved) && PLAN.contains(data) && PLAN.contains("directory.fill"));
    let replay = r#"    { name = "replay", operation = "trace.replay", dataset = "notes" },"#;
    let plan = PLAN
        .replace(saved, replay)
        .replace("directory.fill", "tree.write")
        .replace(data, &format!("dataset.notes.calls = '''\n{}'''", recorded_calls()));
    place.run(&plan, &["--fs", "ext4,bold", "--blocks", "1"]).exits(3);
    let report = place.report();
    let [plain, bold] = report["power_cuts"].as_array().unwrap().as_slice() else { panic!("{report}") };
    assert_eq!(outcome(plain, "unharmed") + outcome(plain, "replayed"), 24, "{plain}");
    assert!(outcome(bold, "silent_loss") > 0 && bold["broken"]["fsync"].as_u64() > Some(0), "{bold}");
    let seen = bold["first"][0]["seen"].as_str().unwrap();
    assert!(seen.starts_with("notes: ") && seen.contains("which is a sync"), "{seen}");
    place.is_left_clean();
}
