//! Cuts of power, rot and traces in a folder of a run that others can write to: whatever they put there, before or meanwhile, is
//! refused, and nothing outside the folder changes. As root the folder is somebody else's.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::common::attacks::{ATTACKS, Attack, Victim, content, copy_of_run, files, remove_any, to_its_end};
use crate::common::{PROGRAM, Place, is_full, is_root, members, not_run, tool};

const PLAN: &str = r#"
title         = "Saved files"
lab           = "uml"
device        = { model = "sata-ssd", size = "256MiB" }
protocol      = { blocks = 1, timeout = "120s" }
faults        = { power_cuts = 6, rot = 4 }
dataset.notes = { flat = 12, file_size = "8KiB" }
phase = [
    { name = "write", operation = "directory.fill", dataset = "notes" },
    { name = "save", operation = "directory.save", dataset = "notes" },
]
[[candidate]]
filesystem = "ext4"
"#;

/// A run with all that cuts of power and rot leave in its folder.
fn whole_run(place: &Place) -> std::path::PathBuf {
    let seen = place.run(PLAN, &[]);
    let whole = place.path().join("whole");
    fs::rename(place.path().join("run"), &whole).unwrap();
    for name in ["cuts/ext4.writes", "cuts/ext4.json", "cuts/ext4.rot.json", "traces/1-ext4-1.trace"] {
        assert!(whole.join(name).is_file(), "{name}: {seen:#?}");
    }
    whole
}

/// What uses a file of cuts or rot: with what is read or written there first, each fails before a guest is started.
fn commands(name: &str) -> &'static [&'static [&'static str]] {
    const AGAIN: &[&str] = &["crash", "run", "--again", "--yes", "--quiet"];
    const STATE: &[&str] = &["crash", "run", "ext4", "1-all", "--image", "image", "--yes"];
    const ROTTEN: &[&str] = &["crash", "run", "ext4", "rot-77-zero", "--image", "image", "--yes"];
    const EXPORT: &[&str] = &["crash", "run", "ext4", "--export", "log", "--part", "0", "--yes"];
    const SCRIPT: &[&str] = &["crash", "run", "ext4", "1-all", "--script", "script", "--yes"];
    match name {
        "cuts/ext4.writes" => &[AGAIN, STATE, ROTTEN, EXPORT, SCRIPT],
        "cuts/ext4.json" => &[AGAIN, STATE, ROTTEN, SCRIPT],
        "cuts/ext4.found" | "cuts/ext4.rot.json" => &[AGAIN],
        "cuts/ext4.looked" => &[SCRIPT],
        _ => &[],
    }
}

#[test]
fn uml_whatever_lies_in_the_place_of_a_log_of_cuts_is_refused() {
    let place = Place::new();
    let whole = whole_run(&place);
    let victim = Victim::new(&place);
    let run = place.path().join("run");
    let mut tried = 0;
    let representatives = ["cuts/ext4.writes", "cuts/ext4.rot.json"];
    for file in members(files("ext4", "lab1"), fsverdict::cli::RunFile::path, representatives) {
        let name = file.path();
        for attack in ATTACKS.into_iter().filter(|attack| attack.applies(&file)) {
            for arguments in commands(&name) {
                // What a link in the place of the folder keeps from one file it keeps from all.
                if attack == Attack::FolderLink && name != "cuts/ext4.writes" {
                    continue;
                }
                copy_of_run(&whole, &run);
                victim.attack(&run, &file, attack);
                let planted = content(&run).into_iter().find(|(known, _)| *known == name);
                let seen = to_its_end(place.command(arguments), None);
                let why = format!("{name} as {attack:?}: {arguments:?}");
                victim.is_unharmed(&why);
                victim.is_not_shown(&seen, &why);
                assert_eq!(seen.code, Some(1), "{why}: {seen:#?}");
                assert!(
                    seen.stderr.contains("error: ") && seen.stderr.contains("hint: "),
                    "{why}: {seen:#?}"
                );
                let stays = content(&run).into_iter().find(|(known, _)| *known == name);
                assert_eq!(stays, planted, "{why}: what lies there is left alone");
                for made in ["image", "log", "script"] {
                    assert!(!place.path().join(made).exists(), "{why}: {made} was made");
                }
                tried += 1;
            }
        }
    }
    assert!(tried > if is_full() { 50 } else { 20 }, "{tried}");
    place.is_left_clean();
}

#[test]
fn uml_no_command_writes_a_file_that_is_in_no_table() {
    let place = Place::new();
    let whole = whole_run(&place);
    let known: Vec<String> = files("ext4", "lab1").iter().map(fsverdict::cli::RunFile::path).collect();
    for (name, kind) in content(&whole) {
        let is_folder = kind.starts_with("40000 ");
        assert!(is_folder || known.contains(&name), "{name} is not among those that are attacked: {known:?}");
    }
}

#[test]
fn uml_cuts_that_are_swapped_for_a_link_meanwhile_lead_nowhere() {
    let place = Place::new();
    let whole = whole_run(&place);
    let victim = Victim::new(&place);
    let run = place.path().join("run");
    for name in ["cuts", "traces"] {
        copy_of_run(&whole, &run);
        let (own, theirs) = (run.join(name), place.path().join("theirs"));
        remove_any(&theirs);
        symlink(place.path().join("victim"), &theirs).unwrap();
        let stop = AtomicBool::new(false);
        let times = std::thread::scope(|scope| {
            let swapper = scope.spawn(|| {
                let mut times = 0;
                while !stop.load(Ordering::Relaxed) {
                    times += u32::from(renameat_with(CWD, &own, CWD, &theirs, RenameFlags::EXCHANGE).is_ok());
                    std::thread::yield_now();
                }
                times
            });
            for _ in 0..if is_full() { 3 } else { 1 } {
                let seen = to_its_end(place.command(&["crash", "run", "--again", "--yes", "--quiet"]), None);
                assert!(seen.code.is_some(), "{name}: it hangs");
                victim.is_not_shown(&seen, name);
            }
            stop.store(true, Ordering::Relaxed);
            swapper.join().unwrap()
        });
        if times == 0 {
            return not_run("this filesystem cannot exchange names");
        }
        victim.is_unharmed(name);
    }
    place.is_left_clean();
}

/// What writes an image or a log of a state outside of the run.
const OUTPUTS: [&[&str]; 3] = [
    &["crash", "run", "ext4", "60-all", "--image", "small/out", "--yes"],
    &["crash", "run", "ext4", "rot-77-zero", "--image", "small/out", "--yes"],
    &["crash", "run", "ext4", "--export", "small/out", "--part", "0", "--yes"],
];

#[test]
fn uml_images_and_logs_of_cuts_are_whole_or_not_there() {
    let place = Place::new();
    whole_run(&place);
    fs::rename(place.path().join("whole"), place.path().join("run")).unwrap();
    let small = place.path().join("small");
    fs::create_dir(&small).unwrap();
    let is_empty = || fs::read_dir(&small).unwrap().next().is_none();
    for arguments in OUTPUTS {
        let words = [&["-c", "ulimit -f 1; exec \"$0\" \"$@\"", PROGRAM], arguments].concat();
        place.any("sh", &words).exits(1).says(&["error: ", "hint: ", "ulimit -f"]);
        assert!(is_empty(), "{arguments:?}");
        if is_root() {
            tool(&["mount", "-t", "tmpfs", "-o", "size=16k", "fsverdict-test", small.to_str().unwrap()]);
            let seen = place.fsverdict(arguments);
            let left = is_empty();
            tool(&["umount", "--lazy", small.to_str().unwrap()]);
            assert!(left, "{arguments:?}: {seen:#?}");
            seen.exits(1).says(&["cannot make small/out", "hint: "]);
        }
        place.fsverdict(arguments).exits(0);
        assert!(fs::metadata(small.join("out")).unwrap().len() > 0, "{arguments:?}");
        fs::remove_file(small.join("out")).unwrap();
    }
}
