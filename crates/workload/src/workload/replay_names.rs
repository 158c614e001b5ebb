//! Replays the calls that change names, and keeps the directories open that they use.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

use rustix::fs::{AtFlags, Mode};
use rustix::io::Errno;

use crate::dataset::{open_directory, stat_entry};
use fsverdict_calls::CallWork;

use super::mover::CallFailure;
use super::replay::Replayer;

/// Directories that are kept open at once.
const KEPT_OPEN: usize = 256;

impl<'a> Replayer<'a> {
    /// A call on names.
    pub(super) fn change_name(&mut self, work: CallWork) -> Result<(), CallFailure> {
        let (name, second) = match work {
            CallWork::MakeDirectory { name }
            | CallWork::RemoveFile { name }
            | CallWork::RemoveDirectory { name }
            | CallWork::Look { name }
            | CallWork::List { name } => (name, None),
            CallWork::Rename { from, to } | CallWork::Link { from, to } => (from, Some(to)),
            _ => return Ok(()),
        };
        if let CallWork::Look { .. } = work {
            let parent =
                self.trace.names().get((name as usize).wrapping_sub(1)).map_or(0, |name| name.parent);
            // A directory is not opened for it, which may not be there.
            if parent != 0 && !self.folders.contains_key(&parent) {
                return self.look_by_path(name);
            }
        }
        let parent = self.open_parent(name)?;
        let other = second.map(|second| self.open_parent(second)).transpose()?;
        if let CallWork::List { name } = work {
            self.keep_open(name)?;
            self.folders.remove(&name);
        }
        if let CallWork::RemoveDirectory { name } = work {
            self.folders.remove(&name);
        }
        let (folder, text) = (self.folder_descriptor(parent), self.name_text(name));
        let start = Instant::now();
        let outcome = match work {
            CallWork::MakeDirectory { .. } => rustix::fs::mkdirat(folder, text, Mode::from_raw_mode(0o755))
                .map_err(|errno| ("make a directory in", errno)),
            CallWork::RemoveFile { .. } => rustix::fs::unlinkat(folder, text, AtFlags::empty())
                .map_err(|errno| ("remove a file from", errno)),
            CallWork::RemoveDirectory { .. } => rustix::fs::unlinkat(folder, text, AtFlags::REMOVEDIR)
                .map_err(|errno| ("remove a directory from", errno)),
            CallWork::Look { .. } => match stat_entry(folder, text) {
                Ok(_) | Err(Errno::NOENT | Errno::NOTDIR) => Ok(()),
                Err(errno) => Err(("look at a file in", errno)),
            },
            CallWork::List { .. } => open_directory(folder, text)
                .and_then(|listed| self.listing.for_each_entry(listed.as_fd(), |errno| errno, |_, _| Ok(())))
                .map_err(|errno| ("list a directory in", errno)),
            CallWork::Rename { to, .. } => {
                let (there, other) = (self.name_text(to), self.folder_descriptor(other.unwrap_or(parent)));
                rustix::fs::renameat(folder, text, other, there).map_err(|errno| ("rename a file in", errno))
            }
            CallWork::Link { to, .. } => {
                let (there, other) = (self.name_text(to), self.folder_descriptor(other.unwrap_or(parent)));
                rustix::fs::linkat(folder, text, other, there, AtFlags::empty())
                    .map_err(|errno| ("link a file in", errno))
            }
            _ => Ok(()),
        };
        outcome?;
        self.calls.record_since(start);
        self.names.record_since(start);
        Ok(())
    }

    /// The number of the directory that a name is in, which is open then.
    pub(super) fn open_parent(&mut self, name: u32) -> Result<u32, CallFailure> {
        let number = (name as usize).checked_sub(1).and_then(|at| self.trace.names().get(at));
        let parent = number.map_or(0, |name| name.parent);
        self.keep_open(parent)?;
        Ok(parent)
    }

    /// Opens a directory and its parents outside the timed calls: the recorded program had them open already.
    pub(super) fn keep_open(&mut self, folder: u32) -> Result<(), CallFailure> {
        let mut wanted = Vec::new();
        let mut at = folder;
        while at != 0 && !self.folders.contains_key(&at) {
            wanted.push(at);
            at = self.trace.names().get(at as usize - 1).map_or(0, |name| name.parent);
        }
        for number in wanted.into_iter().rev() {
            let parent = self.trace.names().get(number as usize - 1).map_or(0, |name| name.parent);
            let opened = open_directory(self.folder_descriptor(parent), self.name_text(number))
                .map_err(|errno| ("open a directory of", errno))?;
            self.folders.insert(number, opened);
        }
        if self.folders.len() > KEPT_OPEN {
            self.folders.retain(|number, _| *number == folder);
        }
        Ok(())
    }

    pub(super) fn folder_descriptor(&self, number: u32) -> BorrowedFd<'_> {
        self.folders.get(&number).map_or(self.root, |folder| folder.as_fd())
    }

    pub(super) fn name_text(&self, name: u32) -> &std::ffi::CStr {
        (name as usize).checked_sub(1).and_then(|at| self.texts.get(at)).map_or(c".", |text| text.as_c_str())
    }
}
