//! Calls that make and end processes, and move them to another directory.

use std::cell::RefCell;
use std::rc::Rc;

use super::call::{SystemCall, call_name, parse_call};
use super::descriptors::{Descriptor, DescriptorTable, Opened, TableHandle};
use super::line::{count_digits, find_bytes, parse_u64};
use super::lookup::{CUT_NAME, NamedFile};
use super::processes::{Process, ProcessMemory, SharedParts};
use super::reader::{CallContext, SettledCall, StraceReader};
use super::settle::{settled_followed, settled_not_kept, settled_outside};
use super::value::{has_flag, quoted_path};
use super::work_limit::CopyShare;
use crate::account::CallWeight;

/// Calls that make a process or thread.
pub(super) const MAKE_PROCESS: [&str; 5] = ["clone", "clone2", "clone3", "fork", "vfork"];

impl StraceReader {
    /// Follows a process if its creation is not recorded, or if the call that created it is still unfinished.
    pub(super) fn meet_unknown(&mut self, process: u32) {
        match self.creating_processes()[..] {
            [maker] => self.meet_child(maker, process),
            _ => self.processes.adopt_process(process),
        }
    }

    /// A share of the copies that may be held, for a copy of a table of descriptors and of mappings.
    fn share_of_copies(
        &mut self,
        table: Option<&TableHandle>,
        memory: Option<&Rc<RefCell<ProcessMemory>>>,
    ) -> Option<CopyShare> {
        let entries = table.map_or(0, |table| table.borrow().descriptors.len())
            + memory.map_or(0, |memory| memory.borrow().mappings.len());
        if !self.work.take_copies(entries) {
            return None;
        }
        let share = self.copies.take_share(entries);
        self.work.exhausted |= share.is_none();
        share
    }

    fn add_child(&mut self, maker: u32, child: u32, shared: SharedParts) {
        let Some(parent) = self.processes.get(maker).cloned() else { return };
        let table = Some(&parent.table).filter(|_| !shared.files);
        let memory = Some(&parent.memory).filter(|_| !shared.memory);
        if let Some(share) = self.share_of_copies(table, memory) {
            self.processes.add_child(maker, &parent, child, shared, share, &mut self.descriptions);
        }
    }

    /// Follows a process that a call under way makes, as a later line shows.
    pub(super) fn meet_child(&mut self, maker: u32, process: u32) {
        if let Some(call) = self.underway.get_mut(&maker) {
            call.child_seen = true;
            let shared = shared_parts(&call.text);
            self.add_child(maker, process, shared);
        }
    }

    /// Processes with an unfinished call that creates a process of which no line was read yet.
    pub(super) fn creating_processes(&mut self) -> Vec<u32> {
        if !self.work.take_work(self.underway.len()) {
            return Vec::new();
        }
        let makes = |call: &super::reader::CallUnderway| {
            !call.child_seen && MAKE_PROCESS.contains(&call_name(&call.text))
        };
        self.underway.iter().filter(|(_, call)| makes(call)).map(|(process, _)| *process).collect()
    }

    pub(super) fn settle_process_call(
        &mut self,
        context: &CallContext,
        call: &SystemCall<'_>,
    ) -> Option<SettledCall> {
        call.value()?;
        match call.name {
            name if MAKE_PROCESS.contains(&name) => self.make_process(context, call),
            "execve" | "execveat" => {
                self.replace_program(context);
                // The file that is run is read by the kernel, unseen.
                return None;
            }
            "unshare" => self.settle_unshare(context, call.argument_text(0)),
            "chdir" => return Some(self.change_directory(context, None, call, 0)),
            "fchdir" => return Some(self.change_to_open(context, call)),
            "getcwd" => {
                if let (Some(path), Some(process)) =
                    (quoted_path(call.argument(0)?), self.processes.get(context.process))
                {
                    process.directory.borrow_mut().path = Some(path);
                }
            }
            "chroot" => self.change_root(context, call),
            "mmap" | "mmap2" | "old_mmap" => return Some(self.settle_mmap(context, call)),
            "munmap" => self.settle_munmap(context, call),
            "mremap" => self.settle_mremap(context, call),
            "msync" => return Some(self.sync_mapping(context, call)),
            _ => return None,
        }
        Some(settled_outside())
    }

    fn make_process(&mut self, context: &CallContext, call: &SystemCall<'_>) {
        let Some(child) = child_of(call) else { return };
        if context.child_seen || self.processes.contains(child) {
            return;
        }
        let flags = call.arguments().iter().find_map(|argument| {
            let text = std::str::from_utf8(argument).ok()?;
            text.contains("flags=").then_some(text)
        });
        let shared = parts_of(flags.unwrap_or_default(), call.name);
        self.add_child(context.process, child, shared);
    }

    /// execve(2): gives the process its own table and memory, and closes close-on-exec descriptors.
    fn replace_program(&mut self, context: &CallContext) {
        self.calls.stop_counting();
        self.own_table(context.process);
        let Some(table) = self.processes.table_of(context.process) else { return };
        let gone: Vec<Descriptor> = {
            let mut table = table.borrow_mut();
            let (gone, kept) = std::mem::take(&mut table.descriptors)
                .into_iter()
                .partition::<std::collections::HashMap<i32, Descriptor>, _>(|(_, one)| one.closes_on_exec);
            table.descriptors = kept;
            gone.into_iter().collect::<std::collections::BTreeMap<_, _>>().into_values().collect()
        };
        for descriptor in gone {
            self.release_description(descriptor.description, context.times);
        }
        self.drop_memory(context.process, context.times);
        if let Some(process) = self.processes.get(context.process) {
            process.memory.borrow_mut().complete = true;
        }
    }

    /// Gives a process that shares its table a copy.
    pub(super) fn own_table(&mut self, process: u32) {
        let Some(table) = self.processes.table_of(process) else { return };
        if table.borrow().users <= 1 {
            return;
        }
        table.borrow_mut().users -= 1;
        let share = self.share_of_copies(Some(&table), None);
        let mut copy = match &share {
            Some(_) => table.borrow().copy_table(&mut self.descriptions),
            // Nothing is known about its open files.
            None => DescriptorTable::default(),
        };
        (copy.users, copy.copies) = (1, share.map(Rc::new));
        self.processes.set_table(process, Rc::new(RefCell::new(copy)));
    }

    fn settle_unshare(&mut self, context: &CallContext, flags: &str) {
        if has_flag(flags, "CLONE_FILES") {
            self.own_table(context.process);
        }
        if has_flag(flags, "CLONE_FS")
            && let Some(process) = self.processes.get_mut(context.process)
        {
            let directory = process.directory.borrow().clone();
            process.directory = Rc::new(RefCell::new(directory));
        }
    }

    /// A process or thread ended: the last user of a table closes all its descriptors.
    pub(super) fn end_process(&mut self, process: u32, now_ns: u64) {
        if let Some(call) = self.underway.remove(&process) {
            self.give_up(&call);
        }
        self.calls.stop_counting();
        self.drop_memory(process, (now_ns, now_ns));
        let Some(Process { table, .. }) = self.processes.remove_process(process) else { return };
        let last = {
            let mut table = table.borrow_mut();
            table.users = table.users.saturating_sub(1);
            table.users == 0
        };
        if !last {
            return;
        }
        let descriptors = std::mem::take(&mut table.borrow_mut().descriptors);
        let in_order: std::collections::BTreeMap<i32, Descriptor> = descriptors.into_iter().collect();
        for descriptor in in_order.into_values() {
            self.release_description(descriptor.description, (now_ns, now_ns));
        }
    }

    fn drop_memory(&mut self, process: u32, times: (u64, u64)) {
        let Some(process) = self.processes.get_mut(process) else { return };
        let memory = std::mem::take(&mut process.memory);
        if let Some(memory) = Rc::into_inner(memory) {
            for mapping in memory.into_inner().mappings.into_values() {
                self.release_description(mapping.description, times);
            }
        }
    }

    fn change_directory(
        &mut self,
        context: &CallContext,
        folder: Option<&[u8]>,
        call: &SystemCall<'_>,
        at: usize,
    ) -> SettledCall {
        let Some(path) = call.argument(at).and_then(quoted_path) else {
            self.forget_directory(context.process);
            return settled_not_kept(CUT_NAME, CallWeight::NONE);
        };
        match self.absolute_path(context, folder, &path) {
            Ok(absolute) => {
                let place = self.place_of(&absolute);
                if let Some(process) = self.processes.get(context.process) {
                    process.directory.borrow_mut().path = Some(self.paths.resolve(&absolute).into_owned());
                }
                if let NamedFile::Inside(relative) = &place
                    && let Some(name) = self.calls.files.number_of_path(relative)
                {
                    self.calls.files.note_directory(name);
                }
                if place == NamedFile::Outside { settled_outside() } else { settled_followed() }
            }
            Err(why) => {
                self.forget_directory(context.process);
                settled_not_kept(why, CallWeight::NONE)
            }
        }
    }

    /// A process went to a directory that the recording does not show.
    fn forget_directory(&self, process: u32) {
        if let Some(process) = self.processes.get(process) {
            process.directory.borrow_mut().path = None;
        }
    }

    fn change_to_open(&mut self, context: &CallContext, call: &SystemCall<'_>) -> SettledCall {
        let id = match self.known_target(context, call.argument(0), CallWeight::NONE) {
            Ok(id) => id,
            Err(settled) => {
                self.forget_directory(context.process);
                return settled;
            }
        };
        self.turn_into_directory(id);
        let Some(description) = self.descriptions.get(id) else { return settled_outside() };
        if let Some(process) = self.processes.get(context.process) {
            process.directory.borrow_mut().path.clone_from(&description.path);
        }
        if description.opened == Opened::Elsewhere { settled_outside() } else { settled_followed() }
    }

    fn change_root(&mut self, context: &CallContext, call: &SystemCall<'_>) {
        let Some(path) = call.argument(0).and_then(quoted_path) else { return };
        if let (Ok(root), Some(process)) =
            (self.absolute_path(context, None, &path), self.processes.get(context.process).cloned())
        {
            process.directory.borrow_mut().root =
                Some(root).filter(|root| *root != std::path::Path::new("/"));
        }
    }
}

/// The number of the process that a call made, as strace names it.
pub(super) fn child_of(call: &SystemCall<'_>) -> Option<u32> {
    // `= 2 /* 812 in strace's PID NS */`
    if let Some(comment) = call.remark.strip_prefix(b"/* ")
        && find_bytes(comment, b" in strace").is_some()
    {
        return parse_u64(&comment[..count_digits(comment)]).and_then(|number| u32::try_from(number).ok());
    }
    call.value().and_then(|value| u32::try_from(value).ok()).filter(|child| *child > 0)
}

/// The resources that an unfinished call will let its child share.
fn shared_parts(text: &[u8]) -> SharedParts {
    let whole = [text, b") = ?"].concat();
    let flags = match parse_call(&whole) {
        Some(call) => call.arguments().concat(),
        None => text.to_vec(),
    };
    parts_of(&String::from_utf8_lossy(&flags), call_name(text))
}

fn parts_of(flags: &str, name: &str) -> SharedParts {
    SharedParts {
        files: has_flag(flags, "CLONE_FILES"),
        directory: has_flag(flags, "CLONE_FS"),
        memory: has_flag(flags, "CLONE_VM") || name == "vfork",
    }
}
