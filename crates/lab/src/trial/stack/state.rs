//! Mounts, unmounts, checks and repairs a filesystem many times in a row, in the states that power cuts left on its
//! device.

use std::path::Path;

use fsverdict_judgement::journal::CommandRecord;
use fsverdict_linux::host::kernel_log::LogLine;
use fsverdict_linux::host::mounts::{self, MountError};
use fsverdict_stack::filesystem::FsckStatus;

use super::{MOUNT, Stack, Trade};
use crate::trial::error::TrialError;

impl Stack<'_> {
    /// Mounts as mount(8) would, without starting a program for it; the reason why it cannot be mounted, if there is one.
    pub(in crate::trial) fn mount_state(&mut self) -> Result<Option<String>, TrialError> {
        if self.filesystem.pool.is_some() {
            return self.mount_pool_state();
        }
        let mount = self.filesystem.mount_options(&self.candidate.mount);
        let tops: Vec<_> = self.top_devices().into_iter().map(|top| top.path).collect();
        let mut options = mount.options.clone();
        let mut source = self.top_device();
        if self.filesystem.joins_devices {
            let names: Vec<_> = tops.iter().map(|path| path.to_string_lossy().into_owned()).collect();
            source = self.filesystem.mounted_as_all(&names).into();
        } else if tops.len() > 1 && self.filesystem.takes_several {
            options.extend(other_device_options(&tops));
        }
        Ok(self.mount_quickly(&source, mount.kind, &options).err().map(|error| error.to_string()))
    }

    /// Mounts by the system call alone.
    pub(super) fn mount_quickly(
        &mut self,
        source: &Path,
        kind: &str,
        options: &[String],
    ) -> Result<(), MountError> {
        mounts::mount_device(source, Path::new(MOUNT), kind, options)?;
        self.mounted = true;
        Ok(())
    }

    pub(in crate::trial) fn unmount_state(&mut self) -> Result<(), TrialError> {
        mounts::unmount(Path::new(MOUNT)).map_err(TrialError::host_error)?;
        self.mounted = false;
        self.export_pool_state()
    }

    /// All messages of the kernel since the last call.
    pub(in crate::trial) fn said_at_all(&mut self) -> Vec<LogLine> {
        self.log.read_all()
    }

    /// The checker's complaint about the unmounted filesystem, which it does not change; that of a pool is what a scrub
    /// found, and repaired as far as it could.
    pub(in crate::trial) fn find_complaint(&mut self) -> Result<Option<String>, TrialError> {
        if self.filesystem.pool.is_some() {
            return self.scrub_pool_state();
        }
        let device = self.top_device().to_string_lossy().into_owned();
        let Some(mut argv) = self.filesystem.fsck_argv(&device) else { return Ok(None) };
        argv.extend(self.further_checked_devices());
        let record = self.tools.run_untold("fsck", Trade::Formatting, argv)?;
        Ok(self.complaint_in(&record))
    }

    /// What a checker complains of in this record.
    pub(super) fn complaint_in(&self, record: &CommandRecord) -> Option<String> {
        let meaning = record.exit.and_then(|status| self.filesystem.check_status_of(status, &record.stdout));
        if meaning == Some(FsckStatus::Clean) {
            return None;
        }
        let words = meaning.map_or("no answer", FsckStatus::words);
        let said = record.stdout.lines().chain(record.stderr.lines()).map(str::trim);
        let lines: Vec<&str> = said.filter(|line| !line.is_empty()).take(4).collect();
        Some(format!("{}: {words}: {}", record.argv.join(" "), lines.join("; ")))
    }

    /// The devices besides the first that its checker is told.
    fn further_checked_devices(&self) -> Vec<String> {
        if !self.filesystem.joins_devices {
            return Vec::new();
        }
        let tops = self.top_devices().into_iter().skip(1);
        tops.map(|top| top.path.to_string_lossy().into_owned()).collect()
    }

    /// Runs the repairing checker and returns its record; `None` if none is recommended.
    pub(in crate::trial) fn run_repair(&mut self) -> Result<Option<CommandRecord>, TrialError> {
        let device = self.top_device().to_string_lossy().into_owned();
        let mut argv = self.filesystem.repair_argv(&device);
        if let Some(argv) = &mut argv {
            argv.extend(self.further_checked_devices());
        }
        argv.map(|argv| self.tools.run_untold("repair", Trade::Formatting, argv)).transpose()
    }
}

/// Where a filesystem of several devices finds the others (btrfs(5)).
pub(super) fn other_device_options(devices: &[std::path::PathBuf]) -> impl Iterator<Item = String> {
    devices.iter().map(|device| format!("device={}", device.display()))
}
