//! The manifest of a dataset: the names, types, sizes, contents and links that a folder must have.

use std::collections::HashMap;
use std::sync::Arc;

use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use fsverdict_judgement::plan::OperationKind;

use super::content::{Body, Content};
use super::error::DatasetError;
use super::prepare::{DatasetOrigin, Prepared};
use super::stage::Staged;
use super::tree::{EntryKind, Totals, Tree, TreeEntry};

/// The expected content of the files.
#[derive(Debug)]
pub(crate) enum ExpectedContents {
    Generated { content: Arc<Content>, generation: u32 },
    Digests(Arc<Vec<u64>>),
}

/// Everything that must be found, and nothing else.
#[derive(Debug)]
pub struct Manifest {
    pub(crate) tree: Arc<Tree>,
    pub(crate) contents: ExpectedContents,
    pub(crate) is_file: bool,
    /// For one of several generations that share files.
    pub(crate) shared: Option<SharedFiles>,
}

/// Which files of a generation are shared with others, by entry of the tree.
#[derive(Debug)]
pub(crate) struct SharedFiles {
    /// The generation in which the file was last rewritten.
    pub(crate) written_in: Vec<u32>,
    pub(crate) holders: Vec<u32>,
}

impl Manifest {
    /// The expected state of a dataset after it was written and then overwritten `generation` times.
    ///
    /// Costs nothing for generated datasets; reads a staged folder once.
    pub fn for_generation(
        prepared: &Prepared,
        staged: Option<&Staged>,
        generation: u32,
    ) -> Result<Self, DatasetError> {
        match (&prepared.origin, staged) {
            (DatasetOrigin::Generated { tree, content }, _) => Ok(Self {
                tree: Arc::clone(tree),
                contents: ExpectedContents::Generated { content: Arc::clone(content), generation },
                is_file: prepared.kind == OperationKind::File,
                shared: None,
            }),
            (DatasetOrigin::Folder { .. }, Some(staged)) => {
                let digests = staged
                    .read_digests()
                    .map_err(|failure| DatasetError::Staging { dataset: prepared.name.clone(), failure })?;
                let contents = ExpectedContents::Digests(Arc::clone(digests));
                Ok(Self { tree: Arc::clone(&staged.tree), contents, is_file: false, shared: None })
            }
            (DatasetOrigin::Folder { .. }, None) => {
                Err(DatasetError::NotStaged { dataset: prepared.name.clone() })
            }
        }
    }

    /// The expected state of a generated dataset after a history of changes.
    pub(crate) fn of_aged(tree: &Arc<Tree>, content: &Arc<Content>, generation: u32) -> Self {
        let contents = ExpectedContents::Generated { content: Arc::clone(content), generation };
        Self { tree: Arc::clone(tree), contents, is_file: false, shared: None }
    }

    /// The same tree as one of several generations that share files.
    pub(crate) fn with_shared_files(mut self, shared: SharedFiles) -> Self {
        self.shared = Some(shared);
        self
    }

    /// The generation of the bytes that a file holds.
    pub(crate) fn generation_of(&self, number: usize, generation: u32) -> u32 {
        let written_in = self.shared.as_ref().and_then(|shared| shared.written_in.get(number));
        written_in.copied().unwrap_or(generation)
    }

    pub fn totals(&self) -> Totals {
        self.tree.totals()
    }

    pub(crate) fn content_digest(&self, number: usize, entry: &TreeEntry) -> u64 {
        match &self.contents {
            ExpectedContents::Digests(digests) => digests.get(number).copied().unwrap_or_default(),
            ExpectedContents::Generated { content, generation } => {
                let mut digest = Xxh3::new();
                let generation = self.generation_of(number, *generation);
                let body = Body { identity: entry.what, generation, size: entry.size };
                content.for_each_piece(&body, |piece| digest.update(piece));
                digest.digest()
            }
        }
    }

    /// The sums that reading the whole tree in any order must yield: bytes under all names of files, and the (wrapping)
    /// sum of their digests.
    pub(crate) fn sum_digests(&self) -> (u64, u64) {
        let linked = self.hard_links();
        let (mut bytes, mut sum) = (0u64, 0u64);
        for (number, entry) in self.tree.entries.iter().enumerate() {
            if entry.kind == EntryKind::File {
                let names = 1 + u64::from(linked.get(&(number as u32)).copied().unwrap_or(0));
                bytes += names * entry.size;
                sum = sum.wrapping_add(self.content_digest(number, entry).wrapping_mul(names));
            }
        }
        (bytes, sum)
    }

    /// One number for all names, types, sizes, contents and links: the same exactly when the data are.
    pub fn digest(&self) -> u64 {
        let mut whole = Xxh3::new();
        let mut add = |parts: &[&[u8]]| {
            for part in parts {
                whole.update(&(part.len() as u64).to_le_bytes());
                whole.update(part);
            }
        };
        for directory in &self.tree.directories {
            add(&[
                b"directory",
                self.tree.name_at(directory.name).to_bytes(),
                &directory.depth.to_le_bytes(),
            ]);
            for (place, entry) in self.tree.entries_of(directory).iter().enumerate() {
                let name = self.tree.name_at(entry.name).to_bytes();
                let number = directory.first as usize + place;
                match entry.kind {
                    EntryKind::File => {
                        let content = self.content_digest(number, entry);
                        add(&[b"file", name, &entry.size.to_le_bytes(), &content.to_le_bytes()]);
                    }
                    EntryKind::HardLink => {
                        add(&[
                            b"link",
                            name,
                            &xxh3_64(self.tree.entry_path(entry.what as usize).as_bytes()).to_le_bytes(),
                        ]);
                    }
                    EntryKind::Symlink => add(&[b"symlink", name, self.tree.name_at(entry.what).to_bytes()]),
                }
            }
        }
        whole.digest()
    }

    /// How many further links each file has that has any.
    pub(crate) fn hard_links(&self) -> HashMap<u32, u32> {
        let mut links = HashMap::new();
        for entry in self.tree.entries.iter().filter(|entry| entry.kind == EntryKind::HardLink) {
            *links.entry(entry.what).or_insert(0) += 1;
        }
        links
    }
}
