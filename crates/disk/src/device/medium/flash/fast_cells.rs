//! Fast cells: flash that holds one bit a cell until it is needed for more. New pages go there, and are folded into
//! slow cells when the device is idle, or when there is no room left.

use std::collections::{HashSet, VecDeque};

use super::parameters::FastCellParameters;

/// The pages that are in fast cells.
#[derive(Debug)]
pub(super) struct FastCells {
    pub(super) parameters: FastCellParameters,
    /// Pages in the order in which they were written. Some are no longer held.
    order: VecDeque<u64>,
    held: HashSet<u64>,
    /// Time up to which idle time was used for folding.
    folded_until_ns: u64,
}

impl FastCells {
    pub(super) fn new(parameters: FastCellParameters) -> FastCells {
        FastCells { parameters, order: VecDeque::new(), held: HashSet::new(), folded_until_ns: 0 }
    }

    pub(super) fn holds(&self, page: u64) -> bool {
        self.held.contains(&page)
    }

    /// Number of pages that fit, if so many pages of flash are free.
    fn capacity(&self, page_bytes: u64, free_pages: u64) -> u64 {
        let usable = free_pages + self.held.len() as u64;
        self.parameters.bytes / page_bytes + (usable as f64 * self.parameters.share) as u64
    }

    /// Whether one more page fits, if so many pages of flash are free.
    pub(super) fn has_room(&self, page_bytes: u64, free_pages: u64) -> bool {
        (self.held.len() as u64) < self.capacity(page_bytes, free_pages)
    }

    pub(super) fn insert(&mut self, page: u64) {
        self.held.insert(page);
        self.order.push_back(page);
    }

    /// Removes pages that were erased.
    pub(super) fn remove(&mut self, pages: std::ops::Range<u64>) {
        if !self.held.is_empty() {
            for page in pages {
                self.held.remove(&page);
            }
        }
    }

    /// Removes the page that was written first, and returns it.
    pub(super) fn pop_oldest(&mut self) -> Option<u64> {
        while let Some(page) = self.order.pop_front() {
            if self.held.remove(&page) {
                return Some(page);
            }
        }
        None
    }

    /// The idle time that folding can use, if the device was idle from `idle_since_ns` until now. Each part of it is
    /// returned once.
    pub(super) fn take_idle_ns(&mut self, idle_since_ns: u64, now_ns: u64) -> u64 {
        let begin_ns = (idle_since_ns + self.parameters.fold_delay_ns).max(self.folded_until_ns);
        if begin_ns >= now_ns {
            return 0;
        }
        self.folded_until_ns = now_ns;
        now_ns - begin_ns
    }
}
