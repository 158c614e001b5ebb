//! `tree.write`, `tree.overwrite` and `directory.fill`: a whole tree, in the order it lies in memory, as `cp -R` would.

use std::os::fd::{AsFd, OwnedFd};

use crate::dataset::{HardLinks, Manner, Sharing, write_tree};

use super::latency::WriteClock;
use super::{Done, WorkError, Workplace};

/// Writes the dataset into a new folder; `call` is what writing one file is called.
pub(crate) fn write_new(site: &mut Workplace<'_>, call: &'static str) -> Result<Done, WorkError> {
    let target = site.make_target()?;
    let done = write(site, &target, 0, Manner::Create, call)?;
    site.note_created();
    Ok(done)
}

pub(crate) fn overwrite(site: &mut Workplace<'_>) -> Result<Done, WorkError> {
    let target = site.open_target()?;
    let known = site.known();
    let manner = match known.hard_links {
        HardLinks::Exact => Manner::Overwrite,
        HardLinks::MayBeCopies => Manner::OverwriteNames,
    };
    let done = write(site, &target, known.generation + 1, manner, "overwrite_file")?;
    site.note_overwritten();
    Ok(done)
}

/// Writes the dataset's tree into the open directory.
pub(crate) fn write(
    site: &Workplace<'_>,
    target: &OwnedFd,
    generation: u32,
    manner: Manner<'_>,
    call: &'static str,
) -> Result<Done, WorkError> {
    let staged = site.open_staged()?;
    let source = site.source(staged.as_ref(), generation)?;
    let mut clock = WriteClock::new(call)?;
    let main_call = match manner {
        Manner::Next { sharing: Sharing::HardLink, .. } => "link",
        Manner::Next { sharing: Sharing::Clone, .. } => "clone",
        _ => call,
    };
    let written = write_tree(site.tree()?, source, target.as_fd(), manner, &mut clock)
        .map_err(|failure| site.failed_below(failure))?;
    Ok(Done {
        logical_bytes: written.bytes,
        files: written.files,
        held: None,
        calls: clock.finish(),
        main_call,
    })
}
