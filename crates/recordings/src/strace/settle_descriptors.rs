//! Calls on descriptors: which one each call is, those that copy, change and control them, and their status and listing.

use fsverdict_calls::CallWork;

use super::call::SystemCall;
use super::descriptors::{Description, DescriptionId, Opened};
use super::lookup::DescriptorTarget;
use super::reader::{CallContext, SettledCall, StraceReader};
use super::settle::{settled_followed, settled_not_kept, settled_outside};
use super::settle_transfer::End;
use super::value::{field_value, has_flag, parse_descriptor, parse_number, unnamed_bits};
use crate::account::CallWeight;

impl StraceReader {
    pub(super) fn settle_descriptor_call(
        &mut self,
        context: &CallContext,
        call: &SystemCall<'_>,
    ) -> Option<SettledCall> {
        let settled = match call.name {
            "open" => self.settle_open(context, call, None, 0, call.argument_text(1)),
            "creat" => self.settle_open(context, call, None, 0, "O_WRONLY|O_CREAT|O_TRUNC"),
            "openat" => self.settle_open(context, call, call.argument(0), 1, call.argument_text(2)),
            "openat2" => {
                let flags = call.argument(2).and_then(|how| field_value(how, "flags")).unwrap_or_default();
                self.settle_open(
                    context,
                    call,
                    call.argument(0),
                    1,
                    std::str::from_utf8(flags).unwrap_or_default(),
                )
            }
            "open_by_handle_at" => self.open_by_handle(context, call)?,
            "close" if call.value().is_some() => self.settle_close(context, call),
            "close_range" if call.value().is_some() => self.close_range(context, call),
            "dup" | "dup2" | "dup3" if call.value().is_some() => {
                let closes = has_flag(call.argument_text(2), "O_CLOEXEC");
                self.copy_descriptor(context, call, closes)
            }
            "fcntl" | "fcntl64" if call.value().is_some() => self.settle_fcntl(context, call)?,
            "ioctl" if call.value().is_some() => self.control_device(context, call)?,
            _ => return None,
        };
        Some(settled)
    }

    fn copy_descriptor(
        &mut self,
        context: &CallContext,
        call: &SystemCall<'_>,
        closes_on_exec: bool,
    ) -> SettledCall {
        let Some(copy) = call.value().and_then(|value| i32::try_from(value).ok()) else {
            return settled_outside();
        };
        let shown = call.argument(0).and_then(parse_descriptor);
        match self.find_target(context, call.argument(0)) {
            DescriptorTarget::Known(id) => {
                if shown.and_then(|shown| shown.number) != Some(copy) {
                    self.install_copy(context, copy, id, closes_on_exec);
                }
                self.settle_closed(id, false)
            }
            DescriptorTarget::Outside => {
                self.install_descriptor(
                    context,
                    copy,
                    Description::new(Opened::Elsewhere, None),
                    closes_on_exec,
                );
                settled_outside()
            }
            DescriptorTarget::Lost(why) => {
                self.install_descriptor(
                    context,
                    copy,
                    Description::new(Opened::Lost(why), None),
                    closes_on_exec,
                );
                settled_not_kept(why, CallWeight::NONE)
            }
        }
    }

    fn settle_fcntl(&mut self, context: &CallContext, call: &SystemCall<'_>) -> Option<SettledCall> {
        let command = call.argument_text(1);
        if command.starts_with("F_DUPFD") {
            return Some(self.copy_descriptor(context, call, command == "F_DUPFD_CLOEXEC"));
        }
        match command {
            "F_SETFL" => {
                let id = self.known_file(context, call)?;
                let flags = call.argument_text(2);
                let description = self.descriptions.get_mut(id)?;
                description.appends = has_flag(flags, "O_APPEND");
                let is_direct = has_flag(flags, "O_DIRECT");
                let switches = description.is_direct != is_direct && !description.is_unseen;
                description.is_direct = is_direct;
                if (switches || unnamed_bits(flags) != 0) && matches!(description.opened, Opened::File { .. })
                {
                    let why =
                        "fcntl F_SETFL that switches O_DIRECT, or with flags that strace shows as numbers";
                    return Some(settled_not_kept(why, CallWeight::NONE));
                }
            }
            "F_SETFD" => {
                self.set_closes_on_exec(context, call, has_flag(call.argument_text(2), "FD_CLOEXEC"));
            }
            "F_GETFL" | "F_GETFD" => {}
            _ => return None,
        }
        // These calls change only state that is followed, or nothing.
        let target = self.known_target(context, call.argument(0), CallWeight::NONE);
        Some(target.map_or_else(|settled| settled, |id| self.settle_closed(id, false)))
    }

    fn set_closes_on_exec(&mut self, context: &CallContext, call: &SystemCall<'_>, closes: bool) {
        let number = call.argument(0).and_then(parse_descriptor).and_then(|shown| shown.number);
        if let (Some(number), Some(table)) = (number, self.processes.table_of(context.process))
            && let Some(one) = table.borrow_mut().descriptors.get_mut(&number)
        {
            one.closes_on_exec = closes;
        }
    }

    /// The description that the first argument of a call leads to.
    pub(super) fn known_file(
        &mut self,
        context: &CallContext,
        call: &SystemCall<'_>,
    ) -> Option<DescriptionId> {
        match self.find_target(context, call.argument(0)) {
            DescriptorTarget::Known(id) => Some(id),
            _ => None,
        }
    }

    fn control_device(&mut self, context: &CallContext, call: &SystemCall<'_>) -> Option<SettledCall> {
        let command = call.argument_text(1);
        if has_flag(command, "FIOCLEX") || has_flag(command, "FIONCLEX") {
            self.set_closes_on_exec(context, call, has_flag(command, "FIOCLEX"));
            let target = self.known_target(context, call.argument(0), CallWeight::NONE);
            return Some(target.map_or_else(|settled| settled, |id| self.settle_closed(id, false)));
        }
        if command.split(" or ").any(|word| word.trim() == "FICLONE") {
            return self.clone_file(context, call);
        }
        None
    }

    /// FICLONE: the whole file shares its blocks with another.
    fn clone_file(&mut self, context: &CallContext, call: &SystemCall<'_>) -> Option<SettledCall> {
        let target = self.known_file(context, call)?;
        let DescriptorTarget::Known(source) = self.find_target(context, call.argument(2)) else {
            return None;
        };
        let open_of = |reader: &Self, id| match reader.descriptions.opened_by(id) {
            Some(Opened::File { open }) => Some(open),
            _ => None,
        };
        let (from, file) = (open_of(self, source)?, open_of(self, target)?);
        let length = self.calls.end_of(from);
        if length == 0 {
            return Some(settled_followed());
        }
        let work = CallWork::Copy { from, from_offset: 0, file, offset: 0, length, shared: true };
        Some(self.keep_on_file(context, work, CallWeight::of_bytes(length)))
    }

    /// A description turns out to be that of a directory: it was not opened as a file.
    pub(super) fn turn_into_directory(&mut self, id: DescriptionId) -> Option<u32> {
        let description = self.descriptions.get(id)?;
        match description.opened {
            Opened::Directory { name } => return Some(name),
            Opened::File { .. } if description.may_be_directory => {}
            _ => return None,
        }
        let (slot, path, opened) = (description.slot?, description.path.clone()?, description.opened);
        let named = self.place_of(&path);
        let name = self.number_of(&named).ok()?;
        if let Opened::File { open } = opened {
            self.calls.forget_open(open);
        }
        if self.calls.retract_call(slot) {
            self.calls.account.follow_instead_of_make();
        }
        self.calls.files.turn_into_directory(name);
        let description = self.descriptions.get_mut(id)?;
        (description.opened, description.may_be_directory) = (Opened::Directory { name }, false);
        Some(name)
    }
}

impl StraceReader {
    /// fstat(2) tells how large a file is, and that it is one.
    pub(super) fn status_of_open(
        &mut self,
        context: &CallContext,
        call: &SystemCall<'_>,
    ) -> Result<SettledCall, SettledCall> {
        let id = self.known_target(context, call.argument(0), CallWeight::NONE)?;
        Ok(self.settle_status(id, call))
    }

    /// Notes the status of an open file.
    pub(super) fn settle_status(&mut self, id: DescriptionId, call: &SystemCall<'_>) -> SettledCall {
        let status = call.arguments().iter().find(|argument| argument.starts_with(b"{"));
        let mode = status
            .and_then(|status| field_value(status, "st_mode").or_else(|| field_value(status, "stx_mode")));
        if mode.is_some_and(|mode| mode.starts_with(b"S_IFDIR")) {
            self.turn_into_directory(id);
        }
        if let End::File { open, .. } = self.end_of(id)
            && mode.is_some_and(|mode| mode.starts_with(b"S_IFREG"))
        {
            self.mark_used_as_file(id);
            if let Some(size) = status.and_then(|status| size_in(status)) {
                self.calls.note_size_of_open(open, size);
            }
        }
        self.settle_closed(id, false)
    }

    /// getdents(2): the first call of several stands for the whole listing.
    pub(super) fn settle_listing(
        &mut self,
        context: &CallContext,
        call: &SystemCall<'_>,
        moved: u64,
    ) -> Result<SettledCall, SettledCall> {
        let id = self.known_target(context, call.argument(0), CallWeight::NONE)?;
        let Some(name) = self.turn_into_directory(id) else {
            return Err(match self.end_of(id) {
                End::Outside => settled_outside(),
                _ => settled_not_kept("listings of what was taken for a file", CallWeight::NONE),
            });
        };
        if moved == 0 || self.position_of(id) > 0 {
            return Ok(settled_followed());
        }
        self.set_position(id, 1);
        Ok(self.keep_names(context, CallWork::List { name }, CallWeight::NONE))
    }
}

/// The size that a status says, as far as a file may be large.
pub(super) fn size_in(status: &[u8]) -> Option<u64> {
    let size =
        field_value(status, "st_size").or_else(|| field_value(status, "stx_size")).and_then(parse_number)?;
    u64::try_from(size).ok().filter(|size| *size <= 1 << 50)
}
