//! How a filesystem keeps a state of itself: command lines as data.

use std::path::PathBuf;

/// What stands for the name of a snapshot.
const ID: &str = "{id}";

/// Programs that make and give up snapshots of a mounted filesystem. `{mount}`, `{device}` and `{id}` stand for where it is
/// mounted, what it lies on, and what the snapshot is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SnapshotPrograms {
    pub create: &'static [&'static str],
    /// Whether the first prints what the filesystem calls the snapshot; else it is a number that it is given.
    pub told: bool,
    /// One after the other.
    pub delete: &'static [&'static [&'static str]],
    /// What of one makes the filesystem that is seen when it is mounted the next time, one after the other; none where nothing does.
    pub rollback: Option<&'static [&'static [&'static str]]>,
    /// The folder below the mount point where one is seen; none where it would have to be mounted.
    pub shown: Option<&'static str>,
}

impl SnapshotPrograms {
    /// The folder below the mount point where the snapshot of this name is seen.
    pub fn shown_as(&self, id: &str) -> Option<PathBuf> {
        self.shown.map(|shown| shown.replace(ID, id).into())
    }
}

/// What the programs are told.
#[derive(Debug, Clone, Copy)]
pub struct SnapshotPlace<'a> {
    pub mount: &'a str,
    pub device: &'a str,
    pub id: &'a str,
}

impl SnapshotPlace<'_> {
    /// The command line of these words.
    pub fn argv(&self, words: &[&str]) -> Vec<String> {
        let put_in = |word: &&str| {
            word.replace("{mount}", self.mount).replace("{device}", self.device).replace(ID, self.id)
        };
        words.iter().map(put_in).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{ID, SnapshotPlace};
    use crate::filesystem::registry;

    #[test]
    fn what_makes_one_and_gives_it_up_names_the_same() {
        let place = SnapshotPlace { mount: "/mnt", device: "/dev/x", id: "7" };
        let mut seen = 0;
        for filesystem in registry() {
            let Some(programs) = filesystem.snapshots else { continue };
            seen += 1;
            let (create, name) = (place.argv(programs.create), filesystem.name);
            let whole = [vec![create.clone()], programs.delete.iter().map(|one| place.argv(one)).collect()];
            let back = programs.rollback.unwrap_or_default().iter().map(|one| place.argv(one)).collect();
            let whole = [whole.concat(), back];
            for argv in whole.concat() {
                assert!(argv.iter().all(|word| !word.contains('{')), "{name}: {argv:?}");
                assert!(
                    argv.iter().any(|word| word.starts_with("/mnt") || word == "/dev/x"),
                    "{name}: {argv:?}"
                );
            }
            assert!(!programs.delete.is_empty(), "{name}");
            // Whoever is not told by the program must have said it.
            let own = |word: &&str| word.contains(ID);
            assert_ne!(programs.create.iter().any(own), programs.told, "{name}");
            assert!(programs.delete.concat().iter().any(own), "{name}");
            assert!(programs.shown.is_none_or(|shown| own(&shown) && !shown.starts_with('/')), "{name}");
        }
        assert_eq!(seen, 2);
    }
}
