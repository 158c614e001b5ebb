//! Reads a folder after a power cut without following links.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, Statx};
use rustix::io::Errno;

use crate::dataset::{
    Listing, open_directory, open_directory_below, open_to_read, read_some, stat_entry, type_of,
};
use fsverdict_calls::NodeKind;

/// The maximum size of a file that is read at once; files of sequences are smaller.
const LARGEST: usize = 1 << 20;

/// An entry that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FoundNode {
    pub(crate) kind: Option<NodeKind>,
    /// Below the folder.
    pub(super) path: PathBuf,
    pub(super) inode: u64,
    pub(super) links: u32,
    pub(super) content: FoundContent,
    /// The size of its blocks in bytes.
    pub(super) held: u64,
    pub(super) attribute: Option<Vec<u8>>,
    /// The entries of a directory.
    pub(super) entries: BTreeMap<String, FoundNode>,
}

/// The content of a file; of a symbolic link, its target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FoundContent {
    Bytes(Vec<u8>),
    /// It has so many bytes, which are read when they are compared.
    Unread(u64),
}

impl FoundContent {
    pub(super) fn size(&self) -> u64 {
        match self {
            FoundContent::Bytes(bytes) => bytes.len() as u64,
            FoundContent::Unread(size) => *size,
        }
    }
}

/// How a folder is read.
pub(crate) struct FolderReader<'a> {
    pub(crate) listing: &'a mut Listing,
    /// Files that the filesystem could not read.
    pub(crate) errors: &'a mut Vec<String>,
    /// The maximum number of entries of a directory that are read.
    pub(crate) most: usize,
    pub(crate) deepest: u32,
    /// The attribute whose value is read beside all content; without one, contents are read when they are compared.
    pub(crate) attribute: Option<&'static str>,
    /// Entries whose name begins so are passed over.
    pub(crate) passed_over: Option<u8>,
}

/// Opens a file that was found.
pub(super) fn open_found(folder: BorrowedFd<'_>, path: &Path) -> Result<OwnedFd, Errno> {
    let above = open_directory_below(folder, path.parent().unwrap_or(Path::new("")), false)?;
    open_to_read(above.as_fd(), path.file_name().unwrap_or_default())
}

impl FolderReader<'_> {
    /// Reads a folder and all in it.
    pub(crate) fn read_folder(&mut self, folder: BorrowedFd<'_>) -> Option<FoundNode> {
        let flags = rustix::fs::StatxFlags::BASIC_STATS;
        match rustix::fs::statx(folder, c"", rustix::fs::AtFlags::EMPTY_PATH, flags) {
            Ok(status) => Some(self.read_directory(folder, &status, "", 0)),
            Err(errno) => {
                self.errors.push(format!("the folder of a sequence: {errno}"));
                None
            }
        }
    }

    fn read_directory(
        &mut self,
        directory: BorrowedFd<'_>,
        status: &Statx,
        path: &str,
        depth: u32,
    ) -> FoundNode {
        let mut node = FoundNode::from_status(status, Some(NodeKind::Directory), path);
        node.attribute = self.read_attribute(directory, path);
        let mut names: Vec<CString> = Vec::new();
        let (most, passed_over) = (self.most, self.passed_over);
        let listed = self.listing.for_each_entry(
            directory,
            |errno| errno,
            |name, _| {
                let is_passed_over = passed_over.is_some() && name.to_bytes().first().copied() == passed_over;
                if names.len() < most && !is_passed_over {
                    names.push(name.to_owned());
                }
                Ok(())
            },
        );
        if let Err(errno) = listed {
            self.errors.push(format!("the list of {path}/: {errno}"));
        }
        if depth >= self.deepest {
            return node;
        }
        for name in names {
            let shown = name.to_string_lossy().into_owned();
            let below = if path.is_empty() { shown.clone() } else { format!("{path}/{shown}") };
            match self.read_node(directory, &name, &below, depth) {
                Ok(found) => drop(node.entries.insert(shown, found)),
                Err(errno) => self.errors.push(format!("{below}: {errno}")),
            }
        }
        node
    }

    fn read_node(
        &mut self,
        directory: BorrowedFd<'_>,
        name: &CStr,
        path: &str,
        depth: u32,
    ) -> Result<FoundNode, Errno> {
        let status = stat_entry(directory, name)?;
        match type_of(&status) {
            FileType::Directory => {
                let opened = open_directory(directory, name)?;
                Ok(self.read_directory(opened.as_fd(), &status, path, depth + 1))
            }
            FileType::RegularFile if self.attribute.is_none() => {
                let mut node = FoundNode::from_status(&status, Some(NodeKind::File), path);
                node.content = FoundContent::Unread(status.stx_size);
                Ok(node)
            }
            FileType::RegularFile => {
                let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let file = rustix::fs::openat(directory, name, flags, Mode::empty())?;
                let mut node = FoundNode::from_status(&status, Some(NodeKind::File), path);
                node.attribute = self.read_attribute(file.as_fd(), path);
                node.content = FoundContent::Bytes(read_contents(&file, status.stx_size)?);
                Ok(node)
            }
            FileType::Symlink => {
                let mut node = FoundNode::from_status(&status, Some(NodeKind::Symlink), path);
                let target = rustix::fs::readlinkat(directory, name, Vec::new())?;
                node.content = FoundContent::Bytes(target.into_bytes());
                Ok(node)
            }
            FileType::Fifo => Ok(FoundNode::from_status(&status, Some(NodeKind::Fifo), path)),
            _ => Ok(FoundNode::from_status(&status, None, path)),
        }
    }

    fn read_attribute(&mut self, file: BorrowedFd<'_>, path: &str) -> Option<Vec<u8>> {
        let mut value = [0; 256];
        match rustix::fs::fgetxattr(file, self.attribute?, &mut value) {
            Ok(length) => value.get(..length).map(<[u8]>::to_vec),
            Err(Errno::NODATA | Errno::OPNOTSUPP) => None,
            Err(errno) => {
                self.errors.push(format!("the attribute of {path}: {errno}"));
                None
            }
        }
    }
}

/// Reads a file, up to one byte more than it should have.
fn read_contents(file: &OwnedFd, size: u64) -> Result<Vec<u8>, Errno> {
    let wanted = usize::try_from(size).unwrap_or(LARGEST).min(LARGEST) + 1;
    let mut bytes = vec![0; wanted];
    let mut length = 0;
    while let Some(rest) = bytes.get_mut(length..).filter(|rest| !rest.is_empty()) {
        let (asked, count) = (rest.len(), read_some(file.as_fd(), rest)?);
        length += count;
        // A short read of a regular file means its end (read(2)).
        if count < asked {
            break;
        }
    }
    bytes.truncate(length);
    Ok(bytes)
}

impl FoundNode {
    fn from_status(status: &Statx, kind: Option<NodeKind>, path: &str) -> FoundNode {
        FoundNode {
            kind,
            path: PathBuf::from(path),
            inode: status.stx_ino,
            links: status.stx_nlink,
            content: FoundContent::Bytes(Vec::new()),
            held: status.stx_blocks.saturating_mul(512),
            attribute: None,
            entries: BTreeMap::new(),
        }
    }
}
