//! Options documented as losing data at a power cut: such a loss is no bug.

use fsverdict_judgement::plan::Candidate;

/// An option, and its documented loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DocumentedPrice {
    /// Those filesystems' that take it.
    filesystems: &'static [&'static str],
    /// As it stands among the options of mount or mkfs.
    pub option: &'static str,
    pub says: &'static str,
    pub source: &'static str,
}

const PRICES: &[DocumentedPrice] = &[
    DocumentedPrice {
        filesystems: &["ext3", "ext4"],
        option: "barrier=0",
        says: "the cache of a disk that loses it is not flushed: the filesystem can be corrupted by a loss of power",
        source: "kernel Documentation/admin-guide/ext4.rst, barrier",
    },
    DocumentedPrice {
        filesystems: &["ext3", "ext4", "btrfs", "f2fs"],
        option: "nobarrier",
        says: "the cache of a disk that loses it is not flushed: the filesystem can be corrupted by a loss of power",
        source: "kernel Documentation/admin-guide/ext4.rst, nobarrier; btrfs(5); Documentation/filesystems/f2fs.rst",
    },
    DocumentedPrice {
        filesystems: &["nilfs2"],
        option: "nobarrier",
        says: "the cache of a disk that loses it is not flushed",
        source: "kernel Documentation/filesystems/nilfs2.rst, barrier",
    },
    DocumentedPrice {
        filesystems: &["ext3", "ext4"],
        option: "data=writeback",
        says: "after a crash, files that were written shortly before may hold what was in their blocks before",
        source: "kernel Documentation/admin-guide/ext4.rst, data=writeback",
    },
    DocumentedPrice {
        filesystems: &["ext4"],
        option: "noauto_da_alloc",
        says: "files that were replaced by rename without fsync may be empty after a crash",
        source: "kernel Documentation/admin-guide/ext4.rst, auto_da_alloc",
    },
    DocumentedPrice {
        filesystems: &["f2fs"],
        option: "fsync_mode=posix",
        says: "fsync does as POSIX says, and no more",
        source: "kernel Documentation/filesystems/f2fs.rst, fsync_mode",
    },
    DocumentedPrice {
        filesystems: &["f2fs"],
        option: "fsync_mode=nobarrier",
        says: "fsync flushes no cache",
        source: "kernel Documentation/filesystems/f2fs.rst, fsync_mode",
    },
    DocumentedPrice {
        filesystems: &["zfs"],
        option: "sync=disabled",
        says: "fsync returns before the data are durable: what was written in the last seconds may be lost",
        source: "zfsprops(7), sync",
    },
];

/// Those of a candidate's options that have such a price.
pub fn documented_prices(candidate: &Candidate) -> impl Iterator<Item = &'static DocumentedPrice> {
    PRICES.iter().filter(|price| {
        let takes = price.filesystems.contains(&candidate.filesystem.as_str());
        takes && candidate.mount.iter().chain(&candidate.mkfs).any(|option| option == price.option)
    })
}

#[cfg(test)]
mod tests {
    use super::{PRICES, documented_prices};
    use crate::filesystem::find_filesystem;
    use fsverdict_judgement::plan::Candidate;

    #[test]
    fn an_option_has_a_price_where_its_filesystem_has_the_option() {
        let with = |filesystem: &str, option: &str| {
            let mount = vec!["noatime".to_owned(), option.to_owned()];
            documented_prices(&Candidate { mount, ..Candidate::with_defaults(filesystem) }).count()
        };
        assert_eq!((with("ext4", "nobarrier"), with("ext4", "barrier=0")), (1, 1));
        assert_eq!(
            (with("xfs", "nobarrier"), with("ext4", "data=ordered"), with("ext4", "noatime")),
            (0, 0, 0)
        );
        for price in PRICES {
            assert!(price.filesystems.iter().all(|name| find_filesystem(name).is_some()), "{price:?}");
            assert!(!price.source.is_empty() && !price.says.ends_with('.'), "{price:?}");
        }
    }
}
