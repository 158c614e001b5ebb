//! Checks the files of one folder of saved files after a power cut, and collects the broken promises.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{FileType, Mode, OFlags, Statx};
use rustix::io::Errno;

use crate::dataset::{Body, Content, Listing, Tree, read_some, stat_entry, type_of};
use fsverdict_judgement::journal::LossAges;

use super::save::BESIDE;

/// The contents that a file may have after the power cut.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Allowed {
    /// The last generation that was promised to outlive it.
    pub(super) promised: u32,
    /// The last save that had begun.
    pub(super) begun: u32,
    /// Whether all saving that had begun was careful.
    pub(super) careless: bool,
    /// Whether its other name may be there: it had been written at all.
    pub(super) beside: bool,
    /// When its last saving had begun, in nanoseconds of the device's clock.
    pub(super) began_ns: u64,
}

/// Problems that were found.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct SavedReading {
    /// The first example for each broken promise, by its name.
    pub broken: BTreeMap<&'static str, String>,
    /// Something could not be read, and the filesystem said so.
    pub errors: Vec<String>,
    /// The files that were being or had been saved, sorted by when, and whether one of these promises concerned them.
    pub ages: LossAges,
    /// How often something was found to be wrong.
    pub(super) faults: usize,
}

impl SavedReading {
    pub(super) fn note_broken(&mut self, promise: &'static str, seen: impl FnOnce() -> String) {
        self.faults += 1;
        self.broken.entry(promise).or_insert_with(seen);
    }

    /// Something could not be read.
    fn note_error(&mut self, error: String) {
        self.faults += 1;
        self.errors.push(error);
    }
}

pub(super) struct SavedLooking<'a> {
    pub(super) tree: &'a Tree,
    pub(super) content: &'a Content,
    pub(super) folder: BorrowedFd<'a>,
    pub(super) reading: SavedReading,
    pub(super) buffer: Vec<u8>,
}

impl SavedLooking<'_> {
    /// The file was read already: use that content.
    pub(super) fn check_file(&mut self, number: usize, allowed: Allowed, known: Option<(&Statx, &[u8])>) {
        let Some(entry) = self.tree.entries.get(number) else { return };
        let name = self.tree.name_at(entry.name);
        let shown = name.to_string_lossy();
        let status = match known {
            Some((status, bytes)) => {
                self.buffer.clear();
                self.buffer.extend_from_slice(bytes);
                Ok(Some(*status))
            }
            None => self.read_contents(name, entry.size),
        };
        match status {
            // One link too few is seen when the names that lie beside are looked at.
            Ok(Some(status))
                if status.stx_nlink != 1
                    && u64::from(status.stx_nlink) != 1 + self.is_beside(name, status.stx_ino) =>
            {
                self.reading.note_broken("links", || format!("{shown} has {} links", status.stx_nlink));
            }
            Ok(Some(_)) => {}
            Ok(None) => return self.reading.note_broken("name", || format!("{shown} is no file")),
            Err(Errno::NOENT) => return self.reading.note_broken("name", || format!("{shown} is gone")),
            Err(errno) => return self.reading.note_error(format!("{shown}: {errno}")),
        }
        let body = |generation| Body { identity: entry.what, generation, size: entry.size };
        let content = &self.buffer;
        let is = |generation: &u32| {
            content.len() as u64 == entry.size
                && self.content.first_difference(&body(*generation), 0, content).is_none()
        };
        // A generation more than was ever begun: that would be from after the crash.
        match (0..=allowed.begun.saturating_add(1)).rev().find(is) {
            Some(generation) if generation > allowed.begun => {
                self.reading
                    .note_broken("unheard-of", || format!("{shown} has content that was not written yet"));
            }
            Some(generation) if generation < allowed.promised => self.reading.note_broken("fsync", || {
                format!("{shown} has content {generation}, and content {} was saved", allowed.promised)
            }),
            Some(_) => {}
            None => {
                let at = (0..=allowed.begun)
                    .filter_map(|one| self.content.first_difference(&body(one), 0, content));
                let (at, length) = (at.max().unwrap_or(content.len() as u64), content.len());
                let size = entry.size;
                let promise = if allowed.careless { "whole" } else { "fsync" };
                self.reading.note_broken(promise, || {
                    format!(
                        "{shown} holds neither content: {length} of {size} bytes, as written up to byte {at}"
                    )
                });
                self.report_foreign_content(&shown, &(0..=allowed.begun).map(body).collect::<Vec<_>>());
            }
        }
    }

    /// Whether the content has a sector that is neither zero nor written data.
    fn report_foreign_content(&mut self, shown: &str, written: &[Body]) {
        const SECTOR: usize = 512;
        let content = std::mem::take(&mut self.buffer);
        for (number, sector) in (0_u64..).zip(content.chunks(SECTOR)) {
            let at = number * SECTOR as u64;
            let is_written =
                |body: &&Body| at < body.size && self.content.first_difference(body, at, sector).is_none();
            // A sector may end with zeroes where its file ended.
            let length = sector.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            let Some(head) = sector.get(..length).filter(|head| !head.is_empty()) else { continue };
            let begins =
                |body: &&Body| at < body.size && self.content.first_difference(body, at, head).is_none();
            if !written.iter().any(|body| is_written(&body) || begins(&body)) {
                self.reading.note_broken("foreign", || {
                    format!("{shown} holds what was never written to it, at byte {at}")
                });
                break;
            }
        }
        self.buffer = content;
    }

    /// Names that lie there beside the files.
    pub(super) fn check_other_files(&mut self, allowed: &[Allowed]) {
        let known: BTreeMap<CString, usize> = self
            .tree
            .entries
            .iter()
            .enumerate()
            .map(|(number, entry)| (self.tree.name_at(entry.name).to_owned(), number))
            .collect();
        let mut beside: BTreeSet<(CString, usize)> = BTreeSet::new();
        let mut unheard_of = None;
        let list = rustix::fs::openat(self.folder, c".", OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty());
        let listed = list.and_then(|list| {
            Listing::new().for_each_entry(
                list.as_fd(),
                |errno| errno,
                |name, _| {
                    let file_number = name
                        .to_bytes()
                        .strip_suffix(BESIDE)
                        .and_then(|head| known.get(head_name(head).as_c_str()));
                    match file_number
                        .filter(|number| allowed.get(**number).is_some_and(|allowed| allowed.beside))
                    {
                        Some(number) => drop(beside.insert((name.to_owned(), *number))),
                        None if known.contains_key(name) => {}
                        None => unheard_of = Some(name.to_string_lossy().into_owned()),
                    }
                    Ok(())
                },
            )
        });
        if let Err(errno) = listed {
            self.reading.errors.push(format!("the list of names: {errno}"));
        }
        if let Some(name) = unheard_of {
            self.reading.note_broken("unheard-of", || format!("{name} was never made"));
        }
        for (name, number) in beside {
            let (Some(entry), Some(allowed)) = (self.tree.entries.get(number), allowed.get(number)) else {
                continue;
            };
            let shown = name.to_string_lossy();
            match self.read_contents(&name, entry.size) {
                Ok(status) => {
                    let file = self.tree.name_at(entry.name);
                    if status.is_some_and(|status| {
                        status.stx_nlink == 1
                            && stat_entry(self.folder, file).is_ok_and(|file| file.stx_ino == status.stx_ino)
                    }) {
                        self.reading
                            .note_broken("links", || format!("{shown} is a second name, and has one link"));
                    }
                    let body = |generation| Body { identity: entry.what, generation, size: entry.size };
                    self.report_foreign_content(&shown, &(0..=allowed.begun).map(body).collect::<Vec<_>>());
                }
                Err(errno) => self.reading.errors.push(format!("{shown}: {errno}")),
            }
        }
    }

    /// How many of a file's links are its other name: a rename that was under way may have left both.
    fn is_beside(&self, name: &CStr, inode: u64) -> u64 {
        let beside = CString::new([name.to_bytes(), BESIDE].concat()).unwrap_or_default();
        let same = stat_entry(self.folder, &beside).is_ok_and(|status| status.stx_ino == inode);
        u64::from(same)
    }

    /// Reads a file into the buffer, up to one byte more than the allowed size; returns its status, or `None` if it is
    /// not a regular file.
    fn read_contents(&mut self, name: &CStr, size: u64) -> Result<Option<Statx>, Errno> {
        let status = stat_entry(self.folder, name)?;
        if type_of(&status) != FileType::RegularFile {
            return Ok(None);
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(self.folder, name, flags, Mode::empty())?;
        let wanted = usize::try_from(size).unwrap_or(usize::MAX).saturating_add(1);
        self.buffer.resize(wanted, 0);
        let mut length = 0;
        while let Some(rest) = self.buffer.get_mut(length..).filter(|rest| !rest.is_empty()) {
            match read_some(file.as_fd(), rest)? {
                0 => break,
                count => length += count,
            }
            // A read to the known end of the file needs no further read.
            if length as u64 == status.stx_size {
                break;
            }
        }
        self.buffer.truncate(length);
        Ok(Some(status))
    }
}

/// A name without a byte that no name has.
pub(super) fn head_name(head: &[u8]) -> CString {
    CString::new(head).unwrap_or_default()
}
