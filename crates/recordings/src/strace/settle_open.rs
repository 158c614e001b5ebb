//! Calls that open a file: by its name, or again by an open file.

use std::path::Path;

use fsverdict_calls::{CallWork, OpenFlags};

use super::call::{Returned, SystemCall};
use super::descriptors::{Description, DescriptionId, Opened};
use super::lookup::NamedFile;
use super::reader::{CallContext, SettledCall, StraceReader};
use super::settle::{settled_followed, settled_kept, settled_not_kept};
use super::value::{ShownFile, has_flag, quoted_path, shown_file, unnamed_bits};
use crate::account::CallWeight;
use crate::known_files::NameKind;

impl StraceReader {
    pub(super) fn settle_open(
        &mut self,
        context: &CallContext,
        call: &SystemCall<'_>,
        folder: Option<&[u8]>,
        path: usize,
        how: &str,
    ) -> SettledCall {
        let asked = self.asked_path(context, folder, call.argument(path));
        let mut named = self.resolve_named_file(context, folder, call.argument(path));
        let shown = shown_file(call.remark);
        let unnamed = has_flag(how, "O_TMPFILE");
        if let (Returned::Value(_), ShownFile::Path { path, .. }, false) = (call.returned, &shown, unnamed) {
            // The file that was opened in the end tells where links lead to.
            if let Some(asked) = asked.as_deref().filter(|_| !has_flag(how, "O_NOFOLLOW")) {
                self.paths.learn_link(asked, path);
            }
            if !matches!(named, NamedFile::Open(_)) {
                named = self.place_of(path);
            }
        }
        let Some(descriptor) = call.value().and_then(|value| i32::try_from(value).ok()) else {
            return self.settle_failed_open(context, call, &named);
        };
        let real =
            shown.path().cloned().or_else(|| asked.map(|asked| self.paths.resolve(&asked).into_owned()));
        let table = self.processes.table_of(context.process);
        let is_open = table.is_some_and(|table| table.borrow().descriptors.contains_key(&descriptor));
        self.opened_over += u64::from(is_open);
        let (description, settled) = self.describe_opened(context, &named, how, real.as_deref());
        self.install_descriptor(context, descriptor, description, has_flag(how, "O_CLOEXEC"));
        settled
    }

    /// The absolute path that an argument names.
    fn asked_path(
        &mut self,
        context: &CallContext,
        folder: Option<&[u8]>,
        argument: Option<&[u8]>,
    ) -> Option<std::path::PathBuf> {
        let path = argument.and_then(quoted_path)?;
        self.absolute_path(context, folder, &path).ok()
    }

    fn settle_failed_open(
        &mut self,
        context: &CallContext,
        call: &SystemCall<'_>,
        named: &NamedFile,
    ) -> SettledCall {
        let missing = call.returned == Returned::Error("ENOENT");
        match self.number_of(named) {
            Ok(name) if missing && name > 0 => {
                self.calls.files.note_missing(name);
                self.keep_names(context, CallWork::Look { name }, CallWeight::NONE)
            }
            Ok(_) => self.settle_by_references(context, call),
            Err(settled) => settled,
        }
    }

    /// The description of a successfully opened file.
    fn describe_opened(
        &mut self,
        context: &CallContext,
        named: &NamedFile,
        how: &str,
        real: Option<&Path>,
    ) -> (Description, SettledCall) {
        let real = real.map(Path::to_path_buf);
        let with = |opened: Opened| Description::new(opened, real.clone());
        let name = match (named, self.number_of(named)) {
            (NamedFile::Open(id), _) => return self.opened_again(context, *id, how),
            (_, Ok(name)) => name,
            (NamedFile::Unknown(why), Err(settled)) => return (with(Opened::Lost(why)), settled),
            (NamedFile::Outside, Err(settled)) => return (with(Opened::Elsewhere), settled),
            (_, Err(settled)) => {
                return (with(Opened::Lost("names beyond those that a plan can hold")), settled);
            }
        };
        if unnamed_bits(how) != 0 {
            let why = "files that were opened with flags that strace shows as numbers";
            return (with(Opened::Lost(why)), settled_not_kept(why, CallWeight::NONE));
        }
        if self.descriptions.is_full() {
            let why = "files that were open beside 200,000 others";
            return (with(Opened::Lost(why)), settled_not_kept(why, CallWeight::NONE));
        }
        let flags = OpenFlags {
            create: has_flag(how, "O_CREAT"),
            truncate: has_flag(how, "O_TRUNC"),
            synced: has_flag(how, "O_SYNC") || has_flag(how, "O_DSYNC"),
            direct: has_flag(how, "O_DIRECT"),
        };
        let opened = if has_flag(how, "O_TMPFILE") && (flags.synced || flags.direct) {
            Err("files without a name that were opened with O_SYNC, O_DSYNC or O_DIRECT")
        } else if has_flag(how, "O_TMPFILE") {
            self.calls.open_unnamed(context.times, name)
        } else if name == 0
            || has_flag(how, "O_DIRECTORY")
            || (!flags.create && self.calls.files.is_known_directory(name))
        {
            self.calls.files.note_directory(name);
            return (with(Opened::Directory { name }), settled_followed());
        } else if has_flag(how, "O_PATH") {
            let settled = self.keep_names(context, CallWork::Look { name }, CallWeight::NONE);
            return (with(Opened::Elsewhere), settled);
        } else {
            let doubtful = !flags.create
                && self.calls.files.kind_of(name) == NameKind::Unknown
                && !has_flag(how, "O_RDWR")
                && !has_flag(how, "O_WRONLY");
            let opened = self.calls.open_file(context.times, name, flags, has_flag(how, "O_EXCL"));
            if let (Ok(open), true) = (opened, doubtful) {
                let mut description = with(Opened::File { open });
                description.slot = Some(self.calls.last_slot());
                (description.may_be_directory, description.is_direct) = (true, flags.direct);
                return (description, settled_kept(CallWeight::NONE));
            }
            opened
        };
        match opened {
            Ok(open) => {
                let mut description = with(Opened::File { open });
                description.slot = Some(self.calls.last_slot());
                (description.appends, description.is_direct) = (has_flag(how, "O_APPEND"), flags.direct);
                (description, settled_kept(CallWeight::NONE))
            }
            Err(why) => (with(Opened::Lost(why)), settled_not_kept(why, CallWeight::NONE)),
        }
    }

    /// An open file is opened again by its link in /proc.
    fn opened_again(
        &mut self,
        context: &CallContext,
        id: DescriptionId,
        how: &str,
    ) -> (Description, SettledCall) {
        let path = self.descriptions.get(id).and_then(|description| description.path.clone());
        let again = path.as_deref().map(|path| self.place_of(path));
        match again {
            Some(again @ (NamedFile::Inside(_) | NamedFile::Folder)) => {
                self.describe_opened(context, &again, how, path.as_deref())
            }
            _ => {
                let why = "files without a name that are opened again";
                (Description::new(Opened::Lost(why), path), settled_not_kept(why, CallWeight::NONE))
            }
        }
    }

    pub(super) fn open_by_handle(
        &mut self,
        context: &CallContext,
        call: &SystemCall<'_>,
    ) -> Option<SettledCall> {
        let descriptor = i32::try_from(call.value()?).ok()?;
        let how = call.argument_text(2);
        let (description, settled) = match shown_file(call.remark) {
            ShownFile::Path { path, .. } => {
                let named = self.place_of(&path);
                self.describe_opened(context, &named, how, Some(&path))
            }
            _ => {
                let why =
                    "open_by_handle_at where the recording does not show the path (record with strace -y)";
                (Description::new(Opened::Lost(why), None), settled_not_kept(why, CallWeight::NONE))
            }
        };
        self.install_descriptor(context, descriptor, description, has_flag(how, "O_CLOEXEC"));
        Some(settled)
    }
}
