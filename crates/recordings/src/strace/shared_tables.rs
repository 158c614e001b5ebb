//! Finds the descriptor tables that may be one and the same, and merges those that prove to be.
//!
//! A process without a record of its creation may be a child with copies of another process's descriptors, or a thread
//! that shares them. It is taken for a child until a call proves the contrary: a descriptor refers to a file that only
//! the other process opened. Until then a slot is reserved in the trace for each close of a descriptor that may be
//! shared.

use std::rc::Rc;

use super::descriptors::{DescriptionId, Descriptor, Opened, TableHandle};
use super::reader::{CallContext, StraceReader};
use super::value::ShownFile;

impl StraceReader {
    /// A descriptor is used: if it is a doubtful one of a file that another process closed, that was another table.
    pub(super) fn use_descriptor(&mut self, table: &TableHandle, number: i32, descriptor: Descriptor) {
        let closed = self.descriptions.get(descriptor.description).and_then(|one| one.closed);
        if let (true, Some((slot, file))) = (descriptor.doubtful, closed) {
            if let Some(description) = self.descriptions.get_mut(descriptor.description) {
                description.closed = None;
                if let Opened::File { open } = description.opened {
                    self.calls.undo_close(slot, open, file);
                }
            }
            self.make_certain(table, number, descriptor);
        }
        if self.doubtful_closes > 0 {
            self.settle_closes_of(table, number, descriptor.description);
        }
    }

    fn make_certain(&mut self, table: &TableHandle, number: i32, descriptor: Descriptor) {
        self.descriptions.add_reference(descriptor.description);
        self.descriptions.release_doubtful(descriptor.description);
        let certain = Descriptor { doubtful: false, ..descriptor };
        table.borrow_mut().descriptors.insert(number, certain);
    }

    /// A descriptor is used that another process closed: it has copies of this table's, and is no thread.
    fn settle_closes_of(&mut self, table: &TableHandle, number: i32, description: DescriptionId) {
        for other in self.tables_that_may_share(table) {
            let matches = other
                .borrow()
                .doubtful_closes
                .get(&number)
                .is_some_and(|close| close.description == description);
            if matches {
                self.take_for_child(&other);
            }
        }
    }

    /// Tables that may be the same as this one.
    pub(super) fn tables_that_may_share(&mut self, table: &TableHandle) -> Vec<TableHandle> {
        if !self.work.take_work(self.processes.count()) {
            return Vec::new();
        }
        let same = |other: &&TableHandle| {
            other.borrow().guess.as_ref().is_some_and(|guess| Rc::ptr_eq(guess, table))
        };
        self.processes.all().map(|process| &process.table).filter(same).cloned().collect()
    }

    pub(super) fn is_guessed(&mut self, table: &TableHandle) -> bool {
        !self.tables_that_may_share(table).is_empty()
    }

    /// Gives the child a table of its own, which is a copy.
    pub(super) fn take_for_child(&mut self, table: &TableHandle) {
        let closes = {
            let mut table = table.borrow_mut();
            table.guess = None;
            std::mem::take(&mut table.doubtful_closes)
        };
        self.doubtful_closes = self.doubtful_closes.saturating_sub(closes.len());
        let doubtful: Vec<(i32, Descriptor)> = table
            .borrow()
            .descriptors
            .iter()
            .filter(|(_, one)| one.doubtful)
            .map(|(number, one)| (*number, *one))
            .collect();
        for (number, descriptor) in doubtful {
            // A descriptor that the other process closed earlier may still be open here; only its use tells.
            if self.descriptions.get(descriptor.description).is_some_and(|one| one.closed.is_none()) {
                self.make_certain(table, number, descriptor);
            }
        }
    }

    /// Looks a number up in tables that may be the same; if one leads to the file that strace shows, they are the same.
    pub(super) fn find_in_relatives(
        &mut self,
        context: &CallContext,
        table: &TableHandle,
        number: i32,
        shown: &ShownFile,
    ) -> Option<DescriptionId> {
        // A number that was closed here leads to something else now, unless a path tells that it is the same.
        let closed = table.borrow().closed.contains(&number);
        if closed && *shown == ShownFile::Nothing {
            return None;
        }
        let own_close = table.borrow().doubtful_closes.get(&number).map(|close| close.description);
        let above = table.borrow().guess.clone();
        if let Some(above) = above {
            let descriptor = above.borrow().descriptors.get(&number).copied();
            let descriptor = descriptor.filter(|found| Some(found.description) != own_close);
            if let Some(found) = descriptor.filter(|found| self.agrees_with_shown(found.description, shown)) {
                self.merge_tables(context, table, &above);
                return Some(found.description);
            }
        }
        for below in self.tables_that_may_share(table) {
            let descriptor = below.borrow().descriptors.get(&number).copied().filter(|found| !found.doubtful);
            if let Some(found) = descriptor.filter(|found| self.agrees_with_shown(found.description, shown)) {
                self.merge_tables(context, &below, table);
                return Some(found.description);
            }
        }
        None
    }

    /// Two tables turn out to be one: that of threads of one process.
    pub(super) fn merge_tables(&mut self, context: &CallContext, below: &TableHandle, above: &TableHandle) {
        let (descriptors, closes) = {
            let mut below = below.borrow_mut();
            below.guess = None;
            (std::mem::take(&mut below.descriptors), std::mem::take(&mut below.doubtful_closes))
        };
        self.doubtful_closes = self.doubtful_closes.saturating_sub(closes.len());
        for (number, close) in closes {
            let same = above
                .borrow()
                .descriptors
                .get(&number)
                .is_some_and(|one| one.description == close.description);
            if same {
                above.borrow_mut().descriptors.remove(&number);
                if self.release_description(close.description, context.times, Some(close.slot)) {
                    self.calls.account.make_instead_of_follow();
                }
            }
            self.descriptions.release_doubtful(close.description);
        }
        for (number, descriptor) in descriptors {
            if descriptor.doubtful {
                self.descriptions.release_doubtful(descriptor.description);
                continue;
            }
            let former = above.borrow_mut().descriptors.insert(number, descriptor);
            if let Some(former) = former {
                self.release_description(former.description, context.times, None);
            }
        }
        let mut moved = 0;
        for process in self.processes.all_mut() {
            if Rc::ptr_eq(&process.table, below) {
                process.table = Rc::clone(above);
                moved += 1;
            }
        }
        above.borrow_mut().users += moved;
    }
}
