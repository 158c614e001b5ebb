//! The machine a trial's layers are opened on.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{FileType, Mode, OFlags, open};

use fsverdict_linux::sandbox::make_node;
use fsverdict_stack::layer::LayerKind;

use super::super::error::TrialError;
use super::super::layers::{Mapper, OpenNode};
use super::super::mapping::{
    device_number, device_size, gone_within, is_mapped, is_running, mapped_name, mapping_node,
};
use super::super::sink::Sink;
use super::super::tools::{Tools, Trade};

/// The key of layers that take one. It protects nothing: the data are ours and go with the trial.
const KEY_FILE: &str = "/tmp/fsverdict/key";
/// How long the kernel may take to remove a device that nobody uses: dm-integrity writes all of its journal anew, of up to 64 MiB
/// (`DEFAULT_MAX_JOURNAL_SECTORS` in `drivers/md/dm-integrity.c`).
const LIMIT: Duration = Duration::from_secs(60);

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

    fn bytes(&mut self, nodes: &[String]) -> Option<u64> {
        nodes.iter().map(|node| device_size(Path::new(node))).sum()
    }

    fn key(&mut self) -> Result<&'static str, TrialError> {
        std::fs::write(KEY_FILE, "fsverdict: not a secret").map_err(TrialError::io("write the key file"))?;
        Ok(KEY_FILE)
    }

    fn opened(&mut self, kind: LayerKind, name: &str) -> Result<OpenNode, TrialError> {
        let path = match kind {
            LayerKind::Mapping | LayerKind::Volume => mapping_node(&mapped_name(kind, name))
                .ok_or_else(|| TrialError::Host(format!("opening the layer made no device `{name}`")))?,
            // A link to the kernel's own node.
            LayerKind::Array | LayerKind::Above | LayerKind::Served => {
                std::fs::canonicalize(kind.device_node(name)).map_err(|error| {
                    TrialError::Host(format!("making the array made no `{name}`: {error}"))
                })?
            }
        };
        let number = device_number(&path)
            .ok_or_else(|| TrialError::Host(format!("{} has no device number", path.display())))?;
        make_node(&path, FileType::BlockDevice, number).map_err(TrialError::host)?;
        let held = File::open(&path).map_err(TrialError::io("hold the device of the layer"))?;
        Ok(OpenNode { path, held })
    }

    fn becomes_free(&mut self, node: &Path) {
        // Without O_CREAT it is a block device's own meaning: nobody else may have it to himself (open(2)).
        let exclusively = || open(node, OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC, Mode::empty());
        gone_within(|| exclusively().is_err(), LIMIT);
    }

    fn goes(&mut self, kind: LayerKind, name: &str, node: &Path) -> bool {
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
