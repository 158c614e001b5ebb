//! Tables that mkfs writes in advance, however little will be stored.

use super::registry::find_filesystem;
use fsverdict_judgement::plan::Candidate;

/// Bytes of an inode (mke2fs.conf(5): `inode_size`).
const INODE: u64 = 256;

/// Bytes of tables that mkfs of this candidate writes on a device of this size; 0 where they are made as they are needed.
pub fn written_by_mkfs(candidate: &Candidate, device: u64) -> u64 {
    let Some(filesystem) = find_filesystem(&candidate.filesystem) else { return 0 };
    let asked = candidate.mkfs.iter().any(|word| word.contains("lazy_itable_init=0"));
    if filesystem.leaves_tables_unwritten && !asked {
        return 0;
    }
    // How many inodes options give instead is for mkfs to know.
    filesystem.facts.inodes.limit(device).unwrap_or(0).saturating_mul(INODE)
}

#[cfg(test)]
mod tests {
    use super::written_by_mkfs;
    use fsverdict_judgement::plan::Candidate;

    #[test]
    fn ext2_and_ext3_write_their_tables_and_ext4_does_not() {
        const DISK: u64 = 2_000_000_000_000;
        let of = |name: &str| written_by_mkfs(&Candidate::with_defaults(name), DISK) / 1_000_000_000;
        assert_eq!(["ext2", "ext3", "ext4", "xfs", "btrfs"].map(of), [31, 31, 0, 0, 0]);
        let mkfs = vec!["-E".to_owned(), "lazy_itable_init=0".to_owned()];
        let eager = Candidate { mkfs, ..Candidate::with_defaults("ext4") };
        assert_eq!(written_by_mkfs(&eager, DISK) / 1_000_000_000, 31);
    }
}
