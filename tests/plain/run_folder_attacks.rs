//! Others put something else in the place of a file in the folder of a run, before a command or while it works: it is refused, and
//! nothing outside the folder is read, written, waited for or removed. As root the folder is somebody else's.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use fsverdict::cli::RunFile;
use fsverdict_disk::device::trace::{Flags, TraceWriter, Traced};
use fsverdict_disk::device::{Action, Completion, Request};
use fsverdict_folders::FolderHandle;
use fsverdict_lab::lab::TraceFile;
use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::common::attacks::{ATTACKS, Attack, Victim, content, copy_of_run, files, remove_any, to_its_end};
use crate::common::shards::{shard, shared_run};
use crate::common::{Place, is_full, members, not_run};

const SITE: &str = "lab1";
const CANDIDATE: &str = "ext3";

/// A program in the place of Slurm's and of ssh, which does nothing and has nothing under way.
fn stand_ins(place: &Place) -> String {
    let bin = place.path().join("bin");
    fs::create_dir(&bin).unwrap();
    for name in ["sbatch", "squeue", "scancel", "ssh", "browser"] {
        let program = bin.join(name);
        fs::write(&program, "#!/bin/sh\nexit 0\n").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    }
    format!("{}:{}", bin.display(), std::env::var("PATH").unwrap())
}

/// A run of one site with a block, a trace, and everything that is made of it.
fn whole_run(place: &Place, path: &str) -> std::path::PathBuf {
    let run = place.path().join("whole");
    shared_run(&run, 1);
    shard(&run, (SITE, 1), ("", 1.0));
    fs::create_dir(run.join("traces")).unwrap();
    for device in [1, 2] {
        let file = TraceFile::of_device(&FolderHandle::open(&run).unwrap(), CANDIDATE, 1, 1, device);
        let mut writer = TraceWriter::new(fs::File::create(file.path()).unwrap(), u64::MAX).unwrap();
        let request = Request { id: 1, operation: Action::Write, sector: 0, sectors: 8 };
        let done = Completion { request, submitted_ns: 1, completed_ns: 1000 };
        writer.record(&Traced::done(&done, Flags::default())).unwrap();
        writer.finish().unwrap();
    }
    fs::write(place.path().join("sites.toml"), format!("[[site]]\nname = \"{SITE}\"\nnode = \"{SITE}\"\n"))
        .unwrap();
    // That writes its key and its sites, and the reports.
    let seen =
        to_its_end(place.command(&["resume", "whole", "--on", "slurm", "--sites", "sites.toml"]), Some(path));
    for name in ["run-id", "fleet.json", "report.html", "report.md", "report.json", "journal.jsonl"] {
        assert!(run.join(name).is_file(), "{name}: {seen:#?}");
    }
    run
}

/// What commands use a file, and whether each fails by what lies in its place; none where a guest or a lab is needed.
fn commands(file: &RunFile) -> Option<Vec<(&'static [&'static str], bool)>> {
    const MERGE: &[&str] = &["merge", "run"];
    const REPORT: &[&str] = &["report", "run"];
    const BUNDLE: &[&str] = &["bundle", "run", "-o", "run.tar.gz"];
    const STATUS: &[&str] = &["status", "run", "--watch"];
    const PAGE: &[&str] = &["report", "run", "--open"];
    const RESUME: &[&str] = &["resume", "run", "--on", "slurm", "--sites", "sites.toml", "--yes"];
    const TRACE: &[&str] = &["trace", "run", "ext3"];
    const SECOND_TRACE: &[&str] = &["trace", "run", "ext3", "--device", "2"];
    const BLOCK: &[&str] = &["block", "run", "--site", "lab1", "--block", "1", "--yes"];
    let name = file.path();
    Some(match name.as_str() {
        "plan.json" => {
            let others: [&[&str]; 3] =
                [&["show", "run"], &["crash", "run", "--yes"], &["compare", "run", "run"]];
            [MERGE, REPORT, BUNDLE, STATUS, PAGE, RESUME, TRACE, BLOCK]
                .into_iter()
                .chain(others)
                .map(|one| (one, true))
                .collect()
        }
        "journal.jsonl" => {
            vec![(MERGE, true), (REPORT, true), (STATUS, true), (BUNDLE, true), (PAGE, true), (RESUME, true)]
        }
        "fleet.json" => vec![(MERGE, true), (RESUME, true)],
        "run-id" => vec![(RESUME, true)],
        "report.html" => vec![(MERGE, true), (PAGE, true), (RESUME, true), (REPORT, false)],
        "report.md" | "report.json" => vec![(MERGE, true), (RESUME, true), (REPORT, false)],
        "sites/lab1/block-0001.jsonl" => vec![(MERGE, true), (RESUME, true)],
        "traces/1-ext3-1.trace" => vec![(TRACE, true), (&["report", "run", "--format", "html"], false)],
        "traces/1-ext3-1.2.trace" => vec![(SECOND_TRACE, true)],
        // Slurm is not asked for a block that is there.
        "slurm-lab1.log" => vec![(RESUME, false)],
        // Theirs is tests/uml/run_folder_attacks.rs.
        "sites/lab1/block-0001.partial" => return None,
        cuts if cuts.starts_with("cuts/") => return None,
        other => panic!("{other} is in the table, and no command that uses it"),
    })
}

#[test]
fn whatever_lies_in_the_place_of_a_file_of_a_run_is_refused() {
    let place = Place::new();
    let path = stand_ins(&place);
    let whole = whole_run(&place, &path);
    let victim = Victim::new(&place);
    let run = place.path().join("run");
    let (mut attacked, mut tried) = (0, 0);
    let journal_and_trace = ["journal.jsonl", "traces/1-ext3-1.trace"];
    for file in members(files(CANDIDATE, SITE), RunFile::path, journal_and_trace) {
        let Some(commands) = commands(&file) else { continue };
        attacked += 1;
        for attack in ATTACKS.into_iter().filter(|attack| attack.applies(&file)) {
            for (arguments, fails) in &commands {
                copy_of_run(&whole, &run);
                victim.attack(&run, &file, attack);
                let planted = content(&run).into_iter().find(|(name, _)| *name == file.path());
                let seen = to_its_end(place.command(arguments), Some(&path));
                let why = format!("{} as {attack:?}: {arguments:?}", file.path());
                victim.is_unharmed(&why);
                victim.is_not_shown(&seen, &why);
                assert!(seen.code.is_some(), "{why} hangs: {seen:#?}");
                if *fails {
                    assert!(matches!(seen.code, Some(1 | 2)), "{why}: {seen:#?}");
                    assert!(
                        seen.stderr.contains("error: ") && seen.stderr.contains("hint: "),
                        "{why}: {seen:#?}"
                    );
                }
                let stays = content(&run).into_iter().find(|(name, _)| *name == file.path());
                assert_eq!(stays, planted, "{why}: what lies there is left alone");
                let _ = fs::remove_file(place.path().join("run.tar.gz"));
                tried += 1;
            }
        }
    }
    let (files, attacks) = if is_full() { (11, 150) } else { (2, 20) };
    assert!(attacked >= files && tried > attacks, "{attacked} files, {tried} attacks");
}

/// Exchanges two names until it is told to stop.
fn exchange(one: &Path, other: &Path, stop: &AtomicBool) -> u32 {
    let mut times = 0;
    while !stop.load(Ordering::Relaxed) {
        times += u32::from(renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).is_ok());
    }
    times
}

#[test]
fn what_is_swapped_while_a_command_works_leads_nowhere() {
    let place = Place::new();
    let path = stand_ins(&place);
    let whole = whole_run(&place, &path);
    let victim = Victim::new(&place);
    let run = place.path().join("run");
    for name in ["journal.jsonl", "report.html", "report.md", "run-id", "sites", "traces", "sites/lab1"] {
        copy_of_run(&whole, &run);
        let own = run.join(name);
        let theirs = place.path().join("theirs");
        remove_any(&theirs);
        let target =
            if own.is_dir() { place.path().join("victim") } else { place.path().join("victim/file") };
        symlink(target, &theirs).unwrap();
        let stop = AtomicBool::new(false);
        let times = std::thread::scope(|scope| {
            let swapper = scope.spawn(|| exchange(&own, &theirs, &stop));
            for arguments in [
                &["merge", "run"] as &[&str],
                &["resume", "run", "--on", "slurm", "--sites", "sites.toml", "--yes"],
                &["report", "run", "--open"],
                &["trace", "run", "ext3"],
            ] {
                let seen = to_its_end(place.command(arguments), Some(&path));
                assert!(seen.code.is_some(), "{name}: {arguments:?} hangs");
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
}

#[test]
fn a_folder_of_a_run_that_is_a_link_to_nothing_is_not_made_elsewhere() {
    let place = Place::new();
    symlink(place.path().join("elsewhere"), place.path().join("run")).unwrap();
    let plan = place.path().join("whole");
    shared_run(&plan, 1);
    let seen = place.fsverdict(&["block", "demo", "--out", "run", "--site", "a", "--block", "1"]);
    assert_ne!(seen.code, Some(0), "{seen:#?}");
    assert!(!place.path().join("elsewhere").exists());
    assert_eq!(fs::read_dir(&plan).unwrap().count(), 1);
    assert!(Attack::FolderLink.applies(&files("ext4", "a").pop().unwrap()));
}
