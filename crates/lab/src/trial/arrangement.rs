//! Arranges a candidate's layers and filesystem on its devices. The agent, dry runs and instructions for the user's
//! own system all use this one declaration.
//!
//! A layer lies on each device by itself, until one puts all of them together. A device that an option names (`{device.2}`, for
//! a log or journal of its own) is kept apart from that, and from the filesystem. A filesystem that takes one device, with
//! nothing to put several together, lies on the first; the others stay unused.

use fsverdict_judgement::plan::{Candidate, devices_named};
use fsverdict_stack::filesystem::find_filesystem;

/// The layers of a candidate from the devices up, each once for every time it is opened, and the devices of the
/// filesystem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrangement {
    pub sites: Vec<LayerSite>,
    pub tops: Vec<TopDevice>,
}

/// Where a layer lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayerSite {
    /// Which of the candidate's layers it is, from 0.
    pub layer: usize,
    pub below: Vec<Below>,
    /// The device that it is named after, from 1.
    pub device: usize,
}

/// The base of a layer or filesystem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Below {
    /// The device of this number, from 1.
    Device(usize),
    /// The node that the site of this number opens, from 0.
    Site(usize),
}

/// The topmost node on a device when all layers are open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TopDevice {
    /// The number of its device, from 1; of several combined devices, the first.
    pub device: usize,
    pub is: Below,
    /// Whether an option names it.
    pub apart: bool,
}

impl Arrangement {
    /// Arranges this candidate on this number of devices.
    pub fn for_candidate(candidate: &Candidate, devices: usize) -> Self {
        // Reading the plan has already refused options that name a device that does not exist.
        let named = devices_named(candidate).unwrap_or_default();
        let pools = |name: &str| fsverdict_stack::layer::find_layer(name).is_some_and(|layer| layer.pools);
        let takes_several = candidate.layers.names().any(pools)
            || find_filesystem(&candidate.filesystem).is_some_and(|filesystem| filesystem.takes_several);
        let mut sites: Vec<LayerSite> = Vec::new();
        let mut tops: Vec<TopDevice> = (1..=devices)
            .map(|device| TopDevice { device, is: Below::Device(device), apart: named.contains(&device) })
            .filter(|top| top.device == 1 || top.apart || takes_several)
            .collect();
        let above =
            |name: &str| fsverdict_stack::layer::find_layer(name).is_some_and(|layer| layer.kind.is_above());
        for (layer, name) in candidate.layers.names().enumerate().filter(|(_, name)| !above(name)) {
            if pools(name) {
                let (apart, together): (Vec<_>, Vec<_>) = tops.into_iter().partition(|top| top.apart);
                let device = together.first().map_or(1, |top| top.device);
                let is = Below::Site(sites.len());
                sites.push(LayerSite { layer, below: together.iter().map(|top| top.is).collect(), device });
                tops = [TopDevice { device, is, apart: false }].into_iter().chain(apart).collect();
            } else {
                for top in &mut tops {
                    sites.push(LayerSite { layer, below: vec![top.is], device: top.device });
                    top.is = Below::Site(sites.len() - 1);
                }
            }
        }
        Arrangement { sites, tops }
    }

    /// The devices of the filesystem itself, in order.
    pub fn filesystem_devices(&self) -> impl Iterator<Item = &TopDevice> {
        self.tops.iter().filter(|top| !top.apart)
    }

    /// Whether this device, from 1, is used at all.
    pub fn uses_device(&self, device: usize) -> bool {
        let below = |site: &LayerSite| site.below.contains(&Below::Device(device));
        self.tops.iter().any(|top| top.is == Below::Device(device)) || self.sites.iter().any(below)
    }
}

#[cfg(test)]
mod tests {
    use super::{Arrangement, Below, LayerSite, TopDevice};
    use fsverdict_judgement::plan::{Candidate, Layers};

    fn candidate(filesystem: &str, layers: &[&str], mkfs: &[&str]) -> Candidate {
        Candidate {
            layers: Layers::from_names(layers.iter().copied()).unwrap(),
            mkfs: mkfs.iter().map(|word| (*word).to_owned()).collect(),
            ..Candidate::with_defaults(filesystem)
        }
    }

    fn top(device: usize, is: Below, apart: bool) -> TopDevice {
        TopDevice { device, is, apart }
    }

    fn site(layer: usize, below: &[Below], device: usize) -> LayerSite {
        LayerSite { layer, below: below.to_vec(), device }
    }

    #[test]
    fn one_device_has_each_layer_on_the_one_below() {
        let found = Arrangement::for_candidate(&candidate("ext4", &["luks2", "luks1"], &[]), 1);
        let sites = [site(0, &[Below::Device(1)], 1), site(1, &[Below::Site(0)], 1)];
        assert_eq!((&found.sites[..], &found.tops[..]), (&sites[..], &[top(1, Below::Site(1), false)][..]));
    }

    #[test]
    fn layers_lie_on_each_device_until_one_puts_them_together() {
        let found = Arrangement::for_candidate(&candidate("ext4", &["luks2", "md:raid1", "luks1"], &[]), 2);
        let sites = [
            site(0, &[Below::Device(1)], 1),
            site(0, &[Below::Device(2)], 2),
            site(1, &[Below::Site(0), Below::Site(1)], 1),
            site(2, &[Below::Site(2)], 1),
        ];
        assert_eq!((&found.sites[..], &found.tops[..]), (&sites[..], &[top(1, Below::Site(3), false)][..]));
        let btrfs = Arrangement::for_candidate(&candidate("btrfs", &["luks2"], &["-d", "raid1"]), 2);
        assert_eq!(btrfs.filesystem_devices().count(), 2);
        assert!(btrfs.uses_device(1) && btrfs.uses_device(2));
    }

    #[test]
    fn what_an_option_names_is_kept_apart() {
        let found =
            Arrangement::for_candidate(&candidate("xfs", &["md:raid1"], &["-l", "logdev={device.3}"]), 3);
        let sites = [site(0, &[Below::Device(1), Below::Device(2)], 1)];
        let tops = [top(1, Below::Site(0), false), top(3, Below::Device(3), true)];
        assert_eq!((&found.sites[..], &found.tops[..]), (&sites[..], &tops[..]));
    }

    #[test]
    fn a_filesystem_of_one_device_leaves_the_others_alone() {
        let found = Arrangement::for_candidate(&candidate("ext4", &["luks2"], &[]), 3);
        assert_eq!((found.sites.len(), found.tops.len()), (1, 1));
        assert!(found.uses_device(1) && !found.uses_device(2) && !found.uses_device(3));
    }
}
