//! A filesystem of which a block has rotted: mounted from whichever of its devices lets it be, and its checker told to repair it.

use std::path::Path;

use crate::host::mounts::{self, MountError};
use fsverdict_judgement::journal::CommandRecord;

use super::{MOUNT, Stack, Trade};
use crate::trial::error::TrialError;

impl Stack<'_> {
    /// As somebody would who knows all its devices: from the first, then from each other, then without what is missing.
    pub(in crate::trial) fn mount_rotten(&mut self) -> Result<(), MountError> {
        let tops: Vec<_> = self.tops().into_iter().map(|top| top.path).collect();
        if tops.len() < 2 || !self.filesystem.takes_several {
            return self.mount_state();
        }
        let mount = self.filesystem.mount(&self.candidate.mount);
        let among = tops.iter().map(|top| format!("device={}", top.display()));
        let whole: Vec<String> = mount.options.iter().cloned().chain(among).collect();
        let degraded: Vec<String> = mount.options.iter().cloned().chain(["degraded".to_owned()]).collect();
        let ways = tops.iter().map(|top| (top, &whole)).chain(tops.iter().map(|top| (top, &degraded)));
        let mut result = Ok(());
        for (top, options) in ways {
            result = mounts::device(top, Path::new(MOUNT), mount.kind, options);
            if result.is_ok() {
                self.mounted = true;
                break;
            }
        }
        result
    }

    /// The record of the checker with these options.
    pub(in crate::trial) fn repair_with(&mut self, options: &[&str]) -> Result<CommandRecord, TrialError> {
        let device = self.top().to_string_lossy().into_owned();
        let argv = self.filesystem.repair_argv_with(options, &device).unwrap_or_default();
        self.tools.run_untold("repair", Trade::Formatting, argv)
    }
}
