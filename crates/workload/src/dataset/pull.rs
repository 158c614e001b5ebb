//! Simulates a pull of a version control system: which files it changes in a working tree, and which objects it stores.
//!
//! The model is git(1) with loose objects (gitrepository-layout(5)): first deleted files are removed; then changed
//! files are removed and rewritten in the order of paths; one object is stored for each file, each directory above it
//! and the commit; last the index of all files is rewritten. How often files change, how many are added and deleted,
//! and how much they grow are assumptions of ours, of the order seen in large C projects.

use std::collections::{BTreeSet, HashSet};

use super::aged::{AgedFile, AgedTree};
use super::random::{RandomStream, mix_bits};

/// Of so many files that change one is removed, and for so many one is new.
const REMOVED_OF: u64 = 24;
const NEW_FOR: u64 = 16;
/// Of so many new files one is in a new directory.
const NEW_DIRECTORY_OF: u64 = 16;
/// Bytes that deflate(3) leaves of a source file, as a share.
const OBJECT_SHARE: f64 = 0.3;
/// The minimum size of an object in bytes: its header and the overhead of deflate.
const LEAST_OBJECT: u64 = 48;
/// Bytes of a commit's object, and for each name of a directory's: twenty are of a number that cannot be compressed.
const COMMIT: u64 = 180;
const NAMED: u64 = 32;
/// Bytes of the index, and for each file beside its path (git's Documentation/gitformat-index).
const INDEX: u64 = 32;
const INDEXED: u64 = 72;

/// The steps of one pull, in order.
#[derive(Debug, Default)]
pub(crate) struct Pull {
    /// Directories to be made for it first, by number.
    pub(crate) made: Vec<u32>,
    pub(crate) objects: Vec<AgedFile>,
    pub(crate) removed: Vec<AgedFile>,
    /// In the order of paths.
    pub(crate) written: Vec<Pulled>,
    pub(crate) index: Option<AgedFile>,
}

#[derive(Debug)]
pub(crate) struct Pulled {
    pub(crate) file: AgedFile,
    /// Whether there was another under its name.
    pub(crate) was_there: bool,
}

impl AgedTree {
    /// Advances by one pull: this share of the files changes, but at least one.
    pub(crate) fn pull_changes(&mut self, changed: f64) -> Pull {
        let mut stream = self.next_step("pull");
        let mut pull = Pull::default();
        let chosen = self.choose_files(changed, &mut stream);
        let mut leave = Vec::new();
        let mut touched = BTreeSet::new();
        for at in chosen {
            let Some(AgedFile { directory, size, .. }) = self.files.get(at).cloned() else { continue };
            self.insert_with_parents(directory, &mut touched);
            let alone = self.directories.get(directory as usize).is_none_or(|directory| directory.files < 2);
            if !alone && stream.below(REMOVED_OF) == 0 {
                leave.push(at);
                continue;
            }
            // Some lines more, some less, and a few more than less.
            let grown = (size as f64 * (0.96 + 0.09 * stream.unit())) as u64;
            let identity = self.next_identity();
            if let Some(file) = self.files.get_mut(at) {
                (file.size, file.identity) = (grown.max(1), identity);
                pull.written.push(Pulled { file: file.clone(), was_there: true });
            }
            if stream.below(NEW_FOR) == 0 {
                let into = match stream.below(NEW_DIRECTORY_OF) {
                    0 => self.create_directory(directory, format!("part-{identity}").into_bytes(), &mut pull),
                    _ => directory,
                };
                self.insert_with_parents(into, &mut touched);
                let file = self.new_file(into, &mut stream);
                pull.written.push(Pulled { file: file.clone(), was_there: false });
                self.files.push(file);
            }
        }
        leave.sort_unstable();
        while let Some(at) = leave.pop() {
            let file = self.take_file(at);
            pull.removed.push(file);
        }
        self.keep_objects(&touched, &mut pull);
        self.write_index(&mut pull);
        let (mut one, mut other) = (Vec::new(), Vec::new());
        pull.written.sort_unstable_by(|left, right| {
            self.path_into(&left.file, &mut one);
            self.path_into(&right.file, &mut other);
            one.cmp(&other)
        });
        pull
    }

    /// Draws so many distinct files: about half of the draws fall on a tenth of all files.
    fn choose_files(&self, changed: f64, stream: &mut RandomStream) -> Vec<usize> {
        let total = self.files.len();
        let count = (libm::round(changed * total as f64) as usize).clamp(1.min(total), total);
        let mut chosen = Vec::with_capacity(count);
        let mut chosen_before = HashSet::with_capacity(count);
        // With a great share, the last are hard to come by: they are not waited for.
        for _ in 0..count.saturating_mul(8) {
            if chosen.len() == count {
                break;
            }
            let drawn = stream.unit();
            let at = (drawn * drawn * drawn * total as f64) as usize;
            if chosen_before.insert(at) {
                chosen.push(at);
            }
        }
        chosen
    }

    /// Adds a directory and those it is in, up to the root.
    fn insert_with_parents(&self, mut directory: u32, touched: &mut BTreeSet<u32>) {
        while touched.insert(directory) {
            directory = self.directories.get(directory as usize).map_or(0, |one| one.parent);
        }
    }

    fn create_directory(&mut self, parent: u32, name: Vec<u8>, pull: &mut Pull) -> u32 {
        let number = self.make_directory(parent, name);
        pull.made.push(number);
        number
    }

    /// The directory of this path, which is made where it is not there.
    fn find_or_create_directory(&mut self, parent: u32, name: &str, pull: &mut Pull) -> u32 {
        let path = [self.directory_path(parent), name.as_bytes(), b"/"].concat();
        match self.directories.iter().position(|directory| directory.path == path) {
            Some(number) => number as u32,
            None => self.create_directory(parent, name.as_bytes().to_vec(), pull),
        }
    }

    fn keep_objects(&mut self, touched: &BTreeSet<u32>, pull: &mut Pull) {
        let of_files = pull.written.iter().map(|one| (one.file.size as f64 * OBJECT_SHARE) as u64);
        let of_directories = touched.iter().filter_map(|number| self.directories.get(*number as usize));
        let of_directories = of_directories.map(|one| u64::from(one.files + one.directories) * NAMED);
        let sizes: Vec<u64> = of_files.chain(of_directories).chain([COMMIT]).collect();
        let git_directory = self.find_or_create_directory(0, ".git", pull);
        let objects_directory = self.find_or_create_directory(git_directory, "objects", pull);
        for size in sizes {
            let identity = self.next_identity();
            let number = mix_bits(self.seed ^ u64::from(identity));
            let directory =
                self.find_or_create_directory(objects_directory, &format!("{:02x}", number & 255), pull);
            let name =
                format!("{number:016x}{:016x}{:06x}", mix_bits(number), identity & 0xff_ffff).into_bytes();
            let file = AgedFile { directory, name, size: size.max(LEAST_OBJECT), identity };
            self.count_in(directory);
            self.objects.push(file.clone());
            pull.objects.push(file);
        }
    }

    fn write_index(&mut self, pull: &mut Pull) {
        let directory = self.find_or_create_directory(0, ".git", pull);
        let entry_size =
            |file: &AgedFile| INDEXED + (self.directory_path(file.directory).len() + file.name.len()) as u64;
        let size = INDEX + self.files.iter().map(entry_size).sum::<u64>();
        let identity = self.next_identity();
        let file = AgedFile { directory, name: b"index".to_vec(), size, identity };
        pull.index = Some(file.clone());
        self.index = Some(file);
    }
}
