//! What is known about each filesystem: its tools, its command lines, the meaning of its exit codes, and facts.
//!
//! Pure data and small pure functions; nothing here runs a program or touches a device. One file per filesystem and
//! one line in [`registry`]; the tests walk the registry, so that a new one cannot be half described.

mod btrfs;
mod exit;
mod ext;
mod ext2;
mod ext3;
mod ext4;
mod f2fs;
mod facts;
mod jfs;
mod mkfs;
mod model;
mod mount;
mod nilfs2;
mod registry;
mod reiser4;
mod reiserfs;
mod tool;
mod xfs;

pub use exit::{ExitCodes, Meaning};
pub use facts::{DirectoryIndex, Facts, Inodes};
pub use mkfs::{MkfsDefault, check_extra};
pub use model::{Driver, Filesystem, Fsck};
pub use mount::{Cleaner, Mount};
pub use registry::{find, names, registry};
pub use tool::{Distribution, Package, Packages, Tool};
