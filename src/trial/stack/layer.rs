//! The encrypted layer between device and filesystem: made, opened, held open, and gone again.

use std::fs::File;
use std::time::Duration;

use rustix::fs::FileType;

use crate::host::sandbox::make_node;

use super::super::error::TrialError;
use super::super::mapping::{device_number, gone_within, mapping_node};
use super::super::programs::Line;
use super::{KEY_FILE, Stack, Trade};

impl Stack<'_> {
    pub(in crate::trial) fn format_layer(&mut self) -> Result<(), TrialError> {
        std::fs::write(KEY_FILE, "fsverdict: not a secret").map_err(TrialError::io("write the key file"))?;
        self.check_device()?;
        self.must(Line::FormatLayer)
    }

    /// Opens the encrypted layer, and holds it open until the trial ends.
    pub(in crate::trial) fn open_layer(&mut self) -> Result<(), TrialError> {
        self.must(Line::OpenLayer)?;
        let node = mapping_node(&self.mapping)
            .ok_or_else(|| TrialError::Host(format!("cryptsetup made no device `{}`", self.mapping)))?;
        let number = device_number(&node)
            .ok_or_else(|| TrialError::Host(format!("{} has no device number", node.display())))?;
        make_node(&node, FileType::BlockDevice, number).map_err(TrialError::host)?;
        self.opened = Some(node);
        self.held = Some(File::open(self.top()).map_err(TrialError::io("hold the encrypted device"))?);
        Ok(())
    }

    pub(in crate::trial) fn mark_layer(&mut self) -> Result<(), TrialError> {
        self.must(Line::MarkLayer)
    }

    /// For the record, whatever it says.
    pub(in crate::trial) fn describe_layer(&mut self) -> Result<(), TrialError> {
        match self.argv(Line::DescribeLayer) {
            Some(argv) => self.tool(Line::DescribeLayer.step(), Trade::Layering, argv).map(drop),
            None => Ok(()),
        }
    }

    /// The mapping goes with its last user, which is the descriptor kept here.
    pub(in crate::trial) fn close_layer(&mut self) -> Result<(), TrialError> {
        self.held = None;
        if self.opened.is_some() && !gone_within(&self.mapping, Duration::from_secs(5)) {
            let left = format!("the encrypted device {} is still there", self.mapping);
            return Err(TrialError::Host(left));
        }
        Ok(())
    }
}
