//! Errors of bundling a run and of reading a bundle.

use std::path::PathBuf;

use fsverdict_judgement::journal::JournalError;
use fsverdict_text::{Hinted, Reason};

/// Why a bundle cannot be made or read.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("cannot write {}: {source}", path.display())]
    Write { path: PathBuf, source: std::io::Error },
    #[error("cannot pack the run: {0}")]
    Pack(std::io::Error),
    #[error("the run is too large: no bundle of its size would be read again")]
    TooLarge,
    #[error("a name that is to be replaced is also a word of plans or journals: {0}")]
    Name(serde_json::Error),
    #[error("the patterns by which names are found do not compile")]
    Patterns,
    #[error("{} is not a bundle of fsverdict, or damaged: {}", path.display(), reason.what)]
    NotAPack { path: PathBuf, reason: Reason },
}

impl Hinted for BundleError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            BundleError::Write { source, .. } if source.hint().is_some() => return source.hint(),
            BundleError::Write { .. } => {
                "--output FILE names another, which must not be there yet".to_owned()
            }
            BundleError::Pack(source) => return source.hint(),
            BundleError::TooLarge => "share its folder instead".to_owned(),
            BundleError::Name(_) => "--with-names bundles the run as it is".to_owned(),
            BundleError::Patterns => "please report this".to_owned(),
            BundleError::NotAPack { .. } => {
                "have it sent again, or made again by `fsverdict bundle RUN`".to_owned()
            }
            BundleError::Journal(error) => return error.hint(),
        })
    }
    fn reason(&self) -> Reason {
        let hint = self.hint().unwrap_or_default();
        match self {
            // The hint about its journal is shown as well.
            BundleError::NotAPack { reason, .. } => Reason::new(self, reason.hint.as_str()).and_hint(hint),
            other => Reason::new(other, hint),
        }
    }
}
