//! Checks saved files after a power cut against rules with sources.
//!
//! A file that was saved several times before the power cut must have its last saved content, or one that was being
//! saved; complete, and under its name. [`PROMISES`](super::PROMISES) states which filesystem guarantees which part.

use std::os::fd::AsFd;
use std::path::Path;

use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::dataset::{Body, DatasetOrigin, Prepared, open_directory_below, open_path};
use fsverdict_judgement::journal::Save;
use fsverdict_linux::host::syscall::files_reader::{AT_ONCE, FilesReader};

use super::cksum::posix_checksum;
use super::saved_check::{Allowed, SavedLooking, SavedReading};

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

    /// Hands each file's name to `name`, and each block of so many bytes of its last content to `block`, padded with zeroes.
    pub fn last_blocks(
        &self,
        dataset: &Prepared,
        length: usize,
        mut name: impl FnMut(&[u8]),
        mut block: impl FnMut(&[u8]),
    ) {
        let DatasetOrigin::Generated { tree, content } = &dataset.origin else { return };
        let mut last = vec![0; tree.entries.len()];
        for save in self.phases.iter().flat_map(|phase| &phase.saves) {
            if let Some(generation) = last.get_mut(save.file as usize) {
                *generation = save.generation.max(*generation);
            }
        }
        let mut buffer = vec![0; length];
        for (entry, generation) in tree.entries.iter().zip(last) {
            name(tree.name_at(entry.name).to_bytes());
            let body = Body { identity: entry.what, generation, size: entry.size };
            for at in (0..entry.size).step_by(length.max(1)) {
                let here = usize::try_from(entry.size - at).unwrap_or(length).min(length);
                buffer.fill(0);
                content.fill_range(&body, at, buffer.get_mut(..here).unwrap_or_default());
                block(&buffer);
            }
        }
    }
}
