//! The effect of an option of mkfs or mount on the data that survive a power cut or the loss of a device. Each
//! filesystem lists its options; protection levels, `require`, `ask` and the reports of power cuts all ask here.

use fsverdict_judgement::plan::ProtectionFeature;

/// An option that changes which data survive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SafetyOption {
    /// The word among the options of mkfs or mount.
    pub option: &'static str,
    /// The setting that it changes. Of several options that set the same, the last one counts, as it does for the kernel.
    pub setting: &'static str,
    pub effect: SafetyEffect,
    /// The loss that its documentation names: such a loss is no bug.
    pub loss: Option<DocumentedLoss>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SafetyEffect {
    /// The same as without any option of its setting.
    Default,
    /// Candidates with it have this feature.
    Protection(ProtectionFeature),
    /// The filesystem makes this promise with it.
    Promises(&'static str),
    /// The filesystem does not make this promise with it.
    BreaksPromise(&'static str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DocumentedLoss {
    pub says: &'static str,
    pub source: &'static str,
}

impl SafetyOption {
    pub(super) const fn default(option: &'static str, setting: &'static str) -> Self {
        Self { option, setting, effect: SafetyEffect::Default, loss: None }
    }

    /// An option of the setting `barrier` with which the device is not told to flush its cache.
    pub(super) const fn without_flushes(option: &'static str, source: &'static str) -> Self {
        let says = "the cache of a disk that loses it is not flushed: the filesystem can be corrupted by a loss of power";
        Self::loses(option, "barrier", SafetyEffect::Protection(ProtectionFeature::NoFlushes), says, source)
    }

    pub(super) const fn adds(
        option: &'static str,
        setting: &'static str,
        feature: ProtectionFeature,
    ) -> Self {
        Self { option, setting, effect: SafetyEffect::Protection(feature), loss: None }
    }

    pub(super) const fn loses(
        option: &'static str,
        setting: &'static str,
        effect: SafetyEffect,
        says: &'static str,
        source: &'static str,
    ) -> Self {
        Self { option, setting, effect, loss: Some(DocumentedLoss { says, source }) }
    }
}

/// The promises that some filesystems make and others do not: `whole`, that a file renamed over another has its content,
/// and `entry`, that an fsync of a file persists its names. The crate `workload` lists all promises with their sources.
pub const CONDITIONAL_PROMISES: [&str; 2] = ["whole", "entry"];

/// Of every filesystem (mount(8), FILESYSTEM-INDEPENDENT MOUNT OPTIONS).
pub(super) const OPTION_EFFECTS_EVERYWHERE: &[SafetyOption] = &[
    SafetyOption::adds("sync", "sync", ProtectionFeature::SynchronousWrites),
    SafetyOption::default("async", "sync"),
];

#[cfg(test)]
mod tests {
    use super::{CONDITIONAL_PROMISES, SafetyEffect};
    use crate::filesystem::documented_losses;
    use crate::filesystem::{KnownOptions, registry};
    use crate::layer::{has_property, keeps_default_safety, protection_of};
    use fsverdict_judgement::plan::{Candidate, ProtectionFeature, RequiredProperty};

    /// `require` and `ask` read the same table: they differed on ZFS' `sync=disabled`.
    #[test]
    fn every_option_with_an_effect_answers_require_and_ask_alike() {
        for filesystem in registry() {
            let plain = Candidate::with_defaults(filesystem.name);
            let is_crash_safe = |candidate: &Candidate| has_property(candidate, RequiredProperty::CrashSafe);
            assert_eq!(keeps_default_safety(&plain), is_crash_safe(&plain), "{}", filesystem.name);
            for effect in filesystem.own_effects() {
                let option = effect.option;
                let name = format!("{} with {option}", filesystem.name);
                let mount = filesystem.has_mount_option(option);
                let (mkfs, mount) =
                    if mount { (vec![], vec![option.into()]) } else { (vec![option.into()], vec![]) };
                let candidate = Candidate { mkfs, mount, ..plain.clone() };
                let weaker = match effect.effect {
                    SafetyEffect::Protection(feature) => {
                        assert!(protection_of(&candidate).has(feature), "{name}");
                        feature.is_weaker()
                    }
                    _ => {
                        assert_eq!(protection_of(&candidate), protection_of(&plain), "{name}");
                        false
                    }
                };
                // A weaker option has its loss documented, and `ask` chooses nothing with a documented loss.
                assert!(!weaker || effect.loss.is_some(), "{name}");
                assert_eq!(documented_losses(&candidate).len(), usize::from(effect.loss.is_some()), "{name}");
                assert_eq!(
                    keeps_default_safety(&candidate),
                    keeps_default_safety(&plain) && effect.loss.is_none(),
                    "{name}"
                );
                // An option that `require` refuses is not chosen by `ask`. The reverse holds but for losses after which the
                // filesystem is whole and has all that was synced.
                let milder = effect.loss.is_some()
                    && !matches!(
                        effect.effect,
                        SafetyEffect::Protection(
                            ProtectionFeature::NotCrashSafe
                                | ProtectionFeature::NoFlushes
                                | ProtectionFeature::IgnoredSync
                        )
                    );
                if milder {
                    assert_eq!(is_crash_safe(&candidate), is_crash_safe(&plain), "{name}");
                } else {
                    assert_eq!(is_crash_safe(&candidate), keeps_default_safety(&candidate), "{name}");
                }
            }
        }
    }

    #[test]
    fn the_last_option_of_a_setting_counts() {
        let losses = |filesystem: &str, mount: &[&str]| {
            let mount = mount.iter().map(|option| (*option).to_owned()).collect();
            let candidate = Candidate { mount, ..Candidate::with_defaults(filesystem) };
            let options: Vec<&str> =
                documented_losses(&candidate).into_iter().map(|(option, _)| option).collect();
            options
        };
        assert_eq!(losses("ext4", &["barrier=0,barrier=1"]), [""; 0]);
        assert_eq!(losses("ext4", &["barrier=1", "nobarrier"]), ["nobarrier"]);
        assert_eq!(losses("ext4", &["data=writeback", "data=journal"]), [""; 0]);
        assert_eq!(losses("jfs", &["noatime,nointegrity"]), ["nointegrity"]);
        assert_eq!(losses("reiserfs", &["nolog,barrier=none"]), ["nolog", "barrier=none"]);
        assert_eq!(losses("f2fs", &["fsync_mode=nobarrier", "fsync_mode=posix"]), [""; 0]);
        assert_eq!(losses("xfs", &["nobarrier"]), [""; 0]);
    }

    #[test]
    fn options_change_what_is_promised() {
        let promises = |name: &str, promise: &str, option: &str| {
            let filesystem = crate::filesystem::find_filesystem(name).unwrap();
            filesystem.promises(promise, &[], &[option.to_owned()])
        };
        assert!(promises("ext4", "whole", "noatime") && !promises("ext4", "whole", "noauto_da_alloc"));
        assert!(!promises("xfs", "whole", "noatime") && promises("xfs", "entry", "noatime"));
        assert!(
            !promises("f2fs", "entry", "fsync_mode=posix") && promises("f2fs", "entry", "fsync_mode=strict")
        );
    }

    #[test]
    fn each_effect_is_of_an_option_that_the_manual_has() {
        for filesystem in registry() {
            assert!(filesystem.facts.promises.iter().all(|promise| CONDITIONAL_PROMISES.contains(promise)));
            for effect in filesystem.own_effects() {
                let option = effect.option;
                let known = filesystem.has_mount_option(option)
                    || filesystem.has_mkfs_option(option)
                    || filesystem.mkfs_option_of(option).is_some()
                    // Of bcachefs no options are listed.
                    || filesystem.options == KnownOptions::NONE;
                assert!(known, "{} {option}", filesystem.name);
                let loss = effect.loss;
                assert!(
                    loss.is_none_or(|loss| !loss.source.is_empty() && !loss.says.ends_with('.')),
                    "{option}"
                );
            }
        }
    }
}
