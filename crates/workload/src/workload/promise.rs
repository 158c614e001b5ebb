//! Durability promises that are checked after a power cut, as data: each rule with its source.

/// The class of guarantees that a filesystem's manual documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Promise {
    /// Its name, in findings and in a journal.
    pub name: &'static str,
    pub says: &'static str,
    /// Where that stands.
    pub source: &'static str,
    /// Whether it is made to a program that calls no fsync, too.
    pub to_all: bool,
}

/// Every promise that is looked at.
pub const PROMISES: &[Promise] = &[
    Promise {
        name: "fsync",
        says: "what was written before an fsync or syncfs that returned is read after a crash",
        source: "fsync(2); syncfs(2); POSIX.1-2017, fsync, with _POSIX_SYNCHRONIZED_IO",
        to_all: false,
    },
    Promise {
        name: "name",
        says: "a name that was there, and was only ever renamed over, is there after a crash",
        source: "rename(2): a crash leaves an instance of newpath in place; fsync(2), of the directory",
        to_all: true,
    },
    Promise {
        name: "whole",
        says: "a file renamed over another holds the whole old content or the whole new one",
        source: "fsync(2) before rename(2); without fsync Documentation/admin-guide/ext4.rst, auto_da_alloc, and no other filesystem",
        to_all: false,
    },
    Promise {
        name: "foreign",
        says: "a file holds nothing that was never written to it",
        source: "POSIX.1-2017, write: bytes that were never written read as zero; Documentation/filesystems/ext4/journal.rst, data=ordered",
        to_all: true,
    },
    Promise {
        name: "links",
        says: "a file has as many links as names",
        source: "inode(7), st_nlink",
        to_all: true,
    },
    Promise {
        name: "unheard-of",
        says: "there is nothing that no call made, and nothing from after the crash",
        source: "POSIX.1-2017, readdir",
        to_all: true,
    },
    Promise {
        name: "directory",
        says: "names that were made, moved or removed before an fsync of their directory, or a sync, are as they were left",
        source: "fsync(2): an fsync of a file need not reach its directory's entry, one of the directory does; syncfs(2)",
        to_all: false,
    },
    Promise {
        name: "entry",
        says: "a file that was synced by fsync is found under the names that it had then, and no more under one that a rename took from it",
        source: "required by no standard; ext4, xfs and btrfs do so, and f2fs with fsync_mode=strict \"in line with\" them (Documentation/filesystems/f2fs.rst); xfstests holds them to it (generic/321, 322, 335, 336, 341, 342, 498, 502)",
        to_all: false,
    },
    Promise {
        name: "rename",
        says: "what is renamed is found under its old name or its new one, not under neither and not under both",
        source: "rename(2), POSIX.1-2017, rename: the change is atomic; xfstests generic/335, 336, 341, 342, 510",
        to_all: true,
    },
    Promise {
        name: "attribute",
        says: "an extended attribute that was set or removed before an fsync is as it was left",
        source: "fsync(2): with the content the file's metadata; xattr(7); xfstests generic/066",
        to_all: false,
    },
    Promise {
        name: "allocation",
        says: "blocks that were set aside before an fsync are the file's still",
        source: "fallocate(2): later writes into the range do not fail for want of space; xfstests generic/468, 483",
        to_all: false,
    },
    Promise {
        name: "removable",
        says: "a directory can be emptied and removed",
        source: "rmdir(2): it fails with ENOTEMPTY where entries are left; xfstests generic/039, 104, 106, 107",
        to_all: true,
    },
    Promise {
        name: "recheck",
        says: "what a program told that it had made durable is found by the program itself",
        source: "the program's own documentation: sqlite.org/pragma.html#pragma_synchronous (FULL with WAL, EXTRA with a rollback journal); PostgreSQL, synchronous_commit = on; it rests on fsync(2)",
        to_all: false,
    },
    Promise {
        name: "writable",
        says: "a filesystem that was mounted for writing takes a file, keeps it over an fsync and lets it go",
        source: "mount(8), rw; open(2), fsync(2), unlink(2)",
        to_all: true,
    },
];
