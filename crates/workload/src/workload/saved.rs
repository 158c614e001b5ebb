//! Checks saved files after a power cut against rules with sources.
//!
//! A file that was saved several times before the power cut must have its last saved content, or one whose save had
//! begun; complete, and under its name. [`PROMISES`](super::PROMISES) states which filesystem guarantees which part.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, Statx};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::dataset::{
    Body, Content, DatasetOrigin, Listing, Prepared, Tree, open_directory_below, open_path, read_some,
    stat_entry, type_of,
};
use fsverdict_judgement::journal::{LossAges, Save};
use fsverdict_linux::host::syscall::files_reader::{AT_ONCE, FilesReader};

use super::cksum::posix_checksum;
use super::save::BESIDE;

#[cfg(test)]
#[path = "saved_tests.rs"]
mod saved_tests;

/// A folder of saved files, with the time of each save.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SavedFolder {
    /// The path relative to the mount point.
    pub into: String,
    pub dataset: String,
    /// Each phase that saved there.
    pub phases: Vec<SavedPhase>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SavedPhase {
    pub saves: Vec<Save>,
    /// When the syncfs after it returned, in nanoseconds of the device's clock.
    pub synced_ns: u64,
}

/// The contents that a file may have after the power cut.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Allowed {
    /// The last generation that was promised to outlive it.
    promised: u32,
    /// The last save that had begun.
    begun: u32,
    /// Whether all saving that had begun was careful.
    careless: bool,
    /// Whether its other name may be there: it had been written at all.
    beside: bool,
    /// When its last saving had begun, in nanoseconds of the device's clock.
    began_ns: u64,
}

/// Problems that were found.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct SavedReading {
    /// The first example for each broken promise, by its name.
    pub broken: BTreeMap<&'static str, String>,
    /// Something could not be read, and the filesystem said so.
    pub errors: Vec<String>,
    /// The files whose save had begun, sorted by when, and whether one of these promises concerned them.
    pub ages: LossAges,
    /// How often something was found to be wrong.
    faults: usize,
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

impl SavedFolder {
    /// Checks the promises in the mounted filesystem after a power cut at this nanosecond. With a reader, many files
    /// are read at once instead of one after the other; the result is the same.
    pub fn check_after_cut(
        &self,
        mount: &Path,
        dataset: &Prepared,
        cut_ns: u64,
        mut reader: Option<&mut FilesReader>,
    ) -> SavedReading {
        let mut reading = SavedReading::default();
        let DatasetOrigin::Generated { tree, content } = &dataset.origin else { return reading };
        let folder = open_path(mount)
            .and_then(|mount| open_directory_below(mount.as_fd(), Path::new(&self.into), false));
        let folder = match folder {
            Ok(folder) => folder,
            Err(Errno::NOENT) => {
                reading.note_broken("name", || format!("the folder {} is gone", self.into));
                return reading;
            }
            Err(errno) => {
                reading.errors.push(format!("{}: {errno}", self.into));
                return reading;
            }
        };
        let allowed = self.allowed_versions(tree.entries.len(), cut_ns);
        let mut looking = SavedLooking { tree, content, folder: folder.as_fd(), reading, buffer: Vec::new() };
        for first in (0..tree.entries.len()).step_by(AT_ONCE) {
            let several = first..tree.entries.len().min(first + AT_ONCE);
            if let Some(reader) = reader.as_deref_mut() {
                let names: Vec<_> = tree.entries[several.clone()]
                    .iter()
                    .map(|entry| (tree.name_at(entry.name), entry.size))
                    .collect();
                reader.read_files(folder.as_fd(), &names);
            }
            for (at, number) in several.enumerate() {
                let (faults, allowed) = (looking.reading.faults, allowed[number]);
                looking.check_file(number, allowed, reader.as_ref().and_then(|reader| reader.file_at(at)));
                if allowed.beside {
                    let is_lost = looking.reading.faults > faults;
                    looking.reading.ages.count(cut_ns.saturating_sub(allowed.began_ns), is_lost);
                }
            }
        }
        looking.check_other_files(&allowed);
        looking.reading
    }

    /// Keyed by the file's number.
    fn allowed_versions(&self, files: usize, cut_ns: u64) -> Vec<Allowed> {
        let mut allowed = vec![Allowed::default(); files];
        for phase in &self.phases {
            for save in phase.saves.iter().filter(|save| save.began_ns <= cut_ns) {
                let Some(file) = allowed.get_mut(save.file as usize) else { continue };
                file.begun = file.begun.max(save.generation);
                file.beside = true;
                file.began_ns = file.began_ns.max(save.began_ns);
                file.careless |= !save.careful;
                if save.careful && save.saved_ns <= cut_ns || phase.synced_ns <= cut_ns {
                    file.promised = file.promised.max(save.generation);
                    // Earlier saves no longer matter.
                    file.careless = false;
                }
            }
        }
        allowed
    }

    /// Describes the allowed contents of each file when power is cut at this nanosecond.
    pub fn describe_at(&self, dataset: &Prepared, cut_ns: u64) -> Vec<String> {
        let DatasetOrigin::Generated { tree, .. } = &dataset.origin else { return Vec::new() };
        let allowed = self.allowed_versions(tree.entries.len(), cut_ns);
        let descriptions = tree.entries.iter().zip(allowed).map(|(entry, allowed)| {
            let Allowed { promised, begun, .. } = allowed;
            let name = tree.name_at(entry.name).to_string_lossy();
            let which = if begun > promised {
                format!("content {promised}, or {begun}, which was being saved")
            } else {
                format!("content {promised}")
            };
            format!("{}/{name}: {} bytes, {which}", self.into, entry.size)
        });
        descriptions.collect()
    }

    /// Lists the allowed contents of each file when power is cut at this nanosecond, one line each: kind, links, size,
    /// checksum of cksum(1), path.
    pub fn list_expected(&self, dataset: &Prepared, cut_ns: u64) -> Vec<String> {
        let DatasetOrigin::Generated { tree, content } = &dataset.origin else { return Vec::new() };
        let mut lines = Vec::new();
        for (entry, allowed) in tree.entries.iter().zip(self.allowed_versions(tree.entries.len(), cut_ns)) {
            let (size, name) = (entry.size, tree.name_at(entry.name).to_string_lossy());
            for generation in allowed.promised..=allowed.begun {
                let mut bytes = Vec::new();
                let body = Body { identity: entry.what, generation, size };
                content.for_each_piece(&body, |piece| bytes.extend_from_slice(piece));
                lines.push(format!("f 1 {size} {} {}/{name}", posix_checksum(&bytes), self.into));
            }
        }
        lines
    }

    /// From when on something was saved, in nanoseconds of the device's clock; none where nothing was.
    pub fn began_ns(&self) -> Option<u64> {
        self.phases.iter().flat_map(|phase| &phase.saves).map(|save| save.began_ns).min()
    }

    /// When the last saving began, or returned, from one moment to just before another.
    pub fn last_between(&self, from_ns: u64, until_ns: u64) -> Option<u64> {
        let moments = self.phases.iter().flat_map(|phase| &phase.saves);
        let moments = moments.flat_map(|save| [save.began_ns, save.saved_ns]);
        moments.filter(|at_ns| (from_ns..until_ns).contains(at_ns)).max()
    }

    /// When all of it had been promised.
    pub fn synced_ns(&self) -> Option<u64> {
        self.phases.iter().map(|phase| phase.synced_ns).max()
    }

    /// How many promises had been made by this nanosecond.
    pub fn promised_by(&self, now_ns: u64) -> usize {
        let of_phase = |phase: &SavedPhase| -> usize {
            let made = |at: u64| usize::from(at <= now_ns);
            let saves = phase.saves.iter().map(|save| made(save.saved_ns) + made(save.began_ns));
            saves.sum::<usize>() + made(phase.synced_ns)
        };
        self.phases.iter().map(of_phase).sum()
    }
}

struct SavedLooking<'a> {
    tree: &'a Tree,
    content: &'a Content,
    folder: BorrowedFd<'a>,
    reading: SavedReading,
    buffer: Vec<u8>,
}

impl SavedLooking<'_> {
    /// The file was read already: use that content.
    fn check_file(&mut self, number: usize, allowed: Allowed, known: Option<(&Statx, &[u8])>) {
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
    fn check_other_files(&mut self, allowed: &[Allowed]) {
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
fn head_name(head: &[u8]) -> CString {
    CString::new(head).unwrap_or_default()
}
