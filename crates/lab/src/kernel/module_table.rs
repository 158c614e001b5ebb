//! The modules of a laboratory kernel: where their sources lie, which others each needs, and how long it takes to compile.

use std::collections::BTreeSet;

/// A part of a kernel that is compiled when a plan first needs it.
#[derive(Debug, PartialEq, Eq)]
pub struct KernelModule {
    /// As modprobe(8) is given it.
    pub name: &'static str,
    /// The option of its configuration; other options may select it.
    pub(crate) option: &'static str,
    /// The file that the kernel's makefile makes.
    pub(super) target: &'static str,
    /// The modules that it needs, each after those that it needs itself.
    needs: &'static [&'static str],
    /// How long it takes to compile alone, on two idle processors.
    pub(crate) seconds: u64,
}

/// The folder beside a kernel with its compiled modules, and that with the sources of all.
pub(super) const MODULES: &str = "modules";
pub(super) const BUILD: &str = "build";

const fn module(
    name: &'static str,
    option: &'static str,
    target: &'static str,
    needs: &'static [&'static str],
    seconds: u64,
) -> KernelModule {
    KernelModule { name, option, target, needs, seconds }
}

/// Every module, each after those that it needs: this is the order in which a guest loads them.
const TABLE: [KernelModule; 31] = [
    module("bfq", "CONFIG_IOSCHED_BFQ", "block/bfq.ko", &[], 4),
    module("dm-mod", "CONFIG_BLK_DEV_DM", "drivers/md/dm-mod.ko", &[], 6),
    module("dm-bufio", "CONFIG_DM_BUFIO", "drivers/md/dm-bufio.ko", &["dm-mod"], 1),
    module("dm-bio-prison", "CONFIG_DM_BIO_PRISON", "drivers/md/dm-bio-prison.ko", &["dm-mod"], 1),
    module(
        "dm-persistent-data",
        "CONFIG_DM_PERSISTENT_DATA",
        "drivers/md/persistent-data/dm-persistent-data.ko",
        &["dm-mod", "dm-bufio"],
        3,
    ),
    module("dm-crypt", "CONFIG_DM_CRYPT", "drivers/md/dm-crypt.ko", &["dm-mod"], 2),
    module("dm-integrity", "CONFIG_DM_INTEGRITY", "drivers/md/dm-integrity.ko", &["dm-mod", "dm-bufio"], 2),
    module("dm-verity", "CONFIG_DM_VERITY", "drivers/md/dm-verity.ko", &["dm-mod", "dm-bufio"], 2),
    module("dm-snapshot", "CONFIG_DM_SNAPSHOT", "drivers/md/dm-snapshot.ko", &["dm-mod", "dm-bufio"], 2),
    module(
        "dm-thin-pool",
        "CONFIG_DM_THIN_PROVISIONING",
        "drivers/md/dm-thin-pool.ko",
        &["dm-mod", "dm-bufio", "dm-bio-prison", "dm-persistent-data"],
        3,
    ),
    module("md-mod", "CONFIG_BLK_DEV_MD", "drivers/md/md-mod.ko", &[], 4),
    module("raid0", "CONFIG_MD_RAID0", "drivers/md/raid0.ko", &["md-mod"], 1),
    module("raid1", "CONFIG_MD_RAID1", "drivers/md/raid1.ko", &["md-mod"], 1),
    module("raid10", "CONFIG_MD_RAID10", "drivers/md/raid10.ko", &["md-mod"], 2),
    module("raid456", "CONFIG_MD_RAID456", "drivers/md/raid456.ko", &["md-mod"], 4),
    module("nls_ucs2_utils", "CONFIG_NLS_UCS2_UTILS", "fs/nls/nls_ucs2_utils.ko", &[], 1),
    module("ext4", "CONFIG_EXT4_FS", "fs/ext4/ext4.ko", &[], 9),
    module("xfs", "CONFIG_XFS_FS", "fs/xfs/xfs.ko", &[], 19),
    module("btrfs", "CONFIG_BTRFS_FS", "fs/btrfs/btrfs.ko", &[], 19),
    module("f2fs", "CONFIG_F2FS_FS", "fs/f2fs/f2fs.ko", &[], 8),
    module("jfs", "CONFIG_JFS_FS", "fs/jfs/jfs.ko", &["nls_ucs2_utils"], 7),
    module("reiserfs", "CONFIG_REISERFS_FS", "fs/reiserfs/reiserfs.ko", &[], 8),
    module("reiser4", "CONFIG_REISER4_FS", "fs/reiser4/reiser4.ko", &[], 20),
    module("nilfs2", "CONFIG_NILFS2_FS", "fs/nilfs2/nilfs2.ko", &[], 7),
    module("bcachefs", "CONFIG_BCACHEFS_FS", "fs/bcachefs/bcachefs.ko", &[], 45),
    module("fat", "CONFIG_FAT_FS", "fs/fat/fat.ko", &[], 3),
    module("vfat", "CONFIG_VFAT_FS", "fs/fat/vfat.ko", &["fat"], 1),
    module("exfat", "CONFIG_EXFAT_FS", "fs/exfat/exfat.ko", &[], 4),
    module("ntfs3", "CONFIG_NTFS3_FS", "fs/ntfs3/ntfs3.ko", &[], 7),
    module("fuse", "CONFIG_FUSE_FS", "fs/fuse/fuse.ko", &[], 5),
    module("overlay", "CONFIG_OVERLAY_FS", "fs/overlayfs/overlay.ko", &[], 5),
];

/// The modules that are compiled together with the kernel: the filesystems of the demo.
pub(super) const FIRST: [&str; 4] = ["btrfs", "ext4", "f2fs", "xfs"];

/// The modules of these names and those that they need, in the order of loading; only those that are modules in a
/// configuration, which says so by its options. A name that is no module of this table is built in.
pub(super) fn modules_for(names: &[&str], is_module: impl Fn(&str) -> bool) -> Vec<&'static KernelModule> {
    let needs = |module: &KernelModule| {
        names.contains(&module.name)
            || all_modules().any(|other| {
                names.contains(&other.name) && is_module(other.option) && other.needs.contains(&module.name)
            })
    };
    all_modules().filter(|module| is_module(module.option) && needs(module)).collect()
}

/// Whether an option is a module, by the text of a configuration.
pub(super) fn is_module_in(config: &[u8]) -> impl Fn(&str) -> bool {
    let text = String::from_utf8_lossy(config);
    let options: BTreeSet<String> =
        text.lines().filter_map(|line| line.strip_suffix("=m")).map(str::to_owned).collect();
    move |option| options.contains(option)
}

pub(super) fn find_module(name: &str) -> Option<&'static KernelModule> {
    all_modules().find(|module| module.name == name)
}

pub(super) fn all_modules() -> impl Iterator<Item = &'static KernelModule> {
    const ALL: &[KernelModule] = &TABLE;
    ALL.iter()
}

#[cfg(test)]
mod tests {
    use super::{FIRST, all_modules, modules_for};
    use crate::kernel::fragment::module_options;

    #[test]
    fn every_option_that_is_a_module_has_its_row_and_each_comes_after_what_it_needs() {
        for option in module_options() {
            assert_eq!(all_modules().filter(|module| module.option == option).count(), 1, "{option}");
        }
        let mut before: Vec<&str> = Vec::new();
        for module in all_modules() {
            assert!(module.needs.iter().all(|needed| before.contains(needed)), "{}", module.name);
            assert!(module.target.ends_with(&format!("/{}.ko", module.name)), "{}", module.target);
            before.push(module.name);
        }
        assert!(FIRST.iter().all(|first| before.contains(first)));
    }

    #[test]
    fn layers_and_filesystems_name_modules_of_the_table_or_what_is_built_in() {
        const BUILT_IN: [&str; 8] = [
            "aes_generic",
            "algif_skcipher",
            "cbc",
            "crc32c_generic",
            "ecb",
            "hmac",
            "sha256_generic",
            "xts",
        ];
        let layers = fsverdict_stack::layer::registry().iter().flat_map(|layer| layer.modules);
        let drivers = fsverdict_stack::filesystem::registry().iter().flat_map(|one| one.drivers);
        for name in layers.chain(drivers.flat_map(|driver| driver.modules)) {
            let known = all_modules().any(|module| module.name == *name);
            assert!(known || BUILT_IN.contains(name) || ["ext2", "ext3", "zfs"].contains(name), "{name}");
        }
    }

    #[test]
    fn what_is_needed_comes_first_and_what_is_built_in_is_left_out() {
        let names = |names: &[&str], built_in: &str| -> Vec<&str> {
            modules_for(names, |option| option != built_in).iter().map(|module| module.name).collect()
        };
        let thin = ["dm-mod", "dm-bufio", "dm-bio-prison", "dm-persistent-data", "dm-thin-pool"];
        assert_eq!(names(&["dm-thin-pool", "hmac"], ""), thin);
        assert_eq!(names(&["vfat", "jfs"], "CONFIG_NLS_UCS2_UTILS"), ["jfs", "fat", "vfat"]);
        assert_eq!(names(&["ext4"], "CONFIG_EXT4_FS"), [""; 0]);
    }
}
