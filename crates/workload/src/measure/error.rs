//! Why a phase could not be measured.

use std::io;
use std::path::PathBuf;

use fsverdict_linux::host::root::ReadError;

#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("cannot ask how much space is used on {}: {source}", mount_point.display())]
    Space { mount_point: PathBuf, source: io::Error },
    #[error("cannot start the thread that watches dirty memory: {0}")]
    Watch(io::Error),
}
