//! Calls that move bytes, and those that make them durable or change how many there are.

use fsverdict_calls::CallWork;

use super::call::SystemCall;
use super::descriptors::{DescriptionId, Opened};
use super::lookup::DescriptorTarget;
use super::reader::{CallContext, SettledCall, StraceReader};
use super::settle::{settled_followed, settled_not_kept, settled_outside};
use super::value::{has_flag, parse_bracketed, parse_number, unnamed_bits};
use crate::account::{CallOutcome, CallWeight};

/// An open file of the folder, and the number under which the trace has it open.
#[derive(Debug, Clone, Copy)]
pub(super) struct TracedOpenFile {
    pub(super) id: DescriptionId,
    pub(super) open: u32,
}

/// Where bytes come from or go to.
#[derive(Debug, Clone, Copy)]
pub(super) enum End {
    File { id: DescriptionId, open: u32 },
    Outside,
    Lost(&'static str),
}

/// The flags of a write that change where it goes, or when it is durable.
#[derive(Clone, Copy)]
struct WriteFlags {
    appends: bool,
    /// Whether it goes where it says, also into a file that is open to append.
    at_its_place: bool,
    sync: Option<fn(u32) -> CallWork>,
    is_unknown: bool,
}

/// RWF_NOAPPEND (Linux 6.9), and those that change neither place nor durability (RWF_ATOMIC, RWF_DONTCACHE,
/// RWF_NOSIGNAL): the same numbers on every processor, which older versions of strace do not name.
const RWF_NOAPPEND: u64 = 0x20;
const WITHOUT_EFFECT: u64 = 0x40 | 0x80 | 0x100;

impl WriteFlags {
    fn new(flags: &str) -> Self {
        let bits = unnamed_bits(flags);
        let sync: Option<fn(u32) -> CallWork> = if has_flag(flags, "RWF_SYNC") {
            Some(|file| CallWork::Fsync { file })
        } else if has_flag(flags, "RWF_DSYNC") {
            Some(|file| CallWork::Fdatasync { file })
        } else {
            None
        };
        Self {
            appends: has_flag(flags, "RWF_APPEND"),
            at_its_place: has_flag(flags, "RWF_NOAPPEND") || bits & RWF_NOAPPEND != 0,
            sync,
            is_unknown: bits & !(RWF_NOAPPEND | WITHOUT_EFFECT) != 0,
        }
    }

    /// The weight of a write of so many bytes.
    fn weigh(self, bytes: u64) -> CallWeight {
        CallWeight { bytes, syncs: u64::from(self.sync.is_some()), ..CallWeight::NONE }
    }
}

impl StraceReader {
    pub(super) fn settle_transfer(
        &mut self,
        context: &CallContext,
        call: &SystemCall<'_>,
    ) -> Option<SettledCall> {
        let value = call.value()?;
        let moved = value.unsigned_abs();
        let settled = match call.name {
            "read" | "readv" => self.settle_read(context, call, moved, None),
            "pread64" | "pread" | "preadv" | "preadv2" => {
                let place = call.argument(3).and_then(parse_number)?;
                self.settle_read(context, call, moved, u64::try_from(place).ok())
            }
            "write" | "writev" => self.settle_write(context, call, moved, None, ""),
            "pwrite64" | "pwrite" | "pwritev" | "pwritev2" => {
                let place = call.argument(3).and_then(parse_number)?;
                self.settle_write(context, call, moved, u64::try_from(place).ok(), call.argument_text(4))
            }
            "lseek" => self.settle_seek(context, call, value, 1, 2),
            "_llseek" | "llseek" => {
                let place = call.argument(2).and_then(parse_bracketed)?;
                self.settle_seek(context, call, place, 1, 3)
            }
            "fsync" | "fdatasync" => self.settle_sync(context, call),
            "syncfs" => self.settle_syncfs(context, call),
            "sync" => Ok(self.keep_names(context, CallWork::SyncFilesystem, CallWeight::one_sync())),
            "ftruncate" | "ftruncate64" => {
                let size =
                    call.argument(1).and_then(parse_number).and_then(|size| u64::try_from(size).ok())?;
                self.on_end(context, call, CallWeight::NONE, |file| CallWork::Truncate { file, size })
            }
            "truncate" | "truncate64" => return self.truncate_by_name(context, call),
            "fallocate" => self.settle_fallocate(context, call)?,
            "copy_file_range" | "splice" => self.settle_copy(
                context,
                moved,
                (call.argument(0), call.argument(1)),
                (call.argument(2), call.argument(3)),
            ),
            "sendfile" | "sendfile64" => self.settle_copy(
                context,
                moved,
                (call.argument(1), call.argument(2)),
                (call.argument(0), None),
            ),
            "io_submit" => Ok(self.settle_submission(context, call, moved)),
            "io_uring_enter" => {
                let weight = CallWeight { unsized_requests: moved, ..CallWeight::NONE };
                Ok(settled_not_kept("io_uring_enter", weight))
            }
            "fstat" | "fstat64" => self.status_of_open(context, call),
            "getdents" | "getdents64" => self.settle_listing(context, call, moved),
            _ => return None,
        };
        // An error is the outcome of a call on something that the trace does not have.
        Some(settled.unwrap_or_else(|outcome| outcome))
    }

    fn settle_syncfs(
        &mut self,
        context: &CallContext,
        call: &SystemCall<'_>,
    ) -> Result<SettledCall, SettledCall> {
        let id = self.known_target(context, call.argument(0), CallWeight::one_sync())?;
        match self.descriptions.opened_by(id) {
            Some(Opened::File { .. } | Opened::Directory { .. }) => {
                Ok(self.keep_names(context, CallWork::SyncFilesystem, CallWeight::one_sync()))
            }
            _ => Ok(settled_outside()),
        }
    }

    /// The file of the trace that an argument leads to, or the outcome of a call where there is none.
    pub(super) fn file_of_argument(
        &mut self,
        context: &CallContext,
        argument: Option<&[u8]>,
        weight: CallWeight,
    ) -> Result<TracedOpenFile, SettledCall> {
        match self.end_of_argument(context, argument) {
            End::File { id, open } => {
                self.mark_used_as_file(id);
                Ok(TracedOpenFile { id, open })
            }
            End::Outside => Err(settled_outside()),
            End::Lost(why) => Err(settled_not_kept(why, weight)),
        }
    }

    pub(super) fn end_of_argument(&mut self, context: &CallContext, argument: Option<&[u8]>) -> End {
        match self.find_target(context, argument) {
            DescriptorTarget::Known(id) => self.end_of(id),
            DescriptorTarget::Outside => End::Outside,
            DescriptorTarget::Lost(why) => End::Lost(why),
        }
    }

    pub(super) fn end_of(&self, id: DescriptionId) -> End {
        match self.descriptions.opened_by(id) {
            Some(Opened::File { open }) => End::File { id, open },
            Some(Opened::Lost(why)) => End::Lost(why),
            Some(Opened::Directory { .. }) => {
                End::Lost("calls on files that seemed to be directories before")
            }
            Some(Opened::Elsewhere) | None => End::Outside,
        }
    }

    /// A call on one open file.
    pub(super) fn on_end(
        &mut self,
        context: &CallContext,
        call: &SystemCall<'_>,
        weight: CallWeight,
        work: impl FnOnce(u32) -> CallWork,
    ) -> Result<SettledCall, SettledCall> {
        let file = self.file_of_argument(context, call.argument(0), weight)?;
        Ok(self.keep_on_file(context, work(file.open), weight))
    }

    pub(super) fn mark_used_as_file(&mut self, id: DescriptionId) {
        if let Some(description) = self.descriptions.get_mut(id) {
            description.may_be_directory = false;
        }
    }

    pub(super) fn position_of(&self, id: DescriptionId) -> u64 {
        self.descriptions.get(id).map_or(0, |description| description.position)
    }

    pub(super) fn set_position(&mut self, id: DescriptionId, position: u64) {
        if let Some(description) = self.descriptions.get_mut(id) {
            (description.position, description.is_behind_append) = (position, false);
        }
    }

    fn settle_read(
        &mut self,
        context: &CallContext,
        call: &SystemCall<'_>,
        moved: u64,
        place: Option<u64>,
    ) -> Result<SettledCall, SettledCall> {
        let asked = match call.name {
            "read" | "pread64" | "pread" => {
                call.argument(2).and_then(parse_number).and_then(|length| u64::try_from(length).ok())
            }
            _ => None,
        };
        let file = self.file_of_argument(context, call.argument(0), CallWeight::of_bytes(moved))?;
        Ok(self.read_file(context, file, moved, place, asked))
    }

    /// A read that moved so many bytes, at the position where no place is given.
    pub(super) fn read_file(
        &mut self,
        context: &CallContext,
        file: TracedOpenFile,
        moved: u64,
        place: Option<u64>,
        asked: Option<u64>,
    ) -> SettledCall {
        let TracedOpenFile { id, open } = file;
        let offset = place.unwrap_or_else(|| self.position_of(id));
        let end = offset.saturating_add(moved);
        if place.is_none() {
            self.set_position(id, end);
        }
        if moved == 0 {
            // The end of the file, where nothing moves.
            return settled_followed();
        }
        let settled = self.keep_on_file(
            context,
            CallWork::Read { file: open, offset, length: moved },
            CallWeight::of_bytes(moved),
        );
        if asked.is_some_and(|asked| moved < asked) {
            self.calls.note_size_of_open(open, end);
        }
        settled
    }

    fn settle_write(
        &mut self,
        context: &CallContext,
        call: &SystemCall<'_>,
        moved: u64,
        place: Option<u64>,
        flags: &str,
    ) -> Result<SettledCall, SettledCall> {
        let file = self.file_of_argument(context, call.argument(0), WriteFlags::new(flags).weigh(moved))?;
        Ok(self.write_with_flags(context, file, moved, place, flags))
    }

    /// A write with the flags of pwritev2(2) or of a request of io_submit(2).
    pub(super) fn write_with_flags(
        &mut self,
        context: &CallContext,
        file: TracedOpenFile,
        moved: u64,
        place: Option<u64>,
        flags: &str,
    ) -> SettledCall {
        let asked = WriteFlags::new(flags);
        let weight = asked.weigh(moved);
        if asked.is_unknown {
            return settled_not_kept("writes with flags that strace shows as numbers", weight);
        }
        let appends = self.descriptions.get(file.id).is_some_and(|known| known.appends);
        let appends = (appends && !asked.at_its_place) || asked.appends;
        let settled = self.write_file(context, file, moved, place, appends);
        if settled.0 == CallOutcome::Kept
            && let Some(sync) = asked.sync
        {
            self.calls.add_file_call(context.times, sync(file.open));
        }
        (settled.0, CallWeight { syncs: weight.syncs, ..settled.1 })
    }

    /// A write that moved so many bytes.
    pub(super) fn write_file(
        &mut self,
        context: &CallContext,
        file: TracedOpenFile,
        moved: u64,
        place: Option<u64>,
        appends: bool,
    ) -> SettledCall {
        let TracedOpenFile { id, open } = file;
        if moved == 0 {
            return settled_followed();
        }
        let weight = CallWeight::of_bytes(moved);
        let offset =
            if appends { self.calls.end_of(open) } else { place.unwrap_or_else(|| self.position_of(id)) };
        if place.is_none() {
            self.set_position(id, offset.saturating_add(moved));
        }
        if let Some(description) = self.descriptions.get_mut(id).filter(|_| appends && place.is_none()) {
            description.is_behind_append = true;
        }
        match appends {
            // pwrite(2) of a file that is opened with O_APPEND appends, too, on Linux.
            true => (self.calls.append_to_file(context.times, open, moved), weight),
            false => {
                self.keep_on_file(context, CallWork::Write { file: open, offset, length: moved }, weight)
            }
        }
    }
}
