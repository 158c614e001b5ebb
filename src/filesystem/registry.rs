//! The list of filesystems: one line each.

use super::model::Filesystem;
use super::{btrfs, exfat, ext2, ext3, ext4, f2fs, jfs, nilfs2, ntfs3, reiser4, reiserfs, vfat, xfs};

/// Every filesystem, in alphabetical order.
static REGISTRY: [&Filesystem; 13] = [
    &btrfs::BTRFS,
    &exfat::EXFAT,
    &ext2::EXT2,
    &ext3::EXT3,
    &ext4::EXT4,
    &f2fs::F2FS,
    &jfs::JFS,
    &nilfs2::NILFS2,
    &ntfs3::NTFS3,
    &reiser4::REISER4,
    &reiserfs::REISERFS,
    &vfat::VFAT,
    &xfs::XFS,
];

/// Every filesystem fsverdict knows, in alphabetical order.
#[must_use]
pub fn registry() -> &'static [&'static Filesystem] {
    &REGISTRY
}

/// The filesystem of this name; none when there is none.
#[must_use]
pub fn find(name: &str) -> Option<&'static Filesystem> {
    registry().iter().copied().find(|filesystem| filesystem.name == name)
}

/// The names, for a plan's vocabulary.
#[must_use]
pub fn names() -> Vec<&'static str> {
    registry().iter().map(|filesystem| filesystem.name).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{find, names, registry};
    use crate::filesystem::{Distribution, Inodes, Meaning, Package, Tool};

    #[test]
    fn names_are_sorted_unique_and_found() {
        assert!(registry().windows(2).all(|pair| pair[0].name < pair[1].name), "{:?}", names());
        for filesystem in registry() {
            assert_eq!(find(filesystem.name).map(|found| found.title), Some(filesystem.title));
        }
        assert!(find("ntfs").is_none() && find("").is_none() && find("EXT4").is_none());
        let titles: BTreeSet<_> = registry().iter().map(|filesystem| filesystem.title).collect();
        assert_eq!(titles.len(), registry().len());
    }

    #[test]
    fn each_is_documented() {
        for filesystem in registry() {
            let name = filesystem.name;
            assert!(filesystem.summary.len() > 150 && filesystem.summary.ends_with('.'), "{name}");
            assert!(
                filesystem.summary.contains("Fair defaults"),
                "{name} does not say what its fair defaults are"
            );
            assert!(!filesystem.summary.contains("  "), "{name}: a line break left spaces behind");
            assert!(
                filesystem.facts.kernel_status.contains('.') || filesystem.facts.kernel_status.ends_with(')'),
                "{name}"
            );
            assert!(
                !filesystem.facts.kernel_status.contains("  "),
                "{name}: a line break left spaces behind"
            );
            assert!(!filesystem.facts.source.is_empty(), "{name}");
        }
    }

    #[test]
    fn each_tool_names_its_package_everywhere() {
        for filesystem in registry() {
            let cleaner = filesystem.cleaner.map(|cleaner| cleaner.tool);
            for tool in filesystem.tools().chain(cleaner) {
                assert!(!tool.version.is_empty(), "{}", tool.program);
                for distribution in Distribution::ALL {
                    let (Package::Official(text) | Package::Elsewhere(text)) = tool.packages.of(distribution);
                    assert!(!text.is_empty(), "{} on {}", tool.program, distribution.title());
                }
                let Package::Official(package) = tool.packages.debian else {
                    panic!("{}: Debian has them all", tool.program);
                };
                assert!(!package.contains(' '), "{package}");
            }
        }
    }

    #[test]
    fn each_names_a_driver() {
        for filesystem in registry() {
            assert!(!filesystem.drivers.is_empty(), "{}", filesystem.name);
            for driver in filesystem.drivers {
                assert!(
                    driver.config.starts_with("CONFIG_") && !driver.modules.is_empty(),
                    "{}",
                    filesystem.name
                );
            }
        }
    }

    #[test]
    fn each_checker_covers_the_outcomes_and_names_its_source() {
        for filesystem in registry() {
            let Some(fsck) = filesystem.fsck else { continue };
            let codes = fsck.exit_codes;
            assert!(!codes.source.is_empty(), "{}", filesystem.name);
            assert_eq!(codes.meaning(0), Meaning::Clean, "{}", filesystem.name);
            assert!(
                codes.codes.iter().any(|(_, meaning)| *meaning == Meaning::ErrorsLeft),
                "{}",
                filesystem.name
            );
            let numbers: BTreeSet<_> = codes.codes.iter().map(|(code, _)| code).collect();
            assert_eq!(numbers.len(), codes.codes.len(), "{}", filesystem.name);
            if codes.summed {
                assert!(
                    codes.codes.iter().all(|(code, _)| *code == 0 || code.count_ones() == 1),
                    "{}",
                    filesystem.name
                );
            }
        }
    }

    #[test]
    fn limits_make_sense() {
        for filesystem in registry() {
            let facts = filesystem.facts;
            assert!(
                filesystem.minimum_size >= 1 << 20 && filesystem.minimum_size % (1 << 20) == 0,
                "{}",
                filesystem.name
            );
            assert!(
                facts.maximum_file >= (4 << 30) - 1 && facts.maximum_volume >= 1 << 40,
                "{}",
                filesystem.name
            );
            assert!(!facts.compresses_by_default || !facts.compression.is_empty(), "{}", filesystem.name);
            assert!(!(facts.journaled && facts.copy_on_write), "{}", filesystem.name);
        }
        assert_eq!(find("ext4").map(|ext4| ext4.facts.inodes.limit(4 << 30)), Some(Some(262_144)));
        assert_eq!(find("xfs").map(|xfs| xfs.facts.inodes), Some(Inodes::Dynamic));
    }

    #[test]
    fn a_version_is_the_first_line_with_a_digit() {
        assert_eq!(
            Tool::version_line("\n\nusage\n  mke2fs 1.47.0 (5-Feb-2023)\n2"),
            Some("mke2fs 1.47.0 (5-Feb-2023)")
        );
        assert_eq!(Tool::version_line("no version\n"), None);
    }
}
