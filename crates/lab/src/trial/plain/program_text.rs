//! Writes the programs of a trial's filesystem and layers as lines for a shell, with placeholders for devices and keys.

use fsverdict_judgement::plan::{Operation, Phase, PhaseWork};
use fsverdict_stack::layer::LayerPlace;
use fsverdict_text::quoted;

use super::{DEVICE, KEY, PlainContext, SNAPSHOT};
use crate::trial::above::{AboveLayer, BELOW};
use crate::trial::act::OfLayer;
use crate::trial::arrangement::{Below, LayerSite};
use crate::trial::layers::mapping_name;
use crate::trial::programs::Line;
use crate::trial::stack::MOUNT;

/// The placeholder for the device of this number: `$DEVICE`, `$DEVICE2`.
pub(super) fn device_variable(number: usize) -> String {
    if number > 1 { format!("{DEVICE}{number}") } else { DEVICE.to_owned() }
}

pub(super) fn quoted_command(argv: &[String]) -> String {
    // Placeholders must not be quoted.
    let word = |word: &String| if word.contains('$') { word.clone() } else { quoted(word) };
    argv.iter().map(word).collect::<Vec<_>>().join(" ")
}

/// The server of a layer is not a shell command, but fsverdict itself.
pub(super) fn shown_above(above: &AboveLayer<'_>) -> String {
    match above.is_served() {
        true => format!("[serve {BELOW} at {MOUNT}]"),
        false => quoted_command(&above.mount_command(MOUNT).1),
    }
}

impl PlainContext<'_> {
    /// The programs that seal each layer that is.
    pub(super) fn sealing_text(&self) -> Option<String> {
        let sites = self.arrangement.sites.iter().enumerate();
        let told = sites.filter_map(|(at, site)| {
            let (layer, options) = *self.layers.get(site.layer)?;
            let (seal, name) = (layer.seal?, self.layer_name(at)?);
            let below: Vec<String> = site.below.iter().map(|below| self.node_text(*below)).collect();
            let place = LayerPlace { below: &below, name: &name, options, key: KEY, bytes: None };
            let lines = [seal.make, seal.open, seal.mark].map(|line| quoted_command(&(line.argv)(&place)));
            Some(format!("[close {name}]; {}", lines.join("; ")))
        });
        Some(told.collect::<Vec<_>>().join("; "))
    }

    /// The programs of a phase that makes a snapshot or gives it up.
    pub(super) fn snapshot_text(&self, phase: &Phase) -> Option<String> {
        let PhaseWork::Operation(operation) = phase.work else { return None };
        let Some(lines) = self.programs.snapshot_commands(operation, &self.names, SNAPSHOT, None) else {
            return self.snapshot_of_layer(operation);
        };
        let redirection = match operation {
            Operation::SnapshotSend => " > [memory]",
            Operation::SnapshotReceive => " < [memory]",
            _ => "",
        };
        let commands: Vec<String> = lines.iter().map(|argv| quoted_command(argv)).collect();
        Some(commands.join("; ") + redirection)
    }

    /// The same by the topmost layer that can.
    fn snapshot_of_layer(&self, operation: Operation) -> Option<String> {
        let able = |(at, site): (usize, &LayerSite)| {
            let (layer, options) = *self.layers.get(site.layer)?;
            Some((at, layer.snapshots?, options))
        };
        let (at, snapshots, options) = self.arrangement.sites.iter().enumerate().rev().find_map(able)?;
        let name = self.layer_name(at)?;
        let place = LayerPlace { below: &[], name: &name, options, key: KEY, bytes: None };
        Some(match operation {
            Operation::SnapshotCreate => quoted_command(&(snapshots.create)(&place, SNAPSHOT)),
            Operation::SnapshotDelete => quoted_command(&(snapshots.delete)(&place, SNAPSHOT)),
            Operation::SnapshotRollback => {
                (snapshots.rollback)(&place, SNAPSHOT).map(|argv| quoted_command(&argv)).join("; ")
            }
            _ => return None,
        })
    }

    pub(super) fn mount_text(&self) -> Option<String> {
        let cleaner = self.program_text(Line::Cleaner).map(|cleaner| format!("; {cleaner}"));
        let imported = self.program_text(Line::Import).map(|line| format!("{line}; "));
        Some(imported.unwrap_or_default() + &self.program_text(Line::Mount)? + &cleaner.unwrap_or_default())
    }

    /// The programs that check the unmounted filesystem.
    pub(super) fn check_text(&self) -> Option<String> {
        let check = self.program_text(Line::Check)?;
        let (before, after) = ([Line::Import, Line::Scrub], [Line::Export]);
        let all = before.into_iter().filter_map(|line| self.program_text(line)).chain([check]);
        let all = all.chain(after.into_iter().filter_map(|line| self.program_text(line)));
        Some(all.collect::<Vec<_>>().join("; "))
    }

    pub(super) fn unmount_text(&self) -> Option<String> {
        let cleaner = self.programs.cleaner().map(|cleaner| format!("[end {}]; ", cleaner.tool.program));
        let above =
            AboveLayer::of_candidate(&self.spec.candidate).and_then(|above| above.unmount_command(MOUNT));
        let above = above.map(|(_, argv)| format!("{}; ", quoted_command(&argv))).unwrap_or_default();
        let exported = self.program_text(Line::Export).map(|line| format!("; {line}")).unwrap_or_default();
        Some(above + &cleaner.unwrap_or_default() + &self.program_text(Line::Unmount)? + &exported)
    }

    pub(super) fn program_text(&self, line: Line) -> Option<String> {
        Some(quoted_command(&self.programs.argv_for(line, &self.names)?))
    }

    pub(super) fn of_layer(&self, at: usize, of: OfLayer) -> Option<String> {
        let site = self.arrangement.sites.get(at)?;
        let (layer, options) = *self.layers.get(site.layer)?;
        let line = match of {
            OfLayer::Make => layer.make?,
            OfLayer::Open => layer.open,
            OfLayer::Reopen => layer.reopen.unwrap_or(layer.open),
            OfLayer::Mark => layer.mark?,
            OfLayer::Fill => layer.fill?,
            OfLayer::Describe => layer.describe?,
            OfLayer::Close => return None,
        };
        let below: Vec<String> = match of {
            OfLayer::Fill => vec![self.node_text(Below::Site(at))],
            _ => site.below.iter().map(|below| self.node_text(*below)).collect(),
        };
        let name = self.layer_name(at)?;
        Some(quoted_command(&(line.argv)(&LayerPlace {
            below: &below,
            name: &name,
            options,
            key: KEY,
            bytes: None,
        })))
    }

    /// The name of the layer at this place.
    pub(super) fn layer_name(&self, at: usize) -> Option<String> {
        let site = self.arrangement.sites.get(at)?;
        Some(mapping_name(&device_variable(site.device), site.layer))
    }

    /// The placeholder for the node at this place.
    pub(super) fn node_text(&self, below: Below) -> String {
        let of_site = |at: usize| {
            let kind = self.layers.get(self.arrangement.sites.get(at)?.layer)?.0.kind;
            Some(kind.device_node(&self.layer_name(at)?))
        };
        match below {
            Below::Device(number) => device_variable(number),
            Below::Site(at) => of_site(at).unwrap_or_default(),
        }
    }
}
