//! Files of this user about runs of several sites, in a folder that only this user can write to. A run's own folder is not
//! used for them, because other users may have created it or written to it.

use std::fs::{DirBuilder, Permissions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::PathBuf;

use serde::Serialize;

use fsverdict_folders::FolderHandle;

use super::error::FleetError;

/// The maximum size of a file, in bytes.
const LONGEST: u64 = 16 << 20;

/// The folder: `$XDG_STATE_HOME/fsverdict`, else `~/.local/state/fsverdict`.
pub fn state_folder() -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = folder("XDG_STATE_HOME").or_else(|| Some(folder("HOME")?.join(".local/state")))?;
    Some(state.join("fsverdict"))
}

/// The folder with this user's files.
#[derive(Debug)]
pub(super) struct UserState(PathBuf);

impl UserState {
    /// The folder of this user; `None` without a home.
    pub(super) fn of_user() -> Option<Self> {
        state_folder().map(UserState)
    }

    pub(super) fn path_of(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Reads a file; `None` if there is none. Fails if another user owns the file or may write to it.
    pub(super) fn read(&self, name: &str) -> Result<Option<Vec<u8>>, FleetError> {
        let Some(folder) = FleetError::if_exists(&self.0, FolderHandle::open(&self.0))? else {
            return Ok(None);
        };
        let path = self.path_of(name);
        let Some(file) = FleetError::if_exists(&path, folder.file(name).open())? else { return Ok(None) };
        let metadata = file.metadata().map_err(FleetError::io_error(&path))?;
        if metadata.uid() != rustix::process::geteuid().as_raw() || metadata.mode() & 0o022 != 0 {
            return Err(FleetError::InTheWay(path));
        }
        let mut content = Vec::new();
        file.take(LONGEST).read_to_end(&mut content).map_err(FleetError::io_error(&path))?;
        Ok(Some(content))
    }

    /// Writes a file as JSON in the place of an earlier one.
    pub(super) fn write(&self, name: &str, content: &impl Serialize) -> Result<(), FleetError> {
        let folder = self.prepare_folder().map_err(FleetError::io_error(&self.0))?;
        let text = serde_json::to_string_pretty(content).unwrap_or_default();
        let file = folder.file(name);
        file.replace_private(text.as_bytes()).map_err(FleetError::io_error(&file.path()))
    }

    /// Creates the folder. It may have existed with other permissions.
    fn prepare_folder(&self) -> io::Result<FolderHandle> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.0)?;
        std::fs::set_permissions(&self.0, Permissions::from_mode(0o700))?;
        FolderHandle::open(&self.0)
    }

    /// Removes a file, if it exists.
    pub(super) fn remove(&self, name: &str) -> io::Result<()> {
        match std::fs::remove_file(self.path_of(name)) {
            Err(error) if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                Err(error)
            }
            _ => Ok(()),
        }
    }
}
