//! How a filesystem keeps a state of itself: command lines as data.

use std::path::PathBuf;

use super::pool::pool_name;

/// The placeholder for the name of a snapshot.
const ID: &str = "{id}";

/// The placeholder for the name of the snapshot that a stream of changes begins from.
const BASE: &str = "{base}";

/// Programs that create and delete snapshots of a mounted filesystem. `{mount}`, `{device}`, `{pool}` and
/// `{id}` are placeholders for the mount point, the device, the pool on it, and the name of the snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SnapshotPrograms {
    pub create: &'static [&'static str],
    /// Whether the first program prints the snapshot's name; otherwise its name is a number that fsverdict assigns.
    pub told: bool,
    /// Run in order.
    pub delete: &'static [&'static [&'static str]],
    /// The commands, run in order, that make a snapshot the filesystem seen at the next mount; empty if there is no
    /// rollback.
    pub rollback: Option<&'static [&'static [&'static str]]>,
    /// The folder below the mount point where one is seen; none where it would have to be mounted.
    pub shown: Option<&'static str>,
    /// How a snapshot becomes a stream of bytes, and a stream a snapshot; none where there is no such way.
    pub streams: Option<StreamPrograms>,
}

/// Programs that send a snapshot to standard output, and receive one from standard input beside what is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamPrograms {
    /// Sends all of the snapshot.
    pub send_all: &'static [&'static str],
    /// Sends what changed since the snapshot `{base}`.
    pub send_changes: &'static [&'static str],
    pub receive: &'static [&'static str],
    /// The folder below the mount point that has to be there to receive into.
    pub folder: Option<&'static str>,
    /// The folder below the mount point where a received snapshot is seen; none where it would have to be mounted.
    pub shown: Option<&'static str>,
}

impl StreamPrograms {
    /// The folder below the mount point where the received snapshot of this name is seen.
    pub fn shown_as(&self, id: &str) -> Option<PathBuf> {
        self.shown.map(|shown| shown.replace(ID, id).into())
    }
}

impl SnapshotPrograms {
    /// The folder below the mount point where the snapshot of this name is seen.
    pub fn shown_as(&self, id: &str) -> Option<PathBuf> {
        self.shown.map(|shown| shown.replace(ID, id).into())
    }
}

/// The values for the placeholders.
#[derive(Debug, Clone, Copy)]
pub struct SnapshotPlace<'a> {
    pub mount: &'a str,
    pub device: &'a str,
    pub id: &'a str,
    /// The snapshot from which a stream of changes begins.
    pub base: Option<&'a str>,
}

impl SnapshotPlace<'_> {
    /// The command line of these words.
    pub fn argv(&self, words: &[&str]) -> Vec<String> {
        let put_in = |word: &&str| {
            let word = word.replace("{mount}", self.mount).replace("{device}", self.device);
            let word = word.replace("{pool}", &pool_name(self.device)).replace(ID, self.id);
            self.base.map_or(word.clone(), |base| word.replace(BASE, base))
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
        let place = SnapshotPlace { mount: "/mnt", device: "/dev/x", id: "7", base: Some("6") };
        let mut uses_of_id = 0;
        for filesystem in registry() {
            let Some(programs) = filesystem.snapshots else { continue };
            uses_of_id += 1;
            let (create, name) = (place.argv(programs.create), filesystem.name);
            let whole = [vec![create.clone()], programs.delete.iter().map(|line| place.argv(line)).collect()];
            let back = programs.rollback.unwrap_or_default().iter().map(|line| place.argv(line)).collect();
            let sent =
                programs.streams.map(|streams| [streams.send_all, streams.send_changes, streams.receive]);
            let sent = sent.iter().flatten().map(|line| place.argv(line)).collect();
            let whole = [whole.concat(), back, sent];
            for argv in whole.concat() {
                assert!(argv.iter().all(|word| !word.contains('{')), "{name}: {argv:?}");
                assert!(
                    argv.iter().any(|word| {
                        let of_pool = word.starts_with("fsverdict-x@") || word.starts_with("fsverdict-x/");
                        word.starts_with("/mnt") || word == "/dev/x" || of_pool
                    }),
                    "{name}: {argv:?}"
                );
            }
            assert!(!programs.delete.is_empty(), "{name}");
            // If fsverdict assigns no name, the program must print it.
            let has_id = |word: &&str| word.contains(ID);
            assert_ne!(programs.create.iter().any(has_id), programs.told, "{name}");
            assert!(programs.delete.concat().iter().any(has_id), "{name}");
            assert!(programs.shown.is_none_or(|shown| has_id(&shown) && !shown.starts_with('/')), "{name}");
            if let Some(streams) = programs.streams {
                let names_base = |word: &&str| word.contains(super::BASE);
                assert!(streams.send_changes.iter().any(names_base), "{name}");
                assert!(!streams.send_all.iter().any(names_base), "{name}");
                assert!(streams.shown.is_none_or(|shown| has_id(&shown)), "{name}");
            }
        }
        assert_eq!(uses_of_id, 4);
    }
}
