//! Effects of a plan's options that other modules need to know.

use super::facts::{DirectoryIndex, Inodes};
use super::model::Filesystem;
use super::registry::find_filesystem;
use fsverdict_judgement::plan::Candidate;

/// Whether the candidate's filesystem compresses its data.
pub fn compresses(candidate: &Candidate) -> bool {
    let unasked =
        find_filesystem(&candidate.filesystem).is_some_and(|known| known.facts.compresses_by_default);
    unasked || candidate.asks_for_compression()
}

/// Whether the candidate's filesystem finds a name in a directory by reading that from its start.
pub fn searches_directories(candidate: &Candidate) -> bool {
    find_filesystem(&candidate.filesystem).is_some_and(|known| match known.facts.directory_index {
        DirectoryIndex::Linear => true,
        DirectoryIndex::Optional(_) => candidate.mkfs.iter().any(|word| word.contains("^dir_index")),
        DirectoryIndex::Always(_) => false,
    })
}

/// Whether reading a file leaves no trace in a mount with these options, separated by commas as the kernel shows them.
pub fn reads_without_trace(options: &str) -> bool {
    options.split(',').any(|option| option == "noatime")
}

impl Filesystem {
    /// The number of inodes on a device of so many bytes, and the mkfs option that changes it; `None` if only space
    /// limits it, or the plan's words set it.
    pub fn few_inodes(&self, device: u64, mkfs: &[String]) -> Option<FewInodes> {
        let Inodes::FixedAtMkfs { bytes_per_inode, options } = self.facts.inodes else { return None };
        let settled = mkfs.iter().any(|word| options.iter().any(|option| word.starts_with(option)));
        let inodes = self.facts.inodes.limit(device).filter(|_| !settled)?;
        Some(FewInodes { inodes, bytes_per_inode, option: options.first().unwrap_or(&"") })
    }
}

/// The inode options of a filesystem that fixes the number at mkfs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FewInodes {
    pub inodes: u64,
    pub bytes_per_inode: u64,
    /// The option of mkfs that takes their number.
    pub option: &'static str,
}

#[cfg(test)]
mod tests {
    use super::{compresses, reads_without_trace, searches_directories};
    use crate::filesystem::find_filesystem;
    use fsverdict_judgement::plan::Candidate;

    fn with(filesystem: &str, mkfs: &[&str], mount: &[&str]) -> Candidate {
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        Candidate { mkfs: owned(mkfs), mount: owned(mount), ..Candidate::plain(filesystem) }
    }

    #[test]
    fn options_and_the_filesystem_together_say_what_is_done() {
        let asked = |filesystem, mkfs: &[&str], mount: &[&str]| {
            let candidate = with(filesystem, mkfs, mount);
            (compresses(&candidate), searches_directories(&candidate))
        };
        assert_eq!(asked("btrfs", &[], &["noatime", "compress=zstd"]), (true, false));
        assert_eq!(asked("btrfs", &[], &["noatime"]), (false, false));
        assert_eq!(asked("reiser4", &[], &[]), (true, false));
        assert_eq!(asked("ext4", &["-O", "^dir_index"], &[]), (false, true));
        assert_eq!(asked("ext4", &[], &[]), (false, false));
        assert_eq!(asked("ext2", &[], &[]), (false, false));
        assert_eq!(asked("unheard-of", &[], &[]), (false, false));
        assert!(reads_without_trace("rw,noatime") && !reads_without_trace("rw,relatime,nodiratime"));
    }

    #[test]
    fn inodes_are_few_unless_mkfs_is_told_how_many() {
        let ext3 = find_filesystem("ext3").unwrap();
        let few = ext3.few_inodes(4 << 30, &[]).unwrap();
        assert_eq!((few.inodes, few.bytes_per_inode, few.option), (262_144, 16384, "-N"));
        assert_eq!(ext3.few_inodes(4 << 30, &with("ext3", &["-N", "1"], &[]).mkfs), None);
        assert_eq!(find_filesystem("xfs").unwrap().few_inodes(4 << 30, &[]), None);
    }
}
