//! Resolves the descriptor that a call names: in the table of its process, or in another process's.

use std::rc::Rc;

use fsverdict_calls::OpenFlags;

use super::descriptors::{Description, DescriptionId, Opened, TableHandle};
use super::paths::PathPlace;
use super::reader::{CallContext, StraceReader};
use super::value::{ShownFile, parse_descriptor};

/// Why a call on a descriptor is not kept of which nothing is known.
const NOT_SHOWN: &str = "calls on descriptors that strace does not show";

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
    pub(super) fn find_target(&mut self, context: &CallContext, argument: Option<&[u8]>) -> DescriptorTarget {
        let Some(shown) = argument.and_then(parse_descriptor) else { return DescriptorTarget::Outside };
        let Some(number) = shown.number else { return DescriptorTarget::Outside };
        if let Some((pinned, id)) = context.pinned
            && pinned == number
        {
            return DescriptorTarget::Known(id);
        }
        self.find_number(context, number, &shown.shown)
    }

    pub(super) fn find_number(
        &mut self,
        context: &CallContext,
        number: i32,
        shown: &ShownFile,
    ) -> DescriptorTarget {
        let Some(table) = self.processes.table_of(context.process) else {
            return DescriptorTarget::Lost("calls of processes beyond those that can be followed");
        };
        let descriptor = table.borrow().descriptors.get(&number).copied();
        if let Some(own) = descriptor
            && self.agrees_with_shown(own.description, shown)
        {
            return DescriptorTarget::Known(own.description);
        }
        let mut table = table;
        if let ShownFile::Path { path, .. } = shown
            && table.borrow().closed_by_adopted.get(&number) == Some(path)
        {
            self.lacks_processes = true;
        }
        if let Some(own) = descriptor {
            if self.processes.is_adopted(context.process) {
                // It has other files open than the process that it was taken for a thread of.
                self.own_table(context.process);
                table = self.processes.table_of(context.process).unwrap_or(table);
            } else if let (ShownFile::Path { path, .. }, Some(description)) =
                (shown, self.descriptions.get_mut(own.description))
                && description.opened != Opened::Elsewhere
            {
                // A rename that the recording does not have gave the file another path.
                description.path = Some(path.clone());
                return DescriptorTarget::Known(own.description);
            }
        }
        if let Some(id) = self.find_elsewhere(&table, number, shown) {
            return DescriptorTarget::Known(id);
        }
        match shown {
            ShownFile::Nothing => DescriptorTarget::Lost(NOT_SHOWN),
            ShownFile::Other => {
                self.install_descriptor(context, number, Description::new(Opened::Elsewhere, None), false);
                DescriptorTarget::Outside
            }
            ShownFile::Path { path, deleted } => {
                let description = self.open_unseen(context, path, *deleted);
                DescriptorTarget::Known(self.install_descriptor(context, number, description, false))
            }
        }
    }

    /// Whether a description refers to the file that strace shows.
    pub(super) fn agrees_with_shown(&self, id: DescriptionId, shown: &ShownFile) -> bool {
        let Some(description) = self.descriptions.get(id) else { return false };
        match shown {
            ShownFile::Nothing => true,
            ShownFile::Other => description.opened == Opened::Elsewhere && description.path.is_none(),
            ShownFile::Path { path, .. } => description.path.as_ref() == Some(path),
        }
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
            self.agrees_with_shown(descriptor.description, shown).then_some(descriptor)
        })?;
        self.descriptions.add_reference(match_in_other.description);
        let former = table.borrow_mut().descriptors.insert(number, match_in_other);
        if let Some(former) = former {
            self.release_description(former.description, (0, 0));
        }
        Some(match_in_other.description)
    }

    /// A file that is open without an opening in the recording.
    pub(super) fn open_unseen(
        &mut self,
        context: &CallContext,
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
            calls.try_open_file((context.times.0, context.times.0), name, OpenFlags::default(), false)
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
