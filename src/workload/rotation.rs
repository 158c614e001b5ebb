//! `rotation.create`, `rotation.next`, `rotation.drop`: generations of a backup that share unchanged files as hard
//! links, as `cp -al` and `rsync --link-dest` make them.
//!
//! Generation n lies in the folder n of the site, the first in 0. Which files have changed in a generation depends on
//! their place in the dataset alone, so it is the same for every candidate and on every machine.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use xxhash_rust::xxh3::xxh3_64;

use crate::dataset::{
    Body, Call, Entry, EntryKind, HardLinks, IoFailure, Kind, Manifest, Manner, PATH_LIMIT, Prepared, Probe,
    Shared, Source, Staged, TRANSFER, Tree, copy_file, open_directory,
};

use super::latency::WriteClock;
use super::site::{Remains, Site, Written};
use super::{Done, Operation, WorkError, tree, walk};

/// Anything with more than one file.
const KINDS: &[Kind] = &[Kind::Tree, Kind::Folder, Kind::Flat];

/// A share as parts of a million.
const WHOLE: u32 = 1_000_000;

/// The generations that lie somewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generations {
    /// Number of the oldest that is left.
    oldest: u32,
    /// For each generation after the first: parts per million of the files that changed in it.
    changed: Vec<u32>,
}

impl Generations {
    /// Number of the newest.
    fn newest(&self) -> u32 {
        self.changed.len() as u32
    }

    /// The generation in which this file was last written anew, as seen from `generation`.
    fn written_in(&self, entry: usize, generation: u32) -> u32 {
        (1..=generation).rev().find(|at| self.changes(entry, *at)).unwrap_or(0)
    }

    fn changes(&self, entry: usize, generation: u32) -> bool {
        let share = self.changed.get(generation as usize - 1).copied().unwrap_or(0);
        let place = ((entry as u64) << 32) | u64::from(generation);
        // The remainder of 64 random bits is even enough for shares in millionths.
        xxh3_64(&place.to_le_bytes()) % u64::from(WHOLE) < u64::from(share)
    }

    /// What one generation must look like, links included.
    fn manifest(
        &self,
        prepared: &Prepared,
        staged: Option<&Staged>,
        generation: u32,
    ) -> Result<Manifest, WorkError> {
        let manifest = Manifest::of(prepared, staged, 0)?;
        let count = manifest.tree.entries.len();
        let written_in: Vec<u32> = (0..count).map(|entry| self.written_in(entry, generation)).collect();
        let holders = written_in.iter().enumerate().map(|(entry, written)| {
            let same = |other: &u32| self.written_in(entry, *other) == *written;
            (self.oldest..=self.newest()).filter(same).count() as u32
        });
        let holders = holders.collect();
        Ok(manifest.sharing(Shared { written_in, holders }))
    }

    fn check(
        &self,
        operation: &'static str,
        (prepared, staged): (&Prepared, Option<&Staged>),
        at: &Path,
        generation: u32,
    ) -> Result<(), WorkError> {
        self.manifest(prepared, staged, generation)?
            .compare(&at.join(generation.to_string()), HardLinks::Exact)
            .map_err(|problem| WorkError::Wrong { operation, problem })
    }

    /// Compares every generation that is left with what it must be: names, contents, and how many links each file has.
    pub(crate) fn verify(
        &self,
        operation: &'static str,
        prepared: &Prepared,
        staged: Option<&Staged>,
        at: &Path,
    ) -> Result<(), WorkError> {
        (self.oldest..=self.newest())
            .try_for_each(|generation| self.check(operation, (prepared, staged), at, generation))
    }
}

/// What is known of the generations at the site.
fn known(operation: &'static str, site: &Site<'_>) -> Result<Generations, WorkError> {
    match site.known() {
        Written { remains: Remains::Generations(generations), .. } => Ok(generations),
        _ => Err(WorkError::NotWritten {
            operation,
            dataset: site.dataset.name().into(),
            at: site.shown(),
            before: "rotation.create",
        }),
    }
}

fn note(site: &mut Site<'_>, generations: Generations) {
    let known = site.known();
    let remains = Remains::Generations(generations);
    site.note(Written { generation: 0, remains, sure: true, hard_links: HardLinks::Exact, ..known });
}

/// The same site, one folder further down.
fn below<'b>(site: &'b mut Site<'_>, folder: &'b Path) -> Site<'b> {
    Site {
        mount: site.mount,
        into: folder,
        dataset: site.dataset,
        staged: site.staged,
        ledger: site.ledger,
        changed: site.changed,
    }
}

fn folder(site: &Site<'_>, generation: u32) -> PathBuf {
    site.into.join(generation.to_string())
}

/// Checks the newest generation: with its links, it vouches for those it shares files with.
fn verify_newest(operation: &'static str, site: &Site<'_>) -> Result<(), WorkError> {
    let generations = known(operation, site)?;
    generations.check(operation, (site.dataset, site.staged), &site.target(), generations.newest())
}

/// `rotation.create`.
pub(crate) struct Create;

impl Operation for Create {
    fn name(&self) -> &'static str {
        "rotation.create"
    }

    fn summary(&self) -> &'static str {
        "writes the first generation of a backup: every directory, file and link"
    }

    fn datasets(&self) -> &'static [Kind] {
        KINDS
    }

    fn run(&self, site: &mut Site<'_>) -> Result<Done, WorkError> {
        site.check(self)?;
        let path = folder(site, 0);
        let inner = below(site, &path);
        let target = inner.make_target(self.name())?;
        let done = tree::write(self, &inner, &target, 0, Manner::Create, "write_file")?;
        note(site, Generations { oldest: 0, changed: Vec::new() });
        Ok(done)
    }

    fn verify(&self, site: &Site<'_>) -> Result<(), WorkError> {
        verify_newest(self.name(), site)
    }
}

/// `rotation.next`.
pub(crate) struct Next;

impl Operation for Next {
    fn name(&self) -> &'static str {
        "rotation.next"
    }

    fn summary(&self) -> &'static str {
        "makes the next generation: new directories, hard links to unchanged files of the one before, and the share `changed` written anew"
    }

    fn datasets(&self) -> &'static [Kind] {
        KINDS
    }

    fn run(&self, site: &mut Site<'_>) -> Result<Done, WorkError> {
        site.check(self)?;
        let mut generations = known(self.name(), site)?;
        let share = site.changed.clamp(0.0, 1.0) * f64::from(WHOLE);
        generations.changed.push(libm::round(share) as u32);
        let newest = generations.newest();
        let (path, former) = (folder(site, newest), folder(site, newest - 1));
        let from = below(site, &former).open_target(self.name())?;
        let inner = below(site, &path);
        let to = inner.make_target(self.name())?;
        let staged = inner.open_staged(self.name())?;
        let mut next = Maker {
            tree: inner.tree()?,
            source: inner.source(staged.as_ref(), newest)?,
            generations: &generations,
            root: to.as_fd(),
            clock: WriteClock::new("write_file")?,
            buffer: vec![0; TRANSFER],
            files: 0,
            bytes: 0,
        };
        next.make(from.as_fd()).map_err(|failure| inner.failed_below(self.name(), failure))?;
        let (files, logical_bytes, histograms) = (next.files, next.bytes, next.clock.finish());
        note(site, generations);
        Ok(Done { logical_bytes, files, histograms, main_call: "link" })
    }

    fn verify(&self, site: &Site<'_>) -> Result<(), WorkError> {
        verify_newest(self.name(), site)
    }
}

/// `rotation.drop`.
pub(crate) struct Drop;

impl Operation for Drop {
    fn name(&self) -> &'static str {
        "rotation.drop"
    }

    fn summary(&self) -> &'static str {
        "removes the oldest generation, as rm -r does; files that later generations hold lose a link"
    }

    fn datasets(&self) -> &'static [Kind] {
        KINDS
    }

    fn run(&self, site: &mut Site<'_>) -> Result<Done, WorkError> {
        site.check(self)?;
        let mut generations = known(self.name(), site)?;
        let path = folder(site, generations.oldest);
        let done = walk::remove(self.name(), &below(site, &path))?;
        generations.oldest += 1;
        note(site, generations);
        Ok(done)
    }

    fn verify(&self, site: &Site<'_>) -> Result<(), WorkError> {
        let generations = known(self.name(), site)?;
        let gone = site.target().join((generations.oldest - 1).to_string());
        super::verify::absent(self.name(), &gone)?;
        // Dropping the only generation leaves nothing to compare.
        if generations.oldest > generations.newest() { Ok(()) } else { verify_newest(self.name(), site) }
    }
}

/// Makes a generation from the one before.
struct Maker<'a> {
    tree: &'a Tree,
    source: Source<'a>,
    generations: &'a Generations,
    root: BorrowedFd<'a>,
    clock: WriteClock,
    buffer: Vec<u8>,
    files: u64,
    bytes: u64,
}

/// An open directory of the new generation, of the one before, and of the staged dataset if there is one.
struct Level {
    to: OwnedFd,
    from: OwnedFd,
    staged: Option<OwnedFd>,
}

impl<'a> Maker<'a> {
    fn make(&mut self, from: BorrowedFd<'_>) -> Result<(), IoFailure> {
        let staged_root = match self.source {
            Source::Folder(root) => Some(root),
            Source::Generated { .. } => None,
        };
        let (tree, root) = (self.tree, self.root);
        let mut open: Vec<Level> = Vec::new();
        for (number, directory) in tree.directories.iter().enumerate() {
            open.truncate(usize::from(directory.depth).saturating_sub(1));
            if number == 0 {
                self.fill(directory.first as usize, tree.entries_of(directory), root, from, staged_root)?;
                continue;
            }
            let failed =
                |call: &'static str| move |errno| IoFailure::new(call, tree.directory_path(number), errno);
            let name = tree.name(directory.name);
            let above = open.last();
            let to = above.map_or(root, |level| level.to.as_fd());
            self.clock.begin();
            let made = rustix::fs::mkdirat(to, name, Mode::from_raw_mode((directory.mode | 0o700).into()));
            self.clock.end(Call::MakeDirectory);
            made.map_err(failed("make the directory"))?;
            let to = open_directory(to, name).map_err(failed("open the directory"))?;
            let from = above.map_or(from, |level| level.from.as_fd());
            let from =
                open_directory(from, name).map_err(failed("open the directory of the generation before"))?;
            let staged = above.map_or(staged_root, |level| level.staged.as_ref().map(OwnedFd::as_fd));
            let staged = staged.map(|staged| open_directory(staged, name)).transpose();
            let staged = staged.map_err(failed("open the staged directory"))?;
            let entries = tree.entries_of(directory);
            let staged_here = staged.as_ref().map(OwnedFd::as_fd);
            self.fill(directory.first as usize, entries, to.as_fd(), from.as_fd(), staged_here)?;
            open.push(Level { to, from, staged });
        }
        Ok(())
    }

    /// Links or writes the entries of one directory.
    fn fill(
        &mut self,
        first: usize,
        entries: &[Entry],
        to: BorrowedFd<'_>,
        from: BorrowedFd<'_>,
        staged: Option<BorrowedFd<'_>>,
    ) -> Result<(), IoFailure> {
        let newest = self.generations.newest();
        for (place, entry) in entries.iter().enumerate() {
            let number = first + place;
            let name = self.tree.name(entry.name);
            self.clock.begin();
            let (call, done) = match entry.kind {
                EntryKind::File if self.generations.changes(number, newest) => {
                    self.bytes += entry.size;
                    (Call::WriteFile, self.write(entry, newest, to, staged))
                }
                // A further name of a file that may have changed: of the one in this generation.
                EntryKind::HardLink => {
                    let mut buffer = [0; PATH_LIMIT];
                    let target = self.tree.entry_path_into(entry.what as usize, &mut buffer);
                    let linked = target
                        .ok_or(Errno::NAMETOOLONG)
                        .and_then(|target| rustix::fs::linkat(self.root, target, to, name, AtFlags::empty()));
                    (Call::Link, linked)
                }
                EntryKind::File | EntryKind::Symlink => {
                    (Call::Link, rustix::fs::linkat(from, name, to, name, AtFlags::empty()))
                }
            };
            self.clock.end(call);
            self.files += u64::from(entry.kind != EntryKind::Symlink);
            let verb = if call == Call::WriteFile { "write" } else { "make the hard link" };
            done.map_err(|errno| IoFailure::new(verb, self.tree.entry_path(number), errno))?;
        }
        Ok(())
    }

    fn write(
        &mut self,
        entry: &Entry,
        generation: u32,
        to: BorrowedFd<'_>,
        staged: Option<BorrowedFd<'_>>,
    ) -> Result<(), Errno> {
        let name = self.tree.name(entry.name);
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(to, name, flags, Mode::from_raw_mode(entry.mode.into()))?;
        match (self.source, staged) {
            (Source::Generated { content, .. }, _) => {
                content.write_all(file.as_fd(), &Body { identity: entry.what, generation, size: entry.size })
            }
            (Source::Folder(_), Some(staged)) => {
                copy_file(staged, name, file.as_fd(), entry.size, &mut self.buffer)
            }
            (Source::Folder(_), None) => Err(Errno::BADF),
        }
    }
}
