//! Runs that several sites share: each site is one machine with one device and conducts complete blocks. Their journals
//! are merged into one. Also packs a run into one file that can be shared with anyone.

mod agreement;
mod block;
mod bundle;
mod conduct;
mod copies;
mod device_state_file;
mod engine;
mod error;
mod inventory;
mod merge;
mod merged_records;
mod omissions;
mod plausibility;
mod plausible_numbers;
mod roster;
mod run_key;
mod shard;
mod site;
mod site_clock;
mod slurm;
mod ssh;
mod stored_inventory;
mod user_state;
mod whole_runs;

pub use block::{BlockEnd, BlockOrder, conduct_block, create_shared_run, shared_run};
pub use bundle::{BundleError, Bundled, Hiding, bundle_name, bundle_run, open_bundle, pack_run, read_bundle};
pub use conduct::conduct_fleet;
pub use error::{FleetError, IgnoredFile};
pub use inventory::{Fleet, SiteEntry, SiteTransport};
pub use merge::{Merged, merge_blocks};
pub use roster::{FILE as ROSTER, sites_of_run};
pub use run_key::FILE as RUN_KEY;
pub use shard::{FOLDER as SITES, Shard, Shards};
pub use site::Site;
pub use slurm::log_name as slurm_log_name;
pub use stored_inventory::{store_inventory, stored_inventory};
pub use user_state::state_folder;
pub use whole_runs::{SharedRun, carry_out_whole_runs};
