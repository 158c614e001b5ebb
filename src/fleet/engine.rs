//! What has blocks done at their sites.

use super::FleetError;
use super::inventory::SiteEntry;

/// What a site is still to do.
pub(super) struct BlockRequest<'a> {
    pub(super) site: &'a SiteEntry,
    pub(super) blocks: Vec<u32>,
}

/// What has blocks done.
pub(super) trait FleetEngine {
    /// Sees to it that these are done, in their order; whether anything is under way.
    fn serve(&mut self, wanted: &[BlockRequest<'_>]) -> Result<bool, FleetError>;

    /// Nothing more is wanted.
    fn cancel(&mut self, sites: &[SiteEntry]) -> Result<(), FleetError>;
}
