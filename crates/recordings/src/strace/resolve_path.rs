//! Resolves the path or descriptor by which a call names a file: inside the folder, the folder itself, an open file, or
//! outside.

use std::path::{Path, PathBuf};

use super::descriptors::{DescriptionId, Opened};
use super::lookup::DescriptorTarget;
use super::paths::{PathPlace, named_descriptor, without_dots};
use super::reader::{CallContext, StraceReader};
use super::value::{ShownFile, parse_descriptor, quoted_path};

/// Why a call is not kept that names a file in a way that the recording does not show.
const UNKNOWN_FOLDER: &str =
    "relative paths where the recording does not say the working directory (record with strace -y)";
/// Bytes of a path (PATH_MAX of Linux): a program that goes deeper step by step is not followed.
const LONGEST_PATH: usize = 4096;
const LONG_PATH: &str = "paths of more than 4,096 bytes";
const CUT_NAME: &str = "names that the recording cuts short or shows as addresses";

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
                    DescriptorTarget::Known(id) => self.descriptions.get(id).and_then(|one| one.path.clone()),
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
        match self.descriptions.get(id).map(|one| one.opened) {
            None | Some(Opened::Elsewhere) => NamedFile::Outside,
            Some(_) => NamedFile::Open(id),
        }
    }
}
