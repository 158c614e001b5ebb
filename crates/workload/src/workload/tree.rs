//! `tree.write`, `tree.overwrite`, `directory.fill` and `copy.reflink`: a whole tree, in the order it lies in memory, as `cp -R` would.

use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::dataset::{
    HardLinks, Manner, NewTree, Sharing, ThreadPart, write_directories, write_files, write_links, write_tree,
};

use super::hands::with_hands;
use super::latency::WriteClock;
use super::ledger::{LastSeen, LedgerEntry};
use super::{OperationResult, WorkError, Workplace};

/// Writes the dataset into a new folder; `call` names the writing of one file.
pub(crate) fn write_new(site: &mut Workplace<'_>, call: &'static str) -> Result<OperationResult, WorkError> {
    let target = site.make_target()?;
    let result = write_shared(site, &target, Manner::Create, call)?;
    site.note_created();
    Ok(result)
}

/// Clones the dataset from its own folder into a new one.
pub(crate) fn clone_beside(site: &mut Workplace<'_>) -> Result<OperationResult, WorkError> {
    let original = PathBuf::from(&site.dataset.name);
    let inner = site.in_folder(&original);
    let (former, known) = (inner.open_target()?, inner.known_entry());
    // The clone has the content of the original, including its age.
    site.set_entry(LedgerEntry { hard_links: HardLinks::Exact, seen: LastSeen::default(), ..known });
    let target = site.make_target()?;
    let manner = Manner::Next { former: former.as_fd(), sharing: Sharing::Clone, changes: &|_| false };
    write_shared(site, &target, manner, "write_file")
}

/// Writes a new tree, by as many threads as the phase has.
fn write_shared(
    site: &Workplace<'_>,
    target: &OwnedFd,
    manner: Manner<'_>,
    call: &'static str,
) -> Result<OperationResult, WorkError> {
    match site.threads {
        0 | 1 => write_generation(site, target, 0, manner, call),
        _ => write_by_hands(site, target, manner, call),
    }
}

pub(crate) fn overwrite_tree(site: &mut Workplace<'_>) -> Result<OperationResult, WorkError> {
    let target = site.open_target()?;
    let known = site.known_entry();
    let manner = match known.hard_links {
        HardLinks::Exact => Manner::Overwrite,
        HardLinks::MayBeCopies => Manner::OverwriteNames,
    };
    let result = write_generation(site, &target, known.generation + 1, manner, "overwrite_file")?;
    site.note_overwritten();
    Ok(result)
}

/// The same new tree by several threads, each with files of its own.
fn write_by_hands(
    site: &Workplace<'_>,
    target: &OwnedFd,
    manner: Manner<'_>,
    call: &'static str,
) -> Result<OperationResult, WorkError> {
    let staged = site.open_staged()?;
    let source = site.source(staged.as_ref(), 0)?;
    let (tree, root) = (site.expected_tree()?, target.as_fd());
    let writing = NewTree { tree, source, root, manner };
    let failed = |failure| site.io_failure_below(failure);
    let mut clock = WriteClock::new(call)?;
    write_directories(tree, root, &mut clock).map_err(failed)?;
    let (files, clocks) = (AtomicU64::new(0), Mutex::new(Vec::new()));
    let totals = with_hands(site.threads, call, |hand| {
        let mut thread_clock = WriteClock::new(call)?;
        let part = ThreadPart { thread: hand.number, of: hand.of };
        let written = write_files(&writing, part, &mut thread_clock).map_err(failed)?;
        files.fetch_add(written.files, Ordering::Relaxed);
        clocks.lock().unwrap_or_else(PoisonError::into_inner).push(thread_clock);
        Ok(written.bytes)
    })?;
    for thread_clock in clocks.into_inner().unwrap_or_else(PoisonError::into_inner) {
        clock.merge_with(&thread_clock);
    }
    let linked = write_links(&writing, &mut clock).map_err(failed)?;
    Ok(OperationResult {
        logical_bytes: totals.bytes + linked.bytes,
        read_besides: 0,
        files: files.into_inner() + linked.files,
        held: None,
        calls: clock.to_recorded(),
        main_call: main_call(manner, call),
    })
}

/// Writes the dataset's tree into the open directory.
pub(crate) fn write_generation(
    site: &Workplace<'_>,
    target: &OwnedFd,
    generation: u32,
    manner: Manner<'_>,
    call: &'static str,
) -> Result<OperationResult, WorkError> {
    let staged = site.open_staged()?;
    let source = site.source(staged.as_ref(), generation)?;
    let mut clock = WriteClock::new(call)?;
    let written = write_tree(site.expected_tree()?, source, target.as_fd(), manner, &mut clock)
        .map_err(|failure| site.io_failure_below(failure))?;
    Ok(OperationResult {
        logical_bytes: written.bytes,
        files: written.files,
        held: None,
        read_besides: 0,
        calls: clock.to_recorded(),
        main_call: main_call(manner, call),
    })
}

/// The call that most files are made by; `call` where that is writing them.
fn main_call(manner: Manner<'_>, call: &'static str) -> &'static str {
    match manner {
        Manner::Next { sharing: Sharing::HardLink, .. } => "link",
        Manner::Next { sharing: Sharing::Clone, .. } => "clone",
        _ => call,
    }
}
