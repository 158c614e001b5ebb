//! A run at all sites of an inventory: blocks are handed out, collected and merged until it is settled. All that is known
//! lies in the run's folder, so that a head that went down goes on where it was.

use std::time::Duration;

use crate::study::RunFolder;
use fsverdict_judgement::plan::Plan;

use super::FleetError;
use super::engine::{BlockRequest, FleetEngine};
use super::inventory::{Fleet, On};
use super::merge::{Merged, merge};
use super::shard::Shards;
use super::slurm::Slurm;
use super::ssh::Ssh;

/// How often is looked for blocks that have come.
const PAUSE: Duration = Duration::from_secs(2);

/// Conducts the run until it is settled, or nothing is under way any more; `look` sees each new state.
pub fn conduct_fleet(
    folder: &RunFolder,
    plan: &Plan,
    fleet: &Fleet,
    look: &mut dyn FnMut(&Merged) -> Result<(), FleetError>,
) -> Result<(), FleetError> {
    let path = std::path::absolute(folder.path()).map_err(FleetError::io(folder.path()))?;
    let mut engine: Box<dyn FleetEngine> = match fleet.on {
        On::Slurm => Box::new(Slurm::new(folder.handle(), &path)?),
        On::Ssh => Box::new(Ssh::new(folder.handle(), &path, plan)),
    };
    let shards = Shards::of(folder.handle());
    let mut known = None;
    loop {
        let wanted: Vec<BlockRequest<'_>> = fleet
            .sites
            .iter()
            .map(|site| {
                let missing = |block: &u32| !shards.has(&site.name, *block);
                BlockRequest { site, blocks: (1..=plan.protocol.blocks.max).filter(missing).collect() }
            })
            .collect();
        let missing: usize = wanted.iter().map(|wanted| wanted.blocks.len()).sum();
        if known.replace(missing) != Some(missing) {
            match merge(folder, plan, &[]) {
                Ok(merged) => {
                    look(&merged)?;
                    if merged.settled.is_some() {
                        return engine.cancel(&fleet.sites);
                    }
                }
                Err(FleetError::Nothing { .. }) => {}
                Err(error) => {
                    engine.cancel(&fleet.sites)?;
                    return Err(error);
                }
            }
        }
        if !engine.serve(&wanted)? {
            // What came between the look and the end of the last job.
            if wanted.iter().all(|one| one.blocks.iter().all(|block| !shards.has(&one.site.name, *block))) {
                return Ok(());
            }
            continue;
        }
        std::thread::sleep(PAUSE);
    }
}
