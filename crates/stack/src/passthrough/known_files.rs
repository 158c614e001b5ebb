//! Which file the kernel means by a number: by which names it is found, for as long as the kernel knows the number.
//!
//! Names, not open descriptors: there may be more files than a process may have open.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

use rustix::fs::Stat;

/// A file of the served folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct FileIdentity {
    device: u64,
    number: u64,
}

impl FileIdentity {
    pub(super) fn from_status(found: &Stat) -> Self {
        FileIdentity { device: found.st_dev, number: found.st_ino }
    }
}

/// A name in a directory, which the kernel knows by a number.
#[derive(Debug, Clone, Copy)]
pub(super) struct EntryName<'a> {
    pub(super) parent: u64,
    pub(super) name: &'a OsStr,
}

#[derive(Debug)]
struct KnownFile {
    identity: FileIdentity,
    /// Each name in a directory, by the directory's number; empty for a removed file and for the root.
    names: Vec<(u64, OsString)>,
    /// A descriptor that keeps the file accessible after its last name is removed, if one was kept.
    kept: Option<Arc<OwnedFd>>,
    /// How often the kernel was told of it and has not forgotten it again.
    lookups: u64,
}

impl EntryName<'_> {
    fn is_entry(&self, known: &(u64, OsString)) -> bool {
        known.0 == self.parent && known.1 == self.name
    }
}

/// All that the kernel knows.
#[derive(Debug)]
pub(super) struct KnownFiles {
    each: HashMap<u64, KnownFile>,
    numbers: HashMap<FileIdentity, u64>,
    /// No number is given twice: the kernel would take a new file for an old one.
    next: u64,
}

impl KnownFiles {
    /// The kernel's number of the served folder's root (`FUSE_ROOT_ID`).
    pub(super) const ROOT: u64 = 1;
    /// No path of the kernel's has more parts.
    const DEEPEST: usize = 4096;

    pub(super) fn new(root: &Stat) -> Self {
        let identity = FileIdentity::from_status(root);
        let root = KnownFile { identity, names: Vec::new(), kept: None, lookups: 1 };
        KnownFiles {
            each: HashMap::from([(Self::ROOT, root)]),
            numbers: HashMap::from([(identity, Self::ROOT)]),
            next: Self::ROOT + 1,
        }
    }

    /// A path from the root to it; `None` for a removed file.
    pub(super) fn path_of(&self, number: u64) -> Option<PathBuf> {
        let mut parts: Vec<&OsStr> = Vec::new();
        let mut at = number;
        while at != Self::ROOT {
            let known = |name: &&(u64, OsString)| self.each.contains_key(&name.0);
            let (parent, name) = self.each.get(&at)?.names.iter().find(known)?;
            parts.push(name);
            at = *parent;
            if parts.len() > Self::DEEPEST {
                return None;
            }
        }
        if parts.is_empty() { Some(PathBuf::from(".")) } else { Some(parts.into_iter().rev().collect()) }
    }

    /// The descriptor of a removed file.
    pub(super) fn kept_file(&self, number: u64) -> Option<Arc<OwnedFd>> {
        self.each.get(&number)?.kept.clone()
    }

    /// Keeps the descriptor of a removed file until the kernel has forgotten it.
    pub(super) fn keep_open(&mut self, identity: FileIdentity, file: OwnedFd) {
        let node = self.numbers.get(&identity).and_then(|number| self.each.get_mut(number));
        if let Some(node) = node {
            node.kept = Some(Arc::new(file));
        }
    }

    /// The number of the file with this name; the kernel is about to learn it.
    pub(super) fn learn_name(&mut self, identity: FileIdentity, at: &EntryName<'_>) -> u64 {
        let number = *self.numbers.entry(identity).or_insert(self.next);
        if number == self.next {
            self.next += 1;
            self.each.insert(number, KnownFile { identity, names: Vec::new(), kept: None, lookups: 0 });
        }
        self.add_name(number, at);
        if let Some(node) = self.each.get_mut(&number) {
            node.lookups += 1;
        }
        number
    }

    fn add_name(&mut self, number: u64, at: &EntryName<'_>) {
        let Some(mut node) = self.each.remove(&number) else { return };
        node.names.retain(|(of, _)| *of == number || self.each.contains_key(of));
        if number != Self::ROOT && !node.names.iter().any(|name| at.is_entry(name)) {
            node.names.push((at.parent, at.name.to_owned()));
        }
        self.each.insert(number, node);
    }

    /// The kernel has forgotten it so often.
    pub(super) fn forget_lookups(&mut self, number: u64, times: u64) {
        let Some(node) = self.each.get_mut(&number).filter(|_| number != Self::ROOT) else { return };
        node.lookups = node.lookups.saturating_sub(times);
        if node.lookups == 0 {
            let identity = node.identity;
            self.each.remove(&number);
            self.forget_identity(identity, number);
        }
    }

    /// Removes this name. With the `last` of its names the identity is removed: another file may soon reuse the inode
    /// number.
    pub(super) fn note_removed(&mut self, identity: FileIdentity, at: &EntryName<'_>, last: bool) {
        let Some(&number) = self.numbers.get(&identity) else { return };
        if let Some(node) = self.each.get_mut(&number) {
            node.names.retain(|name| !at.is_entry(name));
        }
        if last {
            self.forget_identity(identity, number);
        }
    }

    fn forget_identity(&mut self, identity: FileIdentity, number: u64) {
        if self.numbers.get(&identity) == Some(&number) {
            self.numbers.remove(&identity);
        }
    }

    /// Gives the file of the first name the second name.
    pub(super) fn note_renamed(&mut self, identity: FileIdentity, from: &EntryName<'_>, to: &EntryName<'_>) {
        self.note_removed(identity, from, false);
        if let Some(&number) = self.numbers.get(&identity) {
            self.add_name(number, to);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{EntryName, FileIdentity, KnownFiles};
    use std::ffi::OsStr;
    use std::path::{Path, PathBuf};

    const ROOT: FileIdentity = FileIdentity { device: 7, number: 256 };

    fn file(number: u64) -> FileIdentity {
        FileIdentity { device: 7, number }
    }

    fn nodes() -> KnownFiles {
        let mut found = rustix::fs::stat("/").unwrap();
        (found.st_dev, found.st_ino) = (ROOT.device, ROOT.number);
        KnownFiles::new(&found)
    }

    fn at(parent: u64, name: &str) -> EntryName<'_> {
        EntryName { parent, name: OsStr::new(name) }
    }

    fn path(nodes: &KnownFiles, number: u64) -> Option<PathBuf> {
        nodes.path_of(number)
    }

    #[test]
    fn a_file_is_found_by_its_name_wherever_its_folder_goes() {
        let mut nodes = nodes();
        assert_eq!(path(&nodes, KnownFiles::ROOT).unwrap(), Path::new("."));
        let folder = nodes.learn_name(file(1), &at(KnownFiles::ROOT, "a"));
        let inner = nodes.learn_name(file(2), &at(folder, "b"));
        assert_eq!(path(&nodes, inner).unwrap(), Path::new("a/b"));
        nodes.note_renamed(file(1), &at(KnownFiles::ROOT, "a"), &at(KnownFiles::ROOT, "c"));
        assert_eq!(path(&nodes, inner).unwrap(), Path::new("c/b"));
        assert_eq!(nodes.learn_name(file(2), &at(folder, "b")), inner);
    }

    #[test]
    fn one_of_several_names_may_go() {
        let mut nodes = nodes();
        let number = nodes.learn_name(file(1), &at(KnownFiles::ROOT, "a"));
        assert_eq!(nodes.learn_name(file(1), &at(KnownFiles::ROOT, "b")), number);
        nodes.note_removed(file(1), &at(KnownFiles::ROOT, "a"), false);
        assert_eq!(path(&nodes, number).unwrap(), Path::new("b"));
        nodes.note_removed(file(1), &at(KnownFiles::ROOT, "b"), true);
        assert_eq!(path(&nodes, number), None);
    }

    #[test]
    fn what_comes_to_lie_where_a_removed_file_lay_is_another() {
        let mut nodes = nodes();
        let old = nodes.learn_name(file(1), &at(KnownFiles::ROOT, "a"));
        nodes.note_removed(file(1), &at(KnownFiles::ROOT, "a"), true);
        let new = nodes.learn_name(file(1), &at(KnownFiles::ROOT, "a"));
        assert_ne!(old, new);
        // The kernel forgets the old one only now.
        nodes.forget_lookups(old, 1);
        assert_eq!(nodes.learn_name(file(1), &at(KnownFiles::ROOT, "a")), new);
    }

    #[test]
    fn what_the_kernel_forgot_is_forgotten() {
        let mut nodes = nodes();
        let folder = nodes.learn_name(file(1), &at(KnownFiles::ROOT, "a"));
        nodes.learn_name(file(1), &at(KnownFiles::ROOT, "a"));
        nodes.forget_lookups(folder, 1);
        assert!(path(&nodes, folder).is_some());
        nodes.forget_lookups(folder, 1);
        assert!(path(&nodes, folder).is_none());
        assert_ne!(nodes.learn_name(file(1), &at(KnownFiles::ROOT, "a")), folder);
        nodes.forget_lookups(KnownFiles::ROOT, 5);
        assert!(path(&nodes, KnownFiles::ROOT).is_some());
    }
}
