//! Decides the outcome of each call: kept in the trace, followed, not kept for a reason, or outside the folder.

use fsverdict_calls::CallWork;

use super::call::{Returned, SystemCall};
use super::descriptors::Opened;
use super::lookup::DescriptorTarget;
use super::lookup::NamedFile;
use super::paths::PathPlace;
use super::reader::{CallContext, SettledCall, StraceReader};
use super::references::{Reference, references_of};
use super::value::{constants_or_placeholder, parse_descriptor, quoted_path};
use crate::account::{CallOutcome, CallWeight};

/// How strace names a call that it does not know, with its number.
const UNNAMED_CALL: &str = "syscall_0x";
/// io_uring_enter(2), which has this number on every processor.
const IO_URING_ENTER: &str = "syscall_0x1aa";

pub(super) fn settled_kept(weight: CallWeight) -> SettledCall {
    (CallOutcome::Kept, weight)
}

pub(super) fn settled_followed() -> SettledCall {
    (CallOutcome::Followed, CallWeight::NONE)
}

pub(super) fn settled_outside() -> SettledCall {
    (CallOutcome::Outside, CallWeight::NONE)
}

pub(super) fn settled_not_kept(reason: &str, weight: CallWeight) -> SettledCall {
    (CallOutcome::NotKept(reason.to_owned()), weight)
}

impl StraceReader {
    /// Determines the outcome of a call and updates the state accordingly.
    pub(super) fn settle_call(&mut self, context: &CallContext, call: &SystemCall<'_>) -> SettledCall {
        if call.is_injected() {
            return self.settle_by_references(context, call);
        }
        let settled = self
            .settle_process_call(context, call)
            .or_else(|| self.settle_descriptor_call(context, call))
            .or_else(|| self.settle_transfer(context, call))
            .or_else(|| self.settle_name_call(context, call));
        settled.unwrap_or_else(|| self.settle_by_references(context, call))
    }

    /// A call that the trace cannot make, or that failed: it is counted where it concerns the folder.
    pub(super) fn settle_by_references(
        &mut self,
        context: &CallContext,
        call: &SystemCall<'_>,
    ) -> SettledCall {
        if call.name.starts_with(UNNAMED_CALL) {
            let done = call.value().map_or(0, i64::unsigned_abs);
            let unsized_requests = if call.name == IO_URING_ENTER { done } else { 0 };
            let weight = CallWeight { unsized_requests, ..CallWeight::NONE };
            return settled_not_kept(
                "calls that this version of strace does not name (record with a later one)",
                weight,
            );
        }
        // These calls select the action by their second argument.
        let call_name = match call.name {
            "ioctl" | "fcntl" | "fcntl64" => {
                format!("{} {}", call.name, constants_or_placeholder(call.argument_text(1)))
            }
            name => name.to_owned(),
        };
        let reason = match call.returned {
            _ if call.is_injected() => format!("{call_name} whose result strace injected"),
            Returned::Error(error) => format!("{call_name} that failed ({error})"),
            Returned::Unknown => format!("{call_name} that was interrupted or did not return"),
            Returned::Value(_) => call_name,
        };
        // A failed call moved no bytes, and sync_file_range(2) makes nothing durable.
        let weight = CallWeight::NONE;
        for reference in references_of(call.name) {
            match self.resolve_reference(context, call, reference) {
                NamedFile::Outside => {}
                NamedFile::Unknown(why) => return settled_not_kept(why, CallWeight::NONE),
                _ => return settled_not_kept(&reason, weight),
            }
        }
        match self.shows_folder(call) {
            true => settled_not_kept(&reason, weight),
            false => settled_outside(),
        }
    }

    fn resolve_reference(
        &mut self,
        context: &CallContext,
        call: &SystemCall<'_>,
        reference: &Reference,
    ) -> NamedFile {
        match *reference {
            Reference::Path(path) => self.resolve_named_file(context, None, call.argument(path)),
            Reference::At(folder, path) => {
                self.resolve_named_file(context, call.argument(folder), call.argument(path))
            }
            Reference::Descriptor(number) => match self.find_target(context, call.argument(number)) {
                DescriptorTarget::Outside => NamedFile::Outside,
                // A descriptor that strace does not show is not open.
                DescriptorTarget::Lost(_) if call.returned == Returned::Error("EBADF") => NamedFile::Outside,
                DescriptorTarget::Lost(why) => NamedFile::Unknown(why),
                DescriptorTarget::Known(id) => match self.descriptions.opened_by(id) {
                    None | Some(Opened::Elsewhere) => NamedFile::Outside,
                    Some(_) => NamedFile::Open(id),
                },
            },
        }
    }

    /// Whether an argument of any call shows a path below the folder.
    pub(super) fn shows_folder(&self, call: &SystemCall<'_>) -> bool {
        call.arguments().iter().any(|argument| {
            let decorated = parse_descriptor(argument).and_then(|shown| shown.shown.path().cloned());
            let path = decorated.or_else(|| quoted_path(argument));
            path.is_some_and(|path| {
                path.is_absolute() && self.paths.place_of_path(&path) != PathPlace::Outside
            })
        })
    }

    /// The number of a name in the folder; 0 is the folder itself.
    pub(super) fn number_of(&mut self, file: &NamedFile) -> Result<u32, SettledCall> {
        match file {
            NamedFile::Folder => Ok(0),
            NamedFile::Inside(relative) => {
                let number = self.calls.files.number_of_path(relative);
                number.ok_or_else(|| {
                    settled_not_kept("names beyond those that a plan can hold", CallWeight::NONE)
                })
            }
            NamedFile::Open(_) => {
                Err(settled_not_kept("calls that name an open file by a link in /proc", CallWeight::NONE))
            }
            NamedFile::Outside => Err(settled_outside()),
            NamedFile::Unknown(why) => Err(settled_not_kept(why, CallWeight::NONE)),
        }
    }

    /// A call on names that succeeded.
    pub(super) fn keep_names(
        &mut self,
        context: &CallContext,
        work: CallWork,
        weight: CallWeight,
    ) -> SettledCall {
        (self.calls.add_name_call(context.times, work), weight)
    }

    /// A call on an open file that succeeded.
    pub(super) fn keep_on_file(
        &mut self,
        context: &CallContext,
        work: CallWork,
        weight: CallWeight,
    ) -> SettledCall {
        (self.calls.add_file_call(context.times, work), weight)
    }
}
