//! Follows memory-mapped files: stores into memory are not visible, msync(2) is.

use fsverdict_calls::CallWork;

use super::call::SystemCall;
use super::descriptors::Opened;
use super::lookup::DescriptorTarget;
use super::processes::{FileMapping, ProcessMemory};
use super::reader::{CallContext, SettledCall, StraceReader};
use super::settle::{settled_not_kept, settled_outside};
use super::value::{has_flag, parse_number};
use crate::account::CallWeight;

impl StraceReader {
    /// mmap(2): stores into the memory are not visible.
    pub(super) fn settle_mmap(&mut self, context: &CallContext, call: &SystemCall<'_>) -> SettledCall {
        let id = match self.find_target(context, call.argument(4)) {
            DescriptorTarget::Known(id) => id,
            DescriptorTarget::Outside => return settled_outside(),
            DescriptorTarget::Lost(why) => return settled_not_kept(why, CallWeight::NONE),
        };
        match self.descriptions.get(id).map(|one| one.opened) {
            None | Some(Opened::Elsewhere) => return settled_outside(),
            Some(_) => {}
        }
        if let Some(description) = self.descriptions.get_mut(id) {
            description.may_be_directory = false;
        }
        let shared = has_flag(call.argument_text(3), "MAP_SHARED")
            || has_flag(call.argument_text(3), "MAP_SHARED_VALIDATE");
        if !shared || !has_flag(call.argument_text(2), "PROT_WRITE") {
            return settled_not_kept("mmap", CallWeight::NONE);
        }
        let start = call.value().unwrap_or_default() as u64;
        let length = call.argument(1).and_then(parse_number).unwrap_or_default().max(0) as u64;
        if let Some(process) = self.processes.get(context.process).cloned() {
            self.descriptions.add_reference(id);
            let mapping = FileMapping { end: start.saturating_add(length), description: id };
            let former = process.memory.borrow_mut().mappings.insert(start, mapping);
            if let Some(former) = former {
                self.release_description(former.description, context.times);
            }
        }
        settled_not_kept(
            "mmap of a file for writing (its stores cannot be seen)",
            CallWeight { unsized_requests: 1, ..CallWeight::NONE },
        )
    }

    pub(super) fn settle_munmap(&mut self, context: &CallContext, call: &SystemCall<'_>) {
        let (Some(start), Some(length)) =
            (call.argument(0).and_then(parse_number), call.argument(1).and_then(parse_number))
        else {
            return;
        };
        let (start, end) = (start as u64, (start as u64).saturating_add(length as u64));
        let Some(process) = self.processes.get(context.process).cloned() else { return };
        let inside: Vec<u64> =
            process.memory.borrow().mappings.range(start..end).map(|(at, _)| *at).collect();
        for at in inside {
            let mapping = process.memory.borrow_mut().mappings.remove(&at);
            let Some(mapping) = mapping else { continue };
            if mapping.end > end {
                // Its end stays.
                process.memory.borrow_mut().mappings.insert(end, mapping);
            } else {
                self.release_description(mapping.description, context.times);
            }
        }
    }

    pub(super) fn settle_mremap(&mut self, context: &CallContext, call: &SystemCall<'_>) {
        let (Some(from), Some(to)) = (call.argument(0).and_then(parse_number), call.value()) else { return };
        let length = call.argument(2).and_then(parse_number).unwrap_or_default() as u64;
        let Some(process) = self.processes.get(context.process).cloned() else { return };
        let mut memory: std::cell::RefMut<'_, ProcessMemory> = process.memory.borrow_mut();
        if let Some(mapping) = memory.mappings.remove(&(from as u64)) {
            let end = (to as u64).saturating_add(length);
            memory.mappings.insert(to as u64, FileMapping { end, ..mapping });
        }
    }

    /// msync(2) makes stores into a mapping durable, like fdatasync(2) on the file.
    pub(super) fn sync_mapping(&mut self, context: &CallContext, call: &SystemCall<'_>) -> SettledCall {
        let Some(at) = call.argument(0).and_then(parse_number).map(|at| at as u64) else {
            return settled_outside();
        };
        let Some(process) = self.processes.get(context.process).cloned() else { return settled_outside() };
        let mapping = process.memory.borrow().mappings.range(..=at).next_back().map(|(_, one)| *one);
        let Some(mapping) = mapping.filter(|mapping| at < mapping.end) else {
            return match process.memory.borrow().complete {
                true => settled_outside(),
                false => settled_not_kept(
                    "msync of memory that was mapped before the recording",
                    CallWeight::one_sync(),
                ),
            };
        };
        if !has_flag(call.argument_text(2), "MS_SYNC") {
            return settled_not_kept("msync without MS_SYNC", CallWeight::NONE);
        }
        match self.descriptions.get(mapping.description).map(|one| one.opened) {
            Some(Opened::File { open }) => {
                self.keep_on_file(context, CallWork::Fdatasync { file: open }, CallWeight::one_sync())
            }
            Some(Opened::Lost(why)) => settled_not_kept(why, CallWeight::one_sync()),
            _ => settled_outside(),
        }
    }
}
