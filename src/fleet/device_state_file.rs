//! How a block of a site has left its devices, kept for the next one: an inventory names once for all blocks what may be erased,
//! and that covers what fsverdict left there, not what another program has written since.
//!
//! It lies beside the inventories, in a folder that is the user's alone. A block that ends before its first write leaves it as it was;
//! one that is killed after that leaves none.

use std::fs::{DirBuilder, File};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, OFlags};
use xxhash_rust::xxh3::xxh3_64;

use crate::study::SessionError;
use fsverdict_linux::guard::LeftDevice;
use fsverdict_text::{FolderHandle, Links, Reason, open_regular};

use super::FleetError;
use super::kept::state_folder;
use super::site::Site;

/// No such file is longer, in bytes.
const LONGEST: u64 = 1 << 20;

#[derive(Debug)]
pub(super) struct LeftFile(PathBuf);

impl LeftFile {
    /// That of a site of the run in the folder `run`; none where the user has no home.
    pub(super) fn of_site(run: &Path, site: &Site) -> Option<Self> {
        let run = std::fs::canonicalize(run).ok()?;
        let key = xxh3_64(format!("{}\n{site}", run.display()).as_bytes());
        Some(LeftFile(state_folder()?.join(format!("left-{key:016x}.json"))))
    }

    /// Reads it; nothing where there is none.
    pub(super) fn read(&self) -> Result<Vec<LeftDevice>, FleetError> {
        let failed = |error| FleetError::io(&self.0)(error);
        let file: File = match open_regular(CWD, &self.0, OFlags::RDONLY, Links::Refuse) {
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Ok(Vec::new());
            }
            opened => opened.map_err(failed)?,
        };
        serde_json::from_reader(file.take(LONGEST))
            .map_err(|error| failed(std::io::Error::new(ErrorKind::InvalidData, error)))
    }

    /// Removes it, if it is there: what is written to the devices from now on, it does not know.
    pub(super) fn remove(&self) -> Result<(), SessionError> {
        match std::fs::remove_file(&self.0) {
            Err(error) if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                Err(SessionError::Disk(Reason::plain(format!("cannot use {}: {error}", self.0.display()))))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn keep(&self, left: &[LeftDevice]) -> Result<(), FleetError> {
        let failed = |error| FleetError::io(&self.0)(error);
        let folder = self.0.parent().unwrap_or(Path::new("/"));
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
        let text = serde_json::to_vec(left).unwrap_or_default();
        let name = self.0.file_name().unwrap_or_default();
        FolderHandle::open(folder).and_then(|folder| folder.file(name).replace_private(&text)).map_err(failed)
    }
}
