//! Errors of fetching, unpacking and testing packages.

use std::path::{Path, PathBuf};

use fsverdict_linux::sandbox::program::ProgramError;
use fsverdict_text::Hinted;

#[derive(Debug, thiserror::Error)]
pub enum PackageError {
    #[error("this system has no {programs}, with which packages are fetched")]
    NoPackageClient { programs: &'static str, hint: String },
    /// The program's own message.
    #[error("the packages could not be fetched: {0}")]
    Download(String),
    #[error("the package {package} could not be unpacked: {reason}")]
    Unpack { package: String, reason: String },
    #[error("the packages have no {0}")]
    Lacks(String),
    #[error("the fetched programs were removed again, because {step} failed: {reason}")]
    Test { step: &'static str, reason: String },
    #[error("another fsverdict is at work in {} just now", .0.display())]
    Busy(PathBuf),
    #[error("cannot {what} {}: {source}", path.display())]
    File { what: &'static str, path: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Program(#[from] ProgramError),
}

impl Hinted for PackageError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            PackageError::NoPackageClient { hint, .. } => hint.clone(),
            PackageError::Download(_) => "this needs Debian's archive, and on Ubuntu the component universe; without a network, copy the folder from the cache of another machine (docs/guides/bcachefs.md)".to_owned(),
            PackageError::Unpack { .. } | PackageError::Lacks(_) | PackageError::Test { .. } => "nothing of the packages is used; docs/guides/bcachefs.md says which versions were tried, and other ways to the tools".to_owned(),
            PackageError::Busy(_) => "wait until it has ended, and try again".to_owned(),
            PackageError::File { source, .. } => return source.hint().or_else(|| Some("XDG_CACHE_HOME and HOME say which cache is used".to_owned())),
            PackageError::Program(error) => return error.hint(),
        })
    }
}

/// For `map_err`: names the operation that failed and its file.
pub(super) fn file_error<E: Into<std::io::Error>>(
    what: &'static str,
    path: &Path,
) -> impl FnOnce(E) -> PackageError {
    let path = path.to_owned();
    move |source| PackageError::File { what, path, source: source.into() }
}
