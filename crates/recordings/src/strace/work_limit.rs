//! The limit of the work that a recording may take: items that are scanned, and copies of descriptors that are held.

use std::cell::Cell;
use std::rc::Rc;

/// Items that may be scanned in any recording.
const BASE: u64 = 5_000_000;
/// … and for each of its lines.
const PER_LINE: u64 = 200;
/// Copies of descriptors and mappings (fork) that are held at once.
const MOST_COPIES: u64 = 1_000_000;

/// Counts scanned items.
#[derive(Debug, Default)]
pub(super) struct WorkLimit {
    allowed: u64,
    spent: u64,
    /// Whether something was not looked at.
    pub(super) exhausted: bool,
}

impl WorkLimit {
    pub(super) fn begin_line(&mut self, number: u64) {
        self.allowed = BASE.saturating_add(number.saturating_mul(PER_LINE));
    }

    /// Whether so many things may be looked at.
    pub(super) fn take_work(&mut self, amount: usize) -> bool {
        let spent = self.spent.saturating_add(amount as u64);
        if spent > self.allowed.max(BASE) {
            self.exhausted = true;
            return false;
        }
        self.spent = spent;
        true
    }

    /// Whether so many things may be copied, which takes several times as long, and be let go of again.
    pub(super) fn take_copies(&mut self, amount: usize) -> bool {
        self.take_work(amount.saturating_mul(8))
    }
}

/// Counts copies that are held: each table of descriptors holds a share, and gives it back when it is dropped.
#[derive(Debug, Default)]
pub(super) struct HeldCopies {
    held: Rc<Cell<u64>>,
}

/// Copies that are counted until this is dropped.
#[derive(Debug, Default)]
pub(super) struct CopyShare {
    held: Rc<Cell<u64>>,
    own: u64,
}

impl HeldCopies {
    /// A share for so many copies; `None` where there are too many.
    pub(super) fn take_share(&self, amount: usize) -> Option<CopyShare> {
        let total_held = self.held.get().saturating_add(amount as u64);
        (total_held <= MOST_COPIES).then(|| {
            self.held.set(total_held);
            CopyShare { held: Rc::clone(&self.held), own: amount as u64 }
        })
    }
}

impl Drop for CopyShare {
    fn drop(&mut self) {
        self.held.set(self.held.get().saturating_sub(self.own));
    }
}
