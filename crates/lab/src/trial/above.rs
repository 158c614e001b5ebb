//! What lies above a candidate's filesystem, and where: the filesystem is mounted out of sight. What is served is seen in its place
//! from the beginning; of what is laid over a tree, the folder that is to lie below is shown until the first phase that is cold, and
//! from then on it is seen through the layer.

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
    pub(super) fn of(candidate: &'a Candidate) -> Option<Self> {
        let found = |name: &'a str| Some((fsverdict_stack::layer::find_layer(name)?, split_layer(name).1));
        let mut above = candidate.layers.names().filter_map(found).filter(|(layer, _)| layer.kind.is_above());
        above.next().map(|(layer, options)| AboveLayer { layer, options })
    }

    /// Whether a program of ours serves it, from the first mount on.
    pub(super) fn is_served(&self) -> bool {
        self.layer.kind == LayerKind::Served
    }

    /// The nodes below `/dev` that its programs need.
    pub(super) fn needs(&self) -> impl Iterator<Item = &'static Path> {
        self.layer.nodes.iter().map(Path::new)
    }

    /// The command lines that put it in the place of what is shown at the mount point.
    pub(super) fn open(&self, mount: &str) -> (&'static str, Vec<String>) {
        self.line(self.layer.open, mount)
    }

    /// The command line that takes away what is shown at the mount point.
    pub(super) fn close(&self, mount: &str) -> Option<(&'static str, Vec<String>)> {
        self.layer.close.map(|line| self.line(line, mount))
    }

    fn line(&self, line: LayerLine, mount: &str) -> (&'static str, Vec<String>) {
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
