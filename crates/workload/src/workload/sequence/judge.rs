//! Compares the state found after a power cut with the guarantees for a sequence.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::calls::attribute_bytes;
use super::contents::{ContentFault, compare_content};
use super::floor::{Renamed, SequenceFloor};
use super::model::{NameKey, SequenceModel};
use super::node::NodeKind;
use super::read_folder::FoundNode;
use super::step::BLOCK;

/// A broken promise, by its name in `PROMISES`, and the observation.
pub(super) type Broken = (&'static str, String);

pub(super) fn judge_sequence(floor: &SequenceFloor, root: &FoundNode) -> Vec<Broken> {
    let mut judging =
        SequenceJudge { floor, broken: Vec::new(), found: BTreeMap::new(), taken: BTreeMap::new() };
    judging.check_directory(0, root, "");
    judging.check_renames();
    judging.check_lost_nodes();
    judging.check_link_counts(root);
    judging.broken
}

struct SequenceJudge<'a> {
    floor: &'a SequenceFloor,
    broken: Vec<Broken>,
    /// The node found under each name.
    found: BTreeMap<NameKey, &'a FoundNode>,
    /// The node of the model that each entry was identified with.
    taken: BTreeMap<NameKey, usize>,
}

impl<'a> SequenceJudge<'a> {
    /// `number` is the directory's node.
    fn check_directory(&mut self, number: usize, found: &'a FoundNode, path: &str) {
        self.check_attribute(number, found, path);
        let names: BTreeSet<&'static str> = self
            .floor
            .versions
            .iter()
            .flat_map(|version| version.names.keys())
            .filter(|(directory, _)| *directory == number)
            .map(|(_, name)| *name)
            .collect();
        for name in found.entries.keys().filter(|name| !names.contains(name.as_str())) {
            self.broken.push(("unheard-of", format!("{} was never made", join_path(path, name))));
        }
        for name in names {
            let (key, shown) = ((number, name), join_path(path, name));
            match found.entries.get(name) {
                None => self.check_absent(key, &shown),
                Some(found) => {
                    self.found.insert(key, found);
                    self.check_present(key, found, &shown);
                }
            }
        }
    }

    /// The versions that a name may have, from the first one on.
    fn allowed_versions(&self, key: NameKey, from: usize) -> Vec<Option<usize>> {
        let versions = self.floor.versions.get(from..).unwrap_or_default();
        versions.iter().map(|version| version.names.get(&key).copied()).collect()
    }

    fn check_absent(&mut self, key: NameKey, shown: &str) {
        if !self.allowed_versions(key, self.floor.first_version_of_name(key)).contains(&None) {
            let promise = if self.was_there_at_first(key) { "name" } else { "directory" };
            self.broken.push((promise, format!("{shown} is gone")));
        } else if !self.allowed_versions(key, self.floor.first_version_of_entry(key)).contains(&None) {
            self.broken.push(("entry", format!("{shown}, which was synced, is gone")));
        }
    }

    fn was_there_at_first(&self, key: NameKey) -> bool {
        self.floor.all == 0 && self.floor.versions.first().is_some_and(|first| first.names.contains_key(&key))
    }

    fn check_present(&mut self, key: NameKey, found: &'a FoundNode, shown: &str) {
        let by = |from| self.allowed_versions(key, from).into_iter().flatten().collect::<BTreeSet<usize>>();
        let (entry, name, ever) =
            (by(self.floor.first_version_of_entry(key)), by(self.floor.first_version_of_name(key)), by(0));
        // Two nodes may have the same content, because one was cloned: the attribute distinguishes them.
        let which = |nodes: &BTreeSet<usize>| {
            let alike = nodes.iter().copied().filter(|node| self.content_fault(*node, found).is_none());
            alike.min_by_key(|node| !self.has_attribute(*node, found))
        };
        let of_kind = |node: &usize| self.is_of_kind(*node, found);
        if let Some(node) = which(&entry) {
            return self.check_node(key, node, found, shown);
        }
        let likely = entry.iter().find(|node| of_kind(node)).copied();
        // An earlier version: the removal or replacement was guaranteed.
        let (of_before, promise) = if let Some(node) = which(&name) {
            (Some(node), "entry")
        } else if let Some(node) = which(&ever) {
            (Some(node), "directory")
        } else {
            (None, "")
        };
        match (of_before, likely) {
            (Some(node), _) => {
                let is_now = entry.is_empty();
                let state = if is_now { "is there again" } else { "is still what it was before" };
                self.broken.push((promise, format!("{shown} {state}")));
                self.check_node(key, node, found, shown);
            }
            (None, Some(node)) => {
                if let Some((promise, seen)) = self.content_fault(node, found) {
                    self.broken.push((promise, format!("{shown} {seen}")));
                }
                self.check_node(key, node, found, shown);
            }
            (None, None) => {
                self.broken.push(("unheard-of", format!("{shown} is something else than was ever made")));
            }
        }
    }

    /// Checks all further guarantees for an entry that is this node.
    fn check_node(&mut self, key: NameKey, node: usize, found: &'a FoundNode, shown: &str) {
        self.taken.insert(key, node);
        match found.kind {
            Some(NodeKind::Directory) => self.check_directory(node, found, shown),
            Some(NodeKind::File) => {
                self.check_attribute(node, found, shown);
                self.check_blocks(node, found, shown);
            }
            _ => {}
        }
    }

    fn versions_of(&self, from: usize) -> impl Iterator<Item = &SequenceModel> {
        self.floor.versions.get(from..).unwrap_or_default().iter()
    }

    fn is_of_kind(&self, number: usize, found: &FoundNode) -> bool {
        let node = self.floor.versions.iter().find_map(|version| version.node(number));
        node.is_some_and(|node| found.kind == Some(node.kind))
    }

    /// The mismatch between the entry's content and the content of this node.
    fn content_fault(&self, number: usize, found: &FoundNode) -> Option<Broken> {
        if !self.is_of_kind(number, found) {
            return Some(("unheard-of", "is of another kind".to_owned()));
        }
        match found.kind {
            Some(NodeKind::Symlink) if found.content != b"foo" => {
                return Some((
                    "unheard-of",
                    format!("leads to {:?}", String::from_utf8_lossy(&found.content)),
                ));
            }
            Some(NodeKind::File) => {}
            _ => return None,
        }
        let versions_from = |from| -> Vec<Arc<Vec<u8>>> {
            self.versions_of(from)
                .filter_map(|version| version.node(number))
                .map(|node| node.bytes.clone())
                .collect()
        };
        let from = self.floor.first_version_of_content(number);
        let promised =
            if from > 0 || versions_from(0).len() == self.floor.versions.len() { "fsync" } else { "whole" };
        match compare_content(&found.content, &versions_from(from)) {
            Ok(()) => None,
            Err(ContentFault::Size { bytes, least, most }) => {
                let must = if least == most { format!("{least}") } else { format!("{least} to {most}") };
                Some((promised, format!("has {bytes} bytes, and must have {must}")))
            }
            Err(ContentFault::Lost { at }) => {
                Some((promised, format!("holds zeroes at byte {at}, where something was written")))
            }
            Err(ContentFault::Foreign { at }) => {
                let was_there = compare_content(&found.content, &versions_from(0)).is_ok()
                    || versions_from(0).iter().any(|version| version.get(at) == found.content.get(at));
                match was_there {
                    true => Some((promised, format!("holds what was replaced, at byte {at}"))),
                    false => Some(("foreign", format!("holds what was never written to it, at byte {at}"))),
                }
            }
        }
    }

    fn allowed_attributes(&self, number: usize) -> Vec<Option<u8>> {
        let nodes = self
            .versions_of(self.floor.first_version_of_metadata(number))
            .filter_map(|version| version.node(number));
        nodes.map(|node| node.attribute).collect()
    }

    /// Whether the entry has an attribute that this node may have.
    fn has_attribute(&self, number: usize, found: &FoundNode) -> bool {
        let is = |value: Option<u8>| value.map(|value| attribute_bytes(value).to_vec()) == found.attribute;
        self.allowed_attributes(number).into_iter().any(is)
    }

    fn check_attribute(&mut self, number: usize, found: &FoundNode, shown: &str) {
        let allowed = self.allowed_attributes(number);
        if !allowed.is_empty() && !self.has_attribute(number, found) {
            let has = match &found.attribute {
                None => "no attribute".to_owned(),
                Some(value) => format!("the attribute {:?} ({} bytes)", value.first(), value.len()),
            };
            let shown = if shown.is_empty() { "." } else { shown };
            self.broken.push(("attribute", format!("{shown} has {has}, and must have {allowed:?}")));
        }
    }

    /// Checks that blocks that were written or allocated before an fsync or fdatasync still belong to the file.
    fn check_blocks(&mut self, number: usize, found: &FoundNode, shown: &str) {
        let from = self.floor.first_version_of_content(number);
        if from == 0 {
            return;
        }
        let least = self.versions_of(from).filter_map(|version| version.node(number));
        let least = least.map(|node| node.blocks.len() as u64 * u64::from(BLOCK)).min().unwrap_or(0);
        // Short content may be stored in the inode.
        if found.held < least && found.content.len() >= BLOCK as usize {
            let bytes_allocated = found.held;
            self.broken.push((
                "allocation",
                format!("{shown} holds {bytes_allocated} bytes, of {least} that were written or set aside"),
            ));
        }
    }

    /// A renamed node must not have both names, unless it once had.
    fn check_renames(&mut self) {
        let floor = self.floor;
        for Renamed { from, to, .. } in &floor.renamed {
            let (Some(one), Some(other)) = (self.found.get(from), self.found.get(to)) else { continue };
            let same = |version: &SequenceModel| {
                version.names.contains_key(from) && version.names.get(from) == version.names.get(to)
            };
            if one.inode == other.inode && !floor.versions.iter().any(same) {
                self.broken.push(("rename", format!("{} and {} are the same after a rename", from.1, to.1)));
            }
        }
    }

    /// A node that existed and never lost its last name must have some name.
    fn check_lost_nodes(&mut self) {
        let Some(first) = self.floor.versions.first() else { return };
        for number in 1..first.nodes.len() {
            let always = self.floor.versions.iter().all(|version| version.links(number) > 0);
            let is_it = |(key, taken): (&NameKey, &usize)| {
                let had = |version: &SequenceModel| version.names.get(key) == Some(&number);
                *taken == number
                    || self.floor.versions.iter().any(had)
                        && self
                            .found
                            .get(key)
                            .is_some_and(|found| self.content_fault(number, found).is_none())
            };
            if always && !self.taken.iter().any(is_it) {
                let name = first.names.iter().find(|(_, node)| **node == number);
                let name = name.map_or("", |(key, _)| key.1);
                // A missing name of the node was reported already.
                let is_reported = self.broken.iter().any(|(promise, _)| *promise == "name");
                if !is_reported {
                    let observation = format!("what was {name} at first is under none of its names");
                    self.broken.push(("rename", observation));
                }
            }
        }
    }

    /// Checks the link counts: of files against their names, of directories (if counted) against their subdirectories.
    fn check_link_counts(&mut self, root: &FoundNode) {
        let mut names: BTreeMap<u64, (u32, u32, String)> = BTreeMap::new();
        let mut waiting = vec![(root, String::new())];
        while let Some((directory, path)) = waiting.pop() {
            let mut directories = 0;
            for (name, found) in &directory.entries {
                let shown = join_path(&path, name);
                if found.kind == Some(NodeKind::Directory) {
                    directories += 1;
                    waiting.push((found, shown));
                } else {
                    let name_count = names.entry(found.inode).or_insert((found.links, 0, shown));
                    name_count.1 += 1;
                }
            }
            if directory.links > 1 && directory.links != directories + 2 {
                let links = directory.links;
                self.broken.push((
                    "links",
                    format!("the directory {path:?} has a link count of {links}, and {directories} directories in it"),
                ));
            }
        }
        for (links, names, shown) in names.into_values().filter(|(links, names, _)| links != names) {
            self.broken.push(("links", format!("{shown} has a link count of {links}, and {names} names")));
        }
    }
}

fn join_path(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") }
}
