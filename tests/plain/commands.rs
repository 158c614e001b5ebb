//! Every command as a user gives it, and everything a user can get wrong: exit status, the words that help, and that
//! nothing was touched.

use std::fs;
use std::path::Path;

use crate::common::{PROGRAM, Place, has_uml, members, not_run, usable_lab};

/// A sound plan, to be spoilt.
const PLAN: &str = r#"title = "A plan"
[device]
image = "64MiB"
[[candidate]]
filesystem = "ext4"
[[phase]]
name    = "nothing"
command = "true"
"#;

#[test]
fn a_plan_with_a_mistake_is_refused_with_where_and_how_it_is_written_right() {
    let place = Place::new();
    let wrong = |from: &str, to: &str, words: &[&str]| {
        assert!(PLAN.contains(from));
        let path = place.plan("wrong", &PLAN.replace(from, to));
        let seen = place.fsverdict(&["run", &path, "--dry-run"]).exits(2).says(words);
        assert_eq!(seen.stdout, "", "an error belongs on standard error");
        assert!(seen.stderr.starts_with("error: "), "{seen:#?}");
        // Where the TOML itself is broken, its reader's own words are all there is.
        assert!(seen.stderr.contains("hint:") || seen.stderr.contains("not TOML"), "{seen:#?}");
    };
    wrong("image", "imgae", &["wrong.toml:3:1", "unknown key `imgae`", "did you mean `image`?"]);
    wrong("64MiB", "64MiX", &["wrong.toml:3:", "`MiX`", "not a unit of size", "MiB"]);
    wrong("\"64MiB\"", "64", &["wrong.toml:3:"]);
    wrong("ext4", "ext5", &["wrong.toml:5:", "`ext5`", "ext4"]);
    wrong("command = \"true\"", "operation = \"tree.wriet\"", &["wrong.toml:8:", "tree.write"]);
    wrong("command = \"true\"", "operation = \"tree.write\"", &["wrong.toml:", "dataset"]);
    wrong("title = \"A plan\"", "", &["the plan lacks `title`"]);
    wrong("[[candidate]]", "[[candidate]", &["wrong.toml:4:", "not TOML"]);
}

#[test]
fn what_cannot_be_done_to_a_file_has_a_hint() {
    let place = Place::new();
    place.recorded();
    fs::write(place.path().join("small"), vec![0; 1 << 20]).unwrap();
    let cases: [(&[&str], &[&str]); 3] = [
        (&["report", "run", "--output", "/nosuch/page.html"], &["/nosuch/page.html", "hint: name a file"]),
        (&["kernel", "build", "/nosuch"], &["find the sources /nosuch", "hint: name a linux-"]),
        (&["calibrate", "small"], &["it holds 1 MiB, and 512 are wanted", "hint: name a whole device"]),
    ];
    for (arguments, words) in cases {
        place.fsverdict(arguments).exits(1).says(words);
    }
}

#[test]
fn what_no_device_or_guest_can_be_is_refused_where_the_plan_says_it() {
    let place = Place::new();
    let modelled = |text: &str| PLAN.replace("image = \"64MiB\"", text);
    let network = PLAN.replace("command = \"true\"", "command = \"true\"\nnetwork = true");
    let cases = [
        (modelled("model = \"usb-disk\"\nsize = \"1GB\""), "wrong.toml:3:9", "there is no model `usb-disk`"),
        (modelled("model = \"usb-stick:worn\"\nsize = \"1GB\""), "wrong.toml:3:9", "no state `worn`"),
        (
            modelled("model = \"usb-stick\"\nsize = \"1KiB\""),
            "wrong.toml:4:8",
            "a device of 1 KiB does not go",
        ),
        (modelled("model = \"usb-stick\"\nsize = \"-2GiB\""), "wrong.toml:4:8", "is not a size"),
        (
            format!("lab = \"native\"\n{}", modelled("model = \"usb-stick\"\nsize = \"1GB\"")),
            "wrong.toml:4:9",
            "no modelled devices",
        ),
        (format!("lab = \"uml\"\n{network}"), "wrong.toml:10:1", "no guest has any of"),
        (format!("memory = \"1MiB\"\n{PLAN}"), "wrong.toml:1:10", "1 MiB of memory does not start"),
        (PLAN.replace("filesystem", "memory = \"1MiB\"\nfilesystem"), "wrong.toml:5:10", "does not start"),
    ];
    for (text, at, says) in cases {
        let path = place.plan("wrong", &text);
        let seen = place.fsverdict(&["run", &path]).exits(2).says(&[at, says, "hint:"]);
        assert_eq!(seen.stderr.matches(" | ").count(), 2, "one fault: {seen:#?}");
    }
}

#[test]
fn a_wrong_command_line_exits_with_2_and_says_what_was_meant() {
    let place = Place::new();
    let cases: [(&[&str], &[&str]); 39] = [
        (&[], &["calibrate", "clean", "Start with:"]),
        (&["run", "quick", "--set", "candidate.1.mount=noatime"], &["no candidate by itself", "[matrix]"]),
        (&["run", "stick", "--set", "device.size=20MiB"], &["modelled device of 20 MiB is smaller"]),
        (
            &["run", concat!(env!("CARGO_MANIFEST_DIR"), "/tests/runs/demo")],
            &["is the folder of a run", "show"],
        ),
        (&["run", "quick", "--on", "ssh", "--sites", "none"], &["none: the inventory cannot be read"]),
        (&["run", "quik"], &["there is no preset or file named `quik`", "hint: did you mean `quick`?"]),
        (&["run", "nosuch.toml"], &["cannot read the plan nosuch.toml", "hint:"]),
        (&["run", "quick", "--fs", "ext5"], &["`ext5`", "hint: did you mean `ext4`?"]),
        (&["run", "quick", "--set", "protocol.sed=1"], &["unknown key `sed`", "hint: did you mean `seed`?"]),
        (&["run", "quick", "--set", "dataset.tree.size=4Q"], &["not a unit of size", "hint:"]),
        (&["run", "quick", "--device", "image:4GB7"], &["`GB7`", "not a unit of size", "hint:"]),
        (&["run", "quick", "--blocks", "5-3"], &["--blocks", "cannot both be", "hint:"]),
        (&["run", "quick", "--for", "20"], &["--for", "lacks a unit of time", "hint:"]),
        (&["run", "quick", "--for", "0s"], &["--for", "may not be 0", "hint:"]),
        (&["run", "quick", "--aa=xsf"], &["--aa", "no candidate `xsf`", "hint: did you mean `xfs`?"]),
        (&["run", "quick", "--fs", "xfs", "--aa=ext4"], &["--aa", "no candidate `ext4`", "hint: known: xfs"]),
        (&["run", "quick", "--set", "protocol.disturbed.steal=5"], &["`steal`", "from 0 to 1", "hint:"]),
        (&["run", "quick", "--lab", "vn"], &["'vn'", "native, uml, vm"]),
        (&["show", "quik"], &["there is no preset, model or file named `quik`", "did you mean `quick`?"]),
        (&["show"], &["<PRESET", "hint: `fsverdict list presets`"]),
        (&["status"], &["<RUN>", "hint: `fsverdict run` says where"]),
        (&["report", "."], &["is not the folder of a run", "hint:"]),
        (&["resume", "no-such-run"], &["there is no folder no-such-run", "hint:"]),
        (&["list", "filesystem"], &["filesystems"]),
        (&["frobnicate"], &["frobnicate"]),
        (&["aks"], &["unrecognized subcommand 'aks'", "hint: did you mean `ask`?"]),
        (&["capture", "/usr", "--repeat", "3"], &["--repeat is for a recording", "hint: name the recording"]),
        (&["run", "stick", "--lab", "native"], &["no modelled devices", "hint: take lab = \"uml\""]),
        (
            &["run", "quick", "--device", "model:nosuch@1GB"],
            &["--device", "no model `nosuch`", "hint: known:"],
        ),
        (&["run", "quick", "--device", "model:usb-stick@99TB"], &["--device", "does not go with", "hint:"]),
        (&["run", "/dev/null"], &["/dev/null is empty", "hint:"]),
        (&["run", "quick", "--blocks", "-3"], &["\"-3\" is not a number of blocks"]),
        (&["run", "quick", "--for", "-5m"], &["\"-5m\" is negative", "must be positive"]),
        (&["run", "quick", "--jobs", "-1"], &["-1 is not in 1..="]),
        (&["resume", "x", "--more", "-1"], &["-1 is not in 1..=1000"]),
        (&["compare", "x", "y", "--between-runs", "-1%"], &["must be a share between 0 and 1"]),
        (
            &["run", "quick", "--erase", "usb-1"],
            &["--erase", "scratch image of", "hint: name the block device with --device PATH"],
        ),
        (&["run", "demo", "--dry-run", "--erase", "x"], &["--erase", "modelled device usb-disk", "hint:"]),
        (
            &["block", "quick", "--site", "a", "--block", "1"],
            &["quick is a plan", "hint: name the folder with --out DIR"],
        ),
    ];
    for (arguments, words) in cases {
        let seen = place.fsverdict(arguments).exits(2).says(words);
        assert_eq!(seen.stdout, "", "{arguments:?}");
    }
}

#[test]
fn a_folder_of_a_dataset_that_is_not_there_is_found_out_at_once() {
    let place = Place::new();
    let Some(lab) = usable_lab() else { return not_run("no lab can be used here") };
    let text = format!("{PLAN}dataset = \"docs\"\n[dataset.docs]\npath = \"/no/such/folder\"\n");
    let plan = place.plan("plan", &text);
    place.fsverdict(&["run", &plan, "--lab", lab]).exits(2).says(&[
        "/no/such/folder",
        "`docs`",
        "hint:",
        "dataset.docs.path",
    ]);
    assert!(!place.path().join("runs").exists());
}

#[test]
fn native_is_refused_to_an_ordinary_user_who_is_shown_the_way_out() {
    Place::new().unprivileged(&["run", "quick", "--lab", "native"]).exits(1).says(&[
        "only root may",
        "hint:",
        "--lab uml",
    ]);
}

#[test]
fn a_disk_that_is_none_or_too_small_for_it_is_refused_before_anything_is_made() {
    let place = Place::new();
    let Some(lab) = usable_lab() else { return not_run("no lab can be used here") };
    let file = place.path().join("file");
    fs::write(&file, "mine").unwrap();
    let refused = |device: &str, words: &[&str]| {
        let run = ["run", "quick", "--lab", lab, "--device", device];
        place.fsverdict(&run).exits(1).says(words);
        place.fsverdict(&[&run[..], &["--dry-run"]].concat()).exits(1).says(words).says(&["would not start"]);
    };
    refused("/dev/no-such-disk", &["/dev/no-such-disk does not exist", "hint:", "lsblk"]);
    refused("/dev/null", &["is a character device"]);
    refused(file.to_str().unwrap(), &["is a regular file", "hint:", "--device image:"]);
    refused("/dev", &["is a directory"]);
    refused("image:1000TiB", &["does not fit", "is free there", "hint:", "--device image:SIZE"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    assert!(!place.path().join("runs").exists());
    assert!(place.leftovers().is_empty(), "{:?}", place.leftovers());
}

/// The disk under `/`, by its path; none where `/` lies on something else (overlay, zfs, a network).
fn system_disk() -> Option<String> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let fields: Vec<&str> = mounts.lines().map(|line| line.split(' ').collect()).find(root_mount)?;
    let node = fs::canonicalize(format!("/sys/dev/block/{}", fields[2])).ok()?;
    let path = Path::new("/dev").join(node.file_name()?);
    path.exists().then(|| path.to_str().map(str::to_owned))?
}

fn root_mount(fields: &Vec<&str>) -> bool {
    fields.get(4) == Some(&"/")
}

#[test]
fn the_disk_of_the_running_system_is_refused_without_being_opened() {
    let Some(disk) = system_disk() else { return not_run("/ does not lie on a block device") };
    let place = Place::new();
    // As an ordinary user, who could not open it: that it is the system's is known all the same.
    if has_uml() {
        let arguments = ["run", "quick", "--lab", "uml", "--device", &disk];
        place.unprivileged(&arguments).exits(1).says(&[&disk, "is the system's disk", "hint:"]);
    }
    if let Some(lab) = usable_lab() {
        // Not even an identity lifts it.
        let arguments = ["run", "quick", "--lab", lab, "--device", &disk, "--erase", &disk];
        place.fsverdict(&arguments).exits(1).says(&[&disk, "is the system's disk", "is mounted on", "hint:"]);
    }
}

#[test]
fn an_out_folder_that_cannot_be_made_or_is_taken_is_refused() {
    let place = Place::new();
    let Some(lab) = usable_lab() else { return not_run("no lab can be used here") };
    let plan = place.plan("plan", PLAN);
    // Not even root can make a folder there.
    place.fsverdict(&["run", &plan, "--lab", lab, "--out", "/proc/run"]).exits(1).says(&[
        "cannot make the folder of the run /proc/run",
        "hint:",
        "--out DIR",
    ]);
    fs::create_dir(place.path().join("taken")).unwrap();
    fs::write(place.path().join("taken/plan.json"), "{}").unwrap();
    place.fsverdict(&["run", &plan, "--lab", lab, "--out", "taken"]).exits(1).says(&[
        "already holds a run",
        "hint:",
        "fsverdict resume taken",
    ]);
    assert_eq!(fs::read_to_string(place.path().join("taken/plan.json")).unwrap(), "{}");
    place.fsverdict(&["report", "taken"]).exits(2).says(&["plan.json is damaged"]);
}

#[test]
fn list_knows_every_kind() {
    let place = Place::new();
    let kinds: [(&str, &[&str]); 8] = [
        (
            "filesystems",
            &[
                "ext2", "ext3", "ext4", "xfs", "btrfs", "jfs", "reiserfs", "reiser4", "nilfs2", "f2fs",
                "exfat", "ntfs3", "vfat",
            ],
        ),
        ("operations", &["tree.write", "stream.rewrite", "directory.list", "fsck"]),
        ("presets", &["demo", "quick", "usb-backup", "stick"]),
        ("models", &["ideal", "usb-disk-5400", "sata-ssd"]),
        ("labs", &["native", "uml", "vm"]),
        ("layers", &["none", "luks1", "luks2", "mq-deadline"]),
        ("profiles", &["mixed", "media"]),
        ("metrics", &["durable", "write_amplification"]),
    ];
    let everything = place.fsverdict(&["list"]).exits(0);
    for (kind, names) in kinds {
        let seen = place.fsverdict(&["list", kind]).exits(0);
        let listed: Vec<&str> =
            seen.stdout.lines().filter_map(|line| line.split_whitespace().next()).collect();
        assert!(names.iter().all(|name| listed.contains(name)), "{kind}: {listed:?}");
        assert!(seen.stdout.lines().all(|line| line.split_whitespace().count() > 1), "{kind}: undocumented");
        assert!(everything.stdout.contains(seen.stdout.trim_end()), "`list` lacks {kind}");
    }
}

/// What a dry run printed, without the estimate of its time, which depends on how busy the machine is.
fn without_estimate(printed: &str) -> String {
    let is_estimate = |line: &&str| line.starts_with("time ");
    // There is none where no candidate can be run.
    assert!(printed.lines().filter(is_estimate).count() <= 1, "{printed}");
    printed.lines().filter(|line| !is_estimate(line)).collect::<Vec<_>>().join("\n")
}

#[test]
fn every_preset_is_shown_as_a_plan_that_can_be_run() {
    if usable_lab().is_none() {
        return not_run("no lab can be used here");
    }
    let place = Place::new();
    let listed = place.fsverdict(&["list", "presets"]).exits(0).stdout;
    // Those of one asker stand below a line that ends with a colon.
    let of_asker = listed.lines().filter(|line| !line.ends_with(':'));
    let presets: Vec<&str> = of_asker.filter_map(|line| line.split_whitespace().next()).collect();
    assert!(presets.len() >= 3 && presets.len() < listed.lines().count());
    // One on a single disk, and one on several.
    for preset in members(presets, |preset| (*preset).to_owned(), ["demo", "nas-mirrors"]) {
        let shown = place.fsverdict(&["show", preset]).exits(0).stdout;
        let path = place.plan("shown", &shown);
        let of_file = place.fsverdict(&["run", &path, "--dry-run"]);
        let of_preset = place.fsverdict(&["run", preset, "--dry-run"]);
        // What is skipped here, and whether that leaves anybody, hangs on the machine.
        assert!(matches!(of_file.code, Some(0 | 1 | 3)), "{preset}: {:?}", of_file.code);
        assert_eq!(without_estimate(&of_file.stdout), without_estimate(&of_preset.stdout), "{preset}");
    }
}

#[test]
fn a_page_carries_its_plan_and_can_be_run_again() {
    let place = Place::new();
    let run = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/runs/demo");
    let page = place.path().join("page.html").display().to_string();
    place.fsverdict(&["report", run, "--format", "html", "-o", &page]).exits(0);
    let plan = place.fsverdict(&["show", &page]).exits(0).stdout;
    assert_eq!(place.fsverdict(&["show", run]).exits(0).stdout, plan);
    let file = place.plan("again", &plan);
    let asked =
        |plan: &str| without_estimate(&place.fsverdict(&["run", plan, "--dry-run", "--lab", "uml"]).stdout);
    assert_eq!(asked(&page), asked(&file));
    // Whoever sends a page may have changed it; what is wrong with it is found as in any plan.
    let html = fs::read_to_string(&page).unwrap();
    let changed = |from: &str, to: &str, words: &[&str]| {
        assert!(html.contains(from), "{from}");
        fs::write(&page, html.replacen(from, to, 1)).unwrap();
        let seen = place.fsverdict(&["show", &page]).exits(2).says(words);
        assert_eq!(seen.stdout, "");
    };
    changed("<pre id=\"plan\"", "<pre id=\"none\"", &["page.html: there is no plan in it", "hint:"]);
    changed("lab = &quot;", "lab = &quot;x", &["the plan in ", "page.html:2:"]);
    changed("lab = &quot;", "lab = <b>", &["the plan in it is damaged"]);
    fs::write(&page, format!("<!DOCTYPE html>{}", " ".repeat(65 << 20))).unwrap();
    place.fsverdict(&["show", &page]).exits(2);
}

#[test]
fn a_dry_run_prints_every_command_line_and_writes_nothing() {
    let Some(lab) = usable_lab() else { return not_run("no lab can be used here") };
    let place = Place::new();
    let folder = format!("device.folder=\"{}\"", place.path().join("none").display());
    let seen = place.fsverdict(&[
        "run",
        "quick",
        "--dry-run",
        "--lab",
        lab,
        "--fs",
        "ext4,xfs",
        "--set",
        &folder,
        "--set",
        "protocol.order=7",
    ]);
    let seen = seen.exits(0).shows(&[
        "mkfs.ext4 ",
        "mount -i -t ext4 -o noinit_itable $DEVICE",
        "e2fsck -f -n $DEVICE",
        "mkfs.xfs ",
        "xfs_repair",
        "[tree.write on tree]; [syncfs]    [timed as tree-write]",
        "umount ",
        "block 1: ",
        "block 3: ",
        "6 trials (3 blocks of 2)",
        "a trial, by sizes",
        "134 MiB a trial",
    ]);
    assert!(!seen.stdout.contains("btrfs"), "--fs left it in");
    let made = walk(place.path());
    assert_eq!(made, ["cache", "home"], "a dry run made something");
}

#[test]
fn a_dry_run_and_doctor_make_the_checks_of_a_run_and_need_no_root() {
    let place = Place::new();
    let native = ["run", "quick", "--lab", "native", "--dry-run", "--fs", "ext4,xfs"];
    let small = [&native[..], &["--device", "image:128MiB"]].concat();
    place.unprivileged(&small).exits(3).shows(&[
        "xfs: skipped: XFS needs 300 MiB at least, and the device has 128 MiB",
        "mkfs.ext4 ",
        "3 trials (3 blocks of 1)",
    ]);
    let plan = place.plan(
        "none",
        "title = \"t\"\ndevice.image = \"128MiB\"\ndataset.docs.path = \"/no/such\"\nmatrix.filesystem = [\"ext4\", \"xfs\"]\n\
         phase = [{ name = \"x\", command = 'ls \"$DOCS\"' }]",
    );
    let words = ["would not start", "`docs`", "hint: name another"];
    place.fsverdict(&["run", &plan, "--lab", "native", "--dry-run"]).exits(1).says(&words);
    if usable_lab().is_some() {
        place.fsverdict(&["doctor", &plan]).exits(1).says(&words).shows(&[
            "no [1]",
            "[1]",
            "XFS needs 300 MiB",
        ]);
    }
}

/// Every path below a folder, sorted.
fn walk(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(path) = open.pop() {
        for entry in fs::read_dir(path).unwrap().flatten() {
            let path = entry.path();
            found.push(path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned());
            if path.is_dir() {
                open.push(path);
            }
        }
    }
    found.sort();
    found
}

#[test]
fn doctor_names_reiser4_and_the_way_out() {
    let place = Place::new();
    let seen = place.fsverdict(&["doctor"]);
    if usable_lab().is_none() {
        seen.exits(1).shows(&["native", "hint:", "uml"]);
        return;
    }
    // Done, but not everything can run here.
    let seen = seen.exits(3).shows(&["reiser4", "CONFIG", "hint:", "candidates can run here."]);
    if has_uml() {
        seen.shows(&["CONFIG_REISER4_FS", "fsverdict kernel build SOURCE", "--patch"]);
    }
    place.fsverdict(&["doctor", "no-such-plan"]).exits(2).says(&["hint:"]);
}

#[test]
fn clean_finds_nothing_of_this_place() {
    let place = Place::new();
    let seen = place.fsverdict(&["clean", "--dry-run"]).exits(0);
    assert!(!seen.stdout.contains(place.path().to_str().unwrap()), "{seen:#?}");
}

#[test]
fn help_and_version_are_results() {
    let place = Place::new();
    let commands =
        ["run", "resume", "report", "doctor", "list", "show", "kernel", "tools", "calibrate", "clean"];
    let seen = place
        .fsverdict(&["--help"])
        .exits(0)
        .shows(&commands)
        .shows(&["Exit status:", "4    `compare` found"]);
    assert_eq!(seen.stderr, "");
    for inner in ["sandbox", "agent", "guest"] {
        assert!(!seen.stdout.lines().any(|line| line.trim_start().starts_with(inner)), "{inner} is shown");
    }
    for command in commands {
        place.fsverdict(&[command, "--help"]).exits(0).shows(&["Usage: fsverdict"]);
    }
    place.fsverdict(&["--version"]).exits(0).shows(&[env!("CARGO_PKG_VERSION")]);
    place.fsverdict(&[]).exits(2).says(&["Usage: fsverdict"]);
}

/// A conductor that is killed while a sandbox begins leaves it to another parent, which no signal tells it.
#[test]
fn a_sandbox_whose_parent_is_gone_before_it_begins_does_not_begin() {
    for (parent, begins) in [(std::process::id(), true), (1, false)] {
        let sandbox = serde_json::json!({
            "isolation": "None", "writable": [], "memory": [], "shown": [], "devices": "Shared", "capabilities": "All",
            "network": false, "keeps": [], "argv": ["/bin/echo", "begun"], "parent": parent,
        });
        let mut command = std::process::Command::new(PROGRAM);
        let seen = command.arg("sandbox").env("FSVERDICT_SANDBOX", sandbox.to_string()).output().unwrap();
        assert_eq!(seen.status.success(), begins, "{seen:?}");
        assert_eq!(seen.stdout == b"begun\n", begins, "{seen:?}");
        assert_eq!(
            String::from_utf8_lossy(&seen.stderr).contains("who started it is gone"),
            !begins,
            "{seen:?}"
        );
    }
}

#[test]
fn calibrate_replaces_no_file_unasked() {
    let place = Place::new();
    fs::write(place.path().join("model.toml"), "mine").unwrap();
    let calibrate = |more: &[&str]| {
        let words = [&["calibrate", "/nonexistent", "-o", "model.toml"], more].concat();
        place.fsverdict(&words)
    };
    // Said before the device is looked at.
    calibrate(&[])
        .exits(2)
        .says(&["model.toml is there already", "hint: name another file, or replace this one with --force"]);
    calibrate(&["--force"]).exits(1).says(&["/nonexistent"]);
    assert_eq!(fs::read_to_string(place.path().join("model.toml")).unwrap(), "mine");
}

#[test]
fn a_model_is_held_against_a_trace() {
    let place = Place::new();
    // One turn of 7200 a minute is 8.3 ms: no request of this disk takes so long on an SSD.
    let lines: String = (0..50_u64)
        .map(|at| {
            format!(
                "R {} 8 {} 10000\nR {} 8 400 10000\n",
                at * 7919 * 64,
                9000 + at * 100,
                at * 7919 * 64 + 8
            )
        })
        .collect();
    fs::write(place.path().join("trace"), lines).unwrap();
    let against = |more: &[&str]| place.fsverdict(&[&["calibrate", "--against", "trace"], more].concat());
    against(&["--model", "sata-ssd"]).exits(0).shows(&[
        "Demerit of all of it: ",
        "read elsewhere",
        "read onwards",
        "requests  measured ms  model ms",
        "50%",
    ]);
    let seen = against(&["--model", "sata-ssd", "--format", "json"]).exits(0);
    let found: serde_json::Value = serde_json::from_str(&seen.stdout).unwrap();
    assert_eq!((&found["schema"], &found["parts"][0]["n"]), (&1.into(), &100.into()), "{found}");
    assert!(
        found["parts"][0]["demerit"].as_f64().unwrap() > 0.5
            && found["parts"][0]["bias"].as_f64().unwrap() < -0.5
    );
    against(&["--model", "sata-ssd", "--format", "html", "-o", "page.html"]).exits(0);
    let page = fs::read_to_string(place.path().join("page.html")).unwrap();
    assert!(
        page.contains("The two distributions") && page.contains("<svg") && !page.contains("<script src"),
        "{page}"
    );
    let fitted = ["--model", "hdd-7200", "--fit=fitted.toml"];
    against(&fitted).exits(0).shows(&[
        "Demerit of the first fifth, as in the file: ",
        "the rest, fitted",
        "within reads and writes",
    ]);
    against(&["--model", "./fitted.toml"]).exits(0).shows(&["Demerit of all of it: "]);
    against(&fitted)
        .exits(1)
        .says(&["cannot write the model fitted.toml: ", "hint: name another file, or remove this one"]);
    against(&["--model", "hdd-7100"])
        .exits(2)
        .says(&["there is no model `hdd-7100`", "hint: did you mean `hdd-7200`?"]);
    against(&[]).exits(2).says(&["--model"]);
    against(&["--model", "hdd-7200", "/dev/null"]).exits(2).says(&["cannot be used with"]);
    fs::write(place.path().join("trace"), "R 0 8 1 1\nR 8 8 x 1\n").unwrap();
    against(&["--model", "hdd-7200"])
        .exits(1)
        .says(&["cannot use the trace trace: line 2: \"x\" is no time"]);
    fs::remove_file(place.path().join("trace")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", place.path().join("trace")).unwrap();
    against(&["--model", "hdd-7200"]).exits(1).says(&["cannot use the trace trace: "]);
}
