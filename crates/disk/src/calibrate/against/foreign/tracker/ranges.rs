//! Finds the open request that a completion is of: by its range, by a part of it, or by several ranges that the kernel merged.

use super::super::block_event::{BlockLetters, BlockOperation};
use super::{RequestTracker, is_placed};

/// Ranges that begin before a completion and are asked whether it is a part of them.
const MOST_ASKED: usize = 64;

impl RequestTracker {
    /// Takes the part of a request away that these sectors are, and gives the request's number.
    pub(super) fn take_part(&mut self, letters: BlockLetters, sector: u64, sectors: u64) -> Option<u64> {
        let operation = letters.operation;
        if !is_placed(operation, sectors) {
            let key = self.unplaced_key(letters, sectors);
            let waiting = self.unplaced.get_mut(&key)?;
            let number = waiting.pop_front();
            if waiting.is_empty() {
                self.unplaced.remove(&key);
            }
            return number;
        }
        let end = sector.checked_add(sectors)?;
        let contains = |(start, length): (u64, u64)| {
            start <= sector && start.checked_add(length).is_some_and(|range_end| range_end >= end)
        };
        // The exact range first, then the nearest that holds it: two requests may be on the same sectors.
        let before = self.ranges.range((operation, 0)..=(operation, sector)).rev().take(MOST_ASKED);
        let candidates = before.flat_map(|((_, start), waiting)| {
            waiting.iter().enumerate().map(move |(place, (length, number))| (*start, *length, place, *number))
        });
        let mut best = None;
        for (start, length, place, number) in candidates.take(4 * MOST_ASKED) {
            if (start, length) == (sector, sectors) {
                best = Some((start, length, place, number));
                break;
            }
            if best.is_none() && contains((start, length)) {
                best = Some((start, length, place, number));
            }
        }
        let (start, length, place, number) = best?;
        let key = (operation, start);
        if let Some(waiting) = self.ranges.get_mut(&key) {
            waiting.remove(place);
            if waiting.is_empty() {
                self.ranges.remove(&key);
            }
        }
        for (from, to) in [(start, sector), (end, start + length)] {
            if to > from {
                self.ranges.entry((operation, from)).or_default().push((to - from, number));
            }
        }
        Some(number)
    }

    /// Takes away the requests that together are these sectors: bios that the kernel merged are completed as one. None where they are
    /// not all there.
    pub(super) fn find_merged(&mut self, operation: BlockOperation, sector: u64, sectors: u64) -> Vec<u64> {
        let Some(end) = sector.checked_add(sectors) else { return Vec::new() };
        let (mut at, mut found) = (sector, Vec::new());
        while at < end && found.len() < MOST_ASKED {
            let waiting = self.ranges.get(&(operation, at));
            let whole = |&&(length, number): &&(u64, u64)| {
                at + length <= end && self.pending.get(&number).is_some_and(|open| open.remaining == length)
            };
            let Some((length, number)) = waiting.and_then(|waiting| waiting.iter().find(whole)).copied()
            else {
                break;
            };
            found.push((at, length, number));
            at += length;
        }
        if at != end {
            return Vec::new();
        }
        for (start, length, number) in &found {
            if let Some(waiting) = self.ranges.get_mut(&(operation, *start)) {
                waiting.retain(|open| open != &(*length, *number));
                if waiting.is_empty() {
                    self.ranges.remove(&(operation, *start));
                }
            }
        }
        found.into_iter().map(|(_, _, number)| number).collect()
    }
}
