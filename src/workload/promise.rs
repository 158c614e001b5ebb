//! What must be found after a cut of power, as data: each rule with where it stands.

/// What a filesystem promises to those who use it as its manuals say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Promise {
    /// Its name, in what is found and in a journal.
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
        source: "fsync(2) before rename(2); without fsync Documentation/admin-guide/ext4.rst, auto_da_alloc, and nobody else",
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
        says: "there is nothing that nobody made, and nothing from after the crash",
        source: "POSIX.1-2017, readdir",
        to_all: true,
    },
    Promise {
        name: "writable",
        says: "a filesystem that was mounted for writing takes a file, keeps it over an fsync and lets it go",
        source: "mount(8), rw; open(2), fsync(2), unlink(2)",
        to_all: true,
    },
];
