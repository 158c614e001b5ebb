//! Mounts and repairs a filesystem with a rotten block: from whichever of its devices can be mounted.

use fsverdict_judgement::journal::CommandRecord;
use fsverdict_stack::filesystem::MountOptions;

use super::state::other_device_options;
use super::{MOUNT, Stack, Trade};
use crate::trial::error::TrialError;

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
