//! Finds and removes the leftovers of a crash: `fsverdict clean`.
//!
//! Sandboxes, auto-clear loop devices and unnamed images leave nothing behind if the kernel supports all of them; this
//! is for machines without namespaces, and for the moments in between. Only marked objects that no living run uses are
//! touched: a loop device that fsverdict named or that uses a file in its scratch folder, a dm device called
//! `fsverdict-…`, a mount of one of these, a scratch file or a (noted) folder that outlived its creator, an I/O
//! scheduler set by an ended trial, a guest kernel or agent without a conductor.

use fsverdict_text::Hinted;

mod devices;
mod processes;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::fs::{Mode, OFlags};

use devices::{can_be_claimed, has_holders, open_devices, our_loops, our_mappings, our_mounts, sequence_of};
use processes::{end_process, stray_processes};

use super::program::{Program, ProgramError, require_success};
use crate::host::block_device::{DeviceNumber, read_trimmed};
use crate::host::borrowed_scheduler;
use crate::host::image::{SCRATCH_PREFIX, check_private, default_folders};
use crate::host::own_folder;
use crate::host::own_folder::{NOTE_PREFIX, noted_folder};
use crate::host::process_key::ProcessKey;
use crate::host::root::{Root, names_in};
use crate::host::syscall;

/// How often it is looked again whether something stays, and the pause before each look.
const LOOKS: u32 = 5;
const PAUSE: Duration = Duration::from_millis(100);

/// One thing that was left behind.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Leftover {
    /// A guest kernel or an agent without a conductor.
    Process {
        key: ProcessKey,
        what: String,
    },
    Mount {
        point: PathBuf,
        source: PathBuf,
    },
    Mapping {
        name: String,
        /// Which of all disks the kernel has met it is (Linux 5.15 and later).
        sequence: Option<u64>,
    },
    Loop {
        path: PathBuf,
        /// The file behind it, as the kernel names it.
        backing: String,
        /// Which of all disks the kernel has met it is (Linux 5.15 and later).
        sequence: Option<u64>,
    },
    File {
        path: PathBuf,
    },
    /// A folder of ours in one of the user's.
    Folder {
        path: PathBuf,
        note: PathBuf,
    },
    /// An I/O scheduler that a run had set.
    Scheduler {
        /// The disk's name in sysfs.
        disk: String,
        former: String,
    },
}

impl fmt::Display for Leftover {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Leftover::Process { key, what } => write!(formatter, "process {} ({what})", key.pid),
            Leftover::Mount { point, source } => {
                write!(formatter, "mount {} (of {})", point.display(), source.display())
            }
            Leftover::Mapping { name, .. } => write!(formatter, "device mapping {name}"),
            Leftover::Loop { path, backing, .. } => {
                write!(formatter, "loop device {} (of {backing})", path.display())
            }
            Leftover::File { path } => write!(formatter, "scratch file {}", path.display()),
            Leftover::Folder { path, .. } => write!(formatter, "folder {}", path.display()),
            Leftover::Scheduler { disk, former } => {
                write!(formatter, "setting of the I/O scheduler of {disk} (before: {former})")
            }
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum LeftoverError {
    #[error(transparent)]
    System(#[from] io::Error),
    #[error(transparent)]
    Program(#[from] ProgramError),
    #[error("it has changed; run the command again")]
    Changed,
}

impl Hinted for LeftoverError {
    fn hint(&self) -> Option<String> {
        match self {
            LeftoverError::Program(error) => error.hint(),
            LeftoverError::System(_) | LeftoverError::Changed => None,
        }
    }
}

/// The leftovers in the order in which they can be removed. Objects that cannot be examined (of other users, if not
/// root) are not reported.
pub fn find_leftovers(root: &Root) -> Vec<Leftover> {
    let folders = default_folders();
    find_lasting(|| find_in(root, &folders))
}

/// The leftovers common to several looks. Resources that a living run releases exist for a moment after their last user
/// has ended, and look like leftovers; and a later resource may have the same name.
fn find_lasting(mut look: impl FnMut() -> Vec<Leftover>) -> Vec<Leftover> {
    let mut leftovers = look();
    for _ in 0..LOOKS {
        if leftovers.is_empty() {
            break;
        }
        thread::sleep(PAUSE);
        let again = look();
        leftovers.retain(|leftover| again.contains(leftover));
    }
    leftovers
}

/// The leftovers found by one look, with these scratch folders.
fn find_in(root: &Root, folders: &[PathBuf]) -> Vec<Leftover> {
    let mut leftovers = stray_processes(root);
    let loops = our_loops(root, folders);
    let mappings = our_mappings(root);
    let ours: BTreeSet<DeviceNumber> =
        loops.iter().map(|(number, _)| *number).chain(mappings.iter().map(|(number, _)| *number)).collect();
    let (mounts, mounted) = our_mounts(root, &ours, folders);
    leftovers.extend(mounts);
    let open = open_devices(root);
    for (number, leftover) in mappings.into_iter().chain(loops) {
        // A mount that is undone first does not keep it; an open descriptor does, and so does a mount elsewhere.
        let free = mounted.contains(&number) || has_holders(root, number) || can_be_claimed(root, number);
        if !open.contains(&number) && free {
            leftovers.push(leftover);
        }
    }
    let private_folders = folders.iter().filter(|folder| check_private(folder).is_ok());
    leftovers.extend(private_folders.flat_map(|folder| scratch_files(root, folder)));
    let schedulers = borrowed_scheduler::left_behind(root).into_iter();
    leftovers.extend(schedulers.map(|(disk, former)| Leftover::Scheduler { disk, former }));
    leftovers
}

/// Removes one leftover after checking that it is unchanged.
pub fn remove_leftover(leftover: &Leftover) -> Result<(), LeftoverError> {
    let root = Root::default();
    match leftover {
        Leftover::Process { key, .. } => end_process(&root, *key),
        Leftover::Mount { point, .. } => {
            let flags = rustix::mount::UnmountFlags::NOFOLLOW;
            Ok(rustix::mount::unmount(point, flags).map_err(io::Error::from)?)
        }
        Leftover::Mapping { name, .. } => {
            require_success(Program::new(["dmsetup", "remove", "--retry", name]).run("clean")?)?;
            Ok(())
        }
        Leftover::Loop { path, backing, sequence } => clear_loop(&root, path, backing, *sequence),
        Leftover::File { path } => Ok(fs::remove_file(path)?),
        Leftover::Folder { note, .. } => Ok(own_folder::remove_noted(note)?),
        Leftover::Scheduler { disk, .. } => Ok(borrowed_scheduler::put_back(&root, disk)?),
    }
}

fn clear_loop(root: &Root, path: &Path, backing: &str, sequence: Option<u64>) -> Result<(), LeftoverError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let now = || read_trimmed(&root.path(format!("sys/class/block/{name}/loop/backing_file")));
    let device = match rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) {
        Ok(device) => device,
        // Detached itself meanwhile, as the mount before it was undone.
        Err(_) if now().is_none() => return Ok(()),
        Err(error) => return Err(io::Error::from(error).into()),
    };
    // Checked with the device open: from here on its attachment cannot change.
    match now() {
        None => Ok(()),
        Some(now) if now == backing && sequence_of(root, &name) == sequence => {
            Ok(syscall::clear_loop(&device).map_err(io::Error::from)?)
        }
        Some(_) => Err(LeftoverError::Changed),
    }
}

fn scratch_files(root: &Root, folder: &Path) -> Vec<Leftover> {
    let names = names_in(folder).into_iter().filter_map(|name| {
        let key = [SCRATCH_PREFIX, NOTE_PREFIX].iter().find_map(|prefix| name.strip_prefix(prefix))?;
        let path = folder.join(&name);
        let is_file = fs::symlink_metadata(&path).is_ok_and(|file| file.is_file());
        if !is_file || key.parse::<ProcessKey>().ok()?.is_alive(root) {
            return None;
        }
        Some(match name.starts_with(NOTE_PREFIX).then(|| noted_folder(&path)).flatten() {
            Some(own) => Leftover::Folder { path: own, note: path },
            // Without a word in it, a note is no more than a file.
            None => Leftover::File { path },
        })
    });
    names.collect()
}
