//! Calls that move bytes, and those that make them durable or change how many there are.

use fsverdict_judgement::plan::CallWork;

use super::call::SystemCall;
use super::descriptors::{DescriptionId, Opened};
use super::lookup::Target;
use super::reader::{Moment, Settled, StraceReader};
use super::settle::{NamedFile, followed, kept, lost, outside};
use super::value::{bracketed, field, has_flag, number};
use crate::dataset::recorded::account::{CallOutcome, CallWeight};

/// Where bytes come from or go to.
#[derive(Debug, Clone, Copy)]
pub(super) enum End {
    File { id: DescriptionId, open: u32 },
    Outside,
    Lost(&'static str),
}

impl StraceReader {
    pub(super) fn settle_transfer(&mut self, moment: &Moment, call: &SystemCall<'_>) -> Option<Settled> {
        let value = call.value()?;
        let moved = value.unsigned_abs();
        let settled = match call.name {
            "read" | "readv" => self.read(moment, call, moved, None),
            "pread64" | "preadv" | "preadv2" => {
                let place = call.argument(3).and_then(number)?;
                self.read(moment, call, moved, u64::try_from(place).ok())
            }
            "write" | "writev" => self.write(moment, call, moved, None, ""),
            "pwrite64" | "pwritev" | "pwritev2" => {
                let place = call.argument(3).and_then(number)?;
                self.write(moment, call, moved, u64::try_from(place).ok(), call.argument_text(4))
            }
            "lseek" => self.seek(moment, call, value, 1, 2),
            "_llseek" | "llseek" => {
                let place = call.argument(2).and_then(bracketed)?;
                self.seek(moment, call, place, 1, 3)
            }
            "fsync" | "fdatasync" => self.sync(moment, call),
            "syncfs" => match self.find(moment, call.argument(0)) {
                Target::Known(id) if self.end_of(id).is_inside() || self.is_directory_inside(id) => {
                    self.keep_names(moment, CallWork::SyncFilesystem, CallWeight::sync())
                }
                Target::Lost(why) => lost(why, CallWeight::sync()),
                _ => outside(),
            },
            "sync" => self.keep_names(moment, CallWork::SyncFilesystem, CallWeight::sync()),
            "ftruncate" | "ftruncate64" => {
                let size = call.argument(1).and_then(number).and_then(|size| u64::try_from(size).ok())?;
                self.on_end(moment, call, CallWeight::NONE, |file| CallWork::Truncate { file, size })
            }
            "truncate" | "truncate64" => return self.truncate_by_name(moment, call),
            "fallocate" => return self.reserve(moment, call),
            "copy_file_range" | "splice" => self.copy(
                moment,
                moved,
                (call.argument(0), call.argument(1)),
                (call.argument(2), call.argument(3)),
            ),
            "sendfile" | "sendfile64" => {
                self.copy(moment, moved, (call.argument(1), call.argument(2)), (call.argument(0), None))
            }
            "io_submit" => self.submit(moment, call, moved),
            "io_uring_enter" => {
                let weight = CallWeight { unsized_requests: moved, ..CallWeight::NONE };
                lost("io_uring_enter", weight)
            }
            "fstat" | "fstat64" => self.status_of_open(moment, call),
            "getdents" | "getdents64" => self.list(moment, call, moved),
            _ => return None,
        };
        Some(settled)
    }

    fn end(&mut self, moment: &Moment, argument: Option<&[u8]>) -> End {
        match self.find(moment, argument) {
            Target::Known(id) => self.end_of(id),
            Target::Outside => End::Outside,
            Target::Lost(why) => End::Lost(why),
        }
    }

    fn end_of(&self, id: DescriptionId) -> End {
        match self.descriptions.get(id).map(|one| one.opened) {
            Some(Opened::File { open }) => End::File { id, open },
            Some(Opened::Lost(why)) => End::Lost(why),
            _ => End::Outside,
        }
    }

    fn is_directory_inside(&self, id: DescriptionId) -> bool {
        self.descriptions.get(id).is_some_and(|one| matches!(one.opened, Opened::Directory { .. }))
    }

    /// A call on one open file.
    fn on_end(
        &mut self,
        moment: &Moment,
        call: &SystemCall<'_>,
        weight: CallWeight,
        work: impl FnOnce(u32) -> CallWork,
    ) -> Settled {
        match self.end(moment, call.argument(0)) {
            End::File { id, open } => {
                self.is_used_as_file(id);
                self.keep_on_file(moment, work(open), weight)
            }
            End::Outside => outside(),
            End::Lost(why) => lost(why, weight),
        }
    }

    fn is_used_as_file(&mut self, id: DescriptionId) {
        if let Some(description) = self.descriptions.get_mut(id) {
            description.may_be_directory = false;
        }
    }

    fn position(&self, id: DescriptionId) -> u64 {
        self.descriptions.get(id).map_or(0, |one| one.position)
    }

    fn set_position(&mut self, id: DescriptionId, position: u64) {
        if let Some(description) = self.descriptions.get_mut(id) {
            description.position = position;
        }
    }

    fn read(&mut self, moment: &Moment, call: &SystemCall<'_>, moved: u64, place: Option<u64>) -> Settled {
        let asked = match call.name {
            "read" | "pread64" => {
                call.argument(2).and_then(number).and_then(|length| u64::try_from(length).ok())
            }
            _ => None,
        };
        match self.end(moment, call.argument(0)) {
            End::File { id, open } => {
                self.is_used_as_file(id);
                self.read_file(moment, (id, open), moved, place, asked)
            }
            End::Outside => outside(),
            End::Lost(why) => lost(why, CallWeight::bytes(moved)),
        }
    }

    /// A read that moved so many bytes, at the position where no place is given.
    fn read_file(
        &mut self,
        moment: &Moment,
        (id, open): (DescriptionId, u32),
        moved: u64,
        place: Option<u64>,
        asked: Option<u64>,
    ) -> Settled {
        let offset = place.unwrap_or_else(|| self.position(id));
        let end = offset.saturating_add(moved);
        if place.is_none() {
            self.set_position(id, end);
        }
        if moved == 0 {
            // The end of the file, where nothing moves.
            return followed();
        }
        let settled = self.keep_on_file(
            moment,
            CallWork::Read { file: open, offset, length: moved },
            CallWeight::bytes(moved),
        );
        if asked.is_some_and(|asked| moved < asked) {
            self.calls.open_has_size(open, end);
        }
        settled
    }

    fn write(
        &mut self,
        moment: &Moment,
        call: &SystemCall<'_>,
        moved: u64,
        place: Option<u64>,
        flags: &str,
    ) -> Settled {
        let syncs = u64::from(has_flag(flags, "RWF_DSYNC") || has_flag(flags, "RWF_SYNC"));
        let weight = CallWeight { bytes: moved, syncs, ..CallWeight::NONE };
        let (id, open) = match self.end(moment, call.argument(0)) {
            End::File { id, open } => (id, open),
            End::Outside => return outside(),
            End::Lost(why) => return lost(why, weight),
        };
        self.is_used_as_file(id);
        let appends = self.descriptions.get(id).is_some_and(|one| one.appends);
        let appends = (appends && !has_flag(flags, "RWF_NOAPPEND")) || has_flag(flags, "RWF_APPEND");
        let mut settled = self.write_file(moment, (id, open), moved, place, appends);
        if settled.0 == CallOutcome::Kept && syncs > 0 {
            let work = match has_flag(flags, "RWF_SYNC") {
                true => CallWork::Fsync { file: open },
                false => CallWork::Fdatasync { file: open },
            };
            self.calls.on_file(moment.times, work);
        }
        settled.1.syncs = syncs;
        settled
    }

    /// A write that moved so many bytes.
    fn write_file(
        &mut self,
        moment: &Moment,
        (id, open): (DescriptionId, u32),
        moved: u64,
        place: Option<u64>,
        appends: bool,
    ) -> Settled {
        if moved == 0 {
            return followed();
        }
        let weight = CallWeight::bytes(moved);
        let offset =
            if appends { self.calls.end_of(open) } else { place.unwrap_or_else(|| self.position(id)) };
        if place.is_none() {
            self.set_position(id, offset.saturating_add(moved));
        }
        match appends {
            // pwrite(2) of a file that is opened with O_APPEND appends, too, on Linux.
            true => (self.calls.append(moment.times, open, moved), weight),
            false => self.keep_on_file(moment, CallWork::Write { file: open, offset, length: moved }, weight),
        }
    }

    fn seek(
        &mut self,
        moment: &Moment,
        call: &SystemCall<'_>,
        place: i64,
        offset: usize,
        whence: usize,
    ) -> Settled {
        let place = u64::try_from(place).unwrap_or(0);
        match self.find(moment, call.argument(0)) {
            Target::Known(id) => {
                self.set_position(id, place);
                match self.end_of(id) {
                    End::File { open, .. } => {
                        let behind = call.argument(offset).and_then(number).unwrap_or(0);
                        if call.argument_text(whence) == "SEEK_END" {
                            let size = i64::try_from(place).unwrap_or(0).saturating_sub(behind);
                            self.calls.open_has_size(open, u64::try_from(size).unwrap_or(0));
                        }
                        followed()
                    }
                    End::Lost(why) => lost(why, CallWeight::NONE),
                    End::Outside if self.is_directory_inside(id) => followed(),
                    End::Outside => outside(),
                }
            }
            Target::Outside => outside(),
            Target::Lost(why) => lost(why, CallWeight::NONE),
        }
    }

    fn sync(&mut self, moment: &Moment, call: &SystemCall<'_>) -> Settled {
        let weight = CallWeight::sync();
        let id = match self.find(moment, call.argument(0)) {
            Target::Known(id) => id,
            Target::Outside => return outside(),
            Target::Lost(why) => return lost(why, weight),
        };
        // What was opened to be read, and is synced unread, is a directory.
        if let Some(name) = self.turn_into_directory(id) {
            return self.keep_names(moment, CallWork::SyncDirectory { name }, weight);
        }
        match self.end_of(id) {
            End::File { open, .. } => {
                let work = match call.name {
                    "fsync" => CallWork::Fsync { file: open },
                    _ => CallWork::Fdatasync { file: open },
                };
                self.keep_on_file(moment, work, weight)
            }
            End::Outside => outside(),
            End::Lost(why) => lost(why, weight),
        }
    }

    /// truncate(2): the trace opens, truncates and closes.
    fn truncate_by_name(&mut self, moment: &Moment, call: &SystemCall<'_>) -> Option<Settled> {
        let size = call.argument(1).and_then(number).and_then(|size| u64::try_from(size).ok())?;
        let named = self.named(moment, None, call.argument(0));
        if let NamedFile::Open(_) = named {
            return None;
        }
        let name = match self.number_of(&named) {
            Ok(name) => name,
            Err(settled) => return Some(settled),
        };
        Some(
            match self.calls.try_open(
                moment.times,
                name,
                fsverdict_judgement::plan::OpenFlags::default(),
                false,
            ) {
                Ok(open) => {
                    self.calls.on_file(moment.times, CallWork::Truncate { file: open, size });
                    self.calls.close(moment.times, open, None);
                    kept(CallWeight::NONE)
                }
                Err(why) => lost(why, CallWeight::NONE),
            },
        )
    }

    fn reserve(&mut self, moment: &Moment, call: &SystemCall<'_>) -> Option<Settled> {
        let (offset, length) = (call.argument(2).and_then(number)?, call.argument(3).and_then(number)?);
        let (offset, length) = (u64::try_from(offset).ok()?, u64::try_from(length).ok()?);
        if call.argument(1) == Some(b"0") {
            return Some(self.on_end(moment, call, CallWeight::NONE, |file| CallWork::Reserve {
                file,
                offset,
                length,
            }));
        }
        match self.end(moment, call.argument(0)) {
            End::File { .. } => Some(lost(&format!("fallocate {}", call.argument_text(1)), CallWeight::NONE)),
            End::Outside => Some(outside()),
            End::Lost(why) => Some(lost(why, CallWeight::NONE)),
        }
    }

    /// Bytes that the kernel moves from one descriptor to another.
    fn copy(
        &mut self,
        moment: &Moment,
        moved: u64,
        from: (Option<&[u8]>, Option<&[u8]>),
        to: (Option<&[u8]>, Option<&[u8]>),
    ) -> Settled {
        let place = |argument: Option<&[u8]>| {
            argument.and_then(bracketed).and_then(|place| u64::try_from(place).ok())
        };
        let (source, target) = (self.end(moment, from.0), self.end(moment, to.0));
        let weight = CallWeight::bytes(moved);
        for end in [source, target] {
            match end {
                End::File { id, .. } => self.is_used_as_file(id),
                End::Lost(why) => return lost(why, weight),
                End::Outside => {}
            }
        }
        match (source, target) {
            (End::File { id, open }, End::File { id: target, open: file }) => {
                let from_offset = place(from.1).unwrap_or_else(|| self.position(id));
                let offset = place(to.1).unwrap_or_else(|| self.position(target));
                if place(from.1).is_none() {
                    self.set_position(id, from_offset.saturating_add(moved));
                }
                if place(to.1).is_none() {
                    self.set_position(target, offset.saturating_add(moved));
                }
                if moved == 0 {
                    return followed();
                }
                let work =
                    CallWork::Copy { from: open, from_offset, file, offset, length: moved, shared: false };
                self.keep_on_file(moment, work, weight)
            }
            (End::File { id, open }, _) => self.read_file(moment, (id, open), moved, place(from.1), None),
            (_, End::File { id, open }) => {
                let appends = self.descriptions.get(id).is_some_and(|one| one.appends);
                self.write_file(moment, (id, open), moved, place(to.1), appends)
            }
            _ => outside(),
        }
    }

    /// io_submit(2): several requests in one call.
    fn submit(&mut self, moment: &Moment, call: &SystemCall<'_>, submitted: u64) -> Settled {
        let requests = call.argument(2).map(structures).unwrap_or_default();
        let shown = requests.len() as u64;
        let (mut settled, mut weight) = (outside(), CallWeight::NONE);
        for request in requests.into_iter().take(usize::try_from(submitted).unwrap_or(0)) {
            let one = self.submit_one(moment, request);
            weight =
                CallWeight { bytes: weight.bytes + one.1.bytes, syncs: weight.syncs + one.1.syncs, ..weight };
            if one.0 != CallOutcome::Outside {
                settled.0 = one.0;
            }
        }
        let hidden = submitted.saturating_sub(shown);
        if hidden > 0 {
            let weight = CallWeight { unsized_requests: hidden, ..weight };
            return lost(
                "io_submit whose requests the recording does not show (strace -e abbrev=%file,%desc)",
                weight,
            );
        }
        (settled.0, weight)
    }

    fn submit_one(&mut self, moment: &Moment, request: &[u8]) -> Settled {
        let either = |name: &str| field(request, &format!("aio_{name}")).or_else(|| field(request, name));
        let code = either("lio_opcode").and_then(|code| std::str::from_utf8(code).ok()).map_or_else(
            || {
                // Versions before 5 print `{data=0, pwrite, fildes=3, …}`.
                let words = std::str::from_utf8(request).unwrap_or_default();
                ["pwritev", "preadv", "pwrite", "pread", "fdsync", "fsync"]
                    .into_iter()
                    .find(|word| has_flag(words, word))
                    .unwrap_or_default()
                    .to_owned()
            },
            |code| code.trim_start_matches("IOCB_CMD_").to_ascii_lowercase(),
        );
        let vectors: u64 = match code.ends_with('v') {
            true => lengths(either("buf").unwrap_or_default()),
            false => 0,
        };
        let bytes = either("nbytes").and_then(number).and_then(|length| u64::try_from(length).ok());
        let length = if vectors > 0 { vectors } else { bytes.unwrap_or(0) };
        let place = either("offset").and_then(number).and_then(|place| u64::try_from(place).ok());
        let (end, weight) = (self.end(moment, either("fildes")), CallWeight::bytes(length));
        let (id, open) = match end {
            End::File { id, open } => (id, open),
            End::Outside => return outside(),
            End::Lost(why) => return lost(why, weight),
        };
        self.is_used_as_file(id);
        match code.as_str() {
            "pread" | "preadv" => self.read_file(moment, (id, open), length, place, None),
            "pwrite" | "pwritev" => {
                let flags =
                    either("rw_flags").and_then(|flags| std::str::from_utf8(flags).ok()).unwrap_or_default();
                let appends =
                    self.descriptions.get(id).is_some_and(|one| one.appends) || has_flag(flags, "RWF_APPEND");
                let mut settled = self.write_file(moment, (id, open), length, place, appends);
                if has_flag(flags, "RWF_DSYNC") || has_flag(flags, "RWF_SYNC") {
                    self.calls.on_file(moment.times, CallWork::Fdatasync { file: open });
                    settled.1.syncs = 1;
                }
                settled
            }
            "fsync" => self.keep_on_file(moment, CallWork::Fsync { file: open }, CallWeight::sync()),
            "fdsync" => self.keep_on_file(moment, CallWork::Fdatasync { file: open }, CallWeight::sync()),
            other => lost(&format!("requests of io_submit to {other}"), CallWeight::NONE),
        }
    }

    /// fstat(2) tells how large a file is, and that it is one.
    fn status_of_open(&mut self, moment: &Moment, call: &SystemCall<'_>) -> Settled {
        match self.find(moment, call.argument(0)) {
            Target::Known(id) => self.settle_status(id, call),
            Target::Outside => outside(),
            Target::Lost(why) => lost(why, CallWeight::NONE),
        }
    }

    /// What a status says of an open file.
    pub(super) fn settle_status(&mut self, id: DescriptionId, call: &SystemCall<'_>) -> Settled {
        let status = call.arguments().iter().find(|argument| argument.starts_with(b"{"));
        let mode = status.and_then(|status| field(status, "st_mode").or_else(|| field(status, "stx_mode")));
        if mode.is_some_and(|mode| mode.starts_with(b"S_IFDIR")) {
            self.turn_into_directory(id);
        }
        match self.end_of(id) {
            End::File { open, .. } => {
                if mode.is_some_and(|mode| mode.starts_with(b"S_IFREG")) {
                    self.is_used_as_file(id);
                    if let Some(size) = status.and_then(|status| size_in(status)) {
                        self.calls.open_has_size(open, size);
                    }
                }
                followed()
            }
            End::Lost(why) => lost(why, CallWeight::NONE),
            End::Outside if self.is_directory_inside(id) => followed(),
            End::Outside => outside(),
        }
    }

    /// getdents(2): the first call of several stands for the whole listing.
    fn list(&mut self, moment: &Moment, call: &SystemCall<'_>, moved: u64) -> Settled {
        let id = match self.find(moment, call.argument(0)) {
            Target::Known(id) => id,
            Target::Outside => return outside(),
            Target::Lost(why) => return lost(why, CallWeight::NONE),
        };
        let Some(name) = self.turn_into_directory(id) else {
            return match self.end_of(id) {
                End::Outside => outside(),
                _ => lost("listings of what was taken for a file", CallWeight::NONE),
            };
        };
        if moved == 0 || self.position(id) > 0 {
            return followed();
        }
        self.set_position(id, 1);
        self.keep_names(moment, CallWork::List { name }, CallWeight::NONE)
    }
}

impl End {
    fn is_inside(self) -> bool {
        matches!(self, End::File { .. })
    }
}

/// The size that a status says, as far as a file may be large.
pub(super) fn size_in(status: &[u8]) -> Option<u64> {
    let size = field(status, "st_size").or_else(|| field(status, "stx_size")).and_then(number)?;
    u64::try_from(size).ok().filter(|size| *size <= 1 << 50)
}

/// The structures of a list: `[{…}, {…}]`.
fn structures(list: &[u8]) -> Vec<&[u8]> {
    let (mut found, mut depth, mut start, mut quoted, mut escaped) = (Vec::new(), 0_usize, 0, false, false);
    for (at, byte) in list.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'{' => {
                if depth == 0 {
                    start = at;
                }
                depth += 1;
            }
            b'}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    found.push(&list[start..=at]);
                }
            }
            _ => {}
        }
    }
    found
}

/// The sum of the lengths of vectors: `[{iov_base=…, iov_len=4096}, …]`.
fn lengths(list: &[u8]) -> u64 {
    structures(list)
        .into_iter()
        .filter_map(|vector| {
            field(vector, "iov_len").and_then(number).and_then(|length| u64::try_from(length).ok())
        })
        .sum()
}
