//! Makes descriptors lead to descriptions, and closes them: the last one closes the file.

use super::call::SystemCall;
use super::descriptors::{Description, DescriptionId, Descriptor, Opened};
use super::lookup::DescriptorTarget;
use super::lookup::NamedFile;
use super::reader::{CallContext, SettledCall, StraceReader};
use super::settle::{settled_followed, settled_kept, settled_not_kept, settled_outside};
use super::value::{ShownFile, has_flag, parse_descriptor, parse_number};
use crate::account::CallWeight;

/// The largest number of a descriptor that close_range(2) is followed to.
const LARGEST_DESCRIPTOR: i64 = i32::MAX as i64;

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
        let former = {
            let mut table = table.borrow_mut();
            if !self.processes.is_adopted(context.process) {
                table.closed_by_adopted.remove(&number);
            }
            table.descriptors.insert(number, Descriptor { description: id, closes_on_exec })
        };
        if let Some(former) = former {
            self.calls.stop_counting();
            self.release_description(former.description, context.times);
        }
    }

    /// One user of a description is gone; gives whether a file of the trace was closed by that.
    pub(super) fn release_description(&mut self, id: DescriptionId, times: (u64, u64)) -> bool {
        if !self.descriptions.drop_reference(id) {
            return false;
        }
        let mut closed = false;
        if let Some(Opened::File { open }) = self.descriptions.opened_by(id)
            && self.calls.file_of(open).is_some()
        {
            self.calls.close_file(times, open);
            closed = true;
        }
        self.descriptions.remove_description(id);
        closed
    }

    pub(super) fn settle_close(&mut self, context: &CallContext, call: &SystemCall<'_>) -> SettledCall {
        let Some(shown) = call.argument(0).and_then(parse_descriptor) else { return settled_outside() };
        let Some(number) = shown.number else { return settled_outside() };
        if let Some((_, id)) = context.pinned {
            // The close took effect when it began: the remaining reference is released with the call.
            return self.settle_closed(id, self.descriptions.get(id).is_some_and(Description::is_last));
        }
        let Some(table) = self.processes.table_of(context.process) else { return settled_outside() };
        if !table.borrow().descriptors.contains_key(&number) {
            return match &shown.shown {
                ShownFile::Path { path, .. } if self.place_of(path) != NamedFile::Outside => {
                    settled_not_kept(
                        "closes of files that were opened before the recording",
                        CallWeight::NONE,
                    )
                }
                _ => settled_outside(),
            };
        }
        // A process that was taken for a thread may have its own table of descriptors.
        let target = self.find_number(context, number, &shown.shown);
        let Some(table) = self.processes.table_of(context.process) else { return settled_outside() };
        let Some(former) = table.borrow_mut().descriptors.remove(&number) else {
            return match target {
                DescriptorTarget::Lost(why) => settled_not_kept(why, CallWeight::NONE),
                _ => settled_outside(),
            };
        };
        if self.processes.is_adopted(context.process)
            && let Some(path) = self.descriptions.get(former.description).and_then(|known| known.path.clone())
        {
            table.borrow_mut().closed_by_adopted.insert(number, path);
        }
        let settled = self.settle_closed(former.description, false);
        let closed = self.release_description(former.description, context.times);
        if closed { settled_kept(CallWeight::NONE) } else { settled }
    }

    /// The outcome of a close of a file's last descriptor, or of one of several.
    pub(super) fn settle_closed(&self, id: DescriptionId, last: bool) -> SettledCall {
        match self.descriptions.opened_by(id) {
            Some(Opened::File { .. }) if last => settled_kept(CallWeight::NONE),
            Some(Opened::File { .. } | Opened::Directory { .. }) => settled_followed(),
            Some(Opened::Lost(why)) => settled_not_kept(why, CallWeight::NONE),
            _ => settled_outside(),
        }
    }

    pub(super) fn close_range(&mut self, context: &CallContext, call: &SystemCall<'_>) -> SettledCall {
        let (Some(first), Some(last)) =
            (call.argument(0).and_then(parse_number), call.argument(1).and_then(parse_number))
        else {
            return settled_outside();
        };
        let flags = call.argument_text(2);
        if has_flag(flags, "CLOSE_RANGE_UNSHARE") {
            self.own_table(context.process);
        }
        let Some(table) = self.processes.table_of(context.process) else { return settled_outside() };
        let last = if last < 0 { LARGEST_DESCRIPTOR } else { last.min(LARGEST_DESCRIPTOR) };
        let mut inside: Vec<i32> = table
            .borrow()
            .descriptors
            .keys()
            .copied()
            .filter(|number| (first..=last).contains(&i64::from(*number)))
            .collect();
        inside.sort_unstable();
        let mut settled = settled_outside();
        for number in inside {
            if has_flag(flags, "CLOSE_RANGE_CLOEXEC") {
                if let Some(one) = table.borrow_mut().descriptors.get_mut(&number) {
                    one.closes_on_exec = true;
                }
                continue;
            }
            let former = table.borrow_mut().descriptors.remove(&number);
            let Some(former) = former else { continue };
            let outcome = self.settle_closed(former.description, false);
            let closed = self.release_description(former.description, context.times);
            if closed {
                settled = settled_kept(CallWeight::NONE);
            } else if settled == settled_outside() && outcome == settled_followed() {
                settled = outcome;
            }
        }
        settled
    }
}
