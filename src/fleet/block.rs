//! A site's part: one block, whole or not at all.

use std::path::Path;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::study::{Observer, OneBlock, Permission, RunFolder, SessionError};
use fsverdict_judgement::journal::Facts;
use fsverdict_judgement::plan::{DeviceSource, Plan, digest};
use fsverdict_lab::lab::{ChosenLab, choose_lab};
use fsverdict_lab::trial::seeds;

use super::FleetError;
use super::left_file::LeftFile;
use super::merge::merge;
use super::shard::Shards;
use super::site::{BINARY, SITE, Site};

pub struct BlockOrder {
    pub site: Site,
    /// From 1.
    pub block: u32,
    /// This site's device, where it is another than the plan's.
    pub device: Option<DeviceSource>,
    /// How many trials at once, in simulated time.
    pub jobs: Option<usize>,
    /// Whether what may be erased was named once for all blocks, in an inventory: that covers the device as the last block left it.
    pub is_standing: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlockEnd {
    /// It had been done before.
    Already,
    /// The run has come to its end without it, for this reason.
    Settled(String),
    Done,
    /// It is still to be done: no attempt counts, for the machine was too busy at each.
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
    let shards = Shards::of(folder.handle());
    if shards.has(&site, block) {
        return Ok(BlockEnd::Already);
    }
    let so_far = match merge(folder, plan, &[]) {
        Ok(merged) => Some(merged),
        Err(FleetError::Nothing { .. }) => None,
        Err(error) => return Err(error),
    };
    if let Some(reason) = so_far.as_ref().and_then(|merged| merged.settled.clone()) {
        return Ok(BlockEnd::Settled(reason));
    }
    let journal = shards.begin(&site, block)?;
    let own = |seed: u64| seeds::of_site(seed, &site.to_string());
    // A modelled device answers the same seed alike: each site has to look at other ones, or it would add nothing.
    let modelled = device.as_ref().unwrap_or(&plan.device.source).is_modelled();
    let protocol = &plan.protocol;
    let memory = LeftFile::of_site(folder.path(), &site);
    let mut left = match (&memory, is_standing) {
        (Some(memory), true) => memory.read()?,
        _ => Vec::new(),
    };
    let forget_left = || memory.as_ref().map_or(Ok(()), LeftFile::remove);
    let one = OneBlock {
        left: &mut left,
        before_first_write: &forget_left,
        plan,
        run: folder.id(),
        number: block,
        order_seed: own(protocol.order.unwrap_or(protocol.seed)),
        seed: if modelled { own(protocol.seed) } else { protocol.seed },
        out: so_far.as_ref().map_or(Vec::new(), |merged| merged.out.clone()),
        device,
        journal: &journal,
        facts: Facts::from([(SITE.to_owned(), site.to_string()), (BINARY.to_owned(), binary()?)]),
        misfits: &|start| so_far.as_ref().map_or(Vec::new(), |merged| merged.misfits(&site, plan, start)),
    };
    let lab =
        |plan: &Plan| -> Result<ChosenLab, SessionError> { Ok(choose_lab(plan, plan.lab)?.with_jobs(jobs)?) };
    let counts = one.conduct(lab, permission, observer);
    if let Some(memory) = memory.as_ref().filter(|_| !left.is_empty()) {
        memory.keep(&left)?;
    }
    let counts = counts.map_err(|source| match source {
        SessionError::Changed(misfits) => FleetError::Misfit(misfits),
        source if journal.is_there() => {
            FleetError::Interrupted { site: site.to_string(), block, source: Box::new(source) }
        }
        source => source.into(),
    })?;
    if !counts {
        return Ok(BlockEnd::Disturbed);
    }
    shards.end(&journal, block)?;
    Ok(BlockEnd::Done)
}

/// The run in the folder at `path`, which is made for this plan where there is none.
pub fn shared_run(path: &Path, plan: &Plan) -> Result<RunFolder, FleetError> {
    let there = || RunFolder::has_plan(path);
    if !there() {
        match RunFolder::create_new(path, plan) {
            // Another site may have made it in the same moment.
            Err(_) if there() => {}
            made => return Ok(made?),
        }
    }
    let (folder, known) = RunFolder::open(path)?;
    let (found, wanted) = (digest(&known), digest(plan));
    if found == wanted {
        Ok(folder)
    } else {
        Err(FleetError::OtherRun { path: path.to_owned(), found, wanted })
    }
}

/// What tells this program from any other: 16 hexadecimal digits.
fn binary() -> Result<String, FleetError> {
    let path = Path::new("/proc/self/exe");
    let content = std::fs::read(path).map_err(FleetError::io(path))?;
    Ok(format!("{:016x}", xxh3_64_with_seed(&content, 0)))
}
