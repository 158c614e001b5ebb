//! A FUSE server that passes a folder through unchanged: the cost of a filesystem in user space compared with the
//! kernel's, before it does any work of its own.
//!
//! The agent runs it as a separate process of this program: client and server must differ, since a process that waits
//! for itself cannot be killed. It mounts the folder, answers requests until it is unmounted, and ends.

mod attributes;
mod known_files;
mod operations;
mod served;

use std::path::{Path, PathBuf};

use fuser::{Config, Session, SessionACL};
use rustix::fs::{FileType, Mode, OFlags, fstat, open};

use fsverdict_linux::host::mounts::{self, MountError};
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
            None => Err(ServeError::Internal),
        },
        _ => Err(ServeError::Internal),
    };
    match served {
        Ok(()) => 0,
        Err(error) => {
            print_line(&format!("fsverdict {COMMAND}: {error}"));
            1
        }
    }
}

/// Why a folder cannot be served.
#[derive(Debug, thiserror::Error)]
enum ServeError {
    #[error("it is an internal command that only fsverdict starts")]
    Internal,
    #[error("cannot {action} {}: {source}", path.display())]
    Open { action: &'static str, path: PathBuf, source: rustix::io::Errno },
    #[error("{} is no folder", .0.display())]
    NoFolder(PathBuf),
    #[error(transparent)]
    Mount(#[from] MountError),
    #[error("cannot serve {}: {source}", folder.display())]
    Serve { folder: PathBuf, source: std::io::Error },
}

/// Shows the folder at the point until it is unmounted there.
fn serve_folder(folder: &Path, point: &Path, manner: ServingManner) -> Result<(), ServeError> {
    let describe_error = |action: &'static str, path: &Path| {
        let path = path.to_owned();
        move |source: rustix::io::Errno| ServeError::Open { action, path, source }
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = open(folder, flags, Mode::empty()).map_err(describe_error("open the folder", folder))?;
    let status = fstat(&root).map_err(describe_error("look at the folder", folder))?;
    if FileType::from_raw_mode(status.st_mode) != FileType::Directory {
        return Err(ServeError::NoFolder(folder.to_owned()));
    }
    let device = Path::new(DEVICE);
    let channel = open(device, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
        .map_err(describe_error("open", device))?;
    mounts::mount_fuse(&channel, point, status.st_mode)?;
    // The creator's mode is complete: the kernel has applied the umask.
    rustix::process::umask(Mode::empty());
    let mut config = Config::default();
    config.n_threads = Some(manner.threads);
    let served = ServedFolder::new(root, &status, manner.writeback);
    Session::from_fd(served, channel, SessionACL::All, config)
        .and_then(Session::run)
        .map_err(|source| ServeError::Serve { folder: folder.to_owned(), source })
}
