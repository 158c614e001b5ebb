//! Calls that open, copy and close descriptors.

use std::path::Path;

use fsverdict_judgement::plan::{CallWork, OpenFlags};

use super::call::{Returned, SystemCall};
use super::descriptors::{Description, DescriptionId, Opened};
use super::lookup::DescriptorTarget;
use super::reader::{Moment, SettledCall, StraceReader};
use super::settle::{NamedFile, settled_followed, settled_kept, settled_not_kept, settled_outside};
use super::value::{ShownFile, field_value, has_flag, parse_descriptor, quoted_path, shown_file};
use crate::dataset::recorded::account::CallWeight;
use crate::dataset::recorded::known_files::NameKind;

impl StraceReader {
    pub(super) fn settle_descriptor_call(
        &mut self,
        moment: &Moment,
        call: &SystemCall<'_>,
    ) -> Option<SettledCall> {
        let settled = match call.name {
            "open" => self.settle_open(moment, call, None, 0, call.argument_text(1)),
            "creat" => self.settle_open(moment, call, None, 0, "O_WRONLY|O_CREAT|O_TRUNC"),
            "openat" => self.settle_open(moment, call, call.argument(0), 1, call.argument_text(2)),
            "openat2" => {
                let flags = call.argument(2).and_then(|how| field_value(how, "flags")).unwrap_or_default();
                self.settle_open(
                    moment,
                    call,
                    call.argument(0),
                    1,
                    std::str::from_utf8(flags).unwrap_or_default(),
                )
            }
            "open_by_handle_at" => self.open_by_handle(moment, call)?,
            "close" if call.value().is_some() => self.settle_close(moment, call),
            "close_range" if call.value().is_some() => self.close_range(moment, call),
            "dup" | "dup2" | "dup3" if call.value().is_some() => {
                let closes = has_flag(call.argument_text(2), "O_CLOEXEC");
                self.copy_descriptor(moment, call, closes)
            }
            "fcntl" | "fcntl64" if call.value().is_some() => self.settle_fcntl(moment, call)?,
            "ioctl" if call.value().is_some() => self.control_device(moment, call)?,
            _ => return None,
        };
        Some(settled)
    }

    fn settle_open(
        &mut self,
        moment: &Moment,
        call: &SystemCall<'_>,
        folder: Option<&[u8]>,
        path: usize,
        how: &str,
    ) -> SettledCall {
        let asked = self.asked_path(moment, folder, call.argument(path));
        let mut named = self.resolve_named_file(moment, folder, call.argument(path));
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
            return self.settle_failed_open(moment, call, &named);
        };
        let real =
            shown.path().cloned().or_else(|| asked.map(|asked| self.paths.resolve(&asked).into_owned()));
        let (description, settled) = self.describe_opened(moment, &named, how, real.as_deref());
        self.install_descriptor(moment, descriptor, description, has_flag(how, "O_CLOEXEC"));
        settled
    }

    /// The absolute path that an argument names.
    fn asked_path(
        &mut self,
        moment: &Moment,
        folder: Option<&[u8]>,
        argument: Option<&[u8]>,
    ) -> Option<std::path::PathBuf> {
        let path = argument.and_then(quoted_path)?;
        self.absolute_path(moment, folder, &path).ok()
    }

    fn settle_failed_open(
        &mut self,
        moment: &Moment,
        call: &SystemCall<'_>,
        named: &NamedFile,
    ) -> SettledCall {
        let missing = call.returned == Returned::Error("ENOENT");
        match self.number_of(named) {
            Ok(name) if missing && name > 0 => {
                self.calls.note_missing(name);
                self.keep_names(moment, CallWork::Look { name }, CallWeight::NONE)
            }
            Ok(_) => self.settle_by_references(moment, call),
            Err(settled) => settled,
        }
    }

    /// The description of a successfully opened file.
    fn describe_opened(
        &mut self,
        moment: &Moment,
        named: &NamedFile,
        how: &str,
        real: Option<&Path>,
    ) -> (Description, SettledCall) {
        let real = real.map(Path::to_path_buf);
        let with = |opened: Opened| Description::new(opened, real.clone());
        let name = match (named, self.number_of(named)) {
            (NamedFile::Open(id), _) => return self.opened_again(moment, *id, how),
            (_, Ok(name)) => name,
            (NamedFile::Unknown(why), Err(settled)) => return (with(Opened::Lost(why)), settled),
            (NamedFile::Outside, Err(settled)) => return (with(Opened::Elsewhere), settled),
            (_, Err(settled)) => {
                return (with(Opened::Lost("names beyond those that a plan can hold")), settled);
            }
        };
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
        let opened = if has_flag(how, "O_TMPFILE") {
            self.calls.open_unnamed(moment.times, name)
        } else if name == 0
            || has_flag(how, "O_DIRECTORY")
            || (!flags.create && self.calls.files.is_known_directory(name))
        {
            self.calls.files.note_directory(name);
            return (with(Opened::Directory { name }), settled_followed());
        } else if has_flag(how, "O_PATH") {
            let settled = self.keep_names(moment, CallWork::Look { name }, CallWeight::NONE);
            return (with(Opened::Elsewhere), settled);
        } else {
            let doubtful = !flags.create
                && self.calls.files.kind_of(name) == NameKind::Unknown
                && !has_flag(how, "O_RDWR")
                && !has_flag(how, "O_WRONLY");
            let opened = self.calls.try_open_file(moment.times, name, flags, has_flag(how, "O_EXCL"));
            if let (Ok(open), true) = (opened, doubtful) {
                let mut description = with(Opened::File { open });
                description.slot = Some(self.calls.last_slot());
                description.may_be_directory = true;
                return (description, settled_kept(CallWeight::NONE));
            }
            opened
        };
        match opened {
            Ok(open) => {
                let mut description = with(Opened::File { open });
                description.slot = Some(self.calls.last_slot());
                description.appends = has_flag(how, "O_APPEND");
                (description, settled_kept(CallWeight::NONE))
            }
            Err(why) => (with(Opened::Lost(why)), settled_not_kept(why, CallWeight::NONE)),
        }
    }

    /// An open file is opened again by its link in /proc.
    fn opened_again(&mut self, moment: &Moment, id: DescriptionId, how: &str) -> (Description, SettledCall) {
        let path = self.descriptions.get(id).and_then(|one| one.path.clone());
        let again = path.as_deref().map(|path| self.place_of(path));
        match again {
            Some(again @ (NamedFile::Inside(_) | NamedFile::Folder)) => {
                self.describe_opened(moment, &again, how, path.as_deref())
            }
            _ => {
                let why = "files without a name that are opened again";
                (Description::new(Opened::Lost(why), path), settled_not_kept(why, CallWeight::NONE))
            }
        }
    }

    fn open_by_handle(&mut self, moment: &Moment, call: &SystemCall<'_>) -> Option<SettledCall> {
        let descriptor = i32::try_from(call.value()?).ok()?;
        let how = call.argument_text(2);
        let (description, settled) = match shown_file(call.remark) {
            ShownFile::Path { path, .. } => {
                let named = self.place_of(&path);
                self.describe_opened(moment, &named, how, Some(&path))
            }
            _ => {
                let why =
                    "open_by_handle_at where the recording does not show the path (record with strace -y)";
                (Description::new(Opened::Lost(why), None), settled_not_kept(why, CallWeight::NONE))
            }
        };
        self.install_descriptor(moment, descriptor, description, has_flag(how, "O_CLOEXEC"));
        Some(settled)
    }

    fn copy_descriptor(
        &mut self,
        moment: &Moment,
        call: &SystemCall<'_>,
        closes_on_exec: bool,
    ) -> SettledCall {
        let Some(copy) = call.value().and_then(|value| i32::try_from(value).ok()) else {
            return settled_outside();
        };
        let shown = call.argument(0).and_then(parse_descriptor);
        match self.find_target(moment, call.argument(0)) {
            DescriptorTarget::Known(id) => {
                if shown.and_then(|one| one.number) != Some(copy) {
                    self.install_copy(moment, copy, id, closes_on_exec);
                }
                match self.descriptions.get(id).map(|one| one.opened) {
                    Some(Opened::File { .. } | Opened::Directory { .. }) => settled_followed(),
                    Some(Opened::Lost(why)) => settled_not_kept(why, CallWeight::NONE),
                    _ => settled_outside(),
                }
            }
            DescriptorTarget::Outside => {
                self.install_descriptor(
                    moment,
                    copy,
                    Description::new(Opened::Elsewhere, None),
                    closes_on_exec,
                );
                settled_outside()
            }
            DescriptorTarget::Lost(why) => {
                self.install_descriptor(
                    moment,
                    copy,
                    Description::new(Opened::Lost(why), None),
                    closes_on_exec,
                );
                settled_not_kept(why, CallWeight::NONE)
            }
        }
    }

    fn settle_fcntl(&mut self, moment: &Moment, call: &SystemCall<'_>) -> Option<SettledCall> {
        let command = call.argument_text(1);
        if command.starts_with("F_DUPFD") {
            return Some(self.copy_descriptor(moment, call, command == "F_DUPFD_CLOEXEC"));
        }
        match command {
            "F_SETFL" => {
                let id = self.known_file(moment, call)?;
                self.descriptions.get_mut(id)?.appends = has_flag(call.argument_text(2), "O_APPEND");
            }
            "F_SETFD" => self.set_closes_on_exec(moment, call, has_flag(call.argument_text(2), "FD_CLOEXEC")),
            "F_GETFL" | "F_GETFD" => {}
            _ => return None,
        }
        // These calls change only state that is followed, or nothing.
        Some(match self.find_target(moment, call.argument(0)) {
            DescriptorTarget::Known(id) => match self.descriptions.get(id).map(|one| one.opened) {
                Some(Opened::File { .. } | Opened::Directory { .. }) => settled_followed(),
                Some(Opened::Lost(why)) => settled_not_kept(why, CallWeight::NONE),
                _ => settled_outside(),
            },
            DescriptorTarget::Outside => settled_outside(),
            DescriptorTarget::Lost(why) => settled_not_kept(why, CallWeight::NONE),
        })
    }

    fn set_closes_on_exec(&mut self, moment: &Moment, call: &SystemCall<'_>, closes: bool) {
        let number = call.argument(0).and_then(parse_descriptor).and_then(|one| one.number);
        if let (Some(number), Some(table)) = (number, self.processes.table_of(moment.process))
            && let Some(one) = table.borrow_mut().descriptors.get_mut(&number)
        {
            one.closes_on_exec = closes;
        }
    }

    /// The description that the first argument of a call leads to.
    pub(super) fn known_file(&mut self, moment: &Moment, call: &SystemCall<'_>) -> Option<DescriptionId> {
        match self.find_target(moment, call.argument(0)) {
            DescriptorTarget::Known(id) => Some(id),
            _ => None,
        }
    }

    fn control_device(&mut self, moment: &Moment, call: &SystemCall<'_>) -> Option<SettledCall> {
        let command = call.argument_text(1);
        if has_flag(command, "FIOCLEX") || has_flag(command, "FIONCLEX") {
            self.set_closes_on_exec(moment, call, has_flag(command, "FIOCLEX"));
            return Some(match self.known_file(moment, call) {
                Some(id) => self.settle_closed(id, false),
                None => settled_outside(),
            });
        }
        if command.split(" or ").any(|word| word.trim() == "FICLONE") {
            return self.clone_file(moment, call);
        }
        None
    }

    /// FICLONE: the whole file shares its blocks with another.
    fn clone_file(&mut self, moment: &Moment, call: &SystemCall<'_>) -> Option<SettledCall> {
        let target = self.known_file(moment, call)?;
        let DescriptorTarget::Known(source) = self.find_target(moment, call.argument(2)) else { return None };
        let open_of = |reader: &Self, id| match reader.descriptions.get(id).map(|one| one.opened) {
            Some(Opened::File { open }) => Some(open),
            _ => None,
        };
        let (from, file) = (open_of(self, source)?, open_of(self, target)?);
        let length = self.calls.end_of(from);
        if length == 0 {
            return Some(settled_followed());
        }
        let work = CallWork::Copy { from, from_offset: 0, file, offset: 0, length, shared: true };
        Some(self.keep_on_file(moment, work, CallWeight::of_bytes(length)))
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
