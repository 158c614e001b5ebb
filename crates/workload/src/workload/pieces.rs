//! `random.read`, `random.write`: one big file in pieces of one size, each once, in random order; and `append.fsync`: files
//! that grow by a piece at a time, as a database's log does.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::dataset::{Body, Content, DatasetOrigin, RandomStream, TreeEntry};
use fsverdict_judgement::plan::OperationKind;

use super::deep::{PieceWork, pieces_at_depth};
use super::hands::{Hand, SharedDone, with_hands};
use super::latency::to_recorded_calls;
use super::ledger::LastSeen;
use super::positioned::{read_at, write_at};
use super::stream::open_target_file;
use super::{OperationResult, WorkError, Workplace};

pub(crate) fn random_read(site: &mut Workplace<'_>) -> Result<OperationResult, WorkError> {
    let file = open_target_file(site, OFlags::RDONLY)?;
    let (size, order) = (site.expected_tree()?.totals().bytes, random_order(site)?);
    let totals = with_hands(site.threads, "read", |hand| {
        if site.depth > 0 {
            return pieces_at_depth(site, hand, file.as_fd(), &order, size, PieceWork::Read);
        }
        let mut buffer = vec![0; site.piece as usize];
        let mut bytes = 0;
        for number in hand.items_of_hand(&order) {
            let from = u64::from(*number) * site.piece;
            let wanted = &mut buffer[..site.piece.min(size - from) as usize];
            let start = Instant::now();
            read_at(file.as_fd(), wanted, from).map_err(|errno| site.io_failure("read", errno))?;
            hand.latency.record_since(start);
            bytes += wanted.len() as u64;
        }
        Ok(bytes)
    })?;
    site.note_seen(LastSeen { files: 1, bytes: totals.bytes, digests: 0 });
    Ok(to_result(&totals, "read", 1))
}

pub(crate) fn random_write(site: &mut Workplace<'_>) -> Result<OperationResult, WorkError> {
    let file = open_target_file(site, OFlags::WRONLY)?;
    let content = content_of(site)?;
    let order = random_order(site)?;
    let body = Body {
        identity: 0,
        generation: site.known_entry().generation + 1,
        size: site.expected_tree()?.totals().bytes,
    };
    let totals = with_hands(site.threads, "write", |hand| {
        if site.depth > 0 {
            let work = PieceWork::Write { content, body };
            return pieces_at_depth(site, hand, file.as_fd(), &order, body.size, work);
        }
        let mut buffer = vec![0; site.piece as usize];
        let (mut bytes, mut calls) = (0, 0);
        for number in hand.items_of_hand(&order) {
            let from = u64::from(*number) * site.piece;
            let piece = &mut buffer[..site.piece.min(body.size - from) as usize];
            content.fill_range(&body, from, piece);
            let start = Instant::now();
            write_at(file.as_fd(), piece, from).map_err(|errno| site.io_failure("write", errno))?;
            calls += 1;
            sync_if_due(site, file.as_fd(), calls)?;
            hand.latency.record_since(start);
            bytes += piece.len() as u64;
        }
        Ok(bytes)
    })?;
    site.note_overwritten();
    Ok(to_result(&totals, "write", 1))
}

/// The file, or each file of a directory, from nothing to its end; a hand has its own files.
pub(crate) fn append_fsync(site: &mut Workplace<'_>) -> Result<OperationResult, WorkError> {
    let content = content_of(site)?;
    let tree = site.expected_tree()?;
    let new = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
    let (alone, folder) = match site.dataset.kind {
        OperationKind::File => (Some(open_target_file(site, new)?), None),
        _ => (None, Some(site.make_target()?)),
    };
    let append_one = |hand: &mut Hand, file: BorrowedFd<'_>, entry: &TreeEntry| {
        let body = Body { identity: entry.what, generation: 0, size: entry.size };
        let mut buffer = vec![0; site.piece as usize];
        let (mut at, mut calls) = (0, 0);
        while at < body.size {
            let piece = &mut buffer[..site.piece.min(body.size - at) as usize];
            content.fill_range(&body, at, piece);
            let start = Instant::now();
            write_at(file, piece, at).map_err(|errno| site.io_failure("append", errno))?;
            calls += 1;
            sync_if_due(site, file, calls)?;
            hand.latency.record_since(start);
            at += piece.len() as u64;
        }
        Ok::<u64, WorkError>(body.size)
    };
    let totals = with_hands(site.threads, "append", |hand| {
        let mut bytes = 0;
        for entry in hand.items_of_hand(&tree.entries) {
            bytes += match (&alone, &folder) {
                (Some(file), _) => append_one(hand, file.as_fd(), entry)?,
                (None, Some(folder)) => {
                    let flags = new | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                    let mode = Mode::from_raw_mode(entry.mode.into());
                    let file = rustix::fs::openat(folder, tree.name_at(entry.name), flags, mode)
                        .map_err(|errno| site.io_failure("create a file in", errno))?;
                    append_one(hand, file.as_fd(), entry)?
                }
                (None, None) => 0,
            };
        }
        Ok(bytes)
    })?;
    let files = tree.entries.len() as u64;
    site.note_created();
    Ok(to_result(&totals, "append", files))
}

/// Where the bytes of a generated dataset come from; operations of this file take no other.
pub(super) fn content_of<'a>(site: &Workplace<'a>) -> Result<&'a Content, WorkError> {
    match &site.dataset.origin {
        DatasetOrigin::Generated { content, .. } => Ok(content),
        DatasetOrigin::Folder { .. } => Err(site.not_written_error()),
    }
}

pub(super) fn to_result(done: &SharedDone, main_call: &'static str, files: u64) -> OperationResult {
    OperationResult {
        logical_bytes: done.bytes,
        files,
        held: None,
        read_besides: 0,
        calls: to_recorded_calls(&[&done.latency]),
        main_call,
    }
}

/// Syncs the written data when so many calls were made since the last sync.
pub(super) fn sync_if_due(site: &Workplace<'_>, file: BorrowedFd<'_>, calls: u64) -> Result<(), WorkError> {
    let every = u64::from(site.sync_every);
    if every == 0 || !calls.is_multiple_of(every) {
        return Ok(());
    }
    rustix::fs::fdatasync(file).map_err(|errno| site.io_failure("fdatasync", errno))
}

/// The numbers of all pieces of the file, in an order that is the same in every trial and for every candidate.
fn random_order(site: &Workplace<'_>) -> Result<Vec<u32>, WorkError> {
    let pieces = site.expected_tree()?.totals().bytes.div_ceil(site.piece.max(1));
    let pieces =
        u32::try_from(pieces).map_err(|_| site.io_failure("count the pieces of", Errno::OVERFLOW))?;
    let mut order: Vec<u32> = (0..pieces).collect();
    RandomStream::new(u64::from(site.known_entry().generation), "pieces").shuffle(&mut order);
    Ok(order)
}
