//! Determines the use of each block in a filesystem's image: superblock, journal, inodes, names, maps or content.
//!
//! Each layout is read as far as necessary, from an image that a trial left, with the source of its numbers; tests
//! compare it with the filesystem's own tools. If a filesystem's layout is not supported, a written block is known
//! content, names, or unknown.
//!
//! The guest of a trial may have written arbitrary data, so a layout is read in a separate process without access to
//! anything else ([`LayoutProcess`]), each reader limits its work, and the result includes where it stopped
//! ([`ReadingStopped`]).

mod block_uses;
mod btrfs;
mod btrfs_chunks;
mod ext;
mod f2fs;
mod image_reader;
mod jfs;
mod layout;
mod layout_lines;
mod layout_process;
mod layout_step;
mod nilfs2;
mod reiserfs;
mod visited;
mod xfs;

use std::collections::{BTreeMap, HashSet};

use fsverdict_judgement::journal::{BlockUse, ReadingStopped};

pub use image_reader::{BLOCK, ImageReader};
pub use layout::{ImageLayout, read_layout};
pub use layout_process::{LayoutLimits, LayoutProcess};
pub use layout_step::{COMMAND, main};

/// The known content of an image.
#[derive(Debug, Default)]
pub struct KnownContent {
    /// Digests of the blocks of files.
    blocks: HashSet<u128>,
    /// Names of files, as they are stored.
    pub names: Vec<Vec<u8>>,
}

impl KnownContent {
    /// A block of a file, which is padded with zeroes where the file ends within it.
    pub fn add_block(&mut self, bytes: &[u8]) {
        self.blocks.insert(image_reader::digest(bytes));
    }
}

/// The use of an image's blocks.
#[derive(Debug, Default)]
pub struct BlockUses {
    /// The use of each block in use, by its number.
    pub held: BTreeMap<u64, BlockUse>,
    /// The block where the reading of the layout stopped; blocks that it did not reach are classified by their content
    /// alone.
    pub stopped: Option<ReadingStopped>,
}

/// Determines the use of each block from the layout and from the content of files.
pub fn block_uses(layout: ImageLayout, image: &ImageReader<'_>, known: &KnownContent) -> BlockUses {
    let is_read = layout.is_complete();
    let ImageLayout { mut held, stopped, .. } = layout;
    let names = NameSearch::new(&known.names);
    for block in image.written_blocks() {
        let Some(bytes) = image.block_once(*block) else { continue };
        let may_be_used = held.used.as_ref().is_none_or(|used| used.contains(block));
        match held.blocks.get(block) {
            Some(BlockUse::Journal | BlockUse::Superblock) => {}
            _ if may_be_used && known.blocks.contains(&image_reader::digest(&bytes)) => {
                held.blocks.insert(*block, BlockUse::Data);
            }
            Some(BlockUse::Map | BlockUse::Inode) if names.is_in(&bytes) => {
                held.blocks.insert(*block, BlockUse::Directory);
            }
            None if !is_read && bytes.iter().any(|byte| *byte != 0) => {
                let is_directory = names.is_in(&bytes);
                let held_now = if is_directory { BlockUse::Directory } else { BlockUse::Unknown };
                held.blocks.insert(*block, held_now);
            }
            _ => {}
        }
    }
    BlockUses { held: held.blocks, stopped }
}

/// Looks for names, of which the first letters are enough, as bytes or in two bytes a letter.
struct NameSearch {
    heads: HashSet<Vec<u8>>,
}

impl NameSearch {
    /// Letters that tell a name from chance.
    const LETTERS: usize = 8;

    fn new(names: &[Vec<u8>]) -> NameSearch {
        let mut heads = HashSet::new();
        for head in names.iter().filter_map(|name| name.get(..Self::LETTERS)) {
            heads.insert(head.to_vec());
            // As JFS has them, little-endian.
            heads.insert(head.iter().flat_map(|letter| [*letter, 0]).take(Self::LETTERS).collect());
        }
        NameSearch { heads }
    }

    fn is_in(&self, bytes: &[u8]) -> bool {
        bytes.windows(Self::LETTERS).any(|window| self.heads.contains(window))
    }
}
