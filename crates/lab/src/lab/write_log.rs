//! The file of a log of all writes to a trial's device, and its purpose.

use std::io;
use std::os::fd::OwnedFd;

use fsverdict_folders::FolderFile;

use super::backend::{DeviceLog, LogPurpose};

#[derive(Debug, Clone, PartialEq)]
pub struct WriteLogFile {
    /// Of which of the candidate's devices, from 1.
    pub device: usize,
    /// Nothing lies there where it is to be written.
    pub file: FolderFile,
    pub purpose: LogPurpose,
}

/// The same, open.
#[derive(Debug)]
pub(super) struct OpenLog<'a> {
    pub(super) device: usize,
    file: OwnedFd,
    purpose: &'a LogPurpose,
}

impl WriteLogFile {
    /// Creates the file for recording, and opens the existing one for any other purpose.
    pub(super) fn open_log(&self) -> io::Result<OpenLog<'_>> {
        let file = match self.purpose {
            LogPurpose::Record { .. } => self.file.create_new()?,
            LogPurpose::Enter { .. } | LogPurpose::Rot { .. } => self.file.open()?,
        };
        Ok(OpenLog { device: self.device, file: file.into(), purpose: &self.purpose })
    }
}

impl OpenLog<'_> {
    pub(super) fn as_device_log(&self) -> DeviceLog<'_> {
        DeviceLog { file: &self.file, purpose: self.purpose }
    }
}
