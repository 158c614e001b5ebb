//! Effects of a plan's options that other modules need to know.

use super::facts::{DirectoryIndex, Inodes};
use super::known_options::{Choice, ChoiceOptions};
use super::model::Filesystem;
use super::option_effects::{DocumentedLoss, OPTION_EFFECTS_EVERYWHERE, SafetyEffect, SafetyOption};
use super::registry::find_filesystem;
use fsverdict_judgement::plan::Candidate;

/// Whether the candidate's filesystem compresses its data.
pub fn compresses(candidate: &Candidate) -> bool {
    let unasked =
        find_filesystem(&candidate.filesystem).is_some_and(|known| known.facts.compresses_by_default);
    unasked && !candidate.refuses_compression() || candidate.asks_for_compression()
}

impl Filesystem {
    pub(super) fn own_effects(&self) -> impl Iterator<Item = &'static SafetyOption> {
        self.option_effects.iter().copied().flatten()
    }

    /// The effects of these words of mkfs and mount: of each setting, that of the last option.
    pub fn effects(&self, mkfs: &[String], mount: &[String]) -> Vec<&'static SafetyOption> {
        let mut effects: Vec<&'static SafetyOption> = Vec::new();
        for option in mkfs.iter().chain(mount).flat_map(|word| word.split(',')) {
            if let Some(effect) =
                self.own_effects().chain(OPTION_EFFECTS_EVERYWHERE).find(|effect| effect.option == option)
            {
                effects.retain(|earlier| earlier.setting != effect.setting);
                effects.push(effect);
            }
        }
        effects
    }

    /// Whether it makes this one of [`CONDITIONAL_PROMISES`](super::CONDITIONAL_PROMISES) with these words of mkfs and mount.
    pub fn promises(&self, promise: &str, mkfs: &[String], mount: &[String]) -> bool {
        let changed = self.effects(mkfs, mount).into_iter().find_map(|effect| match effect.effect {
            SafetyEffect::Promises(name) if name == promise => Some(true),
            SafetyEffect::BreaksPromise(name) if name == promise => Some(false),
            _ => None,
        });
        changed.unwrap_or_else(|| self.facts.promises.contains(&promise))
    }
}

/// The options of a candidate that lose data by their own documentation.
pub fn documented_losses(candidate: &Candidate) -> Vec<(&'static str, DocumentedLoss)> {
    let filesystem = find_filesystem(&candidate.filesystem);
    let effects = filesystem.map_or_else(Vec::new, |known| known.effects(&candidate.mkfs, &candidate.mount));
    effects.into_iter().filter_map(|effect| Some((effect.option, effect.loss?))).collect()
}

/// Whether the candidate's filesystem finds a name in a directory by reading that from its start.
pub fn searches_directories(candidate: &Candidate) -> bool {
    find_filesystem(&candidate.filesystem).is_some_and(|known| match known.facts.directory_index {
        DirectoryIndex::Linear => true,
        DirectoryIndex::Optional(_) => candidate.mkfs.iter().any(|word| word.contains("^dir_index")),
        DirectoryIndex::Always(_) => false,
    })
}

/// Whether reading a file leaves no trace in a mount with these options, separated by commas as the kernel shows them.
pub fn reads_without_trace(options: &str) -> bool {
    options.split(',').any(|option| option == "noatime")
}

impl Filesystem {
    /// The number of inodes on a device of so many bytes, and the mkfs option that changes it; `None` if only space
    /// limits it, or the plan's words set it.
    pub fn few_inodes(&self, device: u64, mkfs: &[String]) -> Option<FewInodes> {
        let Inodes::FixedAtMkfs { bytes_per_inode, options } = self.facts.inodes else { return None };
        let settled = mkfs.iter().any(|word| options.iter().any(|option| word.starts_with(option)));
        let inodes = self.facts.inodes.limit(device).filter(|_| !settled)?;
        Some(FewInodes { inodes, bytes_per_inode, option: options.first().unwrap_or(&"") })
    }
}

/// The inode options of a filesystem that fixes the number at mkfs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FewInodes {
    pub inodes: u64,
    pub bytes_per_inode: u64,
    /// The option of mkfs that takes their number.
    pub option: &'static str,
}

/// Of every filesystem (mount(8), FILESYSTEM-INDEPENDENT MOUNT OPTIONS).
const EVERYWHERE: &[&str] =
    &["noatime", "relatime", "strictatime", "nodiratime", "lazytime", "nolazytime", "sync", "dirsync"];

impl Filesystem {
    /// Whether its manual has this option of mount, with or without a value.
    pub fn has_mount_option(&self, option: &str) -> bool {
        let name = option.split_once('=').map_or(option, |(name, _)| &option[..=name.len()]);
        EVERYWHERE.contains(&name) || self.options.mount.contains(&name)
    }

    /// Whether its manual has this option of mkfs.
    pub fn has_mkfs_option(&self, option: &str) -> bool {
        self.options.mkfs.contains(&option)
    }

    /// The option of mkfs that a value stands behind by which people name it: `-O` for ext4's `bigalloc`, `-m` for
    /// `rmapbt=1` of xfs.
    pub fn mkfs_option_of(&self, value: &str) -> Option<&'static str> {
        let is_value = |known: &&str| match known.strip_suffix('=') {
            Some(name) => value.split_once('=').is_some_and(|(of, rest)| of == name && !rest.is_empty()),
            None => *known == value,
        };
        self.options.values.iter().find(|(_, values)| values.iter().any(is_value)).map(|(option, _)| *option)
    }

    /// How it is made or mounted so that it has this, or lacks it: without options if it does so by default. `None` if it
    /// cannot.
    pub fn options_for(&self, choice: Choice, gives: bool) -> Option<ChoiceOptions> {
        let mut choices = self.options.choices.iter();
        let facts = &self.facts;
        let has_by_default = match choice {
            Choice::Compression => facts.compresses_by_default,
            Choice::Journal => facts.journaled,
            Choice::CopyOnWrite => facts.copy_on_write,
            Choice::DataChecksums => facts.data_checksums,
        };
        let by_default = ChoiceOptions { choice, gives, mkfs: &[], mount: &[] };
        let made = choices.find(|options| options.choice == choice && options.gives == gives).copied();
        made.or((has_by_default == gives).then_some(by_default))
    }
}

#[cfg(test)]
mod tests {
    use super::{compresses, reads_without_trace, searches_directories};
    use crate::filesystem::{Choice, find_filesystem, registry};
    use fsverdict_judgement::plan::Candidate;

    fn with(filesystem: &str, mkfs: &[&str], mount: &[&str]) -> Candidate {
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        Candidate { mkfs: owned(mkfs), mount: owned(mount), ..Candidate::with_defaults(filesystem) }
    }

    #[test]
    fn options_and_the_filesystem_together_say_what_is_done() {
        let asked = |filesystem, mkfs: &[&str], mount: &[&str]| {
            let candidate = with(filesystem, mkfs, mount);
            (compresses(&candidate), searches_directories(&candidate))
        };
        assert_eq!(asked("btrfs", &[], &["noatime", "compress=zstd"]), (true, false));
        assert_eq!(asked("btrfs", &[], &["noatime"]), (false, false));
        assert_eq!(asked("reiser4", &[], &[]), (true, false));
        assert_eq!(asked("zfs", &["-O", "recordsize=8k"], &[]), (true, false));
        assert_eq!(asked("zfs", &["-O", "compression=off"], &[]), (false, false));
        assert_eq!(asked("ext4", &["-O", "^dir_index"], &[]), (false, true));
        assert_eq!(asked("ext4", &[], &[]), (false, false));
        assert_eq!(asked("ext2", &[], &[]), (false, false));
        assert_eq!(asked("unheard-of", &[], &[]), (false, false));
        assert!(reads_without_trace("rw,noatime") && !reads_without_trace("rw,relatime,nodiratime"));
    }

    #[test]
    fn inodes_are_few_unless_mkfs_is_told_how_many() {
        let ext3 = find_filesystem("ext3").unwrap();
        let few = ext3.few_inodes(4 << 30, &[]).unwrap();
        assert_eq!((few.inodes, few.bytes_per_inode, few.option), (262_144, 16384, "-N"));
        assert_eq!(ext3.few_inodes(4 << 30, &with("ext3", &["-N", "1"], &[]).mkfs), None);
        assert_eq!(find_filesystem("xfs").unwrap().few_inodes(4 << 30, &[]), None);
    }

    #[test]
    fn options_are_found_with_and_without_values() {
        let btrfs = find_filesystem("btrfs").unwrap();
        assert!(btrfs.has_mount_option("compress=zstd:3") && btrfs.has_mount_option("noatime"));
        assert!(!btrfs.has_mount_option("data=journal") && !btrfs.has_mount_option("nodatacow=1"));
        let ext4 = find_filesystem("ext4").unwrap();
        assert!(ext4.has_mount_option("data=journal") && !ext4.has_mount_option("data"));
        assert!(ext4.has_mkfs_option("-b") && !ext4.has_mkfs_option("-Z"));
    }

    #[test]
    fn what_choices_give_are_options_that_are_known() {
        for filesystem in registry() {
            for choice in filesystem.options.choices {
                assert!(choice.mount.iter().all(|option| filesystem.has_mount_option(option)));
                assert!(choice.mkfs.first().is_none_or(|option| filesystem.has_mkfs_option(option)));
            }
            for (option, _) in filesystem.options.values {
                assert!(filesystem.has_mkfs_option(option), "{} {option}", filesystem.name);
            }
            // An option of the fair defaults is one of its manual.
            for option in filesystem.mount_defaults {
                assert!(filesystem.has_mount_option(option), "{} {option}", filesystem.name);
            }
        }
        let ext4 = find_filesystem("ext4").unwrap();
        assert_eq!(
            ["bigalloc", "stride=16", "stride", "x"].map(|value| ext4.mkfs_option_of(value)),
            [Some("-O"), Some("-E"), None, None]
        );
        let off = find_filesystem("ext4").unwrap().options_for(Choice::Journal, false).unwrap();
        assert_eq!(off.mkfs, ["-O", "^has_journal"]);
        assert!(find_filesystem("xfs").unwrap().options_for(Choice::Journal, false).is_none());
    }
}
