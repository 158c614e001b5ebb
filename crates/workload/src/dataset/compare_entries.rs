//! Compares single entries of a folder with the expected ones.

use std::collections::HashSet;
use std::convert::identity;
use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{FileType, Statx};
use rustix::io::Errno;

use super::content::Body;
use super::descriptor::{Listing, is_mount_root, type_of};
use super::digest::{digest_of, open_to_read};
use super::manifest::ExpectedContents;
use super::transfer::read_some;
use super::tree::{EntryKind, Tree, TreeEntry};

use super::compare::{HardLinks, TreeComparison};

impl<'a> TreeComparison<'a> {
    /// Reports entries of a directory that should not exist.
    pub(super) fn report_unexpected_entries(
        &mut self,
        here: BorrowedFd<'_>,
        number: usize,
        directories: &HashSet<(u32, &CStr)>,
        listing: &mut Listing,
    ) {
        let tree = Arc::clone(&self.manifest.tree);
        let entries = tree.directories.get(number).map_or(&[][..], |directory| tree.entries_of(directory));
        let names: HashSet<&CStr> = entries.iter().map(|entry| tree.name_at(entry.name)).collect();
        let spare = number == 0 && is_mount_root(here);
        let read = listing.for_each_entry(here, identity, |name, _| {
            let known = names.contains(name) || directories.contains(&(number as u32, name));
            let nobodys = spare && name == c"lost+found";
            if !known && !nobodys {
                let path = Path::new(&tree.directory_path(number))
                    .join(&*name.to_string_lossy())
                    .display()
                    .to_string();
                self.report_difference((number, None), |_| format!("{path} should not be there"));
            }
            Ok(())
        });
        if let Err(errno) = read {
            self.report_difference((number, None), |tree| {
                format!("{}/ cannot be listed ({errno})", tree.directory_path(number))
            });
        }
    }

    pub(super) fn check_entry(
        &mut self,
        here: BorrowedFd<'_>,
        directory: usize,
        number: usize,
        entry: &TreeEntry,
        name: &CStr,
        status: Result<Statx, Errno>,
    ) {
        let shown = name.to_string_lossy().into_owned();
        let path = |tree: &Tree| if self.manifest.is_file { shown.clone() } else { tree.entry_path(number) };
        let problem = match status {
            Err(Errno::NOENT) => Some("is missing".to_string()),
            Err(errno) => Some(format!("cannot be looked at ({errno})")),
            Ok(status) => self.describe_difference(here, number, entry, name, &status),
        };
        if let Some(problem) = problem {
            let path = path(&self.manifest.tree);
            self.report_difference((directory, Some(number)), |_| format!("{path} {problem}"));
        }
    }

    fn describe_difference(
        &mut self,
        here: BorrowedFd<'_>,
        number: usize,
        entry: &TreeEntry,
        name: &CStr,
        status: &Statx,
    ) -> Option<String> {
        let kind = type_of(status);
        if entry.kind == EntryKind::Symlink {
            if kind != FileType::Symlink {
                return Some("is not a symbolic link".into());
            }
            let meant = self.manifest.tree.name_at(entry.what);
            return match rustix::fs::readlinkat(here, name, Vec::new()) {
                Ok(target) if target.as_c_str() == meant => None,
                Ok(target) => Some(format!(
                    "points to {} instead of {}",
                    target.to_string_lossy(),
                    meant.to_string_lossy()
                )),
                Err(errno) => Some(format!("cannot be read as a link ({errno})")),
            };
        }
        if kind != FileType::RegularFile {
            return Some("is not a regular file".into());
        }
        if status.stx_size != entry.size {
            return Some(format!("has {} bytes instead of {}", status.stx_size, entry.size));
        }
        let file = if entry.kind == EntryKind::HardLink { entry.what } else { number as u32 };
        if self.hard_links == HardLinks::Exact {
            let names = 1 + self.links.get(&file).copied().unwrap_or(0);
            let holders = self.manifest.shared.as_ref().and_then(|shared| shared.holders.get(file as usize));
            let links = names * holders.copied().unwrap_or(1);
            if status.stx_nlink != links {
                return Some(format!("has {} hard links instead of {links}", status.stx_nlink));
            }
            if links > 1 {
                let first = *self.inodes.entry(file).or_insert(status.stx_ino);
                if first != status.stx_ino {
                    let other = self.manifest.tree.entry_path(file as usize);
                    return Some(format!("is not the same file as {other}"));
                }
            }
            if entry.kind == EntryKind::HardLink {
                return None; // the file itself is compared under its first name
            }
        }
        let original = self.manifest.tree.entries.get(file as usize)?;
        match open_to_read(here, name)
            .and_then(|opened| self.compare_content(opened.as_fd(), file as usize, original))
        {
            Ok(problem) => problem,
            Err(errno) => Some(format!("cannot be read ({errno})")),
        }
    }

    fn compare_content(
        &mut self,
        file: BorrowedFd<'_>,
        number: usize,
        entry: &TreeEntry,
    ) -> Result<Option<String>, Errno> {
        let ExpectedContents::Generated { content, generation } = &self.manifest.contents else {
            let (digest, _) = digest_of(file, entry.size, &mut self.buffer)?;
            let same = digest == self.manifest.content_digest(number, entry);
            return Ok((!same).then(|| "has other content".into()));
        };
        let generation = self.manifest.generation_of(number, *generation);
        let body = Body { identity: entry.what, generation, size: entry.size };
        let mut position = 0;
        loop {
            let count = read_some(file, &mut self.buffer)?;
            if count == 0 {
                let short = position < entry.size;
                return Ok(short.then(|| format!("ends after {position} of {} bytes", entry.size)));
            }
            if let Some(at) = content.first_difference(&body, position, &self.buffer[..count]) {
                return Ok(Some(format!("has other content from byte {at} on")));
            }
            position += count as u64;
        }
    }
}
