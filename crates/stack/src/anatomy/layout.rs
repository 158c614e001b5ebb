//! The layout of a filesystem's image: the use of each block according to the filesystem's own structures.

use fsverdict_judgement::journal::ReadingStopped;

use super::block_uses::UsedBlocks;
use super::image_reader::ImageReader;
use super::{btrfs, ext, f2fs, jfs, nilfs2, reiserfs, xfs};

/// The part of a layout that was read.
#[derive(Debug, Default)]
pub struct ImageLayout {
    pub(super) held: UsedBlocks,
    /// Whether the layout is one that can be read.
    pub(super) is_known: bool,
    /// Where reading stopped; `None` where it came to its end.
    pub stopped: Option<ReadingStopped>,
}

impl ImageLayout {
    /// Whether everything that the layout describes was read.
    pub(super) fn is_complete(&self) -> bool {
        self.is_known && self.stopped.is_none()
    }
}

type ReadLayout = fn(&ImageReader<'_>, &mut UsedBlocks) -> Result<(), ReadingStopped>;

/// Finds the reader of a filesystem's layout, if there is one.
fn reader_for(filesystem: &str) -> Option<ReadLayout> {
    Some(match filesystem {
        "ext2" | "ext3" | "ext4" => ext::read_ext,
        "xfs" => xfs::read_xfs,
        "btrfs" => btrfs::read_btrfs,
        "f2fs" => f2fs::read_f2fs,
        "jfs" => jfs::read_jfs,
        "nilfs2" => nilfs2::read_nilfs2,
        "reiserfs" => reiserfs::read_reiserfs,
        _ => return None,
    })
}

/// Whether the layout of a filesystem can be read.
pub(super) fn has_reader(filesystem: &str) -> bool {
    reader_for(filesystem).is_some()
}

/// Reads the layout of a filesystem in this process, as far as it can be followed.
pub fn read_layout(filesystem: &str, image: &ImageReader<'_>) -> ImageLayout {
    let mut held_blocks = UsedBlocks::default();
    let Some(read) = reader_for(filesystem) else { return ImageLayout::default() };
    let stopped = read(image, &mut held_blocks).err();
    ImageLayout { held: held_blocks, is_known: true, stopped }
}
