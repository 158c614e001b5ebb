//! Resolves descriptors, also if the recording does not show which threads share a descriptor table.
//!
//! A process without a record of its creation may be a child with copies of another process's descriptors, or a thread
//! that shares them. It is taken for a child until a call proves the contrary: a descriptor refers to a file that only
//! the other process opened. Until then a slot is reserved in the trace for each close of a descriptor that may be
//! shared.

use std::rc::Rc;

use fsverdict_judgement::plan::OpenFlags;

use super::descriptors::{Description, DescriptionId, Descriptor, Opened, TableHandle};
use super::paths::PathPlace;
use super::reader::{Moment, StraceReader};
use super::value::{ShownFile, parse_descriptor};

/// Why a call on a descriptor is not kept of which nothing is known.
pub(super) const UNKNOWN_DESCRIPTOR: &str =
    "calls on descriptors whose opening the recording does not have (record with strace -y)";

/// The result of resolving a descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DescriptorTarget {
    Known(DescriptionId),
    /// Nothing that was opened by name, or none at all.
    Outside,
    Lost(&'static str),
}

impl StraceReader {
    /// Resolves the descriptor in an argument.
    pub(super) fn find_target(&mut self, moment: &Moment, argument: Option<&[u8]>) -> DescriptorTarget {
        let Some(shown) = argument.and_then(parse_descriptor) else { return DescriptorTarget::Outside };
        let Some(number) = shown.number else { return DescriptorTarget::Outside };
        if let Some((pinned, id)) = moment.pinned
            && pinned == number
        {
            return DescriptorTarget::Known(id);
        }
        self.find_number(moment, number, &shown.shown)
    }

    pub(super) fn find_number(
        &mut self,
        moment: &Moment,
        number: i32,
        shown: &ShownFile,
    ) -> DescriptorTarget {
        let Some(table) = self.processes.table_of(moment.process) else {
            return DescriptorTarget::Lost("calls of processes beyond those that can be followed");
        };
        let descriptor = table.borrow().descriptors.get(&number).copied();
        if let Some(own) = descriptor
            && self.agrees_with_shown(own.description, shown)
        {
            self.use_descriptor(&table, number, own);
            return DescriptorTarget::Known(own.description);
        }
        if let Some(id) = self.find_in_relatives(moment, &table, number, shown) {
            return DescriptorTarget::Known(id);
        }
        if let Some(own) = descriptor {
            // A rename that the recording does not have gave the file another path.
            let alone = table.borrow().guess.is_none() && !self.is_guessed(&table);
            let is_file =
                self.descriptions.get(own.description).is_some_and(|one| one.opened != Opened::Elsewhere);
            if let (true, true, ShownFile::Path { path, .. }) = (alone, is_file, shown) {
                if let Some(description) = self.descriptions.get_mut(own.description) {
                    description.path = Some(path.clone());
                }
                return DescriptorTarget::Known(own.description);
            }
        }
        if let Some(id) = self.find_elsewhere(&table, number, shown) {
            return DescriptorTarget::Known(id);
        }
        match shown {
            ShownFile::Nothing => {
                let table = table.borrow();
                match table.complete || table.closed.contains(&number) {
                    true => DescriptorTarget::Outside,
                    false => DescriptorTarget::Lost(UNKNOWN_DESCRIPTOR),
                }
            }
            ShownFile::Other => {
                self.install_descriptor(moment, number, Description::new(Opened::Elsewhere, None), false);
                DescriptorTarget::Outside
            }
            ShownFile::Path { path, deleted } => {
                let description = self.open_unseen(moment, path, *deleted);
                DescriptorTarget::Known(self.install_descriptor(moment, number, description, false))
            }
        }
    }

    /// Whether a description refers to the file that strace shows.
    fn agrees_with_shown(&self, id: DescriptionId, shown: &ShownFile) -> bool {
        let Some(description) = self.descriptions.get(id) else { return false };
        match shown {
            ShownFile::Nothing => true,
            ShownFile::Other => description.opened == Opened::Elsewhere && description.path.is_none(),
            ShownFile::Path { path, .. } => description.path.as_ref() == Some(path),
        }
    }

    /// A descriptor is used: if it is a doubtful one of a file that another process closed, that was another table.
    fn use_descriptor(&mut self, table: &TableHandle, number: i32, descriptor: Descriptor) {
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

    fn is_guessed(&mut self, table: &TableHandle) -> bool {
        !self.tables_that_may_share(table).is_empty()
    }

    /// A table is one of its own, with copies.
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
    fn find_in_relatives(
        &mut self,
        moment: &Moment,
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
                self.merge_tables(moment, table, &above);
                return Some(found.description);
            }
        }
        for below in self.tables_that_may_share(table) {
            let descriptor = below.borrow().descriptors.get(&number).copied().filter(|found| !found.doubtful);
            if let Some(found) = descriptor.filter(|found| self.agrees_with_shown(found.description, shown)) {
                self.merge_tables(moment, &below, table);
                return Some(found.description);
            }
        }
        None
    }

    /// Two tables turn out to be one: that of threads of one process.
    pub(super) fn merge_tables(&mut self, moment: &Moment, below: &TableHandle, above: &TableHandle) {
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
                if self.release_description(close.description, moment.times, Some(close.slot)) {
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
                self.release_description(former.description, moment.times, None);
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

    /// A description of another process that has the number and the path: it came here by a way that the recording does not have.
    fn find_elsewhere(
        &mut self,
        table: &TableHandle,
        number: i32,
        shown: &ShownFile,
    ) -> Option<DescriptionId> {
        if !matches!(shown, ShownFile::Path { .. }) || !self.work.take_work(self.processes.count()) {
            return None;
        }
        let others = self.processes.all().map(|process| &process.table);
        let match_in_other = others.filter(|other| !Rc::ptr_eq(other, table)).find_map(|other| {
            let descriptor = other.borrow().descriptors.get(&number).copied()?;
            (!descriptor.doubtful && self.agrees_with_shown(descriptor.description, shown))
                .then_some(descriptor)
        })?;
        self.descriptions.add_reference(match_in_other.description);
        let former = table.borrow_mut().descriptors.insert(number, match_in_other);
        if let Some(former) = former {
            self.drop_descriptor(former, (0, 0));
        }
        Some(match_in_other.description)
    }

    /// A file that is open without an opening in the recording.
    pub(super) fn open_unseen(
        &mut self,
        moment: &Moment,
        path: &std::path::Path,
        deleted: bool,
    ) -> Description {
        let real = Some(path.to_path_buf());
        let relative = match self.paths.place_of_path(path) {
            PathPlace::Outside => return Description::new(Opened::Elsewhere, real),
            PathPlace::Folder => return Description::new(Opened::Directory { name: 0 }, real),
            PathPlace::Inside(relative) => relative,
        };
        if deleted {
            return Description::new(
                Opened::Lost("files that were removed before the recording shows them"),
                real,
            );
        }
        let Some(name) = self.calls.number_of_path(&relative) else {
            return Description::new(Opened::Lost("names beyond those that a plan can hold"), real);
        };
        if self.calls.files.is_known_directory(name) {
            return Description::new(Opened::Directory { name }, real);
        }
        let opened = self.calls.without_counting(|calls| {
            calls.try_open_file((moment.times.0, moment.times.0), name, OpenFlags::default(), false)
        });
        match opened {
            Ok(open) => {
                self.open_before += 1;
                let mut description = Description::new(Opened::File { open }, real);
                description.slot = Some(self.calls.last_slot());
                description.may_be_directory = true;
                description
            }
            Err(why) => Description::new(Opened::Lost(why), real),
        }
    }
}
