//! Resolves the descriptor or path by which a call names a file: in the table of its process, or in another process's.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use fsverdict_calls::OpenFlags;

use super::descriptors::{Description, DescriptionId, Descriptor, Opened, TableHandle};
use super::paths::{PathPlace, named_descriptor, without_dots};
use super::reader::{CallContext, SettledCall, StraceReader};
use super::value::{ShownFile, is_unreadable_descriptor, parse_descriptor, quoted_path};
use crate::account::{CallOutcome, CallWeight};

/// Why a call on a descriptor is not kept of which nothing is known.
const NOT_SHOWN: &str = "calls on descriptors that strace does not show";

const UNREADABLE: &str = "calls with a descriptor whose path cannot be read";

/// The result of resolving a descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DescriptorTarget {
    Known(DescriptionId),
    /// Nothing that was opened by name, or none at all.
    Outside,
    Lost(&'static str),
}

impl StraceReader {
    /// Resolves the descriptor in an argument.
    pub(super) fn find_target(&mut self, context: &CallContext, argument: Option<&[u8]>) -> DescriptorTarget {
        if argument.is_some_and(is_unreadable_descriptor) {
            return DescriptorTarget::Lost(UNREADABLE);
        }
        let Some(shown) = argument.and_then(parse_descriptor) else { return DescriptorTarget::Outside };
        let Some(number) = shown.number else { return DescriptorTarget::Outside };
        if let Some((pinned, id)) = context.pinned
            && pinned == number
        {
            return DescriptorTarget::Known(id);
        }
        self.find_number(context, number, &shown.shown)
    }

    /// The description that an argument leads to, or the outcome of a call where there is none.
    pub(super) fn known_target(
        &mut self,
        context: &CallContext,
        argument: Option<&[u8]>,
        weight: CallWeight,
    ) -> Result<DescriptionId, SettledCall> {
        match self.find_target(context, argument) {
            DescriptorTarget::Known(id) => Ok(id),
            DescriptorTarget::Outside => Err((CallOutcome::Outside, CallWeight::NONE)),
            DescriptorTarget::Lost(why) => Err((CallOutcome::NotKept(why.to_owned()), weight)),
        }
    }

    pub(super) fn find_number(
        &mut self,
        context: &CallContext,
        number: i32,
        shown: &ShownFile,
    ) -> DescriptorTarget {
        let Some(table) = self.processes.table_of(context.process) else {
            return DescriptorTarget::Lost("calls of processes beyond those that can be followed");
        };
        let descriptor = table.borrow().descriptors.get(&number).copied();
        if let Some(own) = descriptor
            && self.agrees_with_shown(own.description, shown)
        {
            return DescriptorTarget::Known(own.description);
        }
        let mut table = table;
        if let ShownFile::Path { path, .. } = shown
            && table.borrow().closed_by_adopted.get(&number) == Some(path)
        {
            self.lacks_processes = true;
        }
        if let Some(own) = descriptor {
            if self.processes.is_adopted(context.process) {
                // It has other files open than the process that it was taken for a thread of.
                self.own_table(context.process);
                table = self.processes.table_of(context.process).unwrap_or(table);
            } else if let (ShownFile::Path { path, .. }, Some(description)) =
                (shown, self.descriptions.get_mut(own.description))
                && description.opened != Opened::Elsewhere
            {
                // A rename that the recording does not have gave the file another path.
                description.path = Some(path.clone());
                return DescriptorTarget::Known(own.description);
            }
        }
        if let Some(id) = self.find_elsewhere(&table, number, shown) {
            return DescriptorTarget::Known(id);
        }
        match shown {
            ShownFile::Nothing => DescriptorTarget::Lost(NOT_SHOWN),
            ShownFile::Unreadable => DescriptorTarget::Lost(UNREADABLE),
            ShownFile::Other => {
                self.install_descriptor(context, number, Description::new(Opened::Elsewhere, None), false);
                DescriptorTarget::Outside
            }
            ShownFile::Path { path, deleted } => {
                let description = self.open_unseen(context, path, *deleted);
                let id = self.install_descriptor(context, number, description, false);
                self.share_with_makers(context.process, number, id);
                DescriptorTarget::Known(id)
            }
        }
    }

    /// A process has a descriptor that it did not open: it inherited it from the ones that made it, which have it still, and
    /// which other children inherit it from, with its position.
    fn share_with_makers(&mut self, process: u32, number: i32, id: DescriptionId) {
        let own = self.processes.table_of(process);
        for table in self.processes.tables_of_makers(process) {
            if own.as_ref().is_some_and(|own| Rc::ptr_eq(own, &table)) {
                continue;
            }
            if table.borrow().descriptors.contains_key(&number) {
                break;
            }
            self.descriptions.add_reference(id);
            let descriptor = Descriptor { description: id, closes_on_exec: false };
            table.borrow_mut().descriptors.insert(number, descriptor);
        }
    }

    /// Whether a description refers to the file that strace shows.
    pub(super) fn agrees_with_shown(&self, id: DescriptionId, shown: &ShownFile) -> bool {
        let Some(description) = self.descriptions.get(id) else { return false };
        match shown {
            ShownFile::Nothing | ShownFile::Unreadable => true,
            ShownFile::Other => description.opened == Opened::Elsewhere && description.path.is_none(),
            ShownFile::Path { path, .. } => description.path.as_ref() == Some(path),
        }
    }

    /// A description of another process that has the number and the path: it came here by a way that the recording does not have.
    fn find_elsewhere(
        &mut self,
        table: &TableHandle,
        number: i32,
        shown: &ShownFile,
    ) -> Option<DescriptionId> {
        if !matches!(shown, ShownFile::Path { .. }) || !self.work.take_work(self.processes.count()) {
            return None;
        }
        let others = self.processes.all().map(|process| &process.table);
        let match_in_other = others.filter(|other| !Rc::ptr_eq(other, table)).find_map(|other| {
            let descriptor = other.borrow().descriptors.get(&number).copied()?;
            self.agrees_with_shown(descriptor.description, shown).then_some(descriptor)
        })?;
        self.descriptions.add_reference(match_in_other.description);
        let former = table.borrow_mut().descriptors.insert(number, match_in_other);
        if let Some(former) = former {
            self.release_description(former.description, (0, 0));
        }
        Some(match_in_other.description)
    }

    /// A file that is open without an opening in the recording.
    pub(super) fn open_unseen(
        &mut self,
        context: &CallContext,
        path: &std::path::Path,
        deleted: bool,
    ) -> Description {
        let real = Some(path.to_path_buf());
        let relative = match self.paths.place_of_path(path) {
            PathPlace::Outside => return Description::new(Opened::Elsewhere, real),
            PathPlace::Folder => return Description::new(Opened::Directory { name: 0 }, real),
            PathPlace::Inside(relative) => relative,
        };
        if deleted {
            return Description::new(
                Opened::Lost("files that were removed before the recording shows them"),
                real,
            );
        }
        let Some(name) = self.calls.files.number_of_path(&relative) else {
            return Description::new(Opened::Lost("names beyond those that a plan can hold"), real);
        };
        if self.calls.files.is_known_directory(name) {
            return Description::new(Opened::Directory { name }, real);
        }
        let opened = self.calls.without_counting(|calls| {
            calls.open_file((context.times.0, context.times.0), name, OpenFlags::default(), false)
        });
        match opened {
            Ok(open) => {
                self.open_before += 1;
                let mut description = Description::new(Opened::File { open }, real);
                description.slot = Some(self.calls.last_slot());
                (description.may_be_directory, description.is_unseen) = (true, true);
                description
            }
            Err(why) => Description::new(Opened::Lost(why), real),
        }
    }
}

/// Why a call is not kept that names a file in a way that the recording does not show.
const UNKNOWN_FOLDER: &str = "relative paths where the recording does not say the working directory yet";
/// Bytes of a path (PATH_MAX of Linux): a program that goes deeper step by step is not followed.
const LONGEST_PATH: usize = 4096;
const LONG_PATH: &str = "paths of more than 4,096 bytes";
pub(super) const CUT_NAME: &str = "names that the recording cuts short or shows as addresses";

/// Where a path in a call leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NamedFile {
    Inside(PathBuf),
    /// The folder itself.
    Folder,
    /// An open file, by its link in /proc or by an empty path.
    Open(DescriptionId),
    Outside,
    Unknown(&'static str),
}

impl StraceReader {
    /// The absolute path that a call names, before links are followed.
    pub(super) fn absolute_path(
        &mut self,
        context: &CallContext,
        folder: Option<&[u8]>,
        path: &Path,
    ) -> Result<PathBuf, &'static str> {
        let absolute = self.join_to_folder(context, folder, path)?;
        if absolute.as_os_str().len() > LONGEST_PATH { Err(LONG_PATH) } else { Ok(absolute) }
    }

    fn join_to_folder(
        &mut self,
        context: &CallContext,
        folder: Option<&[u8]>,
        path: &Path,
    ) -> Result<PathBuf, &'static str> {
        let process = self.processes.get(context.process).cloned();
        let folder_shown = folder.and_then(parse_descriptor);
        if let Some(shown) = folder_shown.as_ref().filter(|shown| shown.number.is_none())
            && let (Some(path), Some(process)) = (shown.shown.path(), &process)
        {
            // With -y, AT_FDCWD shows the working directory.
            process.directory.borrow_mut().path = Some(path.clone());
        }
        if path.is_absolute() {
            let root = process.and_then(|process| process.directory.borrow().root.clone());
            return Ok(match (root, path.strip_prefix("/")) {
                (Some(root), Ok(rest)) => without_dots(&root.join(rest)),
                _ => without_dots(path),
            });
        }
        let above = match folder_shown {
            Some(shown) if shown.number.is_some() => match shown.shown {
                ShownFile::Path { path, .. } => Some(path),
                _ => match self.find_target(context, folder) {
                    DescriptorTarget::Known(id) => {
                        self.descriptions.get(id).and_then(|description| description.path.clone())
                    }
                    _ => None,
                },
            },
            // AT_FDCWD, or a call that knows nothing else.
            _ => process.and_then(|process| process.directory.borrow().path.clone()),
        };
        above.map(|above| without_dots(&above.join(path))).ok_or(UNKNOWN_FOLDER)
    }

    /// Resolves a path argument relative to a directory argument.
    pub(super) fn resolve_named_file(
        &mut self,
        context: &CallContext,
        folder: Option<&[u8]>,
        argument: Option<&[u8]>,
    ) -> NamedFile {
        let path = match argument.and_then(quoted_path) {
            Some(path) => path,
            None => {
                return match argument {
                    Some(b"NULL") | None => self.named_open(context, folder),
                    _ => NamedFile::Unknown(CUT_NAME),
                };
            }
        };
        if path.as_os_str().is_empty() {
            return self.named_open(context, folder);
        }
        if let Some(number) = named_descriptor(&path) {
            return match self.find_number(context, number, &ShownFile::Nothing) {
                DescriptorTarget::Known(id) => self.named_description(id),
                DescriptorTarget::Outside => NamedFile::Outside,
                DescriptorTarget::Lost(why) => NamedFile::Unknown(why),
            };
        }
        match self.absolute_path(context, folder, &path) {
            Ok(absolute) => self.place_of(&absolute),
            Err(why) => NamedFile::Unknown(why),
        }
    }

    pub(super) fn place_of(&self, absolute: &Path) -> NamedFile {
        match self.paths.place_of_path(absolute) {
            PathPlace::Inside(relative) => NamedFile::Inside(relative),
            PathPlace::Folder => NamedFile::Folder,
            PathPlace::Outside => NamedFile::Outside,
        }
    }

    /// Resolves a descriptor that is used without a path (AT_EMPTY_PATH).
    fn named_open(&mut self, context: &CallContext, folder: Option<&[u8]>) -> NamedFile {
        match self.find_target(context, folder) {
            DescriptorTarget::Known(id) => self.named_description(id),
            DescriptorTarget::Outside => NamedFile::Outside,
            DescriptorTarget::Lost(why) => NamedFile::Unknown(why),
        }
    }

    fn named_description(&self, id: DescriptionId) -> NamedFile {
        match self.descriptions.opened_by(id) {
            None | Some(Opened::Elsewhere) => NamedFile::Outside,
            Some(_) => NamedFile::Open(id),
        }
    }
}
