//! Calls with data that do not pass through their arguments: requests of io_submit(2), and memory-mapped files, of which stores are not
//! visible but msync(2) is.

use fsverdict_calls::CallWork;

use super::call::SystemCall;
use super::descriptors::Opened;
use super::processes::{FileMapping, ProcessMemory};
use super::reader::{CallContext, SettledCall, StraceReader};
use super::settle::{settled_not_kept, settled_outside};
use super::value::{constants_or_placeholder, field_value, has_flag, parse_number};
use crate::account::{CallOutcome, CallWeight};

const OLD_REQUESTS: &str =
    "requests of io_submit in the form of strace before version 5 (record with a later one)";

impl StraceReader {
    /// io_submit(2): several requests in one call.
    pub(super) fn settle_submission(
        &mut self,
        context: &CallContext,
        call: &SystemCall<'_>,
        submitted: u64,
    ) -> SettledCall {
        let requests = call.argument(2).map(split_structures).unwrap_or_default();
        let shown = requests.len() as u64;
        let (mut settled, mut kept, mut missing) = (settled_outside(), CallWeight::NONE, CallWeight::NONE);
        for request in requests.into_iter().take(usize::try_from(submitted).unwrap_or(0)) {
            let (outcome, weight) = self.submit_one(context, request);
            match outcome {
                CallOutcome::Outside => continue,
                CallOutcome::NotKept(_) => missing.add_weight(weight),
                CallOutcome::Kept | CallOutcome::Followed => kept.add_weight(weight),
            }
            // A call with one request that is not kept is not kept as a whole.
            if !matches!(settled.0, CallOutcome::NotKept(_)) {
                settled.0 = outcome;
            }
        }
        let hidden = submitted.saturating_sub(shown);
        if hidden > 0 {
            missing.unsized_requests = hidden;
            settled = settled_not_kept(
                "io_submit whose requests the recording does not show (strace -e abbrev=%file,%desc)",
                missing,
            );
        }
        if matches!(settled.0, CallOutcome::NotKept(_)) {
            self.calls.account.keep_part(kept);
            return (settled.0, missing);
        }
        (settled.0, kept)
    }

    fn submit_one(&mut self, context: &CallContext, request: &[u8]) -> SettledCall {
        let field = |name: &str| field_value(request, name);
        let code =
            field("aio_lio_opcode").and_then(|code| std::str::from_utf8(code).ok()).unwrap_or_default();
        let code = code.trim_start_matches("IOCB_CMD_").to_ascii_lowercase();
        let vectors: u64 = match code.ends_with('v') {
            true => sum_lengths(field("aio_buf").unwrap_or_default()),
            false => 0,
        };
        // strace before version 5 names the fields without `aio_`, and the operation without a name.
        let bytes = field("aio_nbytes")
            .or_else(|| field("nbytes"))
            .and_then(parse_number)
            .and_then(|length| u64::try_from(length).ok());
        let length = if vectors > 0 { vectors } else { bytes.unwrap_or(0) };
        let place = field("aio_offset").and_then(parse_number).and_then(|place| u64::try_from(place).ok());
        let weight = CallWeight::of_bytes(length);
        let Some(descriptor) = field("aio_fildes").or_else(|| field("fildes")) else {
            let unsized_requests = u64::from(length == 0);
            return settled_not_kept(OLD_REQUESTS, CallWeight { unsized_requests, ..weight });
        };
        let file = match self.file_of_argument(context, Some(descriptor), weight) {
            Ok(file) => file,
            Err(settled) => return settled,
        };
        let open = file.open;
        match code.as_str() {
            "pread" | "preadv" => self.read_file(context, file, length, place, None),
            "pwrite" | "pwritev" => {
                let flags = field("aio_rw_flags")
                    .and_then(|flags| std::str::from_utf8(flags).ok())
                    .unwrap_or_default();
                self.write_with_flags(context, file, length, place, flags)
            }
            "fsync" => self.keep_on_file(context, CallWork::Fsync { file: open }, CallWeight::one_sync()),
            "fdsync" => {
                self.keep_on_file(context, CallWork::Fdatasync { file: open }, CallWeight::one_sync())
            }
            "" => settled_not_kept(OLD_REQUESTS, weight),
            other => settled_not_kept(
                &format!("requests of io_submit to {}", constants_or_placeholder(other)),
                CallWeight::NONE,
            ),
        }
    }
}

/// The structures of a list: `[{…}, {…}]`.
fn split_structures(list: &[u8]) -> Vec<&[u8]> {
    let (mut structures, mut depth, mut start, mut quoted, mut escaped) =
        (Vec::new(), 0_usize, 0, false, false);
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
                    structures.push(&list[start..=at]);
                }
            }
            _ => {}
        }
    }
    structures
}

/// The sum of the lengths of vectors: `[{iov_base=…, iov_len=4096}, …]`.
fn sum_lengths(list: &[u8]) -> u64 {
    split_structures(list)
        .into_iter()
        .filter_map(|vector| {
            field_value(vector, "iov_len")
                .and_then(parse_number)
                .and_then(|length| u64::try_from(length).ok())
        })
        .fold(0, u64::saturating_add)
}

impl StraceReader {
    /// mmap(2): stores into the memory are not visible.
    pub(super) fn settle_mmap(&mut self, context: &CallContext, call: &SystemCall<'_>) -> SettledCall {
        let id = match self.known_target(context, call.argument(4), CallWeight::NONE) {
            Ok(id) => id,
            Err(settled) => return settled,
        };
        match self.descriptions.opened_by(id) {
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
        match self.descriptions.opened_by(mapping.description) {
            Some(Opened::File { open }) => {
                self.keep_on_file(context, CallWork::Fdatasync { file: open }, CallWeight::one_sync())
            }
            Some(Opened::Lost(why)) => settled_not_kept(why, CallWeight::one_sync()),
            _ => settled_outside(),
        }
    }
}
