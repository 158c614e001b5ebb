//! A run that several sites share: each site is one machine and one device, and does whole blocks; what they found is
//! merged into one journal.

mod block;
mod error;
mod merge;
mod shard;

pub use block::{Asked, BlockEnd, conduct_block, shared_run};
pub use error::FleetError;
pub use merge::{Merged, is_merged, merge};
pub use shard::{Left, Shard, Shards, Site};
