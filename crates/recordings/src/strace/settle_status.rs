//! Learns sizes and types from the status or the listing of an open file or directory.

use fsverdict_calls::CallWork;

use super::call::SystemCall;
use super::descriptors::DescriptionId;
use super::lookup::DescriptorTarget;
use super::reader::{CallContext, SettledCall, StraceReader};
use super::settle::{settled_followed, settled_not_kept, settled_outside};
use super::settle_transfer::End;
use super::value::{field_value, parse_number};
use crate::account::CallWeight;

impl StraceReader {
    /// fstat(2) tells how large a file is, and that it is one.
    pub(super) fn status_of_open(&mut self, context: &CallContext, call: &SystemCall<'_>) -> SettledCall {
        match self.find_target(context, call.argument(0)) {
            DescriptorTarget::Known(id) => self.settle_status(id, call),
            DescriptorTarget::Outside => settled_outside(),
            DescriptorTarget::Lost(why) => settled_not_kept(why, CallWeight::NONE),
        }
    }

    /// Notes the status of an open file.
    pub(super) fn settle_status(&mut self, id: DescriptionId, call: &SystemCall<'_>) -> SettledCall {
        let status = call.arguments().iter().find(|argument| argument.starts_with(b"{"));
        let mode = status
            .and_then(|status| field_value(status, "st_mode").or_else(|| field_value(status, "stx_mode")));
        if mode.is_some_and(|mode| mode.starts_with(b"S_IFDIR")) {
            self.turn_into_directory(id);
        }
        match self.end_of(id) {
            End::File { open, .. } => {
                if mode.is_some_and(|mode| mode.starts_with(b"S_IFREG")) {
                    self.is_used_as_file(id);
                    if let Some(size) = status.and_then(|status| size_in(status)) {
                        self.calls.note_size_of_open(open, size);
                    }
                }
                settled_followed()
            }
            End::Lost(why) => settled_not_kept(why, CallWeight::NONE),
            End::Outside if self.is_directory_inside(id) => settled_followed(),
            End::Outside => settled_outside(),
        }
    }

    /// getdents(2): the first call of several stands for the whole listing.
    pub(super) fn settle_listing(
        &mut self,
        context: &CallContext,
        call: &SystemCall<'_>,
        moved: u64,
    ) -> SettledCall {
        let id = match self.find_target(context, call.argument(0)) {
            DescriptorTarget::Known(id) => id,
            DescriptorTarget::Outside => return settled_outside(),
            DescriptorTarget::Lost(why) => return settled_not_kept(why, CallWeight::NONE),
        };
        let Some(name) = self.turn_into_directory(id) else {
            return match self.end_of(id) {
                End::Outside => settled_outside(),
                _ => settled_not_kept("listings of what was taken for a file", CallWeight::NONE),
            };
        };
        if moved == 0 || self.position_of(id) > 0 {
            return settled_followed();
        }
        self.set_position(id, 1);
        self.keep_names(context, CallWork::List { name }, CallWeight::NONE)
    }
}

/// The size that a status says, as far as a file may be large.
pub(super) fn size_in(status: &[u8]) -> Option<u64> {
    let size =
        field_value(status, "st_size").or_else(|| field_value(status, "stx_size")).and_then(parse_number)?;
    u64::try_from(size).ok().filter(|size| *size <= 1 << 50)
}
