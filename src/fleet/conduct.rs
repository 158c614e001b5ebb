//! Conducts a run at all sites of an inventory: assigns blocks to sites, collects and merges them until the run has
//! ended. The whole state is in the run's folder, so that a conducting process that was interrupted can continue.

use std::time::Duration;

use crate::study::RunFolder;
use fsverdict_judgement::plan::Plan;

use super::FleetError;
use super::engine::{BlockRequest, FleetEngine};
use super::inventory::{Fleet, SiteTransport};
use super::merge::{Merged, merge_blocks};
use super::shard::Shards;
use super::slurm::Slurm;
use super::ssh::Ssh;

/// The interval between two checks for blocks that have arrived.
const PAUSE: Duration = Duration::from_secs(2);

/// Conducts the run until it has ended or no block is in progress any more; `look` receives each new state.
pub fn conduct_fleet(
    folder: &RunFolder,
    plan: &Plan,
    fleet: &Fleet,
    look: &mut dyn FnMut(&Merged) -> Result<(), FleetError>,
) -> Result<(), FleetError> {
    let path = std::path::absolute(folder.path()).map_err(FleetError::io_error(folder.path()))?;
    let mut engine: Box<dyn FleetEngine> = match fleet.on {
        SiteTransport::Slurm => Box::new(Slurm::new(folder.handle(), &path)?),
        SiteTransport::Ssh => Box::new(Ssh::new(folder.handle(), &path, plan)),
    };
    let shards = Shards::new(folder.handle());
    let mut known = None;
    loop {
        let wanted: Vec<BlockRequest<'_>> = fleet
            .sites
            .iter()
            .map(|site| {
                let missing = |block: &u32| !shards.has_block(&site.name, *block);
                BlockRequest { site, blocks: (1..=plan.protocol.blocks.max).filter(missing).collect() }
            })
            .collect();
        let missing: usize = wanted.iter().map(|wanted| wanted.blocks.len()).sum();
        if known.replace(missing) != Some(missing) {
            match merge_blocks(folder, plan, &[]) {
                Ok(merged) => {
                    look(&merged)?;
                    if merged.settled.is_some() {
                        return engine.cancel_blocks(&fleet.sites);
                    }
                }
                Err(FleetError::Nothing { .. }) => {}
                Err(error) => {
                    engine.cancel_blocks(&fleet.sites)?;
                    return Err(error);
                }
            }
        }
        if !engine.start_blocks(&wanted)? {
            // A block may have arrived between the last merge and the end of the last job.
            if wanted
                .iter()
                .all(|wanted| wanted.blocks.iter().all(|block| !shards.has_block(&wanted.site.name, *block)))
            {
                return Ok(());
            }
            continue;
        }
        std::thread::sleep(PAUSE);
    }
}
