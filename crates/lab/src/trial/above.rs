//! Layers above a candidate's filesystem, which is mounted at a hidden place. A served layer (FUSE) appears at the
//! mount point from the beginning. For an overlay, the mount point shows the folder that becomes the lower one until
//! the first cold phase, and the overlay from then on.

use fsverdict_judgement::plan::{Candidate, split_layer};
use fsverdict_stack::layer::{Layer, LayerKind, LayerLine, LayerPlace};
use std::path::Path;

/// Where a filesystem is mounted that something lies above.
pub(super) const BELOW: &str = "/tmp/fsverdict/below";

/// The layer above a filesystem, with its options.
#[derive(Debug, Clone, Copy)]
pub(super) struct AboveLayer<'a> {
    layer: &'static Layer,
    options: &'a str,
}

impl<'a> AboveLayer<'a> {
    /// That of a candidate, if it has one.
    pub(super) fn of_candidate(candidate: &'a Candidate) -> Option<Self> {
        let found = |name: &'a str| Some((fsverdict_stack::layer::find_layer(name)?, split_layer(name).1));
        let mut above = candidate.layers.names().filter_map(found).filter(|(layer, _)| layer.kind.is_above());
        above.next().map(|(layer, options)| AboveLayer { layer, options })
    }

    /// Whether a process serves it, from the first mount on.
    pub(super) fn is_served(&self) -> bool {
        self.layer.kind == LayerKind::Served
    }

    /// The nodes below `/dev` that its programs need.
    pub(super) fn needed_nodes(&self) -> impl Iterator<Item = &'static Path> {
        self.layer.nodes.iter().map(Path::new)
    }

    /// The command that mounts the layer over the folder that the mount point shows.
    pub(super) fn mount_command(&self, mount: &str) -> (&'static str, Vec<String>) {
        self.layer_command(self.layer.open, mount)
    }

    /// The command that unmounts the folder that the mount point shows.
    pub(super) fn unmount_command(&self, mount: &str) -> Option<(&'static str, Vec<String>)> {
        self.layer.close.map(|line| self.layer_command(line, mount))
    }

    fn layer_command(&self, line: LayerLine, mount: &str) -> (&'static str, Vec<String>) {
        let below = [BELOW.to_owned()];
        let place = LayerPlace { below: &below, name: mount, options: self.options, key: "", bytes: None };
        (line.step, (line.argv)(&place))
    }
}

/// The command line that shows the folder which is to lie below.
pub(super) fn show_lower(mount: &str) -> Vec<String> {
    let [lower, ..] = LayerKind::FOLDERS;
    ["mount", "--bind", &format!("{BELOW}/{lower}"), mount].map(str::to_owned).into()
}
