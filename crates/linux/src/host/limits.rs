//! Recognises failures that are caused by limits of this machine or of the shell, such as open files or processes, and
//! not by a filesystem.

use std::io;

use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

use fsverdict_text::{Bytes, Hinted};

/// A run with several trials under way, and the programs they start, stay far below.
const FILES: u64 = 128;
/// The first thread's, in bytes; the kernel never starts a program that has less than 128 KiB for its arguments and this.
const STACK: u64 = 1 << 20;
/// Journals and traces grow to this, in bytes.
const FILE_SIZE: u64 = 1 << 30;

/// The hint for an error that [`is_of_machine`].
pub const HINT: &str = "a limit of this machine or shell was reached: `ulimit -a` and `df` show it";

/// Limits under which nothing can be tried.
#[derive(Debug, thiserror::Error)]
pub enum LimitError {
    #[error("programs started from this shell may open {allowed} files, but at least {FILES} are needed")]
    Files { allowed: u64 },
    #[error("programs started from this shell may use {} of stack, but at least {} are needed", Bytes(*allowed), Bytes(STACK))]
    Stack { allowed: u64 },
    #[error("programs started from this shell may write files of up to {}, but {} are needed", Bytes(*allowed), Bytes(*wanted))]
    FileSize { allowed: u64, wanted: u64 },
}

impl Hinted for LimitError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            LimitError::Files { .. } => "ulimit -n 1024".to_owned(),
            LimitError::Stack { .. } => "ulimit -s 8192".to_owned(),
            LimitError::FileSize { .. } => "ulimit -f unlimited".to_owned(),
        })
    }
}

/// Whether an error says that something of this machine was used up: room on a disk, open files, processes, memory.
pub fn is_of_machine(error: &io::Error) -> bool {
    let full = [Errno::NOSPC, Errno::DQUOT, Errno::FBIG];
    Errno::from_io_error(error).is_some_and(|errno| full.contains(&errno)) || cannot_start(error)
}

/// The same for errors of starting programs. Full disks are excluded: it may be the disk under test.
pub fn cannot_start(error: &io::Error) -> bool {
    let short = [Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::AGAIN];
    Errno::from_io_error(error).is_some_and(|errno| short.contains(&errno))
}

/// Whether the first thread has the stack that this program takes.
pub fn check_stack() -> Result<(), LimitError> {
    match getrlimit(Resource::Stack).current {
        Some(allowed) if allowed < STACK => Err(LimitError::Stack { allowed }),
        _ => Ok(()),
    }
}

/// Whether trials on a device of this many bytes, which may lie in a file, can be tried at all.
pub fn check_file_size_limit(device: u64) -> Result<(), LimitError> {
    if let Some(allowed) = getrlimit(Resource::Nofile).current.filter(|allowed| *allowed < FILES) {
        return Err(LimitError::Files { allowed });
    }
    let wanted = device.max(FILE_SIZE);
    match getrlimit(Resource::Fsize).current {
        Some(allowed) if allowed < wanted => Err(LimitError::FileSize { allowed, wanted }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use rustix::io::Errno;

    use super::{cannot_start, is_of_machine};

    #[test]
    fn a_full_disk_is_the_machines_and_a_missing_file_is_not() {
        let of = |errno: Errno| io::Error::from(errno);
        assert!(is_of_machine(&of(Errno::NOSPC)) && !cannot_start(&of(Errno::NOSPC)));
        assert!(is_of_machine(&of(Errno::MFILE)) && cannot_start(&of(Errno::MFILE)));
        assert!(!is_of_machine(&of(Errno::NOENT)) && !is_of_machine(&io::Error::other("full")));
    }
}
