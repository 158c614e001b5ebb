//! The inventory of a run between its beginning and `resume`: kept in a folder that is the user's alone, never in that of the
//! run, which others may have made or written to.

use std::fs::{DirBuilder, Permissions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, OFlags};
use serde::{Deserialize, Serialize};

use crate::host::whole_file;
use fsverdict_judgement::plan::{Plan, digest};
use fsverdict_text::{Links, open_regular};

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
        let moved = || !matches!(RunKey::of(&self.run), Ok(Some(there)) if there == *key);
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
pub fn keep(run: &Path, plan: &Plan, fleet: &Fleet) -> Result<Option<String>, FleetError> {
    let run = std::fs::canonicalize(run).map_err(FleetError::io(run))?;
    roster::write(&run, fleet)?;
    let mut key = RunKey::given_to(&run)?;
    let Some(folder) = state_folder() else {
        return Ok(Some("there is no home to keep the inventory in: `resume` wants it again".to_owned()));
    };
    // A key that is another run's: the folder was copied, or made by somebody who knew it.
    if read(&folder, &key)?.is_some_and(|kept| !kept.is_of(&run, plan, &key)) {
        key = RunKey::renew(&run)?;
    }
    DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(FleetError::io(&folder))?;
    // It may have been there.
    std::fs::set_permissions(&folder, Permissions::from_mode(0o700)).map_err(FleetError::io(&folder))?;
    let kept = KeptFleet { plan: digest(plan), run, fleet: fleet.clone() };
    let (path, text) = (path(&folder, &key), serde_json::to_string_pretty(&kept).unwrap_or_default());
    whole_file::replace_private(&path, text.as_bytes()).map_err(FleetError::io(&path))?;
    Ok(None)
}

/// The inventory that was kept of the run in this folder; `None` where this user has none of it.
pub fn kept(run: &Path, plan: &Plan) -> Result<Option<Fleet>, FleetError> {
    let run = std::fs::canonicalize(run).map_err(FleetError::io(run))?;
    let (Some(folder), Some(key)) = (state_folder(), RunKey::of(&run)?) else { return Ok(None) };
    let kept = read(&folder, &key)?.filter(|kept| kept.is_of(&run, plan, &key));
    Ok(kept.map(|kept| kept.fleet))
}

fn path(folder: &Path, key: &RunKey) -> PathBuf {
    folder.join(format!("fleet-{key}.json"))
}

fn read(folder: &Path, key: &RunKey) -> Result<Option<KeptFleet>, FleetError> {
    let path = path(folder, key);
    let file = match open_regular(CWD, &path, OFlags::RDONLY, Links::Refuse) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
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
