//! Which sites a run is done at, as its folder has it: their names and nothing else, for a round is complete when all of them
//! have done theirs. The folder may be a stranger's, or lie where strangers write. So where sites are, and what is started there, is
//! not among it: the user's own inventory has that.

use std::io::Read;

use serde::{Deserialize, Serialize};

use fsverdict_text::FolderHandle;

use super::FleetError;
use super::inventory::Fleet;
use super::site::Site;

pub const FILE: &str = "fleet.json";

/// No roster is longer, in bytes.
const LONGEST: u64 = 1 << 20;

/// Whatever else stands there, as earlier versions wrote it, is not looked at.
#[derive(Serialize, Deserialize)]
struct Roster {
    sites: Vec<RosterEntry>,
}

#[derive(Serialize, Deserialize)]
struct RosterEntry {
    name: Site,
}

/// The sites of the run in this folder; `None` where blocks are done without an inventory.
pub fn sites_of_run(run: &FolderHandle) -> Result<Option<Vec<Site>>, FleetError> {
    let place = run.file(FILE);
    let path = place.path();
    let file = match place.open() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(FleetError::io(&path))?,
    };
    let roster: Result<Roster, _> = serde_json::from_reader(file.take(LONGEST));
    match roster {
        Ok(roster) => Ok(Some(roster.sites.into_iter().map(|entry| entry.name).collect())),
        Err(error) => Err(FleetError::Inventory { path, reason: error.to_string() }),
    }
}

pub(super) fn write(run: &FolderHandle, fleet: &Fleet) -> Result<(), FleetError> {
    let place = run.file(FILE);
    let sites = fleet.sites.iter().map(|site| RosterEntry { name: site.name.clone() }).collect();
    let text = serde_json::to_string_pretty(&Roster { sites }).unwrap_or_default();
    place.replace(|file| file.write_all(text.as_bytes())).map_err(FleetError::io(&place.path()))
}
