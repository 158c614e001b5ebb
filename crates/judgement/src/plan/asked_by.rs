//! `[ask]`: how a preset is listed and asked for. It says nothing about the run, and is no part of the plan that is read.

use fsverdict_text::value::{boolean, filled_text, filled_texts, share};
use fsverdict_text::{Node, Problems, Section, Texts, TomlValue, read_tree};

pub(super) const ASK: &[&str] =
    &["group", "summary", "shown", "words", "vague", "near", "joins", "place", "device", "scale", "latency"];

/// Which words ask for a plan, and what is said of it where it is offered.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AskedBy {
    /// Plans of the same group are listed together.
    pub group: String,
    /// What it finds out, in a line.
    pub summary: String,
    /// The work in a few words, where `fsverdict ask` offers it.
    pub shown: Option<String>,
    /// Words for the work, besides the plan's name.
    pub words: Vec<String>,
    /// Words that mean it only where no other work is named.
    pub vague: Vec<String>,
    /// Words for works that no plan is about, and to which this one comes nearest.
    pub near: Vec<String>,
    /// Pairs of plans, `ONE + OTHER`, in whose place this one is asked where both are named.
    pub joins: Vec<String>,
    /// Whether its words say where something is done, if another work is named.
    pub place: bool,
    /// The model of the device that a question is about that names none; the plan's own when absent.
    pub device: Option<String>,
    /// The share of its data that a question takes, where all of it would take too long; all of it when absent.
    pub scale: Option<f64>,
    /// The phase whose latencies a bound is about that names no phase.
    pub latency: Option<String>,
}

impl AskedBy {
    /// Words that mean it less surely than `words`.
    pub fn other_words(&self) -> impl Iterator<Item = &str> {
        self.vague.iter().chain(&self.near).map(String::as_str)
    }
}

/// Reads the section, where there is one.
pub(super) fn read_ask(top: &Section<'_>) -> Option<AskedBy> {
    read_section(&top.entry("ask")?.node, top.problems)
}

/// Reads the section alone of a plan's text; nothing where it has none.
pub(super) fn read_asked_by(file_name: &str, text: &str) -> Option<AskedBy> {
    let read = |tree: Node, _: &mut Texts, problems: &Problems| {
        let TomlValue::Table(top) = &tree.value else { return None };
        read_section(&top.get("ask")?.node, problems)
    };
    read_tree(file_name, text, read).ok()
}

fn read_section(node: &Node, problems: &Problems) -> Option<AskedBy> {
    let section = Section::new("[ask]", node, ASK, problems)?;
    Some(AskedBy {
        group: section.need("group", "group = \"at home\"", filled_text)?,
        summary: section.need("summary", "summary = \"what it finds out, in a line\"", filled_text)?,
        shown: section.get("shown", filled_text),
        words: section.get("words", filled_texts).unwrap_or_default(),
        vague: section.get("vague", filled_texts).unwrap_or_default(),
        near: section.get("near", filled_texts).unwrap_or_default(),
        joins: section.get("joins", filled_texts).unwrap_or_default(),
        place: section.get("place", boolean).unwrap_or_default(),
        device: section.get("device", filled_text),
        scale: section.get("scale", share),
        latency: section.get("latency", filled_text),
    })
}
