//! The inventory of a run between its beginning and `resume`: kept in a folder that is the user's alone, never in that of the
//! run, which others may have made or written to.

use std::fs::{DirBuilder, Permissions};
use std::io::{Error, ErrorKind, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use fsverdict_judgement::plan::{Plan, digest};
use fsverdict_text::FolderHandle;

use super::FleetError;
use super::inventory::Fleet;
use super::roster;
use super::run_key::RunKey;

/// No inventory that is kept is longer, in bytes.
const LONGEST: u64 = 16 << 20;

#[derive(Serialize, Deserialize)]
struct KeptFleet {
    /// What it was given for: another plan is another run, whatever its folder says.
    plan: String,
    /// Where that was. A copy of the folder is another run, too.
    run: PathBuf,
    fleet: Fleet,
}

impl KeptFleet {
    fn is_of(&self, run: &Path, plan: &Plan, key: &RunKey) -> bool {
        let key_there = || RunKey::of(&FolderHandle::open(&self.run).ok()?).ok()?;
        let moved = || key_there().is_none_or(|there| there != *key);
        self.plan == digest(plan) && (self.run == run || moved())
    }
}

/// The folder of this user's inventories: `$XDG_STATE_HOME/fsverdict`, else `~/.local/state/fsverdict`.
pub fn state_folder() -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = folder("XDG_STATE_HOME").or_else(|| Some(folder("HOME")?.join(".local/state")))?;
    Some(state.join("fsverdict"))
}

/// Keeps the inventory of the run in this folder, and its sites' names in the folder. Returns what must be known of that.
pub fn keep(run: &FolderHandle, plan: &Plan, fleet: &Fleet) -> Result<Option<String>, FleetError> {
    let place = std::fs::canonicalize(run.path()).map_err(FleetError::io(run.path()))?;
    roster::write(run, fleet)?;
    let mut key = RunKey::given_to(run)?;
    let Some(state) = state_folder() else {
        return Ok(Some("there is no home to keep the inventory in: `resume` wants it again".to_owned()));
    };
    // A key that is another run's: the folder was copied, or made by somebody who knew it.
    if read(&state, &key)?.is_some_and(|kept| !kept.is_of(&place, plan, &key)) {
        key = RunKey::renew(run)?;
    }
    DirBuilder::new().recursive(true).mode(0o700).create(&state).map_err(FleetError::io(&state))?;
    // It may have been there.
    std::fs::set_permissions(&state, Permissions::from_mode(0o700)).map_err(FleetError::io(&state))?;
    let kept = KeptFleet { plan: digest(plan), run: place, fleet: fleet.clone() };
    let text = serde_json::to_string_pretty(&kept).unwrap_or_default();
    let file = FolderHandle::open(&state).map_err(FleetError::io(&state))?.file(name(&key));
    file.replace_private(text.as_bytes()).map_err(FleetError::io(&file.path()))?;
    Ok(None)
}

/// The inventory that was kept of the run in this folder; `None` where this user has none of it.
pub fn kept(run: &FolderHandle, plan: &Plan) -> Result<Option<Fleet>, FleetError> {
    let place = std::fs::canonicalize(run.path()).map_err(FleetError::io(run.path()))?;
    let (Some(state), Some(key)) = (state_folder(), RunKey::of(run)?) else { return Ok(None) };
    let kept = read(&state, &key)?.filter(|kept| kept.is_of(&place, plan, &key));
    Ok(kept.map(|kept| kept.fleet))
}

fn name(key: &RunKey) -> String {
    format!("fleet-{key}.json")
}

fn read(state: &Path, key: &RunKey) -> Result<Option<KeptFleet>, FleetError> {
    let is_missing = |error: &Error| matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory);
    let file = match FolderHandle::open(state) {
        Err(error) if is_missing(&error) => return Ok(None),
        opened => opened.map_err(FleetError::io(state))?.file(name(key)),
    };
    let path = file.path();
    let file = match file.open() {
        Err(error) if is_missing(&error) => return Ok(None),
        opened => opened.map_err(FleetError::io(&path))?,
    };
    let found = file.metadata().map_err(FleetError::io(&path))?;
    if found.uid() != rustix::process::geteuid().as_raw() || found.mode() & 0o022 != 0 {
        return Err(FleetError::InTheWay(path));
    }
    let wrong = |reason: String| FleetError::Inventory { path: path.clone(), reason };
    let kept: KeptFleet =
        serde_json::from_reader(file.take(LONGEST)).map_err(|error| wrong(error.to_string()))?;
    kept.fleet.check().map_err(|reason| wrong(reason.what))?;
    Ok(Some(kept))
}
