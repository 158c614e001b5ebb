//! A generated tree as a history of changes leaves it: which files there are, how large, and which bytes they hold.
//!
//! The history depends on the dataset, its seed and the number of the step alone, so that it is the same for every candidate.
//! A file that changes gets another number of contents, which no file had before.

use super::random::{RandomStream, mix_bits};
use super::tree::{Directory, EntryKind, Tree, TreeEntry};

/// Permission bits of the files and directories that the history creates.
const FILE_MODE: u16 = 0o644;
const DIRECTORY_MODE: u16 = 0o755;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AgedTree {
    pub(super) seed: u64,
    /// The root is number 0; each comes after the one it is in.
    pub(super) directories: Vec<AgedDirectory>,
    /// Unordered; files near the front are likelier to change.
    pub(super) files: Vec<AgedFile>,
    /// Files that are written once and never removed: the objects of a version control system.
    pub(super) objects: Vec<AgedFile>,
    /// The one file that each pull rewrites.
    pub(super) index: Option<AgedFile>,
    /// The sizes of the files of the dataset, which those of new ones are drawn from.
    sizes: Vec<u64>,
    /// The next number of contents.
    next: u32,
    /// How many steps of the history lie behind.
    pub(super) steps: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AgedDirectory {
    pub(super) parent: u32,
    name: Vec<u8>,
    /// From the root, with a slash at the end; empty for the root.
    pub(super) path: Vec<u8>,
    pub(super) files: u32,
    pub(super) directories: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AgedFile {
    pub(super) directory: u32,
    pub(super) name: Vec<u8>,
    /// Bytes.
    pub(crate) size: u64,
    /// The number of its contents.
    pub(crate) identity: u32,
}

impl AgedTree {
    /// The tree of a dataset, before anything happens to it; `None` where some of its files are links.
    pub(crate) fn from_tree(tree: &Tree, seed: u64) -> Option<Self> {
        let mut aged = AgedTree {
            seed,
            directories: Vec::with_capacity(tree.directories.len()),
            files: Vec::with_capacity(tree.entries.len()),
            objects: Vec::new(),
            index: None,
            sizes: tree.entries.iter().map(|entry| entry.size).collect(),
            next: u32::try_from(tree.entries.len()).ok()?,
            steps: 0,
        };
        for (number, directory) in (0..).zip(&tree.directories) {
            let name = tree.name_at(directory.name).to_bytes().to_vec();
            match number {
                0 => aged.directories.push(AgedDirectory {
                    parent: 0,
                    name,
                    path: Vec::new(),
                    files: 0,
                    directories: 0,
                }),
                _ => {
                    aged.make_directory(directory.parent, name);
                }
            }
            for entry in tree.entries_of(directory) {
                if entry.kind != EntryKind::File {
                    return None;
                }
                let name = tree.name_at(entry.name).to_bytes().to_vec();
                aged.count_in(number);
                aged.files.push(AgedFile { directory: number, name, size: entry.size, identity: entry.what });
            }
        }
        RandomStream::new(seed, "what changes").shuffle(&mut aged.files);
        Some(aged)
    }

    /// The random numbers of the next step.
    pub(super) fn next_step(&mut self, purpose: &str) -> RandomStream {
        self.steps += 1;
        RandomStream::new(mix_bits(self.seed ^ u64::from(self.steps)), purpose)
    }

    /// Adds a directory, and gives its number.
    pub(super) fn make_directory(&mut self, parent: u32, name: Vec<u8>) -> u32 {
        let mut path =
            self.directories.get(parent as usize).map(|above| above.path.clone()).unwrap_or_default();
        path.extend_from_slice(&name);
        path.push(b'/');
        if let Some(above) = self.directories.get_mut(parent as usize) {
            above.directories += 1;
        }
        self.directories.push(AgedDirectory { parent, name, path, files: 0, directories: 0 });
        (self.directories.len() - 1) as u32
    }

    /// A number that no contents had.
    pub(super) fn next_identity(&mut self) -> u32 {
        self.next += 1;
        self.next - 1
    }

    /// A new file in this directory, which is not among the tree's yet.
    pub(super) fn new_file(&mut self, directory: u32, stream: &mut RandomStream) -> AgedFile {
        let identity = self.next_identity();
        let drawn = stream.below(self.sizes.len() as u64) as usize;
        let size = self.sizes.get(drawn).copied().unwrap_or(0);
        self.count_in(directory);
        AgedFile { directory, name: format!("new-{identity}").into_bytes(), size, identity }
    }

    pub(super) fn count_in(&mut self, directory: u32) {
        if let Some(directory) = self.directories.get_mut(directory as usize) {
            directory.files += 1;
        }
    }

    /// Takes a file out.
    pub(super) fn take_file(&mut self, at: usize) -> AgedFile {
        let file = self.files.swap_remove(at);
        if let Some(directory) = self.directories.get_mut(file.directory as usize) {
            directory.files -= 1;
        }
        file
    }

    /// Replaces the content of `path` by the path of a file from the root.
    pub(crate) fn path_into(&self, file: &AgedFile, path: &mut Vec<u8>) {
        path.clear();
        path.extend_from_slice(self.directory_path(file.directory));
        path.extend_from_slice(&file.name);
    }

    /// The path of a directory from the root, with a slash at the end.
    pub(crate) fn directory_path(&self, number: u32) -> &[u8] {
        self.directories.get(number as usize).map_or(&[], |directory| &directory.path)
    }

    /// Bytes of all its files.
    pub(crate) fn total_bytes(&self) -> u64 {
        self.all_files().map(|file| file.size).sum()
    }

    fn all_files(&self) -> impl Iterator<Item = &AgedFile> {
        self.files.iter().chain(&self.objects).chain(&self.index)
    }

    /// The tree that must exist now; `None` when its names exceed 4 GiB.
    pub(crate) fn to_tree(&self) -> Option<Tree> {
        let mut below: Vec<Vec<u32>> = vec![Vec::new(); self.directories.len()];
        for (number, directory) in (0_u32..).zip(&self.directories).skip(1) {
            below.get_mut(directory.parent as usize)?.push(number);
        }
        let mut files: Vec<Vec<&AgedFile>> = vec![Vec::new(); self.directories.len()];
        for file in self.all_files() {
            files.get_mut(file.directory as usize)?.push(file);
        }
        let mut tree = Tree::default();
        let mut open = vec![Visit { number: 0, parent: 0, depth: 0 }];
        while let Some(Visit { number, parent, depth }) = open.pop() {
            let here = u32::try_from(tree.directories.len()).ok()?;
            let name = tree.add_name(&self.directories.get(number as usize)?.name)?;
            let first = u32::try_from(tree.entries.len()).ok()?;
            let files_here = files.get_mut(number as usize)?;
            files_here.sort_unstable_by(|one, other| one.name.cmp(&other.name));
            for file in &*files_here {
                let name = tree.add_name(&file.name)?;
                let (size, what) = (file.size, file.identity);
                tree.entries.push(TreeEntry { size, name, what, mode: FILE_MODE, kind: EntryKind::File });
            }
            let count = files_here.len() as u32;
            tree.directories.push(Directory { parent, name, first, count, depth, mode: DIRECTORY_MODE });
            let deeper = below.get(number as usize)?.iter().rev();
            open.extend(deeper.map(|number| Visit { number: *number, parent: here, depth: depth + 1 }));
        }
        Some(tree)
    }
}

/// A directory that is still to be laid out.
struct Visit {
    number: u32,
    /// The parent's number in the new tree.
    parent: u32,
    depth: u16,
}
