//! The description of each filesystem: its tools, command lines, exit codes and facts.
//!
//! Pure data and small pure functions; nothing here runs a program or touches a device. Each filesystem is one file and
//! one line in `registry`; tests walk the registry, so that no description can be incomplete.
//!
//! Fair defaults, in three rules:
//! - **mkfs** gets the options that its own defaults would choose for a large device, and leaves nothing to the kernel
//!   for later; it does not discard, because a trial has done so before, for all alike.
//! - **mount** gets nothing, but for ext4 that it shall not write tables of inodes in the background: the kernel's own
//!   defaults keep the journal's flushes for all of these. Options that the kernel adds by itself (f2fs `discard`,
//!   btrfs `ssd` on a device that says it does not rotate) stay, and are recorded as `/proc/mounts` shows them.
//! - **fsck** reads all metadata, repairs nothing, asks nothing.
//!
//! Tested in User-Mode Linux 6.1.176: `modprobe -d FOLDER -a MODULE…` returns 0 for built-in modules and loads
//! dependencies, soft ones included (f2fs brings crc32, xts brings ecb), so the lists here are short. jfs needs no
//! character set unless a plan asks for one (`iocharset=`).

mod bcachefs;
mod btrfs;
mod copies;
mod exfat;
mod exit;
mod ext;
mod ext2;
mod ext3;
mod ext4;
mod f2fs;
mod facts;
mod jfs;
mod known_options;
mod mainline;
mod mkfs;
mod model;
mod mount;
mod nilfs2;
mod ntfs3;
mod option_effects;
mod options;
mod pool;
mod pool_status;
mod properties;
mod registry;
mod reiser4;
mod reiserfs;
mod snapshot;
mod tables;
mod tool;
mod vfat;
mod xfs;
mod zfs;

pub use copies::{CopyNames, CopyPrograms, ProfileWords, Profiles};
pub use exit::{ExitCodes, FsckStatus};
pub use facts::{DirectoryIndex, FilesystemFacts, Inodes, KernelVersion, Mainline, Property};
pub use known_options::{Choice, ChoiceOptions, KnownOptions};
pub use mainline::kernel_version;
pub use mkfs::MkfsDefault;
pub use model::{ApartDevice, BackgroundJob, Driver, Filesystem, Fsck, OptionalCode, Recovery};
pub use mount::{Cleaner, MountOptions};
pub use option_effects::{CONDITIONAL_PROMISES, DocumentedLoss, SafetyEffect, SafetyOption};
pub use options::{FewInodes, compresses, documented_losses, reads_without_trace, searches_directories};
pub use pool::{POOL_PREFIX, PoolPrograms, pool_name};
pub use pool_status::counted_errors;
pub use properties::Properties;
pub use registry::{DIRECTORY, filesystem_names, find_filesystem, registry};
pub use snapshot::{SnapshotPlace, SnapshotPrograms};
pub use tables::written_by_mkfs;
pub use tool::{Distribution, Package, Packages, Tool};
