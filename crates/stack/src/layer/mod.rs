//! The layers between a filesystem and its device, such as encryption, in any order, and the device's I/O scheduler.
//!
//! Pure data and small pure functions, as in [`crate::filesystem`]: one file per layer and its lines here; the tests walk the
//! registry, so that a new one cannot be half described.

mod fuse;
mod integrity;
mod luks;
mod luks1;
mod luks2;
mod luks_options;
mod lvm;
mod md;
mod model;
mod overlay;
mod properties;
mod protection;
mod scheduler;
mod verity;
mod volume_options;

use fsverdict_judgement::plan::{Candidate, Layers, split_layer};
use fsverdict_text::Reason;

pub use model::{Cipher, InUse, Layer, LayerKind, LayerLine, LayerPlace, LayerSeal, LayerSnapshots};
pub use properties::{has_property, has_room_for_snapshots, properties_of};
pub use protection::{keeps_copies, keeps_default_safety, protection_of, safeguards_of};
pub use scheduler::{SCHEDULERS, Scheduler, find_scheduler};

static REGISTRY: [&Layer; 8] = [
    &fuse::FUSE,
    &integrity::INTEGRITY,
    &luks1::LUKS1,
    &luks2::LUKS2,
    &lvm::LVM,
    &md::MD,
    &overlay::OVERLAY,
    &verity::VERITY,
];

/// The layers of a candidate without any.
pub const NO_LAYER: (&str, &str) = ("none", "The filesystem lies on the device itself.");

/// Every layer fsverdict knows, in alphabetical order.
pub fn registry() -> &'static [&'static Layer] {
    &REGISTRY
}

/// The layer that a plan names, with any options after the name.
pub fn find_layer(layer: &str) -> Option<&'static Layer> {
    let (name, _) = split_layer(layer);
    registry().iter().copied().find(|layer| layer.name == name)
}

/// How many devices the layer of this name puts together at least with these options; 1 where it puts none together.
///
/// # Errors
/// When it does not take them, or is not known.
pub fn check_options(name: &str, options: &str) -> Result<usize, Reason> {
    let unknown = || Reason::plain(format!("there is no layer `{name}`"));
    (find_layer(name).ok_or_else(unknown)?.options)(options)
        .map_err(|error| error.after(format!("`{name}`: ")))
}

pub fn layer_names() -> Vec<&'static str> {
    registry().iter().map(|layer| layer.name).collect()
}

/// The layers of a candidate that are known, the one on the device first.
pub fn layers_of(candidate: &Candidate) -> impl Iterator<Item = &'static Layer> {
    candidate.layers.names().filter_map(find_layer)
}

/// Bytes of the smallest device that the candidate's filesystem and layers take with their fair defaults.
pub fn least_device(candidate: &Candidate) -> u64 {
    let filesystem = crate::filesystem::find_filesystem(&candidate.filesystem);
    filesystem.map_or(0, |known| known.minimum_size)
        + layers_of(candidate).map(|layer| layer.header).sum::<u64>()
}

/// The layers to try by default: each usual layer by itself.
pub fn usual_layers() -> impl Iterator<Item = Layers> {
    registry().iter().filter(|layer| layer.usual).filter_map(|layer| Layers::from_names([layer.name]).ok())
}

#[cfg(test)]
mod tests {
    use super::{LayerKind, LayerLine, LayerPlace, find_layer, layer_names, registry};
    use crate::filesystem::{Choice, Property};
    use fsverdict_judgement::verdict::ComputedWork;

    #[test]
    fn names_are_sorted_unique_and_found() {
        assert!(registry().windows(2).all(|pair| pair[0].name < pair[1].name), "{:?}", layer_names());
        for layer in registry() {
            assert_eq!(find_layer(layer.name).map(|known| known.summary), Some(layer.summary));
        }
        assert!(find_layer("none").is_none() && find_layer("luks3").is_none() && find_layer("").is_none());
        assert!(registry().iter().any(|layer| layer.usual));
    }

    #[test]
    fn each_is_described_in_full_and_names_what_it_is_given() {
        let below = ["/dev/below".to_owned(), "/dev/beside".to_owned()];
        for layer in registry() {
            let name = layer.name;
            let options = layer.example_options;
            let below = if layer.pools { &below[..] } else { &below[..1] };
            let site = LayerPlace { below, name: "its-name", options, key: "/the/key", bytes: None };
            assert_eq!((layer.options)(options).unwrap() > 1, layer.pools, "{name}");
            (layer.options)("nonsense").unwrap_err();
            assert!(
                name.bytes().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit()),
                "{name}"
            );
            assert!(layer.summary.ends_with('.') && !layer.summary.contains("  "), "{name}");
            assert!(
                !layer.config.is_empty() && layer.config.iter().all(|symbol| symbol.starts_with("CONFIG_"))
            );
            assert!(layer.modules.contains(&layer.driver), "{name}");
            assert!(layer.nodes.iter().all(|node| node.starts_with("/dev/")), "{name}");
            let lines = [layer.make, Some(layer.open), layer.mark, layer.fill, layer.close, layer.describe];
            let sealing = layer.seal.map(|seal| [seal.make, seal.open, seal.mark, seal.describe]);
            for line in lines.into_iter().flatten().chain(sealing.into_iter().flatten()) {
                let argv = (line.argv)(&site);
                let program = argv.first().unwrap();
                assert!(layer.tools.iter().any(|tool| tool.program == program), "{name}: {program}");
                assert!(!line.step.is_empty(), "{name}");
            }
            let has = |line: LayerLine, word: &str| (line.argv)(&site).iter().any(|given| given == word);
            let node = layer.kind.device_node(site.name);
            let names = |line: LayerLine| has(line, site.name) || has(line, &node);
            for below in site.below {
                // A volume is made of its group alone, which is made of the devices.
                let whole = layer.kind != LayerKind::Volume && !layer.kind.is_above();
                let in_table = |word: &String| word.contains(&format!(" {below} "));
                let opened =
                    !whole || has(layer.open, below) || (layer.open.argv)(&site).iter().any(in_table);
                assert!(layer.make.is_none_or(|make| has(make, below)) && opened, "{name}");
            }
            assert!(names(layer.open), "{name}");
            // What the kernel does not take down by itself, somebody must.
            assert!(layer.mark.or(layer.close).is_some_and(names), "{name}");
            let has_lines = !(layer.in_use.lines)(&site).is_empty();
            assert!(has_lines || layer.kind.is_above() && layer.in_use.note.is_some(), "{name}");
        }
    }

    /// Judgement knows layers and options by their words, and this crate by their descriptions.
    #[test]
    fn what_computes_by_its_description_computes_for_the_verdict() {
        for layer in registry() {
            let work = ComputedWork::of_layer(layer.name);
            assert_eq!(work.is_some(), layer.free_cpu.is_some(), "{}", layer.name);
        }
        assert_eq!(ComputedWork::of_layer("md:raid1,chunk=64K"), None);
        let checksums = [Property::DataChecksums, Property::MetadataChecksums];
        for filesystem in crate::filesystem::registry() {
            let of_words = |choice: Choice, work: ComputedWork| {
                let choices =
                    filesystem.options.choices.iter().filter(move |options| options.choice == choice);
                choices.flat_map(|options| options.mkfs.iter().chain(options.mount)).filter_map(move |word| {
                    (!word.starts_with('-') || word.starts_with("--")).then_some((*word, work))
                })
            };
            let changed =
                filesystem.facts.changed_by.iter().filter(|(_, property, _)| checksums.contains(property));
            let changed = changed.map(|(word, ..)| (*word, ComputedWork::Checksums));
            let words = changed
                .chain(of_words(Choice::Compression, ComputedWork::Compression))
                .chain(of_words(Choice::DataChecksums, ComputedWork::Checksums))
                // This one saves mostly copying on write, which is the device's work.
                .filter(|(word, _)| *word != "nodatacow");
            for (word, work) in words {
                assert_eq!(ComputedWork::of_option(word), Some(work), "{} {word}", filesystem.name);
            }
        }
    }
}
