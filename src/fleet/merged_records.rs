//! Builds the records of a merged run: its first record, and the renumbered records of each block.

use std::collections::BTreeSet;

use crate::study::RunFolder;
use fsverdict_judgement::journal::{Beginning, BlockSite, Event, Facts, MERGED_FACT, Record};
use fsverdict_judgement::plan::Plan;

use super::agreement::list_sites;
use super::shard::Shard;
use super::site::{RUN, SITE, Site};

/// The first record of the merged run: the facts that all sites share, and each site's own facts under its name.
pub(super) fn merged_start(
    folder: &RunFolder,
    plan: &Plan,
    shards: &[Shard],
    sites: &BTreeSet<Site>,
) -> Option<Record> {
    let first = shards.first()?;
    let facts_of_sites: Vec<(&Site, Facts)> =
        shards.iter().map(|shard| (&shard.site, shard.facts())).collect();
    let mut environment = common_facts(facts_of_sites.iter().map(|(_, facts)| facts));
    let mut by_itself = Facts::new();
    for site in sites {
        let site_facts =
            common_facts(facts_of_sites.iter().filter(|(known, _)| *known == site).map(|(_, facts)| facts));
        let unshared_facts = site_facts
            .into_iter()
            .filter(|(key, _)| key != SITE && key != RUN && !environment.contains_key(key));
        by_itself.extend(unshared_facts.map(|(key, value)| (format!("site.{site}.{key}"), value)));
    }
    environment.remove(SITE);
    environment.remove(RUN);
    environment.extend(by_itself);
    let names: Vec<String> = sites.iter().map(Site::to_string).collect();
    environment.insert(MERGED_FACT.to_owned(), names.join(", "));
    let at = shards.iter().filter_map(|shard| Some(shard.journal.records.first()?.at)).min()?;
    let Event::RunStarted { schema, lab, fidelity, .. } = &first.journal.records.first()?.event else {
        return None;
    };
    let event = Event::RunStarted {
        schema: *schema,
        id: folder.id(),
        title: plan.title.clone(),
        plan_digest: folder.plan_digest().to_owned(),
        lab: lab.clone(),
        lab_reason: format!("merged from {} sites: {}", names.len(), list_sites(sites.iter())),
        fidelity: fidelity.clone(),
        environment,
        // The facts that all sites share hold the rest.
        beginning: Beginning { sites: Some(names), ..Beginning::default() },
    };
    Some(Record { at, trial: None, event })
}

fn common_facts<'a>(mut all: impl Iterator<Item = &'a Facts>) -> Facts {
    let mut same = all.next().cloned().unwrap_or_default();
    all.for_each(|facts| same.retain(|key, value| facts.get(key) == Some(value)));
    same
}

/// The records of a shard, renumbered as block `number` of the whole run. A skipped candidate is reported once; a
/// caution gets the name of its site.
pub(super) fn renumber_records(shard: Shard, number: u32, said: &mut BTreeSet<String>) -> Vec<Record> {
    let place = BlockSite { site: shard.site.to_string(), round: shard.block };
    let mut first = |text: &str| said.insert(text.to_owned()).then_some(());
    let renumber = |mut record: Record| -> Option<Record> {
        if let Some(trial) = &mut record.trial {
            trial.block = number;
        }
        match &mut record.event {
            Event::RunStarted { .. } | Event::RunFinished { .. } => return None,
            Event::BlockStarted { block, place: at, .. } => {
                *block = number;
                *at = Some(place.clone());
            }
            Event::BlockFinished { block, .. } => *block = number,
            Event::Caution(caution) if record.trial.is_none() => {
                caution.text = format!("at {}: {}", shard.site, caution.text);
                first(&caution.text)?;
            }
            Event::CandidateSkipped { candidate, reason, .. } => {
                *reason = format!("at {}: {reason}", shard.site);
                first(candidate)?;
            }
            _ => {}
        }
        Some(record)
    };
    shard.journal.records.into_iter().filter_map(renumber).collect()
}
