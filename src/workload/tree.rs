//! `tree.write`, `tree.overwrite` and `directory.fill`: a whole tree, in the order it lies in memory, as `cp -R` would.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::dataset::{
    HardLinks, Manner, Sharing, ThreadPart, write_directories, write_files, write_links, write_tree,
};

use super::hands::with_hands;
use super::latency::WriteClock;
use super::{Done, WorkError, Workplace};

/// Writes the dataset into a new folder; `call` is what writing one file is called.
pub(crate) fn write_new(site: &mut Workplace<'_>, call: &'static str) -> Result<Done, WorkError> {
    let target = site.make_target()?;
    let done = match site.threads {
        0 | 1 => write(site, &target, 0, Manner::Create, call)?,
        _ => write_by_hands(site, &target, call)?,
    };
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

/// The same new tree by several threads, each with files of its own.
fn write_by_hands(site: &Workplace<'_>, target: &OwnedFd, call: &'static str) -> Result<Done, WorkError> {
    let staged = site.open_staged()?;
    let source = site.source(staged.as_ref(), 0)?;
    let (tree, root) = (site.tree()?, target.as_fd());
    let failed = |failure| site.failed_below(failure);
    let mut clock = WriteClock::new(call)?;
    write_directories(tree, root, &mut clock).map_err(failed)?;
    let (files, clocks) = (AtomicU64::new(0), Mutex::new(Vec::new()));
    let done = with_hands(site.threads, call, |hand| {
        let mut own = WriteClock::new(call)?;
        let part = ThreadPart { thread: hand.number, of: hand.of };
        let written = write_files(tree, source, root, part, &mut own).map_err(failed)?;
        files.fetch_add(written.files, Ordering::Relaxed);
        clocks.lock().unwrap_or_else(PoisonError::into_inner).push(own);
        Ok(written.bytes)
    })?;
    for own in clocks.into_inner().unwrap_or_else(PoisonError::into_inner) {
        clock.add(&own);
    }
    let linked = write_links(tree, source, root, &mut clock).map_err(failed)?;
    Ok(Done {
        logical_bytes: done.bytes + linked.bytes,
        read_besides: 0,
        files: files.into_inner() + linked.files,
        held: None,
        calls: clock.finish(),
        main_call: call,
    })
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
        read_besides: 0,
        calls: clock.finish(),
        main_call,
    })
}
