//! The machine a trial's layers are opened on.

use std::fs::File;
use std::path::PathBuf;
use std::time::Duration;

use rustix::fs::FileType;

use crate::sandbox::make_node;

use super::super::error::TrialError;
use super::super::layers::Mapper;
use super::super::mapping::{device_number, gone_within, mapping_node};
use super::super::sink::Sink;
use super::super::tools::{Tools, Trade};

/// The key of layers that take one. It protects nothing: the data are ours and go with the trial.
const KEY_FILE: &str = "/tmp/fsverdict/key";
/// How long the kernel may take to remove a device that nobody uses.
const LIMIT: Duration = Duration::from_secs(5);

pub(super) struct HostMapper<'a> {
    pub(super) sink: &'a mut Sink,
    pub(super) tools: &'a Tools,
}

impl Mapper for HostMapper<'_> {
    fn must(&mut self, step: &str, argv: Vec<String>) -> Result<(), TrialError> {
        self.tools.must(self.sink, step, Trade::Layering, argv)
    }

    fn note(&mut self, step: &str, argv: Vec<String>) -> Result<(), TrialError> {
        self.tools.run(self.sink, step, Trade::Layering, argv).map(drop)
    }

    fn key(&mut self) -> Result<&'static str, TrialError> {
        std::fs::write(KEY_FILE, "fsverdict: not a secret").map_err(TrialError::io("write the key file"))?;
        Ok(KEY_FILE)
    }

    fn opened(&mut self, name: &str) -> Result<(PathBuf, File), TrialError> {
        let node = mapping_node(name)
            .ok_or_else(|| TrialError::Host(format!("opening the layer made no device `{name}`")))?;
        let number = device_number(&node)
            .ok_or_else(|| TrialError::Host(format!("{} has no device number", node.display())))?;
        make_node(&node, FileType::BlockDevice, number).map_err(TrialError::host)?;
        let held = File::open(&node).map_err(TrialError::io("hold the device of the layer"))?;
        Ok((node, held))
    }

    fn goes(&mut self, name: &str) -> bool {
        gone_within(name, LIMIT)
    }
}
