//! Tests that links, pipes and devices in the place of a file or folder are neither followed, written to, waited for nor read.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::{FolderFile, FolderHandle, FolderRefusal};

/// The obstacles that can lie in the place of a file, each with the expected message.
const OBSTACLES: [(&str, &str); 5] = [
    ("link", "it is a link"),
    ("hard link", "it has 2 names"),
    ("pipe", "it is a pipe"),
    ("folder", "it is a folder"),
    ("socket", "it is a socket"),
];

fn put(obstacle: &str, victim: &Path, at: &Path) {
    match obstacle {
        "link" => symlink(victim, at).unwrap(),
        "hard link" => fs::hard_link(victim, at).unwrap(),
        "pipe" => mknodat(CWD, at, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap(),
        "folder" => fs::create_dir(at).unwrap(),
        "socket" => drop(std::os::unix::net::UnixListener::bind(at).unwrap()),
        other => panic!("{other}"),
    }
}

/// Every way of using a file that may be there.
type Use = fn(&FolderFile) -> std::io::Result<()>;
const USES: [(&str, Use); 9] = [
    ("open", |file| file.open().map(drop)),
    ("open_to_append", |file| file.open_to_append().map(drop)),
    ("read", |file| file.read(100).map(drop)),
    ("create_new", |file| file.create_new().map(drop)),
    ("create_new_to_append", |file| file.create_new_to_append().map(drop)),
    ("replace", |file| file.replace(|out| out.write_all(b"new"))),
    ("replace_private", |file| file.replace_private(b"new")),
    ("remove", |file| file.remove().map(drop)),
    ("rename_to", |file| file.rename_to("other".as_ref())),
];

#[test]
fn no_use_of_a_file_touches_what_others_put_in_its_place() {
    for (obstacle, said) in OBSTACLES {
        for (name, using) in USES {
            let place = tempfile::tempdir().unwrap();
            let (run, victim) = (place.path().join("run"), place.path().join("victim"));
            fs::create_dir(&run).unwrap();
            fs::write(&victim, "victim").unwrap();
            put(obstacle, &victim, &run.join("file"));
            let folder = FolderHandle::open(&run).unwrap();
            let error = using(&folder.file("file")).unwrap_err();
            if name.starts_with("create") {
                assert_eq!(error.kind(), std::io::ErrorKind::AlreadyExists, "{obstacle}, {name}: {error}");
            } else {
                assert!(error.to_string().starts_with(said), "{obstacle}, {name}: {error}");
                let refusal = FolderRefusal::find_in(&error).unwrap();
                assert!(!refusal.hint.is_empty(), "{obstacle}, {name}");
            }
            assert_eq!(fs::read_to_string(&victim).unwrap(), "victim", "{obstacle}, {name}");
            assert_eq!(fs::read_dir(&run).unwrap().count(), 1, "{obstacle}, {name}: nothing else is left");
            assert!(fs::symlink_metadata(run.join("file")).is_ok(), "{obstacle}, {name}: it stays");
            assert!(!folder.file("file").put_new(b"new").unwrap(), "{obstacle}");
        }
    }
}

#[test]
fn what_is_written_is_whole_or_not_there() {
    let place = tempfile::tempdir().unwrap();
    let folder = FolderHandle::open(place.path()).unwrap();
    let file = folder.file("file");
    let failed = file.replace(|out| {
        out.write_all(b"half")?;
        Err(std::io::ErrorKind::StorageFull.into())
    });
    assert_eq!(failed.unwrap_err().kind(), std::io::ErrorKind::StorageFull);
    assert!(folder.list_names().unwrap().is_empty());
    file.replace(|out| out.write_all(b"first")).unwrap();
    file.replace(|out| out.write_all(b"second")).unwrap();
    assert_eq!(file.read(6).unwrap(), b"second");
    assert_eq!(file.read(5).unwrap_err().to_string(), "it has more than 5 bytes");
    assert!(file.is_name_of(&file.open().unwrap()));
    let before = file.open().unwrap();
    file.replace_private(b"third").unwrap();
    assert!(!file.is_name_of(&before));
    assert_eq!(fs::metadata(file.path()).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(folder.list_names().unwrap(), ["file"]);
    assert!(file.remove().unwrap() && !file.remove().unwrap());
    drop(folder.nameless_file().unwrap());
    assert!(folder.list_names().unwrap().is_empty());
}

#[test]
fn of_many_that_put_a_file_there_one_does_and_it_is_whole() {
    let place = tempfile::tempdir().unwrap();
    let file = FolderHandle::open(place.path()).unwrap().file("file");
    let text = |number: usize| format!("{number}").repeat(10_000);
    let put = |number| file.put_new(text(number).as_bytes()).unwrap();
    let won = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|number| scope.spawn(move || put(number))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<bool>>()
    });
    assert_eq!(won.iter().filter(|won| **won).count(), 1);
    let first = won.iter().position(|won| *won).unwrap();
    assert_eq!(file.read(100_000).unwrap(), text(first).as_bytes());
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
}

#[test]
fn a_folder_is_entered_and_removed_through_no_link() {
    let place = tempfile::tempdir().unwrap();
    let (run, victim) = (place.path().join("run"), place.path().join("victim"));
    fs::create_dir(&run).unwrap();
    fs::create_dir(&victim).unwrap();
    fs::write(victim.join("thesis"), "x").unwrap();
    let folder = FolderHandle::open(&run).unwrap();
    for obstacle in ["link", "pipe"] {
        put(obstacle, &victim, &run.join("cuts"));
        for refused in [
            folder.open_subfolder("cuts").map(drop),
            folder.open_or_create_subfolder("cuts").map(drop),
            folder.remove_subfolder("cuts").map(drop),
        ] {
            let error = refused.unwrap_err();
            assert!(error.to_string().contains("no folder"), "{obstacle}: {error}");
        }
        fs::remove_file(run.join("cuts")).unwrap();
    }
    assert!(!folder.remove_subfolder("cuts").unwrap());
    let cuts = folder.open_or_create_subfolder("cuts").unwrap();
    cuts.file("log").put_new(b"log").unwrap();
    symlink(&victim, run.join("cuts/link")).unwrap();
    // The handle still leads to the folder that was opened, although its name leads elsewhere.
    fs::rename(run.join("cuts"), run.join("moved")).unwrap();
    symlink(&victim, run.join("cuts")).unwrap();
    assert_eq!(cuts.file("log").read(3).unwrap(), b"log");
    cuts.file("thesis").replace(|out| out.write_all(b"new")).unwrap();
    assert!(folder.remove_subfolder("moved").unwrap());
    assert_eq!(fs::read_to_string(victim.join("thesis")).unwrap(), "x");
}

#[test]
fn a_name_is_one_component_and_nothing_else() {
    let place = tempfile::tempdir().unwrap();
    let run = place.path().join("run");
    fs::create_dir(&run).unwrap();
    fs::write(place.path().join("victim"), "x").unwrap();
    let folder = FolderHandle::open(&run).unwrap();
    for name in ["../victim", "", ".", "..", "a/b", "/etc/passwd", "file/"] {
        for (using, result) in USES.map(|(using, call)| (using, call(&folder.file(name)))) {
            assert!(result.unwrap_err().to_string().contains("no name of a file"), "{name:?}, {using}");
        }
        assert!(
            folder.open_or_create_subfolder(name).is_err() && folder.file(name).put_new(b"").is_err(),
            "{name:?}"
        );
    }
    assert!(folder.list_names().unwrap().is_empty());
}
