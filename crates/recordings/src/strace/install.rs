//! Makes descriptors lead to descriptions, and lets go of them: the last one closes the file.

use super::descriptors::{Description, DescriptionId, Descriptor, Opened};
use super::reader::{CallContext, StraceReader};

impl StraceReader {
    /// A number leads to a new description from now on.
    pub(super) fn install_descriptor(
        &mut self,
        context: &CallContext,
        number: i32,
        description: Description,
        closes_on_exec: bool,
    ) -> DescriptionId {
        let id = self.descriptions.add_description(description);
        self.install_copy(context, number, id, closes_on_exec);
        id
    }

    /// A number leads to a description from now on, as others may.
    pub(super) fn install_copy(
        &mut self,
        context: &CallContext,
        number: i32,
        id: DescriptionId,
        closes_on_exec: bool,
    ) {
        self.descriptions.add_reference(id);
        let Some(table) = self.processes.table_of(context.process) else { return };
        if self.doubtful_closes > 0 {
            // A number that another one closed is free here, too: the table is the same.
            let closed = self.tables_that_may_share(&table).into_iter().find(|other| {
                let (own, other) = (table.borrow(), other.borrow());
                let own_description = own.descriptors.get(&number).map(|one| one.description);
                other
                    .doubtful_closes
                    .get(&number)
                    .is_some_and(|close| Some(close.description) == own_description)
            });
            if let Some(other) = closed {
                self.merge_tables(context, &other, &table);
            }
        }
        let new = Descriptor { description: id, closes_on_exec, doubtful: false };
        let former = {
            let mut table = table.borrow_mut();
            table.closed.remove(&number);
            table.descriptors.insert(number, new)
        };
        if let Some(former) = former {
            if former.doubtful {
                // The other one has it open: a table of its own.
                self.take_for_child(&table);
            }
            self.calls.stop_counting();
            self.drop_descriptor(former, context.times);
        }
    }

    /// A descriptor is gone; gives whether that closed the file for good.
    pub(super) fn drop_descriptor(&mut self, descriptor: Descriptor, times: (u64, u64)) -> bool {
        if descriptor.doubtful {
            self.descriptions.release_doubtful(descriptor.description);
            return false;
        }
        self.release_description(descriptor.description, times, None)
    }

    /// One user of a description is gone; gives whether a file of the trace was closed by that.
    pub(super) fn release_description(
        &mut self,
        id: DescriptionId,
        times: (u64, u64),
        reserved: Option<usize>,
    ) -> bool {
        if !self.descriptions.drop_reference(id) {
            return false;
        }
        let mut closed = false;
        if let Some(description) = self.descriptions.get_mut(id)
            && let Opened::File { open } = description.opened
            && let Some(file) = self.calls.file_of(open)
        {
            let slot = self.calls.close_file(times, open, reserved);
            description.closed = Some((slot, file));
            closed = true;
        }
        self.descriptions.remove_description(id);
        closed
    }
}
