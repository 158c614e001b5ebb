//! Calls that move the position in a file, make its data durable, change its size or copy ranges.

use fsverdict_calls::CallWork;

use super::call::SystemCall;
use super::descriptors::{DescriptionId, Opened};
use super::lookup::NamedFile;
use super::reader::{CallContext, SettledCall, StraceReader};
use super::settle::{settled_followed, settled_kept, settled_not_kept, settled_outside};
use super::value::{constants_or_placeholder, parse_bracketed, parse_number};
use crate::account::CallWeight;

use super::settle_transfer::{End, TracedOpenFile};

impl StraceReader {
    pub(super) fn settle_seek(
        &mut self,
        context: &CallContext,
        call: &SystemCall<'_>,
        place: i64,
        offset: usize,
        whence: usize,
    ) -> Result<SettledCall, SettledCall> {
        let place = u64::try_from(place).unwrap_or(0);
        let id = self.known_target(context, call.argument(0), CallWeight::NONE)?;
        if call.argument_text(whence) == "SEEK_CUR"
            && let Some((open, assumed)) = self.append_before(id)
        {
            // Where the append ended: whatever the file had before it was as much longer.
            let behind = call.argument(offset).and_then(parse_number).unwrap_or(0);
            let ended = u64::try_from(i64::try_from(place).unwrap_or(0).saturating_sub(behind)).unwrap_or(0);
            let size = self.calls.end_of(open).saturating_add(ended.saturating_sub(assumed));
            self.calls.note_size_of_open(open, size);
        }
        self.set_position(id, place);
        if let End::File { open, .. } = self.end_of(id)
            && call.argument_text(whence) == "SEEK_END"
        {
            let behind = call.argument(offset).and_then(parse_number).unwrap_or(0);
            let size = i64::try_from(place).unwrap_or(0).saturating_sub(behind);
            self.calls.note_size_of_open(open, u64::try_from(size).unwrap_or(0));
        }
        Ok(self.settle_closed(id, false))
    }

    /// The open file of a description whose position is where an append ended, and that position.
    fn append_before(&self, id: DescriptionId) -> Option<(u32, u64)> {
        let description = self.descriptions.get(id).filter(|description| description.is_behind_append)?;
        match description.opened {
            Opened::File { open } => Some((open, description.position)),
            _ => None,
        }
    }

    pub(super) fn settle_sync(
        &mut self,
        context: &CallContext,
        call: &SystemCall<'_>,
    ) -> Result<SettledCall, SettledCall> {
        let weight = CallWeight::one_sync();
        let id = self.known_target(context, call.argument(0), weight)?;
        // A sync alone says nothing of a descriptor from before the recording: programs keep files open, and seldom directories.
        if self.descriptions.get(id).is_some_and(|description| description.is_unseen) {
            self.mark_used_as_file(id);
        }
        // A file that was opened for reading and is synced without being read is a directory.
        if let Some(name) = self.turn_into_directory(id) {
            return Ok(self.keep_names(context, CallWork::SyncDirectory { name }, weight));
        }
        Ok(match self.end_of(id) {
            End::File { open: file, .. } if call.name == "fsync" => {
                self.keep_on_file(context, CallWork::Fsync { file }, weight)
            }
            End::File { open: file, .. } => self.keep_on_file(context, CallWork::Fdatasync { file }, weight),
            End::Outside => settled_outside(),
            End::Lost(why) => settled_not_kept(why, weight),
        })
    }

    /// truncate(2): the trace opens, truncates and closes.
    pub(super) fn truncate_by_name(
        &mut self,
        context: &CallContext,
        call: &SystemCall<'_>,
    ) -> Option<SettledCall> {
        let size = call.argument(1).and_then(parse_number).and_then(|size| u64::try_from(size).ok())?;
        let named = self.resolve_named_file(context, None, call.argument(0));
        if let NamedFile::Open(_) = named {
            return None;
        }
        let name = match self.number_of(&named) {
            Ok(name) => name,
            Err(settled) => return Some(settled),
        };
        Some(match self.calls.open_file(context.times, name, fsverdict_calls::OpenFlags::default(), false) {
            Ok(open) => {
                self.calls.add_file_call(context.times, CallWork::Truncate { file: open, size });
                self.calls.close_file(context.times, open);
                settled_kept(CallWeight::NONE)
            }
            Err(why) => settled_not_kept(why, CallWeight::NONE),
        })
    }

    /// `None` where the line does not show the range.
    pub(super) fn settle_fallocate(
        &mut self,
        context: &CallContext,
        call: &SystemCall<'_>,
    ) -> Option<Result<SettledCall, SettledCall>> {
        let (offset, length) =
            (call.argument(2).and_then(parse_number)?, call.argument(3).and_then(parse_number)?);
        let (offset, length) = (u64::try_from(offset).ok()?, u64::try_from(length).ok()?);
        if call.argument(1) == Some(b"0") {
            let reserve = |file| CallWork::Reserve { file, offset, length };
            return Some(self.on_end(context, call, CallWeight::NONE, reserve));
        }
        let reason = format!("fallocate {}", constants_or_placeholder(call.argument_text(1)));
        let end = self.file_of_argument(context, call.argument(0), CallWeight::NONE);
        Some(end.map(|_| settled_not_kept(&reason, CallWeight::NONE)))
    }

    /// Bytes that the kernel moves from one descriptor to another.
    pub(super) fn settle_copy(
        &mut self,
        context: &CallContext,
        moved: u64,
        from: (Option<&[u8]>, Option<&[u8]>),
        to: (Option<&[u8]>, Option<&[u8]>),
    ) -> Result<SettledCall, SettledCall> {
        let place = |argument: Option<&[u8]>| {
            argument.and_then(parse_bracketed).and_then(|place| u64::try_from(place).ok())
        };
        let (source, target) = (self.end_of_argument(context, from.0), self.end_of_argument(context, to.0));
        let weight = CallWeight::of_bytes(moved);
        for end in [source, target] {
            match end {
                End::File { id, .. } => self.mark_used_as_file(id),
                End::Lost(why) => return Err(settled_not_kept(why, weight)),
                End::Outside => {}
            }
        }
        Ok(match (source, target) {
            (End::File { id, open }, End::File { id: target, open: file }) => {
                let from_offset = place(from.1).unwrap_or_else(|| self.position_of(id));
                let offset = place(to.1).unwrap_or_else(|| self.position_of(target));
                if place(from.1).is_none() {
                    self.set_position(id, from_offset.saturating_add(moved));
                }
                if place(to.1).is_none() {
                    self.set_position(target, offset.saturating_add(moved));
                }
                if moved == 0 {
                    return Ok(settled_followed());
                }
                let work =
                    CallWork::Copy { from: open, from_offset, file, offset, length: moved, shared: false };
                self.keep_on_file(context, work, weight)
            }
            (End::File { id, open }, _) => {
                self.read_file(context, TracedOpenFile { id, open }, moved, place(from.1), None)
            }
            (_, End::File { id, open }) => {
                let appends = self.descriptions.get(id).is_some_and(|description| description.appends);
                self.write_file(context, TracedOpenFile { id, open }, moved, place(to.1), appends)
            }
            _ => settled_outside(),
        })
    }
}
