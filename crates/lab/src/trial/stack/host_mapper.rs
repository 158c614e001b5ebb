//! The machine a trial's layers are opened on.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use rustix::fs::FileType;

use fsverdict_linux::sandbox::make_node;
use fsverdict_stack::layer::LayerKind;

use super::super::error::TrialError;
use super::super::layers::{Mapper, OpenNode};
use super::super::mapping::{
    device_number, device_size, gone_within, is_mapped, is_running, mapped_name, mapping_node,
    wait_until_unclaimed,
};
use super::super::sink::Sink;
use super::super::tools::{Tools, Trade};

/// The key file of layers that need one. It protects nothing: the data are generated and removed with the trial.
const KEY_FILE: &str = "/tmp/fsverdict/key";
/// Time limit for the kernel to remove an unused device: dm-integrity rewrites all of its journal, of up to 64 MiB
/// (`DEFAULT_MAX_JOURNAL_SECTORS` in `drivers/md/dm-integrity.c`).
const LIMIT: Duration = Duration::from_secs(60);

pub(super) struct HostMapper<'a> {
    pub(super) sink: &'a mut Sink,
    pub(super) tools: &'a Tools,
}

impl Mapper for HostMapper<'_> {
    fn run_required(&mut self, step: &str, argv: Vec<String>) -> Result<(), TrialError> {
        self.tools.run_required(self.sink, step, Trade::Layering, argv)
    }

    fn run_recorded(&mut self, step: &str, argv: Vec<String>) -> Result<(), TrialError> {
        self.tools.run_program(self.sink, step, Trade::Layering, argv).map(drop)
    }

    fn total_bytes(&mut self, nodes: &[String]) -> Option<u64> {
        nodes.iter().map(|node| device_size(Path::new(node))).sum()
    }

    fn write_key(&mut self) -> Result<&'static str, TrialError> {
        std::fs::write(KEY_FILE, "fsverdict: not a secret")
            .map_err(TrialError::io_error("write the key file"))?;
        Ok(KEY_FILE)
    }

    fn open_node(&mut self, kind: LayerKind, name: &str) -> Result<OpenNode, TrialError> {
        let path = match kind {
            LayerKind::Mapping | LayerKind::Volume => mapping_node(&mapped_name(kind, name))
                .ok_or_else(|| TrialError::Host(format!("opening the layer made no device `{name}`")))?,
            // This path is a link to the kernel's node.
            LayerKind::Array | LayerKind::Above | LayerKind::Served => {
                std::fs::canonicalize(kind.device_node(name)).map_err(|error| {
                    TrialError::Host(format!("making the array made no `{name}`: {error}"))
                })?
            }
        };
        let number = device_number(&path)
            .ok_or_else(|| TrialError::Host(format!("{} has no device number", path.display())))?;
        make_node(&path, FileType::BlockDevice, number).map_err(TrialError::host_error)?;
        let held = File::open(&path).map_err(TrialError::io_error("hold the device of the layer"))?;
        Ok(OpenNode { path, held })
    }

    fn becomes_free(&mut self, node: &Path) {
        wait_until_unclaimed(node, LIMIT);
    }

    fn wait_until_gone(&mut self, kind: LayerKind, name: &str, node: &Path) -> bool {
        match kind {
            LayerKind::Mapping | LayerKind::Volume => {
                let name = mapped_name(kind, name);
                gone_within(|| is_mapped(node, &name), LIMIT)
            }
            LayerKind::Array | LayerKind::Above | LayerKind::Served => {
                gone_within(|| is_running(node), LIMIT)
            }
        }
    }
}
