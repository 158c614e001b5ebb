//! A FUSE server that passes a folder through unchanged: the cost of a filesystem in user space compared with the
//! kernel's, before it does any work of its own.
//!
//! The agent runs it as a separate process of this program: client and server must differ, since a process that waits
//! for itself cannot be killed. It mounts the folder, answers requests until it is unmounted, and ends.

mod attributes;
mod known_files;
mod operations;
mod served;

use std::path::Path;

use fuser::{Config, Session, SessionACL};
use rustix::fs::{FileType, Mode, OFlags, fstat, open};

use fsverdict_linux::host::mounts;
use fsverdict_linux::host::talk::print_line;
use served::ServedFolder;

/// How the program calls this step of itself.
pub const COMMAND: &str = "pass-through";

/// Where the kernel hands requests out.
pub const DEVICE: &str = "/dev/fuse";

/// How it is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServingManner {
    /// How many requests are answered at once.
    pub threads: usize,
    /// Whether the kernel caches written data, and passes them on later.
    pub writeback: bool,
}

impl ServingManner {
    /// As arguments of [`COMMAND`], after the folder and the mount point.
    pub fn words(self) -> [String; 2] {
        [self.threads.to_string(), self.writeback.to_string()]
    }

    fn parse(words: &[String]) -> Option<Self> {
        let [threads, writeback] = words else { return None };
        Some(ServingManner { threads: threads.parse().ok()?, writeback: writeback.parse().ok()? })
    }
}

/// `fsverdict pass-through FOLDER POINT THREADS WRITEBACK`; the exit status.
pub fn main(arguments: impl Iterator<Item = String>) -> u8 {
    let arguments: Vec<String> = arguments.collect();
    let served = match &arguments[..] {
        [folder, point, manner @ ..] => match ServingManner::parse(manner) {
            Some(manner) => serve_folder(Path::new(folder), Path::new(point), manner),
            None => Err("it is an internal command that only fsverdict starts".to_owned()),
        },
        _ => Err("it is an internal command that only fsverdict starts".to_owned()),
    };
    match served {
        Ok(()) => 0,
        Err(error) => {
            print_line(&format!("fsverdict {COMMAND}: {error}"));
            1
        }
    }
}

/// Shows the folder at the point until it is unmounted there.
fn serve_folder(folder: &Path, point: &Path, manner: ServingManner) -> Result<(), String> {
    let describe_error = |what: &str, path: &Path| {
        let path = path.display().to_string();
        let action = what.to_owned();
        move |error: rustix::io::Errno| format!("cannot {action} {path}: {error}")
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = open(folder, flags, Mode::empty()).map_err(describe_error("open the folder", folder))?;
    let status = fstat(&root).map_err(describe_error("look at the folder", folder))?;
    if FileType::from_raw_mode(status.st_mode) != FileType::Directory {
        return Err(format!("{} is no folder", folder.display()));
    }
    let device = Path::new(DEVICE);
    let channel = open(device, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
        .map_err(describe_error("open", device))?;
    mounts::mount_fuse(&channel, point, status.st_mode).map_err(|error| error.to_string())?;
    // The creator's mode is complete: the kernel has applied the umask.
    rustix::process::umask(Mode::empty());
    let mut config = Config::default();
    config.n_threads = Some(manner.threads);
    let served = ServedFolder::new(root, &status, manner.writeback);
    Session::from_fd(served, channel, SessionACL::All, config)
        .and_then(Session::run)
        .map_err(|error| format!("cannot serve {}: {error}", folder.display()))
}
