//! Mounts, unmounts, checks and repairs a filesystem many times in a row, in the states that power cuts left on its
//! device.

use std::path::Path;

use fsverdict_judgement::journal::CommandRecord;
use fsverdict_linux::host::kernel_log::LogLine;
use fsverdict_linux::host::mounts::{self, MountError};
use fsverdict_stack::filesystem::Meaning;

use super::{MOUNT, Stack, Trade};
use crate::trial::error::TrialError;

impl Stack<'_> {
    /// As mount(8) would, without starting a program for it.
    pub(in crate::trial) fn mount_state(&mut self) -> Result<(), MountError> {
        let mount = self.filesystem.mount_options(&self.candidate.mount);
        let tops: Vec<_> = self.top_devices().into_iter().map(|top| top.path).collect();
        let mut options = mount.options.clone();
        if tops.len() > 1 && self.filesystem.takes_several {
            options.extend(other_device_options(&tops));
        }
        mounts::mount_device(&self.top_device(), Path::new(MOUNT), mount.kind, &options)?;
        self.mounted = true;
        Ok(())
    }

    pub(in crate::trial) fn unmount_state(&mut self) -> Result<(), TrialError> {
        mounts::unmount(Path::new(MOUNT)).map_err(TrialError::host_error)?;
        self.mounted = false;
        Ok(())
    }

    /// All messages of the kernel since the last call.
    pub(in crate::trial) fn said_at_all(&mut self) -> Vec<LogLine> {
        self.log.read_all()
    }

    /// The checker's complaint about the unmounted filesystem, which it does not change.
    pub(in crate::trial) fn find_complaint(&mut self) -> Result<Option<String>, TrialError> {
        let device = self.top_device().to_string_lossy().into_owned();
        let Some(argv) = self.filesystem.fsck_argv(&device) else { return Ok(None) };
        let record = self.tools.run_untold("fsck", Trade::Formatting, argv)?;
        let meaning = record.exit.and_then(|status| self.filesystem.fsck_meaning(status));
        if meaning == Some(Meaning::Clean) {
            return Ok(None);
        }
        let words = meaning.map_or("no answer", Meaning::words);
        let said = record.stdout.lines().chain(record.stderr.lines()).map(str::trim);
        let said: Vec<&str> = said.filter(|line| !line.is_empty()).take(4).collect();
        Ok(Some(format!("{}: {words}: {}", record.argv.join(" "), said.join("; "))))
    }

    /// Runs the repairing checker and returns its record; `None` if none is recommended.
    pub(in crate::trial) fn run_repair(&mut self) -> Result<Option<CommandRecord>, TrialError> {
        let device = self.top_device().to_string_lossy().into_owned();
        let argv = self.filesystem.repair_argv(&device);
        argv.map(|argv| self.tools.run_untold("repair", Trade::Formatting, argv)).transpose()
    }
}

/// Where a filesystem of several devices finds the others (btrfs(5)).
pub(super) fn other_device_options(devices: &[std::path::PathBuf]) -> impl Iterator<Item = String> {
    devices.iter().map(|device| format!("device={}", device.display()))
}
