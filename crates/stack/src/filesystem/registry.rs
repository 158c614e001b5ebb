//! The list of filesystems: one line each.

use super::model::Filesystem;
use super::{
    bcachefs, btrfs, exfat, ext2, ext3, ext4, f2fs, jfs, nilfs2, ntfs3, reiser4, reiserfs, vfat, xfs, zfs,
};

static REGISTRY: [&Filesystem; 15] = [
    &bcachefs::BCACHEFS,
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
    &zfs::ZFS,
];

/// Every filesystem fsverdict knows, in alphabetical order.
pub fn registry() -> &'static [&'static Filesystem] {
    &REGISTRY
}

pub fn find_filesystem(name: &str) -> Option<&'static Filesystem> {
    registry().iter().copied().find(|filesystem| filesystem.name == name)
}

pub fn filesystem_names() -> Vec<&'static str> {
    registry().iter().map(|filesystem| filesystem.name).collect()
}

/// It is not in the registry: it has no tools, drivers or facts.
pub static DIRECTORY: Filesystem = Filesystem {
    name: fsverdict_judgement::plan::DIRECTORY,
    title: "a folder of yours, on whatever it lies: NFS, Ceph, Lustre, ZFS … (`path`)",
    ..Filesystem::PLAIN
};

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{Filesystem, filesystem_names, find_filesystem, registry};
    use crate::filesystem::{Distribution, FsckStatus, Inodes, Package, Tool};

    #[test]
    fn names_are_sorted_unique_and_found() {
        assert!(registry().windows(2).all(|pair| pair[0].name < pair[1].name), "{:?}", filesystem_names());
        for filesystem in registry() {
            assert_eq!(find_filesystem(filesystem.name).map(|found| found.title), Some(filesystem.title));
        }
        assert!(
            find_filesystem("ntfs").is_none()
                && find_filesystem("").is_none()
                && find_filesystem("EXT4").is_none()
        );
        let titles: BTreeSet<_> = registry().iter().map(|filesystem| filesystem.title).collect();
        assert_eq!(titles.len(), registry().len());
    }

    #[test]
    fn each_is_described_in_full() {
        for Filesystem { name, summary, drivers, fsck, facts, minimum_size, .. } in registry() {
            assert!(summary.len() > 150 && summary.ends_with('.'), "{name}");
            assert!(summary.contains("Fair defaults"), "{name} does not say what its fair defaults are");
            for text in [summary, facts.kernel_status] {
                assert!(!text.contains("  "), "{name}: a line break left spaces behind");
            }
            assert!(facts.kernel_status.contains('.') || facts.kernel_status.ends_with(')'), "{name}");
            assert!(!facts.source.is_empty(), "{name}");
            assert!(*minimum_size >= 1 << 20 && minimum_size % (1 << 20) == 0, "{name}");
            assert!(facts.maximum_file >= (4 << 30) - 1 && facts.maximum_volume >= 1 << 40, "{name}");
            assert!(!facts.compresses_by_default || !facts.compression.is_empty(), "{name}");
            assert!(!(facts.journaled && facts.copy_on_write), "{name}");
            assert!(!drivers.is_empty(), "{name}");
            for driver in *drivers {
                assert!(driver.config.starts_with("CONFIG_") && !driver.modules.is_empty(), "{name}");
            }
            let Some(codes) = fsck.map(|fsck| fsck.exit_codes) else { continue };
            assert!(!codes.source.is_empty(), "{name}");
            assert_eq!(codes.status_of_exit(0), FsckStatus::Clean, "{name}");
            assert!(codes.codes.iter().any(|(_, meaning)| *meaning == FsckStatus::ErrorsLeft), "{name}");
            let numbers: BTreeSet<_> = codes.codes.iter().map(|(code, _)| code).collect();
            assert_eq!(numbers.len(), codes.codes.len(), "{name}");
            let are_bits = codes.codes.iter().all(|(code, _)| *code == 0 || code.count_ones() == 1);
            assert!(are_bits || !codes.summed, "{name}");
        }
        assert_eq!(find_filesystem("ext4").map(|ext4| ext4.facts.inodes.limit(4 << 30)), Some(Some(262_144)));
        assert_eq!(find_filesystem("xfs").map(|xfs| xfs.facts.inodes), Some(Inodes::Dynamic));
    }

    #[test]
    fn each_tool_names_its_package_everywhere() {
        for filesystem in registry() {
            let cleaner = filesystem.cleaner.map(|cleaner| cleaner.tool);
            for tool in filesystem.tools().chain(cleaner) {
                assert!(!tool.version.is_empty(), "{}", tool.program);
                for distribution in Distribution::ALL {
                    let (Package::Official(text) | Package::Elsewhere(text)) =
                        tool.packages.package_on(distribution);
                    assert!(!text.is_empty(), "{} on {distribution:?}", tool.program);
                }
                let official = matches!(tool.packages.debian, Package::Official(name) if !name.contains(' '));
                assert!(
                    official || ["bcachefs", "zfs"].contains(&filesystem.name),
                    "{}: Debian has all the others",
                    tool.program
                );
            }
        }
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
