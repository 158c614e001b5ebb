//! Conducts one block at a site of a shared run. The block becomes part of the run only when it is complete.

use std::path::Path;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::study::{FolderRequest, Observer, Permission, PreparedTrials, RunFolder, SessionError};
use fsverdict_judgement::journal::Facts;
use fsverdict_judgement::plan::{DeviceSource, Plan, digest};
use fsverdict_lab::lab::{LabError, choose_lab};
use fsverdict_lab::trial::seeds;

use super::FleetError;
use super::device_state_file::DeviceStateFile;
use super::merge::merge_blocks;
use super::run_key::RunKey;
use super::shard::Shards;
use super::site::{BINARY, RUN, SITE, Site};
use super::site_clock::check_clock;

pub struct BlockOrder {
    pub site: Site,
    /// From 1.
    pub block: u32,
    /// This site's device, if it differs from the plan's.
    pub device: Option<DeviceSource>,
    /// The number of trials that run at once, in simulated time.
    pub jobs: Option<usize>,
    /// Whether an inventory gave permission to erase the device once for all blocks. Such a permission covers the device
    /// only as the previous block left it.
    pub is_standing: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlockEnd {
    /// An earlier call completed the block.
    Already,
    /// The run has ended without this block, for this reason.
    Settled(String),
    Done,
    /// The block must be repeated: no attempt counts, because the machine was too busy each time.
    Disturbed,
}

pub fn conduct_block(
    folder: &RunFolder,
    plan: &Plan,
    asked: BlockOrder,
    permission: &Permission<'_>,
    observer: &mut dyn Observer,
) -> Result<BlockEnd, FleetError> {
    let BlockOrder { site, block, device, jobs, is_standing } = asked;
    let shards = Shards::new(folder.handle());
    check_clock(jiff::Timestamp::now())?;
    let key = RunKey::read_from(folder.handle())?;
    if shards.has_block(&site, block) {
        return match key.and_then(|key| shards.other_run(&site, block, &key)) {
            Some(other) => Err(FleetError::OfOtherRun { site: site.to_string(), block, other }),
            None => Ok(BlockEnd::Already),
        };
    }
    let so_far = match merge_blocks(folder, plan, &[]) {
        Ok(merged) => Some(merged),
        Err(FleetError::Nothing { .. }) => None,
        Err(error) => return Err(error),
    };
    if let Some(reason) = so_far.as_ref().and_then(|merged| merged.settled.clone()) {
        return Ok(BlockEnd::Settled(reason));
    }
    let journal = shards.begin_block(&site, block)?;
    let site_seed = |seed: u64| seeds::of_site(seed, &site.to_string());
    let mut site_plan = plan.clone();
    if let Some(device) = device {
        site_plan.device.replace_sources(&[device]);
    }
    // A modelled device gives the same results for the same seed, so each site uses a seed of its own: otherwise it
    // would add no information.
    if site_plan.device.source.is_modelled() {
        site_plan.protocol.seed = site_seed(plan.protocol.seed);
    }
    let memory = DeviceStateFile::of_site(folder.path(), &site);
    let mut left_devices = match (&memory, is_standing) {
        (Some(memory), true) => memory.read_devices()?,
        _ => Vec::new(),
    };
    let facts = facts_of_site(&site, key.as_ref())?;
    let conduct = || -> Result<bool, SessionError> {
        let choice = choose_lab(&site_plan, site_plan.lab)?.with_jobs(jobs)?;
        let prepared = PreparedTrials::new(site_plan, choice, permission, None)?;
        let attachments = &prepared.attachments;
        if let Err(error) = attachments.check_left(&left_devices) {
            left_devices = attachments.describe_left();
            return Err(LabError::from(error).into());
        }
        let prepared = prepared.with_traces_in(journal.folder());
        let mut environment = prepared.facts();
        environment.extend(facts);
        let start = prepared.start_event(folder, environment, None);
        let differences = so_far.as_ref().map_or(Vec::new(), |merged| merged.differences_from(&site, &start));
        if !differences.is_empty() {
            return Err(SessionError::Changed(differences));
        }
        let journal = prepared.begin_journal(&journal, start)?;
        // The file does not describe the writes of this block to the devices.
        memory.as_ref().map_or(Ok(()), DeviceStateFile::remove)?;
        let order_seed = site_seed(plan.protocol.order.unwrap_or(plan.protocol.seed));
        let out = so_far.as_ref().map_or(&[][..], |merged| &merged.out);
        let mut study = prepared.study(journal, observer);
        study.refused = prepared.refused_candidates();
        let counts = study.conduct_one(block, order_seed, out);
        left_devices = study.attachments.describe_left();
        counts
    };
    let counts = conduct();
    if let Some(memory) = memory.as_ref().filter(|_| !left_devices.is_empty()) {
        memory.write_devices(&left_devices)?;
    }
    let counts = counts.map_err(|source| match source {
        SessionError::Changed(differences) => FleetError::Misfit(differences),
        source if journal.is_there() => {
            FleetError::Interrupted { site: site.to_string(), block, source: Box::new(source) }
        }
        source => source.into(),
    })?;
    if !counts {
        return Ok(BlockEnd::Disturbed);
    }
    shards.finish_block(&journal, block)?;
    Ok(BlockEnd::Done)
}

/// The facts by which a block says where it was done, by which build and for which run.
fn facts_of_site(site: &Site, key: Option<&RunKey>) -> Result<Facts, FleetError> {
    let mut facts =
        Facts::from([(SITE.to_owned(), site.to_string()), (BINARY.to_owned(), digest_program()?)]);
    facts.extend(key.map(|key| (RUN.to_owned(), key.to_string())));
    Ok(facts)
}

/// The folder of a run that several sites share, as it was requested: a named one is opened if it holds the run already.
pub fn create_shared_run(wanted: &FolderRequest, plan: &Plan) -> Result<RunFolder, FleetError> {
    match wanted {
        FolderRequest::Named(path) => shared_run(path, plan),
        FolderRequest::Unnamed(path) => Ok(RunFolder::create_free(path, plan)?),
    }
}

/// Opens the run in the folder at `path`, or creates it for this plan if there is none.
pub fn shared_run(path: &Path, plan: &Plan) -> Result<RunFolder, FleetError> {
    let there = || RunFolder::has_plan(path);
    if !there() {
        match RunFolder::create_new(path, plan) {
            // Another site may have made it in the same moment.
            Err(_) if there() => {}
            made => return Ok(made?),
        }
    }
    let (folder, _) = RunFolder::open(path)?;
    let wanted = digest(plan);
    if folder.plan_digest() == wanted {
        return Ok(folder);
    }
    let found_digest = folder.plan_digest().to_owned();
    Err(FleetError::OtherRun { path: path.to_owned(), found: found_digest, wanted })
}

/// The digest of this program's file in 16 hexadecimal digits, which identifies the build.
fn digest_program() -> Result<String, FleetError> {
    let path = Path::new("/proc/self/exe");
    let content = std::fs::read(path).map_err(FleetError::io_error(path))?;
    Ok(format!("{:016x}", xxh3_64_with_seed(&content, 0)))
}
