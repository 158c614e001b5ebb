//! The files that processes of a record have open, by process and number.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

/// Open files that are followed.
const MOST_FOLLOWED: usize = 50_000;
/// Other processes that are asked for a number, the lowest first. Threads of one process have its files in common, and more than these
/// have no file open under the same number of whom it is not the first who opened it.
const MOST_ASKED: usize = 64;

/// An open file of a process.
#[derive(Debug, Clone)]
pub(super) struct Followed {
    /// The number that it is open under in the trace; none where it is a directory or lies elsewhere.
    pub(super) file: Option<u32>,
    pub(super) path: PathBuf,
    /// Shared with copies of the number (dup(2)) only as far as one of them is used.
    pub(super) position: u64,
    pub(super) appends: bool,
}

/// Which open file: of a process, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OpenKey {
    pub(super) who: u32,
    pub(super) number: i64,
}

#[derive(Debug, Default)]
pub(super) struct OpenFiles {
    /// By number, and by process.
    open: HashMap<i64, BTreeMap<u32, Followed>>,
    /// How many numbers lead to a file of the trace.
    users: HashMap<u32, usize>,
    count: usize,
}

impl OpenFiles {
    pub(super) fn get(&self, key: OpenKey) -> Option<&Followed> {
        self.open.get(&key.number)?.get(&key.who)
    }

    pub(super) fn get_mut(&mut self, key: OpenKey) -> Option<&mut Followed> {
        self.open.get_mut(&key.number)?.get_mut(&key.who)
    }

    /// Follows one more, unless they are too many.
    pub(super) fn follow(&mut self, key: OpenKey, followed: Followed) {
        if self.count >= MOST_FOLLOWED {
            return;
        }
        if let Some(file) = followed.file {
            *self.users.entry(file).or_default() += 1;
        }
        self.count += 1;
        if let Some(former) = self.open.entry(key.number).or_default().insert(key.who, followed) {
            self.forget(&former);
        }
    }

    /// Ends what is open so; the file of the trace where nothing else leads to it.
    pub(super) fn close(&mut self, key: OpenKey) -> Option<u32> {
        let followed = self.open.get_mut(&key.number)?.remove(&key.who)?;
        let last = self.forget(&followed);
        followed.file.filter(|_| last)
    }

    /// One is gone; whether no other leads to the same file.
    fn forget(&mut self, followed: &Followed) -> bool {
        self.count -= 1;
        let Some(users) = followed.file.and_then(|file| self.users.get_mut(&file)) else { return false };
        *users -= 1;
        *users == 0
    }

    /// The one of this process, or of another, that is open under the number and has the path, where one is known.
    pub(super) fn of(&self, key: OpenKey, path: Option<&Path>) -> Option<OpenKey> {
        let with_number = self.open.get(&key.number)?;
        let same = |followed: &Followed| path.is_none_or(|path| *path == followed.path);
        if with_number.get(&key.who).is_some_and(same) {
            return Some(key);
        }
        let mut others = with_number.iter().take(MOST_ASKED);
        others.find(|(_, followed)| same(followed)).map(|(other, _)| OpenKey { who: *other, ..key })
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::{Followed, OpenFiles, OpenKey};

    fn file(file: u32, path: &str) -> Followed {
        Followed { file: Some(file), path: PathBuf::from(path), position: 0, appends: false }
    }

    fn key(who: u32, number: i64) -> OpenKey {
        OpenKey { who, number }
    }

    #[test]
    fn a_file_is_closed_with_the_last_number_that_leads_to_it() {
        let mut open = OpenFiles::default();
        open.follow(key(1, 3), file(7, "/a"));
        open.follow(key(1, 4), file(7, "/a"));
        open.follow(key(2, 3), file(8, "/b"));
        assert_eq!(open.of(key(9, 3), None), Some(key(1, 3)));
        assert_eq!(open.of(key(1, 3), Some(Path::new("/b"))), Some(key(2, 3)));
        assert_eq!(open.of(key(1, 3), Some(Path::new("/c"))), None);
        assert_eq!(
            (open.close(key(1, 3)), open.close(key(1, 3)), open.close(key(1, 4))),
            (None, None, Some(7))
        );
        // The number leads to another file by then.
        open.follow(key(2, 3), file(9, "/c"));
        assert_eq!((open.close(key(2, 3)), open.count), (Some(9), 0));
    }
}
