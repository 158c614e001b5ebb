//! A run that several sites share: each site is one machine and one device, and does whole blocks; what they found is
//! merged into one journal. And a run as one file, to be shared with strangers.

mod block;
mod conduct;
mod engine;
mod error;
mod inventory;
mod merge;
mod pack;
mod shard;
mod slurm;
mod ssh;

pub use block::{Asked, BlockEnd, conduct_block, shared_run};
pub use conduct::conduct_fleet;
pub use error::FleetError;
pub use inventory::{Fleet, On, SiteEntry};
pub use merge::{Merged, merge};
pub use pack::{Hiding, PackError, Packed, name as pack_name, open as open_pack, pack};
pub use shard::{Left, Shard, Shards, Site};
