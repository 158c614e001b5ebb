//! Stores the inventory of a run for a later `resume`, among the files of this user.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::study::RunFolder;
use fsverdict_folders::FolderHandle;

use super::error::FleetError;
use super::inventory::Fleet;
use super::roster;
use super::run_key::RunKey;
use super::user_state::UserState;

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

/// Stores the inventory of the run in this folder, and the names of its sites in the folder. Returns a caution for the
/// user if the inventory cannot be stored.
pub fn store_inventory(folder: &RunFolder, fleet: &Fleet) -> Result<Option<String>, FleetError> {
    let run = folder.handle();
    let place = std::fs::canonicalize(run.path()).map_err(FleetError::io_error(run.path()))?;
    roster::write_roster(run, fleet)?;
    let mut key = RunKey::read_or_create(run)?;
    let Some(state) = UserState::of_user() else {
        return Ok(Some("there is no home to keep the inventory in: `resume` wants it again".to_owned()));
    };
    // The key belongs to another run: the folder was copied, or created by another user with knowledge of the key.
    if read_inventory(&state, &key)?.is_some_and(|stored| !stored.is_of(&place, folder.plan_digest(), &key)) {
        key = RunKey::replace_in(run)?;
    }
    let stored = StoredFleet { plan: folder.plan_digest().to_owned(), run: place, fleet: fleet.clone() };
    state.write(&file_name(&key), &stored)?;
    Ok(None)
}

/// The stored inventory of the run in this folder; `None` if this user stored none.
pub fn stored_inventory(folder: &RunFolder) -> Result<Option<Fleet>, FleetError> {
    let run = folder.handle();
    let place = std::fs::canonicalize(run.path()).map_err(FleetError::io_error(run.path()))?;
    let (Some(state), Some(key)) = (UserState::of_user(), RunKey::read_from(run)?) else { return Ok(None) };
    let stored =
        read_inventory(&state, &key)?.filter(|stored| stored.is_of(&place, folder.plan_digest(), &key));
    Ok(stored.map(|stored| stored.fleet))
}

fn file_name(key: &RunKey) -> String {
    format!("fleet-{key}.json")
}

fn read_inventory(state: &UserState, key: &RunKey) -> Result<Option<StoredFleet>, FleetError> {
    let name = file_name(key);
    let Some(text) = state.read(&name)? else { return Ok(None) };
    let wrong = |reason: String| FleetError::Inventory { path: state.path_of(&name), reason };
    let stored: StoredFleet = serde_json::from_slice(&text).map_err(|error| wrong(error.to_string()))?;
    stored.fleet.check().map_err(|reason| wrong(reason.what))?;
    Ok(Some(stored))
}
