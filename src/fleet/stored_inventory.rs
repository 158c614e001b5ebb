//! Stores the inventory of a run for a later `resume`, in a folder that only this user can write to. The run's own folder
//! is not used, because other users may have created it or written to it.

use std::fs::{DirBuilder, Permissions};
use std::io::{Error, ErrorKind, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::study::RunFolder;
use fsverdict_folders::FolderHandle;

use super::FleetError;
use super::inventory::Fleet;
use super::roster;
use super::run_key::RunKey;

/// The maximum size of a stored inventory, in bytes.
const LONGEST: u64 = 16 << 20;

#[derive(Serialize, Deserialize)]
struct StoredFleet {
    /// The digest of the plan. A folder with another plan holds another run.
    plan: String,
    /// The path of the run's folder. A copy of the folder is another run.
    run: PathBuf,
    fleet: Fleet,
}

impl StoredFleet {
    fn is_of(&self, run: &Path, plan_digest: &str, key: &RunKey) -> bool {
        let key_there = || RunKey::read_from(&FolderHandle::open(&self.run).ok()?).ok()?;
        let moved = || key_there().is_none_or(|there| there != *key);
        self.plan == plan_digest && (self.run == run || moved())
    }
}

/// The folder of this user's inventories: `$XDG_STATE_HOME/fsverdict`, else `~/.local/state/fsverdict`.
pub fn state_folder() -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = folder("XDG_STATE_HOME").or_else(|| Some(folder("HOME")?.join(".local/state")))?;
    Some(state.join("fsverdict"))
}

/// Stores the inventory of the run in this folder, and the names of its sites in the folder. Returns a caution for the
/// user if the inventory cannot be stored.
pub fn store_inventory(folder: &RunFolder, fleet: &Fleet) -> Result<Option<String>, FleetError> {
    let run = folder.handle();
    let place = std::fs::canonicalize(run.path()).map_err(FleetError::io_error(run.path()))?;
    roster::write_roster(run, fleet)?;
    let mut key = RunKey::read_or_create(run)?;
    let Some(state) = state_folder() else {
        return Ok(Some("there is no home to keep the inventory in: `resume` wants it again".to_owned()));
    };
    // The key belongs to another run: the folder was copied, or created by another user with knowledge of the key.
    if read_inventory(&state, &key)?.is_some_and(|stored| !stored.is_of(&place, folder.plan_digest(), &key)) {
        key = RunKey::replace_in(run)?;
    }
    DirBuilder::new().recursive(true).mode(0o700).create(&state).map_err(FleetError::io_error(&state))?;
    // The folder may have existed with other permissions.
    std::fs::set_permissions(&state, Permissions::from_mode(0o700)).map_err(FleetError::io_error(&state))?;
    let stored = StoredFleet { plan: folder.plan_digest().to_owned(), run: place, fleet: fleet.clone() };
    let text = serde_json::to_string_pretty(&stored).unwrap_or_default();
    let file = FolderHandle::open(&state).map_err(FleetError::io_error(&state))?.file(file_name(&key));
    file.replace_private(text.as_bytes()).map_err(FleetError::io_error(&file.path()))?;
    Ok(None)
}

/// The stored inventory of the run in this folder; `None` if this user stored none.
pub fn stored_inventory(folder: &RunFolder) -> Result<Option<Fleet>, FleetError> {
    let run = folder.handle();
    let place = std::fs::canonicalize(run.path()).map_err(FleetError::io_error(run.path()))?;
    let (Some(state), Some(key)) = (state_folder(), RunKey::read_from(run)?) else { return Ok(None) };
    let stored =
        read_inventory(&state, &key)?.filter(|stored| stored.is_of(&place, folder.plan_digest(), &key));
    Ok(stored.map(|stored| stored.fleet))
}

fn file_name(key: &RunKey) -> String {
    format!("fleet-{key}.json")
}

fn read_inventory(state: &Path, key: &RunKey) -> Result<Option<StoredFleet>, FleetError> {
    let is_missing = |error: &Error| matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory);
    let file = match FolderHandle::open(state) {
        Err(error) if is_missing(&error) => return Ok(None),
        opened => opened.map_err(FleetError::io_error(state))?.file(file_name(key)),
    };
    let path = file.path();
    let file = match file.open() {
        Err(error) if is_missing(&error) => return Ok(None),
        opened => opened.map_err(FleetError::io_error(&path))?,
    };
    let metadata = file.metadata().map_err(FleetError::io_error(&path))?;
    if metadata.uid() != rustix::process::geteuid().as_raw() || metadata.mode() & 0o022 != 0 {
        return Err(FleetError::InTheWay(path));
    }
    let wrong = |reason: String| FleetError::Inventory { path: path.clone(), reason };
    let stored: StoredFleet =
        serde_json::from_reader(file.take(LONGEST)).map_err(|error| wrong(error.to_string()))?;
    stored.fleet.check().map_err(|reason| wrong(reason.what))?;
    Ok(Some(stored))
}
