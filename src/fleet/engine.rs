//! The interface to the engines that run blocks at their sites: Slurm and ssh.

use super::FleetError;
use super::inventory::SiteEntry;

/// The blocks that a site has not completed yet.
pub(super) struct BlockRequest<'a> {
    pub(super) site: &'a SiteEntry,
    pub(super) blocks: Vec<u32>,
}

/// Runs blocks at their sites.
pub(super) trait FleetEngine {
    /// Starts these blocks, in their order, unless they are in progress. Returns true while a block is in progress.
    fn start_blocks(&mut self, requests: &[BlockRequest<'_>]) -> Result<bool, FleetError>;

    /// Starts no further block at these sites.
    fn cancel_blocks(&mut self, sites: &[SiteEntry]) -> Result<(), FleetError>;
}
