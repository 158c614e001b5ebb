//! Whether blocks belong to one run: sites must agree with one another, and each with itself. Who is right where they do not
//! is nobody's to say here: all sides are named.

use std::collections::{BTreeMap, BTreeSet};

use crate::study::Changes;
use fsverdict_judgement::journal::{Event, Run, kernel_release};
use fsverdict_judgement::plan::{Plan, digest};

use super::shard::Shard;
use super::site::{BINARY, Site};

/// Of what the sites of a run must have the same. The kernel is that of the guest where there is one.
pub(super) const SAME: [&str; 3] = ["build of fsverdict", "lab", "kernel"];

/// What a block's first record says of each of [`SAME`].
pub(super) fn of_start(start: &Event) -> [Option<&String>; 3] {
    match start {
        Event::RunStarted { lab, environment, .. } => {
            [environment.get(BINARY), Some(lab), kernel_release(environment)]
        }
        _ => [None; 3],
    }
}

/// Why these blocks cannot be one run; nothing where they can.
pub(super) fn differences(plan: &Plan, shards: &[Shard]) -> Vec<String> {
    let mut found = BTreeSet::new();
    let mut sides: [BTreeMap<Option<&String>, BTreeSet<&Site>>; 3] = Default::default();
    let mut first_of: BTreeMap<&Site, Run> = BTreeMap::new();
    let wanted = digest(plan);
    for shard in shards {
        let Some(start) = shard.journal.records.first().map(|record| &record.event) else { continue };
        for (side, value) in sides.iter_mut().zip(of_start(start)) {
            side.entry(value).or_default().insert(&shard.site);
        }
        if let Event::RunStarted { plan_digest, .. } = start
            && *plan_digest != wanted
        {
            found.insert(format!(
                "site {} has another plan: {plan_digest}, where {wanted} is wanted",
                shard.site
            ));
        }
        match first_of.get(&shard.site) {
            Some(first) => {
                let changes = Changes::since(&first.header, plan, &shard.facts());
                found
                    .extend(changes.forbidden.into_iter().map(|what| format!("site {}: {what}", shard.site)));
            }
            None => {
                if let Ok(run) = Run::derive(plan, &shard.journal) {
                    first_of.insert(&shard.site, run);
                }
            }
        }
    }
    found.extend(shared_devices(shards));
    let disagree = SAME.iter().zip(&sides).filter(|(_, sides)| sides.len() > 1);
    found.extend(disagree.map(|(what, sides)| {
        let side = |(value, sites): (&Option<&String>, &BTreeSet<&Site>)| {
            format!("{} at {}", value.map_or("none", String::as_str), listed(sites.iter().copied()))
        };
        let sides: Vec<String> = sides.iter().map(side).collect();
        format!("sites have not the same {what}: {}", sides.join("; "))
    }));
    found.into_iter().collect()
}

/// Devices that several sites say is theirs, by what their hardware is called: whoever measures one device under two names
/// would count for two.
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
            format!("the sites {} say that they have the same device: {identity}", listed(sites.into_iter()))
        })
        .collect()
}

/// The names, or of many the first and the last.
pub(super) fn listed<'a>(sites: impl Iterator<Item = &'a Site>) -> String {
    let names: Vec<String> = sites.map(Site::to_string).collect();
    match names.as_slice() {
        [first, middle @ .., last] if middle.len() > 6 => format!("{first} to {last}"),
        _ => names.join(", "),
    }
}
