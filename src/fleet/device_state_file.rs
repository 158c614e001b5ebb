//! Records how a block of a site left its devices, for the next block. An inventory gives permission to erase a device
//! once for all blocks; the permission covers the data that fsverdict left there, and no data that another program has
//! written since.
//!
//! A block that ends before its first write leaves the file unchanged; a block that is killed after its first write leaves
//! no file.

use std::io::{Error, ErrorKind};
use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use crate::study::SessionError;
use fsverdict_linux::guard::LeftDevice;
use fsverdict_text::Reason;

use super::error::FleetError;
use super::site::Site;
use super::user_state::UserState;

#[derive(Debug)]
pub(super) struct DeviceStateFile {
    state: UserState,
    name: String,
}

impl DeviceStateFile {
    /// The file of a site of the run in the folder `run`; `None` if the user has no home.
    pub(super) fn of_site(run: &Path, site: &Site) -> Option<Self> {
        let run = std::fs::canonicalize(run).ok()?;
        let key = xxh3_64(format!("{}\n{site}", run.display()).as_bytes());
        Some(DeviceStateFile { state: UserState::of_user()?, name: format!("left-{key:016x}.json") })
    }

    /// Reads the states of the devices; empty if there is no file.
    pub(super) fn read_devices(&self) -> Result<Vec<LeftDevice>, FleetError> {
        let Some(text) = self.state.read(&self.name)? else { return Ok(Vec::new()) };
        serde_json::from_slice(&text).map_err(|error| {
            FleetError::io_error(&self.state.path_of(&self.name))(Error::new(ErrorKind::InvalidData, error))
        })
    }

    /// Removes the file, if it exists: it does not describe later writes to the devices.
    pub(super) fn remove(&self) -> Result<(), SessionError> {
        self.state.remove(&self.name).map_err(|error| {
            let path = self.state.path_of(&self.name);
            SessionError::Disk(Reason::plain(format!("cannot use {}: {error}", path.display())))
        })
    }

    pub(super) fn write_devices(&self, left: &[LeftDevice]) -> Result<(), FleetError> {
        self.state.write(&self.name, &left)
    }
}
