//! Judges a found folder by the history of its model, promise by promise.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::os::fd::{AsFd, BorrowedFd};

use rustix::io::Errno;

use crate::dataset::TRANSFER;
use crate::workload::positioned::read_at;
use fsverdict_calls::{
    ContentFault, ContentVersions, FileHistory, NameKey, NodeKind, RenamedNode, SegmentOrigin,
};

use super::found_node::{FoundContent, FoundNode, open_found};

/// A broken promise, by its name in `PROMISES`, and the observation.
pub(crate) type Broken = (&'static str, String);

/// What is needed to judge a folder.
pub(crate) struct FolderJudge<'a> {
    pub(crate) history: &'a FileHistory,
    /// The text of a label.
    pub(crate) text: &'a dyn Fn(u32) -> String,
    /// The bytes of an origin, from a place of its file on.
    pub(crate) fill: &'a dyn Fn(SegmentOrigin, u64, &mut [u8]),
    /// The content of an attribute with this value.
    pub(crate) attribute: fn(u8) -> Vec<u8>,
    /// The folder, of which contents are read.
    pub(crate) folder: BorrowedFd<'a>,
}

impl FolderJudge<'_> {
    /// The broken promises. `errors` collects files that the filesystem could not read.
    pub(crate) fn judge(&self, root: &FoundNode, errors: &mut Vec<String>) -> Vec<Broken> {
        let mut judging = Judging {
            judge: self,
            broken: Vec::new(),
            found: BTreeMap::new(),
            taken: BTreeMap::new(),
            errors: RefCell::new(Vec::new()),
        };
        judging.check_directory(0, root, "");
        judging.check_renames();
        judging.check_lost_nodes();
        judging.check_link_counts(root);
        errors.extend(judging.errors.into_inner());
        judging.broken
    }
}

struct Judging<'a> {
    judge: &'a FolderJudge<'a>,
    broken: Vec<Broken>,
    /// The node found under each name.
    found: BTreeMap<NameKey, &'a FoundNode>,
    /// The node of the model that each entry was identified with.
    taken: BTreeMap<NameKey, usize>,
    errors: RefCell<Vec<String>>,
}

impl<'a> Judging<'a> {
    fn history(&self) -> &'a FileHistory {
        self.judge.history
    }

    /// `number` is the directory's node.
    fn check_directory(&mut self, number: usize, found: &'a FoundNode, path: &str) {
        self.check_attribute(number, found, path);
        let labels: Vec<(u32, String)> =
            self.history().labels_of(number).map(|label| (label, (self.judge.text)(label))).collect();
        let names: HashSet<&str> = labels.iter().map(|(_, name)| name.as_str()).collect();
        for name in found.entries.keys().filter(|name| !names.contains(name.as_str())) {
            self.broken.push(("unheard-of", format!("{} was never made", join_path(path, name))));
        }
        for (label, name) in &labels {
            let (key, shown) = (NameKey { directory: number, label: *label }, join_path(path, name));
            match found.entries.get(name) {
                None => self.check_absent(key, &shown),
                Some(found) => {
                    self.found.insert(key, found);
                    self.check_present(key, found, &shown);
                }
            }
        }
    }

    fn check_absent(&mut self, key: NameKey, shown: &str) {
        if !self.history().nodes_by_directory(key).contains(&None) {
            let promise = if self.history().was_there_at_first(key) { "name" } else { "directory" };
            self.broken.push((promise, format!("{shown} is gone")));
        } else if !self.history().nodes_by_entry(key).contains(&None) {
            self.broken.push(("entry", format!("{shown}, which was synced, is gone")));
        }
    }

    fn check_present(&mut self, key: NameKey, found: &'a FoundNode, shown: &str) {
        let history = self.history();
        let some = |nodes: Vec<Option<usize>>| nodes.into_iter().flatten().collect::<BTreeSet<usize>>();
        let entry = some(history.nodes_by_entry(key));
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
        let (of_before, promise) = if let Some(node) = which(&some(history.nodes_by_directory(key))) {
            (Some(node), "entry")
        } else if let Some(node) = which(&some(history.nodes_since(key, 0))) {
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

    fn is_of_kind(&self, number: usize, found: &FoundNode) -> bool {
        found.kind.is_some() && found.kind == self.history().kind_of(number)
    }

    /// The mismatch between the entry's content and the content of this node.
    fn content_fault(&self, number: usize, found: &FoundNode) -> Option<Broken> {
        if !self.is_of_kind(number, found) {
            return Some(("unheard-of", "is of another kind".to_owned()));
        }
        match (found.kind, &found.content) {
            (Some(NodeKind::Symlink), FoundContent::Bytes(target)) if target != b"foo" => {
                return Some(("unheard-of", format!("leads to {:?}", String::from_utf8_lossy(target))));
            }
            (Some(NodeKind::File), _) => {}
            _ => return None,
        }
        let history = self.history();
        let promised =
            if history.has_promised_content(number) || history.is_old(number) { "fsync" } else { "whole" };
        let versions = history.allowed_content(number)?;
        Some(match self.compare_content(found, &versions)? {
            ContentFault::Size { bytes, least, most } => {
                let must = if least == most { format!("{least}") } else { format!("{least} to {most}") };
                (promised, format!("has {bytes} bytes, and must have {must}"))
            }
            ContentFault::Lost { at } => {
                (promised, format!("holds zeroes at byte {at}, where something was written"))
            }
            ContentFault::Foreign { at } => {
                let mut byte = [0];
                let is_read = self.read_found(found, at, &mut byte).is_ok();
                let versions = history.all_content(number)?;
                match is_read && versions.check_bytes(at, &byte, self.judge.fill).is_ok() {
                    true => (promised, format!("holds what was replaced, at byte {at}")),
                    false => ("foreign", format!("holds what was never written to it, at byte {at}")),
                }
            }
        })
    }

    /// The first fault of a file's content; none where it could not be read, which is noted.
    fn compare_content(&self, found: &FoundNode, versions: &ContentVersions) -> Option<ContentFault> {
        let size = found.content.size();
        if let Err(fault) = versions.check_size(size) {
            return Some(fault);
        }
        let mut buffer = vec![0; TRANSFER.min(usize::try_from(size).unwrap_or(TRANSFER))];
        let mut at = 0;
        while at < size {
            let count = (size - at).min(buffer.len() as u64) as usize;
            let bytes = buffer.get_mut(..count).unwrap_or_default();
            if let Err(errno) = self.read_found(found, at, bytes) {
                let error = format!("{}: {errno}", found.path.display());
                let mut errors = self.errors.borrow_mut();
                if !errors.contains(&error) {
                    errors.push(error);
                }
                return None;
            }
            if let Err(fault) = versions.check_bytes(at, bytes, self.judge.fill) {
                return Some(fault);
            }
            at += count as u64;
        }
        None
    }

    fn read_found(&self, found: &FoundNode, at: u64, bytes: &mut [u8]) -> Result<(), Errno> {
        match &found.content {
            FoundContent::Bytes(content) => {
                let part = content.get(at as usize..at as usize + bytes.len());
                bytes.copy_from_slice(part.ok_or(Errno::NODATA)?);
                Ok(())
            }
            FoundContent::Unread(_) => {
                read_at(open_found(self.judge.folder, &found.path)?.as_fd(), bytes, at)
            }
        }
    }

    /// Whether the entry has an attribute that this node may have.
    fn has_attribute(&self, number: usize, found: &FoundNode) -> bool {
        let is = |value: Option<u8>| value.map(self.judge.attribute) == found.attribute;
        self.history().allowed_attributes(number).into_iter().any(is)
    }

    fn check_attribute(&mut self, number: usize, found: &FoundNode, shown: &str) {
        let allowed = self.history().allowed_attributes(number);
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
        if !self.history().has_promised_content(number) {
            return;
        }
        let least = self.history().least_held(number);
        // Short content may be stored in the inode.
        if found.held < least && found.content.size() >= fsverdict_calls::MODEL_BLOCK {
            let bytes_allocated = found.held;
            self.broken.push((
                "allocation",
                format!("{shown} holds {bytes_allocated} bytes, of {least} that were written or set aside"),
            ));
        }
    }

    /// A renamed node must not have both names, unless it once had.
    fn check_renames(&mut self) {
        for RenamedNode { from, to, .. } in self.history().renamed() {
            let (Some(one), Some(other)) = (self.found.get(from), self.found.get(to)) else { continue };
            if one.inode == other.inode && !self.history().were_same(*from, *to) {
                let (from, to) = ((self.judge.text)(from.label), (self.judge.text)(to.label));
                self.broken.push(("rename", format!("{from} and {to} are the same after a rename")));
            }
        }
    }

    /// A node that existed and never lost its last name must have some name.
    fn check_lost_nodes(&mut self) {
        let taken: HashSet<usize> = self.taken.values().copied().collect();
        for (number, label) in self.history().kept_nodes() {
            let is_it = |key: NameKey| {
                self.found.get(&key).is_some_and(|found| self.content_fault(number, found).is_none())
            };
            // A missing name of the node was reported already.
            let is_reported = || self.broken.iter().any(|(promise, _)| *promise == "name");
            let has_name = taken.contains(&number)
                || self.history().keys_of_node(number).filter(|key| self.taken.contains_key(key)).any(is_it);
            if !has_name && !is_reported() {
                let name = (self.judge.text)(label);
                let observation = format!("what was {name} at first is under none of its names");
                self.broken.push(("rename", observation));
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
