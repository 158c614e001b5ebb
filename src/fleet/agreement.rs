//! Checks whether blocks belong to one run: sites must agree with one another, and each site with itself. Where they
//! disagree, it cannot be decided here which of them is right, so the message names all of them.

use std::collections::{BTreeMap, BTreeSet};

use crate::study::Changes;
use fsverdict_judgement::journal::{Event, Run, kernel_release};
use fsverdict_judgement::plan::Plan;

use super::shard::Shard;
use super::site::{BINARY, Site};

/// The properties that all sites of a run must share. The kernel is the guest's, if trials run in a guest.
pub(super) const SHARED_PROPERTIES: [&str; 3] = ["build of fsverdict", "lab", "kernel"];

/// The value of each of [`SHARED_PROPERTIES`] in a block's first record.
pub(super) fn shared_values(start: &Event) -> [Option<&String>; 3] {
    match start {
        Event::RunStarted { lab, environment, .. } => {
            [environment.get(BINARY), Some(lab), kernel_release(environment)]
        }
        _ => [None; 3],
    }
}

/// The reasons why these blocks cannot belong to one run of the plan with this digest; empty if they can.
pub(super) fn find_differences(plan: &Plan, wanted: &str, shards: &[Shard]) -> Vec<String> {
    let mut differences = BTreeSet::new();
    let mut sides: [BTreeMap<Option<&String>, BTreeSet<&Site>>; 3] = Default::default();
    let mut first_of: BTreeMap<&Site, Run> = BTreeMap::new();
    for shard in shards {
        let Some(start) = shard.journal.records.first().map(|record| &record.event) else { continue };
        for (side, value) in sides.iter_mut().zip(shared_values(start)) {
            side.entry(value).or_default().insert(&shard.site);
        }
        if let Event::RunStarted { plan_digest, .. } = start
            && plan_digest != wanted
        {
            differences.insert(format!(
                "site {} has another plan: {plan_digest}, where {wanted} is wanted",
                shard.site
            ));
        }
        match first_of.get(&shard.site) {
            Some(first) => {
                let changes = Changes::since(&first.header, wanted, &shard.facts());
                differences
                    .extend(changes.forbidden.into_iter().map(|what| format!("site {}: {what}", shard.site)));
            }
            None => {
                if let Ok(run) = Run::derive(plan, &shard.journal) {
                    first_of.insert(&shard.site, run);
                }
            }
        }
    }
    differences.extend(shared_devices(shards));
    let disagree = SHARED_PROPERTIES.iter().zip(&sides).filter(|(_, sides)| sides.len() > 1);
    differences.extend(disagree.map(|(what, sides)| {
        let side = |(value, sites): (&Option<&String>, &BTreeSet<&Site>)| {
            format!("{} at {}", value.map_or("none", String::as_str), list_sites(sites.iter().copied()))
        };
        let sides: Vec<String> = sides.iter().map(side).collect();
        format!("sites have not the same {what}: {}", sides.join("; "))
    }));
    differences.into_iter().collect()
}

/// Devices that several sites claim, compared by the identity of their hardware. Otherwise one device that is measured
/// under two site names would count twice.
fn shared_devices(shards: &[Shard]) -> Vec<String> {
    let is_identity =
        |key: &str| key == "device.identity" || key.starts_with("device.") && key.ends_with(".identity");
    let mut sites_of: BTreeMap<String, BTreeSet<&Site>> = BTreeMap::new();
    for shard in shards {
        for (_, identity) in shard.facts().into_iter().filter(|(key, _)| is_identity(key)) {
            sites_of.entry(identity).or_default().insert(&shard.site);
        }
    }
    let shared = sites_of.into_iter().filter(|(_, sites)| sites.len() > 1);
    shared
        .map(|(identity, sites)| {
            format!(
                "the sites {} say that they have the same device: {identity}",
                list_sites(sites.into_iter())
            )
        })
        .collect()
}

/// The names of the sites; of more than eight sites, only the first and the last.
pub(super) fn list_sites<'a>(sites: impl Iterator<Item = &'a Site>) -> String {
    let names: Vec<String> = sites.map(Site::to_string).collect();
    match names.as_slice() {
        [first, middle @ .., last] if middle.len() > 6 => format!("{first} to {last}"),
        _ => names.join(", "),
    }
}
