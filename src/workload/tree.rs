//! `tree.write` and `tree.overwrite`: a whole tree, in the order it lies in memory, as `cp -R` would.

use std::os::fd::{AsFd, OwnedFd};

use crate::dataset::{HardLinks, Kind, Manner, write_tree};

use super::latency::WriteClock;
use super::{Done, Operation, Site, WorkError};

/// Trees come generated or from a staged folder.
pub(crate) const TREES: &[Kind] = &[Kind::Tree, Kind::Folder];

/// `tree.write`.
pub(crate) struct Write;

impl Operation for Write {
    fn name(&self) -> &'static str {
        "tree.write"
    }

    fn summary(&self) -> &'static str {
        "writes every directory, file and link of a tree into a new folder"
    }

    fn datasets(&self) -> &'static [Kind] {
        TREES
    }

    fn run(&self, site: &mut Site<'_>) -> Result<Done, WorkError> {
        site.check(self)?;
        let target = site.make_target(self.name())?;
        let done = write(self, site, &target, 0, Manner::Create, "write_file")?;
        site.note_created();
        Ok(done)
    }

    fn verify(&self, site: &Site<'_>) -> Result<(), WorkError> {
        site.compare(self.name())
    }
}

/// `tree.overwrite`.
pub(crate) struct Overwrite;

impl Operation for Overwrite {
    fn name(&self) -> &'static str {
        "tree.overwrite"
    }

    fn summary(&self) -> &'static str {
        "truncates every file of a tree and writes it again, as a second cp over the first does; the bytes of generated files change"
    }

    fn datasets(&self) -> &'static [Kind] {
        TREES
    }

    fn run(&self, site: &mut Site<'_>) -> Result<Done, WorkError> {
        site.check(self)?;
        let target = site.open_target(self.name())?;
        let known = site.known();
        let manner = match known.hard_links {
            HardLinks::Exact => Manner::Overwrite,
            HardLinks::MayBeCopies => Manner::OverwriteNames,
        };
        let done = write(self, site, &target, known.generation + 1, manner, "overwrite_file")?;
        site.note_overwritten();
        Ok(done)
    }

    fn verify(&self, site: &Site<'_>) -> Result<(), WorkError> {
        site.compare(self.name())
    }
}

/// Writes the dataset's tree into the open directory.
pub(crate) fn write(
    operation: &dyn Operation,
    site: &Site<'_>,
    target: &OwnedFd,
    generation: u32,
    manner: Manner,
    call: &'static str,
) -> Result<Done, WorkError> {
    let staged = site.open_staged(operation.name())?;
    let source = site.source(staged.as_ref(), generation)?;
    let mut clock = WriteClock::new(call)?;
    let written = write_tree(site.tree()?, source, target.as_fd(), manner, &mut clock)
        .map_err(|failure| site.failed_below(operation.name(), failure))?;
    Ok(Done {
        logical_bytes: written.bytes,
        files: written.files,
        histograms: clock.finish(),
        main_call: call,
    })
}
