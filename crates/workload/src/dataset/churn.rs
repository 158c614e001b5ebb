//! Creates and deletes files at random to age a filesystem, independently of its type.
//!
//! The method is that of Geriatrix (Kadekodi et al., "Geriatrix: Aging what you see and what you don't see", USENIX ATC
//! 2018): files with a given size distribution are created, and deleted by an age distribution at a given fullness,
//! until many times the capacity was written. Here the sizes are those of the dataset, and of three files drawn at
//! random the youngest is deleted: most files are short-lived and a few live long. This age distribution is an
//! assumption of ours.

use super::aged::{AgedFile, AgedTree};

/// Of so many new files one is in a new directory.
const NEW_DIRECTORY_OF: u64 = 64;

/// A file that is new.
#[derive(Debug)]
pub(crate) struct CreatedFile {
    /// The directory to be made for it first, by number.
    pub(crate) made: Option<u32>,
    pub(crate) file: AgedFile,
}

impl AgedTree {
    /// Creates a file in a random directory.
    pub(crate) fn create_file(&mut self) -> CreatedFile {
        let mut stream = self.next_step("birth");
        let near = stream.below(self.files.len() as u64) as usize;
        let near = self.files.get(near).map_or(0, |file| file.directory);
        let made = (stream.below(NEW_DIRECTORY_OF) == 0).then(|| {
            let name = format!("part-{}", self.steps).into_bytes();
            self.make_directory(near, name)
        });
        let file = self.new_file(made.unwrap_or(near), &mut stream);
        self.files.push(file.clone());
        CreatedFile { made, file }
    }

    /// The next file that goes; none where none is left.
    pub(crate) fn delete_file(&mut self) -> Option<AgedFile> {
        let mut stream = self.next_step("death");
        let file_count = self.files.len() as u64;
        let drawn = [0; 3].map(|_| stream.below(file_count) as usize);
        let youngest = drawn.into_iter().max_by_key(|at| self.files.get(*at).map(|file| file.identity))?;
        (youngest < self.files.len()).then(|| self.take_file(youngest))
    }

    /// Takes back the file that was born last.
    pub(crate) fn undo_creation(&mut self) {
        if let Some(last) = self.files.len().checked_sub(1) {
            self.take_file(last);
        }
    }
}
