//! Digests of the content of files.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::path::Arg;
use xxhash_rust::xxh3::Xxh3;

use super::content::TRANSFER;
use super::descriptor::{open_directory_quietly, open_path_quietly, open_quietly};
use super::error::IoFailure;
use super::transfer::read_some;
use super::tree::{EntryKind, Tree};

/// Reads every file of the tree, which lies at `path`.
pub(crate) fn digests_below(tree: &Tree, path: &Path) -> Result<Vec<u64>, IoFailure> {
    let mut digests = vec![0; tree.entries.len()];
    let mut buffer = vec![0; TRANSFER];
    let root =
        open_path_quietly(path).map_err(|errno| IoFailure::new("open", path.display().to_string(), errno))?;
    let mut open: Vec<OwnedFd> = Vec::new();
    for (number, directory) in tree.directories.iter().enumerate() {
        open.truncate(usize::from(directory.depth).saturating_sub(1));
        if number > 0 {
            let parent = open.last().map_or(root.as_fd(), OwnedFd::as_fd);
            let here = open_directory_quietly(parent, tree.name_at(directory.name)).map_err(|errno| {
                IoFailure::new("open", tree.directory_path(number), errno).prefix_path(path)
            })?;
            open.push(here);
        }
        let here = if number == 0 { Some(root.as_fd()) } else { open.last().map(OwnedFd::as_fd) };
        let Some(here) = here else { continue };
        for (place, entry) in tree.entries_of(directory).iter().enumerate() {
            if entry.kind == EntryKind::File {
                let at = directory.first as usize + place;
                let (digest, _) = open_to_read(here, tree.name_at(entry.name))
                    .and_then(|file| digest_of(file.as_fd(), entry.size, &mut buffer))
                    .map_err(|errno| IoFailure::new("read", tree.entry_path(at), errno).prefix_path(path))?;
                digests[at] = digest;
            }
        }
    }
    Ok(digests)
}

/// Opens a file to read it, leaving its access time alone where that is allowed.
pub(crate) fn open_to_read(here: BorrowedFd<'_>, name: impl Arg + Copy) -> Result<OwnedFd, Errno> {
    open_quietly(here, name, OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC)
}

/// Digest and length of all bytes that can be read; `size` is the file's size by its status.
pub(crate) fn digest_of(file: BorrowedFd<'_>, size: u64, buffer: &mut [u8]) -> Result<(u64, u64), Errno> {
    let (mut digest, mut length) = (Xxh3::new(), 0);
    loop {
        let count = read_some(file, buffer)?;
        digest.update(&buffer[..count]);
        length += count as u64;
        // A short read that ends where it should is the end, without asking once more.
        if count == 0 || count < buffer.len() && length == size {
            return Ok((digest.digest(), length));
        }
    }
}
