//! The layers of a trial in their order: each is made and opened on the one below, held open, and removed with its last
//! user, which is the descriptor kept here.

#[cfg(test)]
mod tests;

use std::fs::File;
use std::path::{Path, PathBuf};

use fsverdict_judgement::plan::{Candidate, Operation, split_layer};
use fsverdict_stack::layer::{Layer, LayerKind, LayerLine, LayerPlace};

use super::act::OfLayer;
use super::arrangement::{Arrangement, Below, LayerSite};
use super::error::TrialError;

/// Operations that layers need from the machine on which they are opened.
pub(super) trait Mapper {
    /// Runs a program; it must end well.
    fn run_required(&mut self, step: &str, argv: Vec<String>) -> Result<(), TrialError>;

    /// Runs a program for the record, however it ends.
    fn run_recorded(&mut self, step: &str, argv: Vec<String>) -> Result<(), TrialError>;

    /// How many bytes these nodes have together.
    fn total_bytes(&mut self, nodes: &[String]) -> Option<u64>;

    /// Writes the key file where layers expect it; returns its path.
    fn write_key(&mut self) -> Result<&'static str, TrialError>;

    /// Returns the kernel's node of the opened layer of this name, with the descriptor that keeps it open. Its link
    /// below /dev/mapper disappears when the removal is requested.
    fn open_node(&mut self, kind: LayerKind, name: &str) -> Result<OpenNode, TrialError>;

    /// Waits until no other process holds this node exclusively: the kernel closes it a moment after the layer above
    /// is removed.
    fn becomes_free(&mut self, node: &Path);

    /// Whether the opened layer of this name and node goes in time.
    fn wait_until_gone(&mut self, kind: LayerKind, name: &str, node: &Path) -> bool;
}

/// The node of an opened layer, with the descriptor that keeps it open.
#[derive(Debug)]
pub(super) struct OpenNode {
    pub(super) path: PathBuf,
    pub(super) held: File,
}

#[derive(Debug, Default)]
pub(super) struct OpenLayers {
    each: Vec<OpenLayer>,
}

#[derive(Debug)]
struct OpenLayer {
    layer: &'static Layer,
    options: String,
    site: LayerSite,
    /// The kernel's node, once it was opened.
    node: Option<PathBuf>,
    held: Option<File>,
}

/// The name of a layer: the name of the device it lies on, followed by the number `at` of layers below. It is unique
/// on the machine, so `fsverdict clean` can recognise it and two runs do not collide.
pub(super) fn mapping_name(device: &str, at: usize) -> String {
    if at == 0 { format!("fsverdict-{device}") } else { format!("fsverdict-{device}-{}", at + 1) }
}

impl OpenLayers {
    /// The layers of a candidate as they are arranged, none of them open.
    pub(super) fn for_candidate(
        candidate: &Candidate,
        arrangement: &Arrangement,
    ) -> Result<Self, TrialError> {
        let find = |name: &str| {
            let layer = fsverdict_stack::layer::find_layer(name);
            let layer = layer.ok_or_else(|| TrialError::Unknown(format!("layer `{name}`")))?;
            Ok::<_, TrialError>((layer, split_layer(name).1.to_owned()))
        };
        let known = candidate.layers.names().map(find).collect::<Result<Vec<_>, _>>()?;
        let closed = |site: &LayerSite| {
            let (layer, options) = known.get(site.layer)?.clone();
            Some(OpenLayer { layer, options, site: site.clone(), node: None, held: None })
        };
        Ok(OpenLayers { each: arrangement.sites.iter().filter_map(closed).collect() })
    }

    /// The nodes of those that are open, the topmost first.
    pub(super) fn open_nodes(&self) -> impl Iterator<Item = &Path> {
        self.each.iter().rev().filter_map(|layer| layer.node.as_deref())
    }

    /// The node at this place, once it is open.
    pub(super) fn node_below(&self, below: Below, devices: &[PathBuf]) -> Option<PathBuf> {
        match below {
            Below::Device(number) => devices.get(number.checked_sub(1)?).cloned(),
            Below::Site(at) => self.each.get(at)?.node.clone(),
        }
    }

    /// The nodes below `/dev` that their programs need.
    pub(super) fn needed_nodes(&self) -> impl Iterator<Item = &'static Path> {
        self.each.iter().flat_map(|layer| layer.layer.nodes).map(Path::new)
    }

    /// Does one thing with the layer at the place of this number, counted from the devices up.
    pub(super) fn run_layer_act(
        &mut self,
        at: usize,
        act: OfLayer,
        devices: &[PathBuf],
        mapper: &mut dyn Mapper,
    ) -> Result<(), TrialError> {
        let layer = self.layer_at(at)?.layer;
        match act {
            OfLayer::Make => self.run_line(layer.make, at, devices, mapper),
            OfLayer::Open => self.open_layer(layer.open, at, devices, mapper),
            OfLayer::Reopen => self.open_layer(layer.reopen.unwrap_or(layer.open), at, devices, mapper),
            OfLayer::Mark => self.run_line(layer.mark, at, devices, mapper),
            OfLayer::Fill => self.fill_layer(at, devices, mapper),
            OfLayer::Describe => {
                let Some(line) = layer.describe else { return Ok(()) };
                let argv = self.layer_argv(line, at, devices, mapper)?;
                mapper.run_recorded(line.step, argv)
            }
            OfLayer::Close => self.close_layer(at, devices, mapper),
        }
    }

    /// The command line that makes the snapshot of this number, or gives it up, on the topmost layer that can.
    pub(super) fn snapshot_command(
        &self,
        operation: Operation,
        id: &str,
        devices: &[PathBuf],
        mapper: &mut dyn Mapper,
    ) -> Result<Option<Vec<String>>, TrialError> {
        let able = |(at, one): (usize, &OpenLayer)| Some((at, one.layer.snapshots?));
        let Some((at, snapshots)) = self.each.iter().enumerate().rev().find_map(able) else {
            return Ok(None);
        };
        let argv = match operation {
            Operation::SnapshotCreate => snapshots.create,
            Operation::SnapshotDelete => snapshots.delete,
            _ => return Ok(None),
        };
        self.with_place(at, devices, mapper, |place| argv(place, id)).map(Some)
    }

    /// Rolls the topmost layer that keeps snapshots back to the one of this number. Nothing is mounted.
    pub(super) fn roll_back(
        &mut self,
        id: &str,
        devices: &[PathBuf],
        mapper: &mut dyn Mapper,
    ) -> Result<(), TrialError> {
        let at = self.each.len().saturating_sub(1);
        let layer = self.layer_at(at)?.layer;
        let snapshots =
            layer.snapshots.ok_or_else(|| TrialError::Unknown("layer to go back on".to_owned()))?;
        if let Some(one) = self.each.get_mut(at) {
            one.held = None;
            one.node.iter().for_each(|node| mapper.becomes_free(node));
        }
        for argv in self.with_place(at, devices, mapper, |place| (snapshots.rollback)(place, id))? {
            mapper.run_required("snapshot.rollback", argv)?;
        }
        self.hold_open(at, devices, mapper)
    }

    fn run_line(
        &self,
        line: Option<LayerLine>,
        at: usize,
        devices: &[PathBuf],
        mapper: &mut dyn Mapper,
    ) -> Result<(), TrialError> {
        let Some(line) = line else { return Ok(()) };
        let argv = self.layer_argv(line, at, devices, mapper)?;
        mapper.run_required(line.step, argv)
    }

    fn fill_layer(&self, at: usize, devices: &[PathBuf], mapper: &mut dyn Mapper) -> Result<(), TrialError> {
        let one = self.layer_at(at)?;
        let (Some(line), Some(node)) = (one.layer.fill, &one.node) else { return Ok(()) };
        let below = [node.to_string_lossy().into_owned()];
        let name = self.layer_name(at, devices);
        let key = mapper.write_key()?;
        let bytes = mapper.total_bytes(&below);
        let place = LayerPlace { below: &below, name: &name, options: &one.options, key, bytes };
        mapper.run_required(line.step, (line.argv)(&place))
    }

    /// Seals each layer that can be sealed; from here on it is read-only.
    pub(super) fn seal_layers(
        &mut self,
        devices: &[PathBuf],
        mapper: &mut dyn Mapper,
    ) -> Result<(), TrialError> {
        for at in 0..self.each.len() {
            let Some(seal) = self.layer_at(at)?.layer.seal else { continue };
            self.close_layer(at, devices, mapper)?;
            self.run_line(Some(seal.make), at, devices, mapper)?;
            self.open_layer(seal.open, at, devices, mapper)?;
            self.run_line(Some(seal.mark), at, devices, mapper)?;
            let argv = self.layer_argv(seal.describe, at, devices, mapper)?;
            mapper.run_recorded(seal.describe.step, argv)?;
        }
        Ok(())
    }

    /// Holds it open until the trial ends.
    fn open_layer(
        &mut self,
        line: LayerLine,
        at: usize,
        devices: &[PathBuf],
        mapper: &mut dyn Mapper,
    ) -> Result<(), TrialError> {
        self.run_line(Some(line), at, devices, mapper)?;
        self.hold_open(at, devices, mapper)
    }

    fn hold_open(
        &mut self,
        at: usize,
        devices: &[PathBuf],
        mapper: &mut dyn Mapper,
    ) -> Result<(), TrialError> {
        let layer = self.layer_at(at)?.layer;
        let OpenNode { path, held } = mapper.open_node(layer.kind, &self.layer_name(at, devices))?;
        if let Some(one) = self.each.get_mut(at) {
            (one.node, one.held) = (Some(path), Some(held));
        }
        Ok(())
    }

    /// Lets go of it, if it is open, and waits until it is gone.
    fn close_layer(
        &mut self,
        at: usize,
        devices: &[PathBuf],
        mapper: &mut dyn Mapper,
    ) -> Result<(), TrialError> {
        let name = self.layer_name(at, devices);
        let Some(one) = self.each.get_mut(at) else { return Ok(()) };
        one.held = None;
        let (layer, Some(node)) = (one.layer, one.node.clone()) else { return Ok(()) };
        if layer.close.is_some() {
            mapper.becomes_free(&node);
        }
        let taken_down = self.run_line(layer.close, at, devices, mapper);
        if taken_down.is_ok() && !mapper.wait_until_gone(layer.kind, &name, &node) {
            let left = format!("the device {name} of the layer {} is still there", layer.name);
            return Err(TrialError::Host(left));
        }
        // A mapping's node disappears a moment before its hold on the devices below (dm.c, free_dev).
        if let (true, LayerKind::Mapping | LayerKind::Array) = (taken_down.is_ok(), layer.kind) {
            let below = self.layer_at(at)?.site.below.iter();
            below
                .filter_map(|below| self.node_below(*below, devices))
                .for_each(|node| mapper.becomes_free(&node));
        }
        if let Some(one) = self.each.get_mut(at) {
            one.node = None;
        }
        taken_down
    }

    fn layer_at(&self, at: usize) -> Result<&OpenLayer, TrialError> {
        self.each.get(at).ok_or_else(|| TrialError::Host(format!("there is no layer {}", at + 1)))
    }

    /// The name of the layer at this place.
    fn layer_name(&self, at: usize, devices: &[PathBuf]) -> String {
        let site = self.each.get(at).map(|layer| &layer.site);
        let device = site.and_then(|site| devices.get(site.device.checked_sub(1)?));
        mapping_name(
            &name_of(device.map_or(Path::new(""), PathBuf::as_path)),
            site.map_or(0, |site| site.layer),
        )
    }

    fn layer_argv(
        &self,
        line: LayerLine,
        at: usize,
        devices: &[PathBuf],
        mapper: &mut dyn Mapper,
    ) -> Result<Vec<String>, TrialError> {
        self.with_place(at, devices, mapper, line.argv)
    }

    /// The command line that this makes of where the layer lies.
    fn with_place<T>(
        &self,
        at: usize,
        devices: &[PathBuf],
        mapper: &mut dyn Mapper,
        argv: impl FnOnce(&LayerPlace<'_>) -> T,
    ) -> Result<T, TrialError> {
        let one = self.layer_at(at)?;
        let node = |below: &Below| {
            let node = self.node_below(*below, devices);
            node.map(|node| node.to_string_lossy().into_owned())
                .ok_or_else(|| TrialError::Host(format!("what lies below layer {} is not open", at + 1)))
        };
        let below = one.site.below.iter().map(node).collect::<Result<Vec<_>, _>>()?;
        let name = self.layer_name(at, devices);
        let key = mapper.write_key()?;
        let bytes = mapper.total_bytes(&below);
        Ok(argv(&LayerPlace { below: &below, name: &name, options: &one.options, key, bytes }))
    }
}

fn name_of(device: &Path) -> String {
    device.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
