//! The list of filesystems: one line each.

use super::model::Filesystem;
use super::{btrfs, ext2, ext3, ext4, f2fs, jfs, nilfs2, reiser4, reiserfs, xfs};

/// Every filesystem, in alphabetical order.
static REGISTRY: [&Filesystem; 10] = [
    &btrfs::BTRFS,
    &ext2::EXT2,
    &ext3::EXT3,
    &ext4::EXT4,
    &f2fs::F2FS,
    &jfs::JFS,
    &nilfs2::NILFS2,
    &reiser4::REISER4,
    &reiserfs::REISERFS,
    &xfs::XFS,
];

/// Every filesystem fsverdict knows, in alphabetical order.
#[must_use]
pub fn registry() -> &'static [&'static Filesystem] {
    &REGISTRY
}

/// The filesystem of this name; none when there is none.
#[must_use]
pub fn find(name: &str) -> Option<&'static Filesystem> {
    registry().iter().copied().find(|filesystem| filesystem.name == name)
}

/// The names, for a plan's vocabulary.
#[must_use]
pub fn names() -> Vec<&'static str> {
    registry().iter().map(|filesystem| filesystem.name).collect()
}
