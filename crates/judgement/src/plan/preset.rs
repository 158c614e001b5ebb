//! Presets: plans in the binary. Each is a TOML file that serves as documentation and as a template for the user's own
//! plans. `[ask]` says how a preset is listed and matched to a question; it does not affect the run, and the plan that is
//! read omits it.

use super::keys::{key_names, read_keys};
use super::stored_table::stored_table;
use fsverdict_text::value::{boolean, filled_text, filled_texts, share};
use fsverdict_text::{Node, Problems, Section, Texts, TomlValue, read_tree};

/// A plan that ships inside the binary.
#[derive(Debug, Clone, Copy)]
pub struct Preset {
    pub name: &'static str,
    /// The plan itself, comments included.
    pub toml: &'static str,
}

macro_rules! presets {
    ($($name:literal,)*) => {
        &[$(Preset { name: $name, toml: include_str!(concat!("../../presets/", $name, ".toml")) },)*]
    };
}

/// In the order in which they are listed, those of one group together.
const PRESETS: &[Preset] = presets! {
    "quick",
    "demo",
    "photo-backup",
    "stick",
    "usb-backup",
    "pi-card",
    "home-assistant",
    "games",
    "recordings",
    "backup-repository",
    "torrents",
    "models",
    "laptop-root",
    "fsync-tail",
    "postgres",
    "sqlite-app",
    "kv-store",
    "log-store",
    "blockchain-node",
    "mail-spool",
    "nextcloud",
    "vm-image",
    "media-library",
    "luks-nvme",
    "nas",
    "nas-mirrors",
    "send-receive",
    "dm-integrity",
    "snapshots",
    "near-full",
    "backup-server",
    "power-cut",
    "power-cut-database",
    "bit-rot",
    "failed-writes",
    "usb-unplug",
    "crash-sequences",
    "container-store",
    "ci-cache",
    "overlay",
    "git-monorepo",
    "aged",
    "build-farm",
    "kernels",
    "magazine",
    "root-on-flash",
    "modern-fs",
    "modern-snapshots",
};

pub fn presets() -> &'static [Preset] {
    PRESETS
}

pub fn preset(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}

impl Preset {
    /// The content of its `[ask]`; the default for a preset without one, which a test rules out.
    pub fn asked_by(&self) -> AskedBy {
        read_asked_by(self.name, self.toml).unwrap_or_default()
    }
}

stored_table! {
    /// The words that select a plan, and its descriptions in lists.
    #[derive(Debug, Clone, Default, PartialEq)]
    pub struct AskedBy, keys ASK {
        /// Plans of the same group are listed together.
        group: String => ("string", filled_text, needed "group = \"at home\""),
        /// The question that the plan answers, in one line.
        summary: String => ("string", filled_text, needed "summary = \"what it finds out, in a line\""),
        /// The workload in a few words, as `fsverdict ask` offers it.
        shown?: String => ("string", filled_text),
        /// Whether questions never select the plan, not even by its name: it compares something other than filesystems.
        unasked: bool => ("boolean", boolean),
        /// Words for the workload, in addition to the plan's name.
        words: Vec<String> => ("list of strings", filled_texts),
        /// Words for workloads that no plan covers, for which this plan is the closest.
        near: Vec<String> => ("list of strings", filled_texts),
        /// Pairs of plans, or of a plan and a filesystem, `ONE + OTHER`: this plan replaces them if a question names both.
        joins: Vec<String> => ("list of strings", filled_texts),
        /// The device model for questions that name no device; if absent, the plan's own.
        device?: String => ("model", filled_text),
        /// The scale factor of the data for questions, if all data would take too long; if absent, all data.
        scale?: f64 => ("share", share),
        /// The phase to which a latency bound applies if the question names no phase.
        latency?: String => ("phase", filled_text),
        /// Whether the workload copies and reads files of the user, so that a folder may take their place.
        files: bool => ("boolean", boolean),
        /// Whether a question that does not mention encryption is asked without the encrypted candidates.
        encrypted_on_request: bool => ("boolean", boolean),
        /// Candidates with a protection taken away, which show its worth: no question is asked of them unless it
        /// compares candidates with and without something.
        weakened: Vec<String> => ("names of candidates", filled_texts),
    }
}

/// Reads the section, if the plan has one.
pub(super) fn read_ask(top: &Section<'_>) -> Option<AskedBy> {
    read_section(&top.entry("ask")?.node, top.problems)
}

/// Reads only this section of a plan's text; `None` if there is none.
fn read_asked_by(file_name: &str, text: &str) -> Option<AskedBy> {
    let read = |tree: Node, _: &mut Texts, problems: &Problems| {
        let TomlValue::Table(top) = &tree.value else { return None };
        read_section(&top.get("ask")?.node, problems)
    };
    read_tree(file_name, text, read).ok()
}

fn read_section(node: &Node, problems: &Problems) -> Option<AskedBy> {
    let section = Section::new("[ask]", node, &key_names(ASK), problems)?;
    read_keys(ASK, &section, AskedBy::default())
}
