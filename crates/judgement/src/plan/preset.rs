//! Presets: plans in the binary. Each is a TOML file that serves as documentation and as a template for the user's own
//! plans. `[ask]` says how a preset is listed and matched to a question; it does not affect the run, and the plan that is
//! read omits it.

use super::keys::{Key, PlanValue, key, key_names, read_keys};
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

pub(super) const ASK: &[Key<AskedBy>] = &[
    key!("group", "string", group, filled_text, needed "group = \"at home\""),
    key!("summary", "string", summary, filled_text, needed "summary = \"what it finds out, in a line\""),
    key!("shown", "string", shown, filled_text),
    key!("unasked", "boolean", unasked, boolean),
    key!("words", "list of strings", words, filled_texts),
    key!("near", "list of strings", near, filled_texts),
    key!("joins", "list of strings", joins, filled_texts),
    key!("device", "model", device, filled_text),
    key!("scale", "share", scale, share),
    key!("latency", "phase", latency, filled_text),
    key!("files", "boolean", files, boolean),
    key!("encrypted_on_request", "boolean", encrypted_on_request, boolean),
    key!("weakened", "names of candidates", weakened, filled_texts),
];

/// The words that select a plan, and its descriptions in lists.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AskedBy {
    /// Plans of the same group are listed together.
    pub group: String,
    /// The question that the plan answers, in one line.
    pub summary: String,
    /// The workload in a few words, as `fsverdict ask` offers it.
    pub shown: Option<String>,
    /// Whether questions never select the plan, not even by its name: it compares something other than filesystems.
    pub unasked: bool,
    /// Words for the workload, in addition to the plan's name.
    pub words: Vec<String>,
    /// Words for workloads that no plan covers, for which this plan is the closest.
    pub near: Vec<String>,
    /// Pairs of plans, or of a plan and a filesystem, `ONE + OTHER`: this plan replaces them if a question names both.
    pub joins: Vec<String>,
    /// The device model for questions that name no device; if absent, the plan's own.
    pub device: Option<String>,
    /// The scale factor of the data for questions, if all data would take too long; if absent, all data.
    pub scale: Option<f64>,
    /// The phase to which a latency bound applies if the question names no phase.
    pub latency: Option<String>,
    /// Whether the workload copies and reads files of the user, so that a folder may take their place.
    pub files: bool,
    /// Whether a question that does not mention encryption is asked without the encrypted candidates.
    pub encrypted_on_request: bool,
    /// Candidates with a protection taken away, which show its worth: no question is asked of them unless it
    /// compares candidates with and without something.
    pub weakened: Vec<String>,
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
