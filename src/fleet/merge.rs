//! Merges the blocks of all sites into one run: complete rounds in numerical order, sites by name. The result depends
//! on which blocks are present, never on when they arrived.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use crate::study::{Changes, Conclusions, RunFolder, next_to_try};
use fsverdict_judgement::journal::{
    Caution, Event, Facts, Fold, Record, Run, map_in_parallel, read_first_record,
};
use fsverdict_judgement::plan::Plan;

use super::agreement::{SHARED_PROPERTIES, find_differences, list_sites, shared_values};
use super::error::{FleetError, IgnoredFile};
use super::merged_records::{merged_start, renumber_records};
use super::omissions::describe_omissions;
use super::roster::sites_of_run;
use super::shard::{Shard, Shards};
use super::site::Site;
use super::site_clock::check_clock;

#[derive(Debug)]
pub struct Merged {
    pub records: Vec<Record>,
    pub run: Run,
    /// Every site, with the number of its complete blocks.
    pub done: Vec<(Site, usize)>,
    /// The number of complete rounds that were merged.
    pub rounds: u32,
    /// The files that were left out.
    pub left: Vec<IgnoredFile>,
    /// The blocks that the next round lacks, if other blocks of that round or later ones are present.
    pub awaited: Vec<String>,
    /// Why the run has ended; `None` if further blocks are wanted.
    pub settled: Option<String>,
    /// The candidates that the next round does not try: they rest or were dropped.
    pub out: Vec<String>,
}

impl Merged {
    /// The differences that would keep a further block of `site` from being merged, by its first record, each as a
    /// sentence.
    pub(super) fn differences_from(&self, site: &Site, start: &Event) -> Vec<String> {
        let Event::RunStarted { environment, .. } = start else { return Vec::new() };
        let mut header = self.run.header.clone();
        let plan_digest = header.plan_digest.clone();
        let mut differences = Vec::new();
        // The merged blocks agree with one another: otherwise the merge would have failed.
        let others = self.records.first().map(|record| shared_values(&record.event)).unwrap_or_default();
        let have = list_sites(self.done.iter().filter(|(_, blocks)| *blocks > 0).map(|(site, _)| site));
        for ((what, was), is) in SHARED_PROPERTIES.iter().zip(others).zip(shared_values(start)) {
            if let (Some(was), Some(is)) = (was, is)
                && was != is
            {
                differences
                    .push(format!("site {site} has another {what}: {is}, where it is {was} at {have}"));
            }
        }
        if self.done.iter().any(|(known, blocks)| known == site && *blocks > 0) {
            let prefix = format!("site.{site}.");
            let entries = header
                .environment
                .iter()
                .filter_map(|(key, value)| Some((key.strip_prefix(&prefix)?.to_owned(), value.clone())));
            let site_facts: Facts = entries.collect();
            header.environment.extend(site_facts);
            let forbidden = Changes::since(&header, &plan_digest, environment).forbidden;
            differences.extend(forbidden.into_iter().map(|what| format!("site {site}: {what}")));
        }
        differences
    }

    /// Writes the journal into the run's folder, atomically.
    pub fn write_journal(&self, folder: &RunFolder) -> Result<(), FleetError> {
        let journal = folder.journal();
        let write = |file: &mut dyn Write| {
            for piece in self.records.chunks(PIECE) {
                for lines in map_in_parallel(&piece.chunks(PIECE / 16).collect::<Vec<_>>(), |records| {
                    journal_lines(records)
                }) {
                    file.write_all(&lines?)?;
                }
            }
            Ok(())
        };
        journal.replace(write).map_err(FleetError::io_error(&journal.path()))
    }
}

/// The number of records that are held in memory as text at once.
const PIECE: usize = 1 << 15;

/// Formats records as lines of a journal.
fn journal_lines(records: &[Record]) -> serde_json::Result<Vec<u8>> {
    let mut lines = Vec::new();
    for record in records {
        serde_json::to_writer(&mut lines, record)?;
        lines.push(b'\n');
    }
    Ok(lines)
}

/// Merges the blocks in the run's folder, except those of the sites in `without`.
pub fn merge_blocks(folder: &RunFolder, plan: &Plan, without: &[Site]) -> Result<Merged, FleetError> {
    check_clock(jiff::Timestamp::now())?;
    refuse_other_journal(folder)?;
    let (mut shards, left) = Shards::new(folder.handle()).read_blocks(plan)?;
    shards.retain(|shard| !without.contains(&shard.site));
    let mut sites: BTreeSet<Site> = shards.iter().map(|shard| shard.site.clone()).collect();
    let fleet = sites_of_run(folder.handle())?.unwrap_or_default();
    sites.extend(fleet.into_iter().filter(|site| !without.contains(site)));
    let nothing = |left: Vec<IgnoredFile>| FleetError::Nothing { run: folder.path().to_owned(), left };
    if shards.is_empty() {
        return Err(nothing(left));
    }
    let differences = find_differences(plan, folder.plan_digest(), &shards);
    if !differences.is_empty() {
        return Err(FleetError::Mixed(differences));
    }
    merge_shards(folder, plan, shards, &sites, left).ok_or_else(|| nothing(Vec::new()))
}

/// Fails if the folder holds a run that this machine did alone, which must not be overwritten.
fn refuse_other_journal(folder: &RunFolder) -> Result<(), FleetError> {
    match read_first_record(&folder.journal()).ok().flatten().map(|record| record.event) {
        Some(Event::RunStarted { beginning, .. }) if beginning.sites.is_none() => {
            Err(FleetError::NotShared(folder.path().to_owned()))
        }
        _ => Ok(()),
    }
}

fn merge_shards(
    folder: &RunFolder,
    plan: &Plan,
    shards: Vec<Shard>,
    sites: &BTreeSet<Site>,
    left: Vec<IgnoredFile>,
) -> Option<Merged> {
    let start = merged_start(folder, plan, &shards, sites)?;
    let mut fold = Fold::new(plan);
    fold.add_record(start.clone());
    let places: BTreeSet<(u32, Site)> =
        shards.iter().map(|shard| (shard.block, shard.site.clone())).collect();
    let mut end = Merged {
        run: fold.run()?.clone(),
        records: vec![start],
        done: sites
            .iter()
            .map(|site| (site.clone(), places.iter().filter(|(_, own)| own == site).count()))
            .collect(),
        rounds: 0,
        left: Vec::new(),
        awaited: Vec::new(),
        settled: None,
        out: Vec::new(),
    };
    // Groups the shards by round, in order; within each round, sites are sorted by name.
    let mut rounds: BTreeMap<u32, Vec<Shard>> = BTreeMap::new();
    shards.into_iter().for_each(|shard| rounds.entry(shard.block).or_default().push(shard));
    let unlimited = without_budget(plan);
    let mut conclusions = Conclusions::new(&unlimited);
    let (mut number, mut reported) = (0, BTreeSet::new());
    for round in 1.. {
        let Some(of_round) = rounds.remove(&round).filter(|shards| shards.len() >= sites.len()) else {
            break;
        };
        for shard in of_round {
            number += 1;
            let records = renumber_records(shard, number, &mut reported);
            records.iter().cloned().for_each(|record| fold.add_record(record));
            end.records.extend(records);
        }
        end.rounds = round;
        let Some(run) = fold.run() else { break };
        let conclusion = conclusions.next(run);
        let at = end.records.last().map(|record| record.at).unwrap_or_default();
        let mut concluded: Vec<Event> = Vec::new();
        for (candidate, reason) in conclusion.drop {
            concluded.push(Event::CandidateDropped { candidate, reason });
        }
        if let Some((reason, ending)) = conclusion.end {
            end.settled = Some(reason.clone());
            concluded.push(Event::RunFinished { reason, ending: Some(ending) });
        }
        for event in concluded {
            let record = Record { at, trial: None, event };
            fold.add_record(record.clone());
            end.records.push(record);
        }
        if end.settled.is_some() {
            break;
        }
    }
    if end.settled.is_none() && end.rounds > 0 {
        let next = next_to_try(plan, fold.run()?);
        let names = plan.candidates.iter().map(|candidate| candidate.name.clone());
        end.out = names.filter(|name| !next.contains(name)).collect();
    }
    let next = end.rounds + 1;
    if end.settled.is_none() && places.iter().any(|(block, _)| *block >= next) {
        let lacking = sites.iter().filter(|site| !places.contains(&(next, (*site).clone())));
        end.awaited = lacking.map(|site| format!("block {next} of site {site}")).collect();
    }
    let beyond = places.iter().filter(|(block, _)| *block > end.rounds).count();
    let omissions = fold.run().map_or_else(Vec::new, |run| describe_omissions(plan, run));
    let cautions = caution_records(&end, beyond, &left, omissions);
    cautions.iter().cloned().for_each(|record| fold.add_record(record));
    // The cautions go before the end record, if there is one: nothing may follow it.
    let finished = |record: &Record| matches!(record.event, Event::RunFinished { .. });
    let place = end.records.iter().position(finished).unwrap_or(end.records.len());
    end.records.splice(place..place, cautions);
    end.left = left;
    end.run = fold.into_run()?;
    Some(end)
}

/// The plan without its time budget, because each site spends its own time.
fn without_budget(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    plan.protocol.budget = None;
    plan
}

/// The cautions for the merged run: files and blocks that were left out, and blocks that are still missing.
fn caution_records(
    merged: &Merged,
    beyond: usize,
    left: &[IgnoredFile],
    omissions: Vec<String>,
) -> Vec<Record> {
    let at = merged.records.last().map(|record| record.at).unwrap_or_default();
    let mut texts: Vec<String> =
        left.iter().map(|left| format!("left out: {}: {}", left.path.display(), left.why)).collect();
    if beyond > 0 {
        let why = match merged.awaited.as_slice() {
            [] => "the run had ended without them".to_owned(),
            awaited => format!("they wait for {}", awaited.join(", ")),
        };
        let blocks = if beyond == 1 { "1 block is".to_owned() } else { format!("{beyond} blocks are") };
        texts.push(format!("{blocks} left out, beyond round {}: {why}", merged.rounds));
    }
    texts.extend(omissions);
    let record = |text| {
        let event = Event::Caution(Caution::new(text));
        Record { at, trial: None, event }
    };
    texts.into_iter().map(record).collect()
}
