//! The checker of an unmounted filesystem of which a block had rotted, told to repair it.

use fsverdict_judgement::journal::CommandRecord;

use super::{Stack, Trade};
use crate::trial::error::TrialError;

impl Stack<'_> {
    /// The record of the checker with these options.
    pub(in crate::trial) fn repair_with(&mut self, options: &[&str]) -> Result<CommandRecord, TrialError> {
        let device = self.top().to_string_lossy().into_owned();
        let argv = self.filesystem.repair_argv_with(options, &device).unwrap_or_default();
        self.tools.run_untold("repair", Trade::Formatting, argv)
    }
}
