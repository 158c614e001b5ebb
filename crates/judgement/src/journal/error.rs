//! Errors of reading and writing a journal, which tell the failed operation, its file, and a remedy for the user.

use std::io;
use std::path::{Path, PathBuf};

use super::BoundError;
use fsverdict_text::Hinted;

#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error("cannot {action} the journal {}: {source}", path.display())]
    Io {
        /// The failed action: `open`, `read`, `write to` …
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("the journal {} is being written by another fsverdict", path.display())]
    Locked { path: PathBuf },
    /// A journal already exists where a new one was to be created.
    #[error("a run is recorded in {} already", path.display())]
    Exists { path: PathBuf },
    #[error("{}:{line}: not a journal record: {reason}", path.display())]
    Malformed {
        path: PathBuf,
        /// Line number, from 1.
        line: usize,
        reason: String,
    },
    #[error("{}: written in schema {found}, this fsverdict knows up to {known}", path.display())]
    TooNew { path: PathBuf, found: u32, known: u32 },
    /// The journal does not begin with the record that starts a run, or it is missing.
    #[error("{}: nothing was recorded here, not even that a run began", path.display())]
    NoRun { path: PathBuf },
    /// The open file no longer has the journal's name, so further records would be lost.
    #[error("the journal {} was removed or replaced while the run went on", path.display())]
    Gone { path: PathBuf },
    /// A number that JSON cannot represent: it would make the line unreadable.
    #[error("{what} is {value}, which cannot be recorded in {}", path.display())]
    NotFinite { path: PathBuf, what: String, value: f64 },
    /// A record that readers of a journal would reject because it exceeds their bounds.
    #[error("{} takes no further record: {reason}", path.display())]
    Unbounded { path: PathBuf, reason: BoundError },
    #[error("cannot write an event as JSON for {}: {source}", path.display())]
    Json { path: PathBuf, source: serde_json::Error },
    /// An earlier write failed and its partial line could not be removed; nothing may follow it.
    #[error("the journal {} is closed after a failed write", path.display())]
    Closed { path: PathBuf },
}

impl Hinted for JournalError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            JournalError::Locked { .. } => {
                "wait for it to end, or stop it; `fsverdict report` may be used meanwhile".to_owned()
            }
            JournalError::Exists { .. } => {
                "carry it on with `fsverdict resume`, or choose another folder with --out".to_owned()
            }
            JournalError::Malformed { .. } => {
                "journals are only ever appended to; restore the file from a copy, or start a new run".to_owned()
            }
            JournalError::TooNew { .. } => {
                "read it with the version that wrote it, or a later one".to_owned()
            }
            JournalError::NoRun { .. } => {
                "start a new run: `fsverdict run … --out` takes a folder without a record".to_owned()
            }
            JournalError::Gone { .. } => {
                "its content is lost unless there is a copy; start a new run, and leave the folder alone meanwhile"
                    .to_owned()
            }
            JournalError::Closed { .. } => "free some space, then `fsverdict resume`".to_owned(),
            JournalError::Io { path, source, .. } => return unwritable_hint(path, source),
            JournalError::Unbounded { .. } => {
                "this is far more than any plan has: begin a run of its own for what is to come".to_owned()
            }
            JournalError::NotFinite { .. } | JournalError::Json { .. } => return None,
        })
    }
}

impl JournalError {
    /// Converts an error of opening: a missing journal is reported as no run.
    pub(super) fn from_open(action: &'static str, path: &std::path::Path, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::NotFound => Self::NoRun { path: path.to_path_buf() },
            _ => Self::io(action, path, source),
        }
    }

    pub(super) fn io(action: &'static str, path: &std::path::Path, source: io::Error) -> Self {
        Self::Io { action, path: path.to_path_buf(), source }
    }
}

/// A hint about a file that cannot be used.
fn unwritable_hint(path: &Path, error: &io::Error) -> Option<String> {
    Some(match error.kind() {
        _ if error.raw_os_error() == Some(rustix::io::Errno::PERM.raw_os_error()) => {
            "`lsattr` shows whether it is append-only or immutable (chattr(1))".to_owned()
        }
        io::ErrorKind::PermissionDenied => {
            let folder = path.parent().unwrap_or(path).display();
            format!("`ls -ld {folder}` shows whose run it is: who began it carries it on, or root")
        }
        io::ErrorKind::ReadOnlyFilesystem => {
            "copy the folder of the run to where you may write, and go on with the copy".to_owned()
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            format!("make room in {}", path.parent().unwrap_or(path).display())
        }
        _ => return error.hint(),
    })
}

#[cfg(test)]
mod tests {
    use std::io::{Error, ErrorKind};
    use std::path::Path;

    use super::JournalError;
    use fsverdict_text::Hinted;

    #[test]
    fn a_journal_that_may_not_be_written_says_who_may_carry_it_on() {
        let describe = |error: Error| {
            JournalError::io("open", Path::new("/runs/theirs/journal.jsonl"), error).reason().to_string()
        };
        let denied = describe(ErrorKind::PermissionDenied.into());
        assert!(
            denied.contains("hint: `ls -ld /runs/theirs`") && denied.contains("who began it"),
            "{denied}"
        );
        assert!(describe(ErrorKind::ReadOnlyFilesystem.into()).contains("hint: copy the folder"));
        let forbidden = describe(Error::from_raw_os_error(1));
        assert!(forbidden.contains("lsattr") && !forbidden.contains("who began it"), "{forbidden}");
    }
}
