//! Root works in a folder that belongs to somebody else.

use std::fs;
use std::os::unix::fs::{chown, symlink};
use std::sync::atomic::{AtomicBool, Ordering};

use fsverdict_folders::FolderHandle;
use fsverdict_text::Hinted;
use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::common::attacks::Victim;
use crate::common::{Place, one_command};

const NOBODY: u32 = 65534;
const OTHER: u32 = 4242;

#[test]
fn loop_only_root_and_the_owner_of_a_folder_are_trusted_with_what_is_in_it() {
    let place = Place::new();
    let run = place.path().join("run");
    fs::create_dir_all(run.join("cuts")).unwrap();
    chown(&run, Some(NOBODY), None).unwrap();
    let folder = FolderHandle::open(&run).unwrap();
    for (owner, is_used) in [(0, true), (NOBODY, true), (OTHER, false)] {
        fs::write(run.join("file"), "x").unwrap();
        for path in [run.join("file"), run.join("cuts")] {
            chown(path, Some(owner), None).unwrap();
        }
        let uses = [
            folder.file("file").open().map(drop),
            folder.file("file").open_to_append().map(drop),
            folder.file("file").replace(|out| out.write_all(b"x")),
            folder.open_subfolder("cuts").map(drop),
            folder.open_or_create_subfolder("cuts").map(drop),
        ];
        for used in uses {
            assert_eq!(used.is_ok(), is_used, "{owner}: {used:?}");
            if let Err(error) = used {
                assert!(
                    error.to_string().contains("belongs to user 4242") && error.hint().is_some(),
                    "{error}"
                );
            }
        }
    }
}

#[test]
fn loop_a_run_of_roots_whose_folder_is_swapped_for_a_link_writes_nowhere_else() {
    let place = Place::new();
    let stranger = place.path().join("stranger");
    fs::create_dir(&stranger).unwrap();
    chown(&stranger, Some(NOBODY), Some(NOBODY)).unwrap();
    let victim = Victim::new(&place);
    let (run, theirs) = (stranger.join("run"), stranger.join("theirs"));
    symlink(place.path().join("victim"), &theirs).unwrap();
    let plan = place.plan("plan", &one_command("native", "true"));
    let stop = AtomicBool::new(false);
    let (seen, times) = std::thread::scope(|scope| {
        let swapper = scope.spawn(|| {
            let mut times = 0;
            while !stop.load(Ordering::Relaxed) {
                if times > 0 || run.join("plan.json").exists() {
                    times += u32::from(renameat_with(CWD, &run, CWD, &theirs, RenameFlags::EXCHANGE).is_ok());
                }
                std::thread::yield_now();
            }
            times
        });
        let disturbed = ["--set", "protocol.disturbed=false"];
        let seen = place.fsverdict(
            &[&["run", plan.as_str(), "--out", "stranger/run", "--quiet"], disturbed.as_slice()].concat(),
        );
        stop.store(true, Ordering::Relaxed);
        (seen, swapper.join().unwrap())
    });
    assert!(times > 0, "{seen:#?}");
    victim.is_unharmed("the folder of a run");
    let seen = seen.exits(0);
    let own = if run.is_symlink() { theirs } else { run };
    for name in ["plan.json", "journal.jsonl", "report.html", "report.md", "report.json"] {
        assert!(own.join(name).is_file(), "{name}: {seen:#?}");
    }
    place.is_left_clean();
}
