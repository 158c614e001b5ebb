//! Goes on with devices that are damaged: one of several that stops answering in the midst of a trial, and one with a
//! rotten block, where the filesystem is mounted from whichever of its devices can be.

use std::fs::File;

use fsverdict_judgement::journal::CommandRecord;
use fsverdict_stack::filesystem::MountOptions;
use rustix::io::Errno;

use super::state::other_device_options;
use super::{MOUNT, Stack, Trade};
use crate::trial::error::TrialError;
use crate::trial::programs::NamedTop;

impl Stack<'_> {
    /// Tries to mount as a user would with all devices known: by the first, then by each other one, then without the
    /// missing one; an import of a pool tries all by itself. Returns why none can be mounted, if none can.
    pub(in crate::trial) fn mount_rotten(&mut self) -> Result<Option<String>, TrialError> {
        let tops: Vec<_> = self.top_devices().into_iter().map(|top| top.path).collect();
        let mut refused = self.mount_state()?;
        let alone = !self.filesystem.takes_several || self.filesystem.joins_devices;
        if tops.len() < 2 || alone || self.filesystem.pool.is_some() {
            return Ok(refused);
        }
        // The first may be the one that cannot be read.
        let mount = self.filesystem.mount_options(&self.candidate.mount);
        let whole = other_device_options(&tops).chain(mount.options.iter().cloned()).collect();
        let degraded = mount.options.iter().cloned().chain(["degraded".to_owned()]).collect();
        let ways = [whole, degraded].map(|options| MountOptions { options, ..mount.clone() });
        for (way, top) in ways.iter().flat_map(|way| tops.iter().map(move |top| (way, top))) {
            if refused.is_none() {
                break;
            }
            refused = self.mount_by(way.argv(&top.to_string_lossy(), MOUNT))?;
        }
        Ok(refused)
    }

    /// The record of the checker with these options.
    pub(in crate::trial) fn repair_with(&mut self, options: &[&str]) -> Result<CommandRecord, TrialError> {
        let device = self.top_device().to_string_lossy().into_owned();
        let argv = self.filesystem.repair_argv_with(options, &device).unwrap_or_default();
        self.tools.run_untold("repair", Trade::Formatting, argv)
    }
}

impl Stack<'_> {
    /// Makes everything written to the devices themselves durable. A device that answers only with errors is taken as
    /// missing from here on, if the filesystem has copies on others: it is then mounted without that device, as md
    /// continues without one.
    pub(in crate::trial) fn sync_device(&mut self) -> Result<(), TrialError> {
        let synced = |top: &NamedTop| File::open(&top.path)?.sync_all();
        let failed = self.top_devices().into_iter().filter_map(|top| Some((synced(&top).err()?, top)));
        let mut failed: Vec<_> = failed.collect();
        let Some((error, top)) = failed.pop() else { return Ok(()) };
        if failed.is_empty() && self.can_do_without(&top, &error) {
            let which = format!("device {} of {}", top.device, self.candidate.name);
            let text =
                format!("{which} answered no more: where it was mounted after that, it was mounted without");
            self.sink.send_caution("", text);
            self.missing = Some(top.path);
            return Ok(());
        }
        Err(TrialError::io_error("make the device's data durable")(error))
    }

    fn can_do_without(&self, top: &NamedTop, error: &std::io::Error) -> bool {
        let is_io = error.raw_os_error() == Some(Errno::IO.raw_os_error());
        is_io
            && !top.apart
            && self.missing.is_none()
            && self.require_redundancy().is_ok_and(|redundancy| redundancy.is_of_filesystem())
    }
}
