//! A run that several sites share: each site is one machine and one device, and does whole blocks; what they found is
//! merged into one journal. And a run as one file, to be shared with strangers.

mod agreement;
mod believe;
mod block;
mod bundle;
mod conduct;
mod engine;
mod error;
mod inventory;
mod kept;
mod left;
mod left_file;
mod merge;
mod roster;
mod run_key;
mod shard;
mod site;
mod slurm;
mod ssh;

pub use block::{BlockEnd, BlockOrder, conduct_block, shared_run};
pub use bundle::{BundleError, Bundled, Hiding, bundle, name as bundle_name, open as open_bundle};
pub use conduct::conduct_fleet;
pub use error::FleetError;
pub use inventory::{Fleet, On, SiteEntry};
pub use kept::{keep, kept, state_folder};
pub use left::Left;
pub use merge::{Merged, merge};
pub use roster::{FILE as ROSTER, sites_of_run};
pub use run_key::FILE as RUN_KEY;
pub use shard::{FOLDER as SITES, Shard, Shards};
pub use site::Site;
pub use slurm::log_name as slurm_log_name;
