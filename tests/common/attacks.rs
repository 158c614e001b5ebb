//! What others can put into the folder of a run, in the place of each of its files, and what no command may make of it.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use fsverdict::cli::{RunFile, run_files};
use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::{Place, Seen, is_root, tool};

const SECRET: &str = "the victim's own words";

/// What lies in the place of a file, or of the folder that the file is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attack {
    Link,
    HardLink,
    Pipe,
    /// A folder in the place of the file.
    Folder,
    /// A link in the place of its folder, of which there is one.
    FolderLink,
    /// Another user's file; only root can make one.
    OtherOwner,
}

pub const ATTACKS: [Attack; 6] =
    [Attack::Link, Attack::HardLink, Attack::Pipe, Attack::Folder, Attack::FolderLink, Attack::OtherOwner];

impl Attack {
    /// Whether it can be made of this file, by whoever runs the tests.
    pub fn applies(self, file: &RunFile) -> bool {
        match self {
            Attack::FolderLink => !file.folders.is_empty(),
            Attack::OtherOwner => is_root(),
            _ => true,
        }
    }
}

/// The table of the program, for a candidate and a site.
pub fn files(candidate: &str, site: &str) -> Vec<RunFile> {
    run_files(candidate, &site.parse().unwrap())
}

/// A file and a folder beside the run that are not to change.
pub struct Victim {
    folder: PathBuf,
}

impl Victim {
    pub fn new(place: &Place) -> Victim {
        let folder = place.path().join("victim");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("file"), SECRET).unwrap();
        Victim { folder }
    }

    fn file(&self) -> PathBuf {
        self.folder.join("file")
    }

    /// Puts the attack into the folder of the run.
    pub fn attack(&self, run: &Path, file: &RunFile, attack: Attack) {
        let path = run.join(file.path());
        let above = path.parent().unwrap();
        if attack == Attack::FolderLink {
            let _ = fs::remove_dir_all(above);
            if let Some(outer) = above.parent().filter(|outer| outer.starts_with(run)) {
                fs::create_dir_all(outer).unwrap();
            }
            symlink(&self.folder, above).unwrap();
            return;
        }
        fs::create_dir_all(above).unwrap();
        let was = fs::read(&path).unwrap_or_default();
        let _ = fs::remove_file(&path);
        match attack {
            Attack::Link => symlink(self.file(), &path).unwrap(),
            Attack::HardLink => fs::hard_link(self.file(), &path).unwrap(),
            Attack::Pipe => mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o666), 0).unwrap(),
            Attack::Folder => fs::create_dir(&path).unwrap(),
            Attack::OtherOwner => {
                fs::write(&path, was).unwrap();
                std::os::unix::fs::chown(&path, Some(4242), Some(4242)).unwrap();
            }
            Attack::FolderLink => {}
        }
    }

    /// Nothing of it changed, and nothing new lies there.
    pub fn is_unharmed(&self, why: &str) {
        assert_eq!(fs::read_to_string(self.file()).unwrap(), SECRET, "{why}");
        let names: Vec<_> =
            fs::read_dir(&self.folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["file"], "{why}");
    }

    /// Nobody showed any of it.
    pub fn is_not_shown(&self, seen: &Seen, why: &str) {
        assert!(!seen.stdout.contains(SECRET) && !seen.stderr.contains(SECRET), "{why}: {seen:#?}");
    }
}

/// The command to its end; what hangs is ended, and has no exit status then.
pub fn to_its_end(mut command: std::process::Command, path: Option<&str>) -> Seen {
    if let Some(path) = path {
        command.env("PATH", path);
    }
    let output = assert_cmd::Command::from_std(command).timeout(Duration::from_secs(120)).output().unwrap();
    Seen::of(&output)
}

/// What is in the folder of a run: each path below it with its kind, inode and content.
pub fn content(run: &Path) -> Vec<(String, String)> {
    let mut listed = Vec::new();
    let mut folders = vec![run.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let known = path.symlink_metadata().unwrap();
            let shown = path.strip_prefix(run).unwrap().to_string_lossy().into_owned();
            if known.is_dir() {
                folders.push(path.clone());
            }
            listed.push((shown, format!("{:o} {}", known.mode() & 0o170_000, known.ino())));
        }
    }
    listed.sort();
    listed
}

/// The run in `from` once more, as `to`, with hard links to nothing; as root the folder and all in it belong to `nobody`.
pub fn copy_of_run(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    tool(&["cp", "-a", from.to_str().unwrap(), to.to_str().unwrap()]);
    if is_root() {
        tool(&["chown", "-R", "65534:65534", to.to_str().unwrap()]);
    }
}

/// Removes what has this path, a link or a folder, if anything has; after names were exchanged it may be either.
pub fn remove_any(path: &Path) {
    match path.symlink_metadata() {
        Ok(known) if known.is_dir() => fs::remove_dir_all(path).unwrap(),
        Ok(_) => fs::remove_file(path).unwrap(),
        Err(_) => {}
    }
}
