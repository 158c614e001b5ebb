//! Closes of descriptors: of the last that leads to a file, of one of several, and of one that may be another process's.

use super::call::SystemCall;
use super::descriptors::{Description, DescriptionId, DoubtfulClose, Opened};
use super::lookup::{DescriptorTarget, UNKNOWN_DESCRIPTOR};
use super::reader::{CallContext, SettledCall, StraceReader};
use super::resolve_path::NamedFile;
use super::settle::{settled_followed, settled_kept, settled_not_kept, settled_outside};
use super::value::{ShownFile, has_flag, parse_descriptor, parse_number};
use crate::account::CallWeight;

/// The largest number of a descriptor that close_range(2) is followed to.
const LARGEST_DESCRIPTOR: i64 = i32::MAX as i64;

impl StraceReader {
    pub(super) fn settle_close(&mut self, context: &CallContext, call: &SystemCall<'_>) -> SettledCall {
        let Some(shown) = call.argument(0).and_then(parse_descriptor) else { return settled_outside() };
        let Some(number) = shown.number else { return settled_outside() };
        if let Some((_, id)) = context.pinned {
            // The close took effect when it began: the remaining reference is released with the call.
            return self.settle_closed(id, self.descriptions.get(id).is_some_and(Description::is_last));
        }
        let Some(table) = self.processes.table_of(context.process) else { return settled_outside() };
        let known = table.borrow().descriptors.contains_key(&number) || table.borrow().guess.is_some();
        if !known {
            table.borrow_mut().closed.insert(number);
            return match &shown.shown {
                ShownFile::Path { path, .. } if self.place_of(path) != NamedFile::Outside => {
                    settled_not_kept(
                        "closes of files that were opened before the recording",
                        CallWeight::NONE,
                    )
                }
                ShownFile::Nothing if !table.borrow().complete => {
                    settled_not_kept(UNKNOWN_DESCRIPTOR, CallWeight::NONE)
                }
                _ => settled_outside(),
            };
        }
        // This tells threads from children, where the path says so.
        let target = self.find_number(context, number, &shown.shown);
        let Some(table) = self.processes.table_of(context.process) else { return settled_outside() };
        let former = {
            let mut table = table.borrow_mut();
            table.closed.insert(number);
            table.descriptors.remove(&number)
        };
        let Some(former) = former else {
            return match target {
                DescriptorTarget::Lost(why) => settled_not_kept(why, CallWeight::NONE),
                _ => settled_outside(),
            };
        };
        if former.doubtful {
            return self.close_doubtfully(context, number, former.description);
        }
        let settled = self.settle_closed(former.description, false);
        let closed = self.release_description(former.description, context.times, None);
        if closed { settled_kept(CallWeight::NONE) } else { settled }
    }

    /// The outcome of a close of a file's last descriptor, or of one of several.
    pub(super) fn settle_closed(&self, id: DescriptionId, last: bool) -> SettledCall {
        match self.descriptions.get(id).map(|one| one.opened) {
            Some(Opened::File { .. }) if last => settled_kept(CallWeight::NONE),
            Some(Opened::File { .. } | Opened::Directory { .. }) => settled_followed(),
            Some(Opened::Lost(why)) => settled_not_kept(why, CallWeight::NONE),
            _ => settled_outside(),
        }
    }

    /// A close of a descriptor that may be that of another process: its place among the calls is kept free.
    fn close_doubtfully(&mut self, context: &CallContext, number: i32, id: DescriptionId) -> SettledCall {
        let settled = self.settle_closed(id, false);
        let file = self.descriptions.get(id).is_some_and(|one| matches!(one.opened, Opened::File { .. }));
        match self.processes.table_of(context.process) {
            Some(table) if file => {
                let slot = self.calls.reserve_slot(context.times);
                self.doubtful_closes += 1;
                table.borrow_mut().doubtful_closes.insert(number, DoubtfulClose { description: id, slot });
            }
            _ => self.descriptions.release_doubtful(id),
        }
        settled
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
            table.borrow_mut().closed.insert(number);
            let Some(former) = former else { continue };
            let outcome = self.settle_closed(former.description, false);
            let closed = self.drop_descriptor(former, context.times);
            if closed {
                settled = settled_kept(CallWeight::NONE);
            } else if settled == settled_outside() && outcome == settled_followed() {
                settled = outcome;
            }
        }
        settled
    }
}
