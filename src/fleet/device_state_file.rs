//! Records how a block of a site left its devices, for the next block. An inventory gives permission to erase a device
//! once for all blocks; the permission covers the data that fsverdict left there, and no data that another program has
//! written since.
//!
//! The file lies beside the inventories, in a folder that only this user can write to. A block that ends before its first
//! write leaves the file unchanged; a block that is killed after its first write leaves no file.

use std::fs::{DirBuilder, File};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, OFlags};
use xxhash_rust::xxh3::xxh3_64;

use crate::study::SessionError;
use fsverdict_folders::{FolderHandle, Links, open_regular};
use fsverdict_linux::guard::LeftDevice;
use fsverdict_text::Reason;

use super::FleetError;
use super::site::Site;
use super::stored_inventory::state_folder;

/// The maximum size of the file, in bytes.
const LONGEST: u64 = 1 << 20;

#[derive(Debug)]
pub(super) struct DeviceStateFile(PathBuf);

impl DeviceStateFile {
    /// The file of a site of the run in the folder `run`; `None` if the user has no home.
    pub(super) fn of_site(run: &Path, site: &Site) -> Option<Self> {
        let run = std::fs::canonicalize(run).ok()?;
        let key = xxh3_64(format!("{}\n{site}", run.display()).as_bytes());
        Some(DeviceStateFile(state_folder()?.join(format!("left-{key:016x}.json"))))
    }

    /// Reads the states of the devices; empty if there is no file.
    pub(super) fn read_devices(&self) -> Result<Vec<LeftDevice>, FleetError> {
        let failed = |error| FleetError::io_error(&self.0)(error);
        let file: File = match open_regular(CWD, &self.0, OFlags::RDONLY, Links::Refuse) {
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Ok(Vec::new());
            }
            opened => opened.map_err(failed)?,
        };
        serde_json::from_reader(file.take(LONGEST))
            .map_err(|error| failed(std::io::Error::new(ErrorKind::InvalidData, error)))
    }

    /// Removes the file, if it exists: it does not describe later writes to the devices.
    pub(super) fn remove(&self) -> Result<(), SessionError> {
        match std::fs::remove_file(&self.0) {
            Err(error) if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                Err(SessionError::Disk(Reason::plain(format!("cannot use {}: {error}", self.0.display()))))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn write_devices(&self, left: &[LeftDevice]) -> Result<(), FleetError> {
        let failed = |error| FleetError::io_error(&self.0)(error);
        let folder = self.0.parent().unwrap_or(Path::new("/"));
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
        let text = serde_json::to_vec(left).unwrap_or_default();
        let name = self.0.file_name().unwrap_or_default();
        FolderHandle::open(folder).and_then(|folder| folder.file(name).replace_private(&text)).map_err(failed)
    }
}
