//! Reads or writes pieces of a file with several requests of a thread in flight: `depth`, by io_uring.

use std::os::fd::BorrowedFd;
use std::time::Instant;

use rustix::io::Errno;

use crate::dataset::{Body, Content};
use fsverdict_linux::host::syscall::ring::CallRing;

use super::hands::Hand;
use super::positioned::{read_at, write_at};
use super::{WorkError, Workplace};

/// The action on each piece.
#[derive(Clone, Copy)]
pub(super) enum PieceWork<'a> {
    Read,
    Write { content: &'a Content, body: Body },
}

/// A call that is under way.
#[derive(Clone, Copy)]
struct PieceUnderway {
    began: Instant,
    from: u64,
    length: usize,
}

/// Processes one thread's share of the pieces, `depth` at a time; returns the bytes. Before a sync it waits for the
/// requests in flight.
pub(super) fn pieces_at_depth(
    site: &Workplace<'_>,
    hand: &mut Hand,
    file: BorrowedFd<'_>,
    order: &[u32],
    size: u64,
    work: PieceWork<'_>,
) -> Result<u64, WorkError> {
    let piece = site.piece as usize;
    let mut ring = CallRing::new(site.depth, piece)
        .map_err(|error| WorkError::Ring { operation: site.operation.name(), reason: error.to_string() })?;
    let mut slots: Vec<Option<PieceUnderway>> = vec![None; ring.slot_count()];
    let mut free: Vec<usize> = (0..ring.slot_count()).collect();
    let (mut bytes, mut calls) = (0, 0_u64);
    let hand_items: Vec<u32> = hand.items_of_hand(order).copied().collect();
    for number in hand_items {
        while free.is_empty() {
            bytes += finish_one(site, hand, &mut ring, file, &mut slots, &mut free, work)?;
        }
        let Some(slot) = free.pop() else { continue };
        let from = u64::from(number) * site.piece;
        let length = site.piece.min(size - from) as usize;
        if let (PieceWork::Write { content, body }, Some(buffer)) = (work, ring.slot_buffer(slot)) {
            content.fill_range(&body, from, &mut buffer[..length]);
        }
        let began = Instant::now();
        let begun = match work {
            PieceWork::Read => ring.submit_read(file, slot, length, from),
            PieceWork::Write { .. } => ring.submit_write(file, slot, length, from),
        };
        begun.map_err(|error| ring_failure(site, &error))?;
        slots[slot] = Some(PieceUnderway { began, from, length });
        calls += 1;
        let every = u64::from(site.sync_every);
        if matches!(work, PieceWork::Write { .. }) && every > 0 && calls.is_multiple_of(every) {
            while ring.in_flight() > 0 {
                bytes += finish_one(site, hand, &mut ring, file, &mut slots, &mut free, work)?;
            }
            rustix::fs::fdatasync(file).map_err(|errno| site.io_failure("fdatasync", errno))?;
        }
    }
    while ring.in_flight() > 0 {
        bytes += finish_one(site, hand, &mut ring, file, &mut slots, &mut free, work)?;
    }
    Ok(bytes)
}

fn ring_failure(site: &Workplace<'_>, error: &std::io::Error) -> WorkError {
    let errno = error.raw_os_error().map_or(Errno::IO, Errno::from_raw_os_error);
    site.io_failure("read or write a piece of", errno)
}

/// Waits for one request and continues it if it moved fewer bytes.
fn finish_one(
    site: &Workplace<'_>,
    hand: &mut Hand,
    ring: &mut CallRing,
    file: BorrowedFd<'_>,
    slots: &mut [Option<PieceUnderway>],
    free: &mut Vec<usize>,
    work: PieceWork<'_>,
) -> Result<u64, WorkError> {
    let Some((slot, moved)) = ring.wait_for_one().map_err(|error| ring_failure(site, &error))? else {
        return Ok(0);
    };
    let Some(call) = slots.get_mut(slot).and_then(Option::take) else { return Ok(0) };
    let moved = match moved {
        Ok(moved) => moved,
        // As with calls that a signal interrupts, it is made again.
        Err(error) if [Some(Errno::INTR), Some(Errno::AGAIN)].contains(&Errno::from_io_error(&error)) => 0,
        Err(error) => return Err(ring_failure(site, &error)),
    };
    if let Some(buffer) = ring.slot_buffer(slot)
        && moved < call.length
    {
        let (rest, at) = (&mut buffer[moved..call.length], call.from + moved as u64);
        match work {
            PieceWork::Read => read_at(file, rest, at).map_err(|errno| site.io_failure("read", errno))?,
            PieceWork::Write { .. } => {
                write_at(file, rest, at).map_err(|errno| site.io_failure("write", errno))?;
            }
        }
    }
    hand.latency.record_since(call.began);
    free.push(slot);
    Ok(call.length as u64)
}
