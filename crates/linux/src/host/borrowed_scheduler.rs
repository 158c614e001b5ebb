//! A device's I/O scheduler, set for a while.
//!
//! A setting in sysfs outlives the process that made it, also after kill -9. Its former value is therefore noted first,
//! in a file below `/run` that its owner keeps locked: an unlocked note tells which value to restore. Like sysfs,
//! `/run` is reset at boot.

use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};

use super::root::{Root, names_in};
use super::sysfs::{Schedulers, partition_parent};

/// Where the notes are: one per disk, named as in sysfs, holding the name of a scheduler.
const NOTES: &str = "run/fsverdict/scheduler";

/// The number of attempts to lock a note, and the pause between: readers hold it only briefly.
const ATTEMPTS: u32 = 25;
const PAUSE: Duration = Duration::from_millis(20);

/// A scheduler that was set here, to be put back as it was.
#[derive(Debug)]
pub struct BorrowedScheduler {
    note: SchedulerNote,
}

impl BorrowedScheduler {
    /// Sets the scheduler of a device, or of the disk a partition is on. The kernel may load a module for it.
    ///
    /// # Errors
    /// When somebody else has borrowed it, it cannot be noted, or the kernel has no such scheduler for this device.
    pub fn set_scheduler(root: &Root, device: &str, wanted: &str) -> io::Result<BorrowedScheduler> {
        // A partition has no queue of its own.
        let disk = partition_parent(root, device).unwrap_or_else(|| device.to_owned());
        let mut note = SchedulerNote::open_note(root, &disk, true)?.ok_or(io::ErrorKind::ResourceBusy)?;
        if note.former.is_empty() {
            let scheduler = Schedulers::read_schedulers(root, &disk).map_err(io::Error::other)?;
            let scheduler = scheduler.ok_or(io::ErrorKind::Unsupported)?;
            note.write_former(&scheduler.current)?;
        }
        match fs::write(scheduler_file(root, &disk), wanted) {
            Ok(()) => Ok(BorrowedScheduler { note }),
            Err(error) => {
                note.restore_if_last(root)?;
                Err(error)
            }
        }
    }

    /// Restores the former value.
    ///
    /// # Errors
    /// When the kernel refuses; the note then stays.
    pub fn give_back(self, root: &Root) -> io::Result<()> {
        self.note.restore_if_last(root)
    }
}

/// Disks that still have the scheduler of a process that has ended, each with its former scheduler.
pub fn left_behind(root: &Root) -> Vec<(String, String)> {
    let disks = names_in(&root.path(NOTES)).into_iter();
    let shown = |disk: String| read_setting(&root.path(NOTES).join(&disk)).map(|former| (disk, former));
    disks.filter_map(shown).collect()
}

/// Puts back the scheduler of a disk that [`left_behind`] named; nothing, if somebody has done so.
///
/// # Errors
/// When the kernel refuses; the note then stays.
pub fn put_back(root: &Root, disk: &str) -> io::Result<()> {
    SchedulerNote::open_note(root, disk, false)?.map_or(Ok(()), |note| note.restore_if_last(root))
}

/// The content of an unlocked note; `None` if it is empty. Readers do not block each other.
fn read_setting(path: &Path) -> Option<String> {
    let mut file = File::open(path).ok()?;
    flock(&file, FlockOperation::NonBlockingLockShared).ok()?;
    let mut former = String::new();
    file.read_to_string(&mut former).ok()?;
    (!former.is_empty()).then_some(former)
}

fn scheduler_file(root: &Root, disk: &str) -> PathBuf {
    root.path(Path::new("sys/class/block").join(disk).join("queue/scheduler"))
}

#[derive(Debug)]
struct SchedulerNote {
    disk: String,
    file: File,
    path: PathBuf,
    /// A new note is empty.
    former: String,
}

impl SchedulerNote {
    /// Opens and locks the note about a disk. Returns `None` if another process holds it, or it does not exist and
    /// `make` is false.
    fn open_note(root: &Root, disk: &str, make: bool) -> io::Result<Option<SchedulerNote>> {
        let path = root.path(NOTES).join(disk);
        for _ in 0..ATTEMPTS {
            if make {
                fs::create_dir_all(root.path(NOTES))?;
            }
            match File::options().read(true).write(true).create(make).truncate(false).open(&path) {
                Ok(mut file) => {
                    let locked = flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
                    // Its owner may have removed it between our opening and our locking it.
                    if locked && file.metadata()?.nlink() > 0 {
                        let mut former = String::new();
                        file.read_to_string(&mut former)?;
                        return Ok(Some(SchedulerNote { disk: disk.to_owned(), file, path, former }));
                    }
                }
                // Another process may have removed the folder with its last note.
                Err(error) if error.kind() == io::ErrorKind::NotFound && !make => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
            thread::sleep(PAUSE);
        }
        Ok(None)
    }

    fn write_former(&mut self, former: &str) -> io::Result<()> {
        self.file.rewind()?;
        self.file.write_all(former.as_bytes())?;
        former.clone_into(&mut self.former);
        Ok(())
    }

    /// Restores the noted value, and removes the note.
    fn restore_if_last(self, root: &Root) -> io::Result<()> {
        let file = scheduler_file(root, &self.disk);
        // A disk that was unplugged has nothing to put back.
        if !self.former.is_empty() && file.exists() {
            fs::write(file, &self.former)?;
        }
        fs::remove_file(&self.path)?;
        // The folders go with the last note.
        for folder in self.path.ancestors().skip(1).take(2) {
            if fs::remove_dir(folder).is_err() {
                break;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{BorrowedScheduler, NOTES, left_behind, put_back};
    use crate::host::root::{Root, fake_root};

    const FILE: &str = "sys/class/block/sda/queue/scheduler";

    fn machine() -> (tempfile::TempDir, Root) {
        fake_root(&[(FILE, "none [mq-deadline] bfq\n")])
    }

    fn current(root: &Root) -> String {
        fs::read_to_string(root.path(FILE)).unwrap()
    }

    #[test]
    fn what_is_borrowed_is_given_back_without_a_trace() {
        let (_folder, root) = machine();
        let borrowed = BorrowedScheduler::set_scheduler(&root, "sda", "bfq").unwrap();
        assert_eq!(current(&root), "bfq");
        assert!(left_behind(&root).is_empty(), "its owner lives");
        assert!(put_back(&root, "sda").is_ok() && current(&root) == "bfq", "its owner lives");
        assert!(BorrowedScheduler::set_scheduler(&root, "sda", "none").is_err(), "one at a time");
        borrowed.give_back(&root).unwrap();
        assert_eq!(current(&root), "mq-deadline");
        assert!(!root.path("run/fsverdict").exists());
    }

    #[test]
    fn what_a_killed_owner_left_is_found_and_put_back() {
        let (_folder, root) = machine();
        drop(BorrowedScheduler::set_scheduler(&root, "sda", "bfq").unwrap());
        assert_eq!(left_behind(&root), [("sda".to_owned(), "mq-deadline".to_owned())]);
        put_back(&root, "sda").unwrap();
        assert_eq!(current(&root), "mq-deadline");
        assert!(left_behind(&root).is_empty() && !root.path(NOTES).exists());
        put_back(&root, "sda").unwrap();
    }

    #[test]
    fn the_next_owner_remembers_what_was_there_before_the_killed_one() {
        let (_folder, root) = machine();
        drop(BorrowedScheduler::set_scheduler(&root, "sda", "bfq").unwrap());
        BorrowedScheduler::set_scheduler(&root, "sda", "none").unwrap().give_back(&root).unwrap();
        assert_eq!(current(&root), "mq-deadline");
    }
}
