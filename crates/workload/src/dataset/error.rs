//! Errors of datasets, with a hint at the remedy.

use rustix::io::Errno;
use thiserror::Error;

/// A failed system call and the path it was called on.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{call} {path}: {errno}{}", hint_for(*.errno))]
pub struct IoFailure {
    /// The attempted action, as a verb: `create`, `write` …
    pub call: &'static str,
    pub path: String,
    pub errno: Errno,
}

impl IoFailure {
    pub(crate) fn new(call: &'static str, path: impl Into<String>, errno: Errno) -> Self {
        Self { call, path: path.into(), errno }
    }

    /// The same failure, its path seen from `above`.
    pub(crate) fn prefix_path(mut self, above: &std::path::Path) -> Self {
        self.path = above.join(&self.path).display().to_string();
        self
    }
}

fn hint_for(errno: Errno) -> &'static str {
    match errno {
        Errno::NOSPC => {
            "; hint: the filesystem is full; use a larger device or image, or a smaller dataset (--scale)"
        }
        Errno::DQUOT => "; hint: the quota is exhausted; use a smaller dataset (--scale)",
        Errno::MFILE => {
            "; hint: the tree is deeper than the number of files that this process may open; raise `ulimit -n`"
        }
        Errno::ROFS => {
            "; hint: the filesystem is read-only; it may have become so after an error (see the kernel's log)"
        }
        Errno::MLINK => {
            "; hint: the filesystem allows fewer hard links to a file, or fewer directories in a directory"
        }
        Errno::OPNOTSUPP => {
            "; hint: the filesystem does not support this with its current options; omit the phase"
        }
        Errno::FBIG => "; hint: the file is larger than this filesystem allows",
        _ => "",
    }
}

/// Reasons why a dataset cannot be prepared, staged or verified.
#[derive(Debug, Error)]
pub enum DatasetError {
    #[error(
        "dataset `{dataset}`: there is no profile `{profile}`; hint: `fsverdict list profiles` lists all profiles"
    )]
    UnknownProfile { dataset: String, profile: String },
    #[error("dataset `{dataset}`: {problem}; hint: {hint}")]
    Impossible { dataset: String, problem: String, hint: &'static str },
    #[error(
        "dataset `{dataset}`: cannot use the folder {path}: {errno}; hint: `path` must name a directory this user may read"
    )]
    Folder { dataset: String, path: String, errno: Errno },
    #[error("dataset `{dataset}` is a real folder and has not been staged")]
    NotStaged { dataset: String },
    #[error("dataset `{dataset}`: cannot stage it: {failure}")]
    Staging { dataset: String, failure: IoFailure },
}
