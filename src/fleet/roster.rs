//! The roster: the names of a run's sites, in the folder of the run. A round is complete when every site of the roster has
//! completed its block. Other users may own the folder or write to it, so the roster holds names only: the addresses of
//! sites and the programs to start there come from the user's own inventory.

use std::io::Read;

use serde::{Deserialize, Serialize};

use fsverdict_folders::FolderHandle;

use super::FleetError;
use super::inventory::Fleet;
use super::site::Site;

pub const FILE: &str = "fleet.json";

/// The maximum size of a roster, in bytes.
const LONGEST: u64 = 1 << 20;

/// The content of the roster. Further keys, which earlier versions wrote, are ignored.
#[derive(Serialize, Deserialize)]
struct Roster {
    sites: Vec<RosterEntry>,
}

#[derive(Serialize, Deserialize)]
struct RosterEntry {
    name: Site,
}

/// The sites of the run in this folder; `None` if its blocks are conducted without an inventory.
pub fn sites_of_run(run: &FolderHandle) -> Result<Option<Vec<Site>>, FleetError> {
    let place = run.file(FILE);
    let path = place.path();
    let Some(file) = FleetError::if_exists(&path, place.open())? else { return Ok(None) };
    let roster: Result<Roster, _> = serde_json::from_reader(file.take(LONGEST));
    match roster {
        Ok(roster) => Ok(Some(roster.sites.into_iter().map(|entry| entry.name).collect())),
        Err(error) => Err(FleetError::Inventory { path, reason: error.to_string() }),
    }
}

pub(super) fn write_roster(run: &FolderHandle, fleet: &Fleet) -> Result<(), FleetError> {
    let place = run.file(FILE);
    let sites = fleet.sites.iter().map(|site| RosterEntry { name: site.name.clone() }).collect();
    let text = serde_json::to_string_pretty(&Roster { sites }).unwrap_or_default();
    place.replace(|file| file.write_all(text.as_bytes())).map_err(FleetError::io_error(&place.path()))
}
