//! What each block of a filesystem's image holds: superblock, journal, inodes, names, maps or content.
//!
//! Each layout is read as far as that takes, from an image that a trial of ours left, with the source of its numbers; tests hold it to the filesystem's own
//! tools. Of filesystems whose layout is not read, what was written is content that is known, or names, or not known.

mod btrfs;
mod ext;
mod f2fs;
mod held;
mod image_reader;
mod jfs;
mod nilfs2;
mod reiserfs;
mod xfs;

use std::collections::{BTreeMap, HashSet};

use fsverdict_judgement::journal::BlockUse;

pub use image_reader::{BLOCK, ImageReader};

/// What is known of the content of an image.
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

/// What each block holds that is in use, by its number.
pub fn held_blocks(
    filesystem: &str,
    image: &ImageReader<'_>,
    known: &KnownContent,
) -> BTreeMap<u64, BlockUse> {
    let held = match filesystem {
        "ext2" | "ext3" | "ext4" => ext::read(image),
        "xfs" => xfs::read(image),
        "btrfs" => btrfs::read(image),
        "f2fs" => f2fs::read(image),
        "jfs" => jfs::read(image),
        "nilfs2" => nilfs2::read(image),
        "reiserfs" => reiserfs::read(image),
        _ => None,
    };
    let is_read = held.is_some();
    let mut held = held.unwrap_or_default();
    let names = NameSearch::new(&known.names);
    for block in image.written() {
        let Some(bytes) = image.block(*block) else { continue };
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
    held.blocks
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
