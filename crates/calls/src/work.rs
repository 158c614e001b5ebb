//! A call of a trace: its word, and its numbers in the order of its text. Reading, writing and renumbering go by these.

/// The flags with which a file is opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OpenFlags {
    /// Create the file if it does not exist (O_CREAT).
    pub create: bool,
    pub truncate: bool,
    /// Each write is durable when it returns (O_SYNC, O_DSYNC).
    pub synced: bool,
    /// Bypass the page cache (O_DIRECT), if the filesystem supports it and all calls cover whole pages.
    pub direct: bool,
}

/// The system call. The numbers of open files are internal to the trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the system call of its name")]
pub enum CallWork {
    Open {
        file: u32,
        name: u32,
        flags: OpenFlags,
    },
    Close {
        file: u32,
    },
    Read {
        file: u32,
        offset: u64,
        length: u64,
    },
    Write {
        file: u32,
        offset: u64,
        length: u64,
    },
    Fsync {
        file: u32,
    },
    Fdatasync {
        file: u32,
    },
    Truncate {
        file: u32,
        size: u64,
    },
    /// fallocate(2) without a mode.
    Reserve {
        file: u32,
        offset: u64,
        length: u64,
    },
    MakeDirectory {
        name: u32,
    },
    RemoveFile {
        name: u32,
    },
    RemoveDirectory {
        name: u32,
    },
    Rename {
        from: u32,
        to: u32,
    },
    Link {
        from: u32,
        to: u32,
    },
    /// stat(2) and similar calls, also for names that do not exist.
    Look {
        name: u32,
    },
    List {
        name: u32,
    },
    /// fsync(2) of a directory; 0 is the folder that contains all names.
    SyncDirectory {
        name: u32,
    },
    /// syncfs(2) of the filesystem that contains the folder; it also replaces sync(2).
    SyncFilesystem,
    /// open(2) of a file without a name in a directory (O_TMPFILE).
    OpenUnnamed {
        file: u32,
        directory: u32,
    },
    /// linkat(2) that gives an open file a name.
    LinkOpen {
        file: u32,
        name: u32,
    },
    /// copy_file_range(2), or FICLONE where `shared`: the new bytes share their blocks with the old ones.
    Copy {
        from: u32,
        from_offset: u64,
        file: u32,
        offset: u64,
        length: u64,
        shared: bool,
    },
}

/// A number of a call, by its meaning.
#[derive(Debug, PartialEq, Eq)]
pub enum CallNumber<'a> {
    /// A file that is open from this call on.
    Opened(&'a mut u32),
    /// An open file.
    File(&'a mut u32),
    Name(&'a mut u32),
    /// A size, or an offset in a file.
    Bytes(&'a mut u64),
}

/// Every call with its word; its numbers are those of the call itself.
const VERBS: [(&str, CallWork); 21] = {
    use CallWork as W;
    let (file, name, offset, length) = (0, 0, 0, 0);
    let flags = OpenFlags { create: false, truncate: false, synced: false, direct: false };
    [
        ("open", W::Open { file, name, flags }),
        ("close", W::Close { file }),
        ("read", W::Read { file, offset, length }),
        ("write", W::Write { file, offset, length }),
        ("fsync", W::Fsync { file }),
        ("fdatasync", W::Fdatasync { file }),
        ("truncate", W::Truncate { file, size: 0 }),
        ("reserve", W::Reserve { file, offset, length }),
        ("mkdir", W::MakeDirectory { name }),
        ("unlink", W::RemoveFile { name }),
        ("rmdir", W::RemoveDirectory { name }),
        ("rename", W::Rename { from: 0, to: 0 }),
        ("link", W::Link { from: 0, to: 0 }),
        ("stat", W::Look { name }),
        ("list", W::List { name }),
        ("fsyncdir", W::SyncDirectory { name }),
        ("syncfs", W::SyncFilesystem),
        ("opentmp", W::OpenUnnamed { file, directory: 0 }),
        ("linkopen", W::LinkOpen { file, name }),
        ("copy", W::Copy { from: 0, from_offset: 0, file, offset, length, shared: false }),
        ("clone", W::Copy { from: 0, from_offset: 0, file, offset, length, shared: true }),
    ]
};

impl OpenFlags {
    /// The flags by their words.
    pub(crate) fn words_mut(&mut self) -> [(&'static str, &mut bool); 4] {
        [
            ("create", &mut self.create),
            ("truncate", &mut self.truncate),
            ("synced", &mut self.synced),
            ("direct", &mut self.direct),
        ]
    }
}

impl CallWork {
    /// The call of a word, with numbers that are 0.
    pub(crate) fn with_verb(verb: &str) -> Option<Self> {
        VERBS.iter().find(|(word, _)| *word == verb).map(|(_, work)| *work)
    }

    /// Whether it makes something durable.
    pub fn is_sync(self) -> bool {
        use CallWork::{Fdatasync, Fsync, SyncDirectory, SyncFilesystem};
        matches!(self, Fsync { .. } | Fdatasync { .. } | SyncDirectory { .. } | SyncFilesystem)
    }

    /// The word for it in a trace's text.
    pub fn verb(self) -> &'static str {
        let is_same = |other: &CallWork| match (self, other) {
            (CallWork::Copy { shared, .. }, CallWork::Copy { shared: other, .. }) => shared == *other,
            _ => std::mem::discriminant(&self) == std::mem::discriminant(other),
        };
        VERBS.iter().find(|(_, work)| is_same(work)).map_or("", |(word, _)| word)
    }

    /// Its numbers in the order of its text.
    pub fn numbers_mut(&mut self) -> Vec<CallNumber<'_>> {
        use CallNumber::{Bytes, File, Name, Opened};
        match self {
            CallWork::Open { file, name, .. } => vec![Opened(file), Name(name)],
            CallWork::OpenUnnamed { file, directory } => vec![Opened(file), Name(directory)],
            CallWork::LinkOpen { file, name } => vec![File(file), Name(name)],
            CallWork::Close { file } | CallWork::Fsync { file } | CallWork::Fdatasync { file } => {
                vec![File(file)]
            }
            CallWork::Read { file, offset, length }
            | CallWork::Write { file, offset, length }
            | CallWork::Reserve { file, offset, length } => vec![File(file), Bytes(offset), Bytes(length)],
            CallWork::Truncate { file, size } => vec![File(file), Bytes(size)],
            CallWork::MakeDirectory { name }
            | CallWork::RemoveFile { name }
            | CallWork::RemoveDirectory { name }
            | CallWork::Look { name }
            | CallWork::List { name }
            | CallWork::SyncDirectory { name } => vec![Name(name)],
            CallWork::Rename { from, to } | CallWork::Link { from, to } => vec![Name(from), Name(to)],
            CallWork::SyncFilesystem => Vec::new(),
            CallWork::Copy { from, from_offset, file, offset, length, .. } => {
                vec![File(from), Bytes(from_offset), File(file), Bytes(offset), Bytes(length)]
            }
        }
    }
}
