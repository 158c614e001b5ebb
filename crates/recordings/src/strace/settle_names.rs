//! Calls on names: they make, remove, rename and link files and directories, or look at them.

use std::path::{Path, PathBuf};

use fsverdict_calls::CallWork;

use super::call::{Returned, SystemCall};
use super::descriptors::Opened;
use super::lookup::NamedFile;
use super::reader::{CallContext, SettledCall, StraceReader};
use super::settle::{settled_not_kept, settled_outside};
use super::settle_descriptors::size_in;
use super::value::{field_value, has_flag, quoted_path};
use crate::account::CallWeight;
use crate::known_files::NameKind;

/// A path in a call's arguments, and the argument with the directory that it is relative to: none means the working
/// directory.
#[derive(Clone, Copy)]
struct PathArgument<'a> {
    folder: Option<&'a [u8]>,
    path: Option<&'a [u8]>,
}

impl<'a> PathArgument<'a> {
    /// The path in argument number `path`.
    fn plain(call: &SystemCall<'a>, path: usize) -> Self {
        PathArgument { folder: None, path: call.argument(path) }
    }

    /// The path in argument number `path`, relative to the directory in argument number `folder`.
    fn relative(call: &SystemCall<'a>, folder: usize, path: usize) -> Self {
        PathArgument { folder: call.argument(folder), path: call.argument(path) }
    }
}

/// Two names, each with the directory that it is relative to.
struct NamePair {
    from: NamedFile,
    to: NamedFile,
    /// The absolute paths, where they are known.
    paths: (Option<PathBuf>, Option<PathBuf>),
}

impl StraceReader {
    pub(super) fn settle_name_call(
        &mut self,
        context: &CallContext,
        call: &SystemCall<'_>,
    ) -> Option<SettledCall> {
        match call.name {
            "stat" | "stat64" | "oldstat" | "lstat" | "lstat64" | "oldlstat" | "access" => {
                return self.settle_lookup(context, call, PathArgument::plain(call, 0));
            }
            "newfstatat" | "fstatat64" | "statx" | "faccessat" | "faccessat2" => {
                return self.settle_lookup(context, call, PathArgument::relative(call, 0, 1));
            }
            _ => {}
        }
        call.value()?;
        let settled = match call.name {
            "unlink" => self.settle_removal(context, PathArgument::plain(call, 0), false),
            "rmdir" => self.settle_removal(context, PathArgument::plain(call, 0), true),
            "unlinkat" => {
                let directory = has_flag(call.argument_text(2), "AT_REMOVEDIR");
                self.settle_removal(context, PathArgument::relative(call, 0, 1), directory)
            }
            "mkdir" => self.settle_mkdir(context, PathArgument::plain(call, 0)),
            "mkdirat" => self.settle_mkdir(context, PathArgument::relative(call, 0, 1)),
            "rename" => {
                let pair = self.resolve_two_paths(
                    context,
                    PathArgument::plain(call, 0),
                    PathArgument::plain(call, 1),
                );
                self.settle_rename(context, call, &pair)
            }
            "renameat" | "renameat2" => {
                let (from, to) = (PathArgument::relative(call, 0, 1), PathArgument::relative(call, 2, 3));
                let pair = self.resolve_two_paths(context, from, to);
                self.settle_rename(context, call, &pair)
            }
            "link" => {
                let pair = self.resolve_two_paths(
                    context,
                    PathArgument::plain(call, 0),
                    PathArgument::plain(call, 1),
                );
                self.settle_link(context, &pair)
            }
            "linkat" => {
                let (from, to) = (PathArgument::relative(call, 0, 1), PathArgument::relative(call, 2, 3));
                let pair = self.resolve_two_paths(context, from, to);
                self.settle_link(context, &pair)
            }
            "symlink" | "symlinkat" => {
                self.note_link(context, call);
                return None;
            }
            _ => return None,
        };
        // An error is the outcome of a call on a file that has no name in the trace.
        Some(settled.unwrap_or_else(|outcome| outcome))
    }

    fn settle_lookup(
        &mut self,
        context: &CallContext,
        call: &SystemCall<'_>,
        argument: PathArgument<'_>,
    ) -> Option<SettledCall> {
        let missing = call.returned == Returned::Error("ENOENT");
        if !missing && call.value() != Some(0) {
            return None;
        }
        let named = self.resolve_named_file(context, argument.folder, argument.path);
        if let NamedFile::Open(id) = named {
            return Some(self.settle_status(id, call));
        }
        let name = match self.number_of(&named) {
            Ok(name) => name,
            Err(settled) => return Some(settled),
        };
        if missing {
            self.calls.files.note_missing(name);
        } else {
            self.note_status(name, call);
        }
        Some(self.keep_names(context, CallWork::Look { name }, CallWeight::NONE))
    }

    /// Notes from a status whether a name is a file, and its size, or a directory.
    fn note_status(&mut self, name: u32, call: &SystemCall<'_>) {
        let Some(status) = call.arguments().iter().find(|argument| argument.starts_with(b"{")) else {
            return;
        };
        let mode =
            field_value(status, "st_mode").or_else(|| field_value(status, "stx_mode")).unwrap_or_default();
        if mode.starts_with(b"S_IFDIR") {
            self.calls.files.note_directory(name);
        }
        if let Some(size) = size_in(status).filter(|_| mode.starts_with(b"S_IFREG")) {
            self.calls.note_size(name, size);
        }
    }

    fn settle_removal(
        &mut self,
        context: &CallContext,
        argument: PathArgument<'_>,
        directory: bool,
    ) -> Result<SettledCall, SettledCall> {
        let absolute = self.absolute_of(context, argument);
        // Removing a link removes the link itself, not its target.
        let link = absolute.as_deref().map(|absolute| self.paths.is_link(absolute));
        if let (Some(absolute), Some(true)) = (&absolute, link) {
            self.paths.remove_link(absolute);
            let inside = self.place_of(absolute) != NamedFile::Outside;
            return Ok(if inside {
                settled_not_kept("removals of symbolic links", CallWeight::NONE)
            } else {
                settled_outside()
            });
        }
        let named = self.resolve_named_file(context, argument.folder, argument.path);
        if named == NamedFile::Folder {
            return Ok(settled_outside());
        }
        let name = self.number_of(&named)?;
        let work = if directory { CallWork::RemoveDirectory { name } } else { CallWork::RemoveFile { name } };
        Ok(self.keep_names(context, work, CallWeight::NONE))
    }

    fn settle_mkdir(
        &mut self,
        context: &CallContext,
        argument: PathArgument<'_>,
    ) -> Result<SettledCall, SettledCall> {
        let named = self.resolve_named_file(context, argument.folder, argument.path);
        if named == NamedFile::Folder {
            // The folder itself is there before a trace is replayed.
            return Ok(settled_outside());
        }
        let name = self.number_of(&named)?;
        Ok(self.keep_names(context, CallWork::MakeDirectory { name }, CallWeight::NONE))
    }

    fn absolute_of(&mut self, context: &CallContext, argument: PathArgument<'_>) -> Option<PathBuf> {
        let path = argument.path.and_then(quoted_path).filter(|path| !path.as_os_str().is_empty())?;
        self.absolute_path(context, argument.folder, &path).ok()
    }

    fn resolve_two_paths(
        &mut self,
        context: &CallContext,
        from: PathArgument<'_>,
        to: PathArgument<'_>,
    ) -> NamePair {
        NamePair {
            from: self.resolve_named_file(context, from.folder, from.path),
            to: self.resolve_named_file(context, to.folder, to.path),
            paths: (self.absolute_of(context, from), self.absolute_of(context, to)),
        }
    }

    fn settle_rename(
        &mut self,
        context: &CallContext,
        call: &SystemCall<'_>,
        pair: &NamePair,
    ) -> Result<SettledCall, SettledCall> {
        let flags = call.argument_text(4);
        if let (Some(from), Some(to)) = &pair.paths {
            let exchanges = has_flag(flags, "RENAME_EXCHANGE");
            self.move_paths(from, to, exchanges);
        }
        match (&pair.from, &pair.to) {
            // The folder itself may be moved to its place, or away from it.
            (NamedFile::Outside, NamedFile::Outside | NamedFile::Folder)
            | (NamedFile::Folder, NamedFile::Outside) => return Ok(settled_outside()),
            (NamedFile::Outside, _) | (_, NamedFile::Outside) => {
                return Ok(settled_not_kept("renames from or to another folder", CallWeight::NONE));
            }
            _ => {}
        }
        if has_flag(flags, "RENAME_EXCHANGE") || has_flag(flags, "RENAME_WHITEOUT") {
            return Ok(settled_not_kept("renames that exchange", CallWeight::NONE));
        }
        // Both names are numbered, even if the first is not kept.
        let (from, to) = (self.number_of(&pair.from), self.number_of(&pair.to));
        let (from, to) = (from?, to?);
        if from == 0 || to == 0 || self.calls.files.is_known_directory(from) {
            return Ok(settled_not_kept("renames of directories", CallWeight::NONE));
        }
        Ok(self.keep_names(context, CallWork::Rename { from, to }, CallWeight::NONE))
    }

    /// Open files keep their description under the new path.
    fn move_paths(&mut self, from: &Path, to: &Path, exchanges: bool) {
        if !self.work.take_work(self.descriptions.count() + self.processes.count()) {
            return;
        }
        let (from, to) = (self.paths.resolve(from).into_owned(), self.paths.resolve(to).into_owned());
        let moved = |path: &Path| {
            let swap = |one: &Path, other: &Path| {
                let rest = path.strip_prefix(one).ok()?;
                Some(if rest.as_os_str().is_empty() { other.to_path_buf() } else { other.join(rest) })
            };
            swap(&from, &to).or_else(|| if exchanges { swap(&to, &from) } else { None })
        };
        for description in self.descriptions.all_mut() {
            if let Some(path) = description.path.as_deref().and_then(moved) {
                description.path = Some(path);
            }
        }
        for process in self.processes.all() {
            let mut directory = process.directory.borrow_mut();
            if let Some(path) = directory.path.as_deref().and_then(moved) {
                directory.path = Some(path);
            }
        }
    }

    fn settle_link(&mut self, context: &CallContext, pair: &NamePair) -> Result<SettledCall, SettledCall> {
        match (&pair.from, &pair.to) {
            (NamedFile::Outside, NamedFile::Outside) => return Ok(settled_outside()),
            (NamedFile::Outside, _) | (_, NamedFile::Outside) => {
                return Ok(settled_not_kept("links from or to another folder", CallWeight::NONE));
            }
            _ => {}
        }
        let to = self.number_of(&pair.to)?;
        if let NamedFile::Open(id) = pair.from {
            return Ok(match self.descriptions.opened_by(id) {
                Some(Opened::File { open }) => {
                    self.keep_names(context, CallWork::LinkOpen { file: open, name: to }, CallWeight::NONE)
                }
                Some(Opened::Lost(why)) => settled_not_kept(why, CallWeight::NONE),
                _ => settled_outside(),
            });
        }
        let from = self.number_of(&pair.from)?;
        if self.calls.files.kind_of(from) == NameKind::Directory {
            return Ok(settled_not_kept("links of directories", CallWeight::NONE));
        }
        Ok(self.keep_names(context, CallWork::Link { from, to }, CallWeight::NONE))
    }

    /// A symbolic link that is made tells where paths through it lead to.
    fn note_link(&mut self, context: &CallContext, call: &SystemCall<'_>) {
        let (folder, path) = match call.name {
            "symlink" => (None, 1),
            _ => (call.argument(1), 2),
        };
        let Some(target) = call.argument(0).and_then(quoted_path) else { return };
        let Some(link) = self.absolute_of(context, PathArgument { folder, path: call.argument(path) }) else {
            return;
        };
        let Some(above) = link.parent() else { return };
        let target = super::paths::without_dots(&above.join(target));
        let target = self.paths.resolve(&target).into_owned();
        self.paths.add_link(link, target);
    }
}
