//! A filesystem that a cut of power left on the device: mounted, unmounted, checked and repaired very many times in a row.

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
        let tops: Vec<_> = self.tops().into_iter().map(|top| top.path).collect();
        let mut options = mount.options.clone();
        if tops.len() > 1 && self.filesystem.takes_several {
            options.extend(among(&tops));
        }
        mounts::mount_device(&self.top(), Path::new(MOUNT), mount.kind, &options)?;
        self.mounted = true;
        Ok(())
    }

    pub(in crate::trial) fn unmount_state(&mut self) -> Result<(), TrialError> {
        mounts::unmount(Path::new(MOUNT)).map_err(TrialError::host)?;
        self.mounted = false;
        Ok(())
    }

    /// Everything that the kernel said since this was last asked.
    pub(in crate::trial) fn said_at_all(&mut self) -> Vec<LogLine> {
        self.log.read_all()
    }

    /// What the checker has to say against the unmounted filesystem, which it leaves as it is.
    pub(in crate::trial) fn complaint(&mut self) -> Result<Option<String>, TrialError> {
        let device = self.top().to_string_lossy().into_owned();
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

    /// The record of the checker that repairs what it can; none where none is to be advised.
    pub(in crate::trial) fn repair(&mut self) -> Result<Option<CommandRecord>, TrialError> {
        let device = self.top().to_string_lossy().into_owned();
        let argv = self.filesystem.repair_argv(&device);
        argv.map(|argv| self.tools.run_untold("repair", Trade::Formatting, argv)).transpose()
    }
}

/// Where a filesystem of several devices finds the others (btrfs(5)).
pub(super) fn among(devices: &[std::path::PathBuf]) -> impl Iterator<Item = String> {
    devices.iter().map(|device| format!("device={}", device.display()))
}
