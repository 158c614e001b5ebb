//! Reads the folder of a sequence without following links.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{FileType, Mode, OFlags, Statx};
use rustix::io::Errno;

use crate::dataset::{Listing, open_directory, read_some, stat_entry, type_of};

use super::calls::ATTRIBUTE_NAME;
use super::node::NodeKind;

/// The maximum size of a file that is read; files of sequences are smaller.
const LARGEST: usize = 1 << 20;
/// The maximum number of entries that are read; folders of sequences have fewer.
const MOST: usize = 64;
const DEEPEST: u32 = 4;

/// An entry that was found in the folder of a sequence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FoundNode {
    pub(super) kind: Option<NodeKind>,
    pub(super) inode: u64,
    pub(super) links: u32,
    /// The content in bytes; of a symbolic link, its target.
    pub(super) content: Vec<u8>,
    /// The size of its blocks in bytes.
    pub(super) held: u64,
    pub(super) attribute: Option<Vec<u8>>,
    /// The entries of a directory.
    pub(super) entries: BTreeMap<String, FoundNode>,
}

/// Reads a folder; `errors` collects files that the filesystem could not read.
pub(super) fn read_folder(
    folder: BorrowedFd<'_>,
    listing: &mut Listing,
    errors: &mut Vec<String>,
) -> Option<FoundNode> {
    let mut reading = FoundReading { listing, errors, buffer: Vec::new() };
    let status =
        rustix::fs::statx(folder, c"", rustix::fs::AtFlags::EMPTY_PATH, rustix::fs::StatxFlags::BASIC_STATS);
    match status {
        Ok(status) => Some(reading.read_directory(folder, &status, "", 0)),
        Err(errno) => {
            reading.errors.push(format!("the folder of a sequence: {errno}"));
            None
        }
    }
}

struct FoundReading<'a> {
    listing: &'a mut Listing,
    errors: &'a mut Vec<String>,
    buffer: Vec<u8>,
}

impl FoundReading<'_> {
    fn read_directory(
        &mut self,
        directory: BorrowedFd<'_>,
        status: &Statx,
        path: &str,
        depth: u32,
    ) -> FoundNode {
        let mut node = FoundNode::from_status(status, Some(NodeKind::Directory));
        node.attribute = self.read_attribute(directory, path);
        let mut names: Vec<CString> = Vec::new();
        let listed = self.listing.for_each_entry(
            directory,
            |errno| errno,
            |name, _| {
                if names.len() < MOST {
                    names.push(name.to_owned());
                }
                Ok(())
            },
        );
        if let Err(errno) = listed {
            self.errors.push(format!("the list of {path}/: {errno}"));
        }
        if depth >= DEEPEST {
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
            FileType::RegularFile => {
                let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let file = rustix::fs::openat(directory, name, flags, Mode::empty())?;
                let mut node = FoundNode::from_status(&status, Some(NodeKind::File));
                node.attribute = self.read_attribute(file.as_fd(), path);
                self.read_contents(&file, status.stx_size)?;
                node.content.clone_from(&self.buffer);
                Ok(node)
            }
            FileType::Symlink => {
                let mut node = FoundNode::from_status(&status, Some(NodeKind::Symlink));
                node.content = rustix::fs::readlinkat(directory, name, Vec::new())?.into_bytes();
                Ok(node)
            }
            FileType::Fifo => Ok(FoundNode::from_status(&status, Some(NodeKind::Fifo))),
            _ => Ok(FoundNode::from_status(&status, None)),
        }
    }

    fn read_attribute(&mut self, file: BorrowedFd<'_>, path: &str) -> Option<Vec<u8>> {
        let mut value = [0; 256];
        match rustix::fs::fgetxattr(file, ATTRIBUTE_NAME, &mut value) {
            Ok(length) => value.get(..length).map(<[u8]>::to_vec),
            Err(Errno::NODATA | Errno::OPNOTSUPP) => None,
            Err(errno) => {
                self.errors.push(format!("the attribute of {path}: {errno}"));
                None
            }
        }
    }

    /// Reads a file into the buffer, up to one byte more than it should have.
    fn read_contents(&mut self, file: &OwnedFd, size: u64) -> Result<(), Errno> {
        let wanted = usize::try_from(size).unwrap_or(LARGEST).min(LARGEST) + 1;
        self.buffer.clear();
        self.buffer.resize(wanted, 0);
        let mut length = 0;
        while let Some(rest) = self.buffer.get_mut(length..).filter(|rest| !rest.is_empty()) {
            let (asked, count) = (rest.len(), read_some(file.as_fd(), rest)?);
            length += count;
            // A short read of a regular file means its end (read(2)).
            if count < asked {
                break;
            }
        }
        self.buffer.truncate(length);
        Ok(())
    }
}

impl FoundNode {
    fn from_status(status: &Statx, kind: Option<NodeKind>) -> FoundNode {
        FoundNode {
            kind,
            inode: status.stx_ino,
            links: status.stx_nlink,
            content: Vec::new(),
            held: status.stx_blocks.saturating_mul(512),
            attribute: None,
            entries: BTreeMap::new(),
        }
    }
}
