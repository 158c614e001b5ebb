//! Fixed facts of a filesystem: its structure and its limits.

/// Facts about a filesystem as its own tools make it by default today, shown beside results so that they can be understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FilesystemFacts {
    /// Changes to metadata go to a journal first.
    pub journaled: bool,
    /// Live blocks are never overwritten in place (copy-on-write trees, or a log).
    pub copy_on_write: bool,
    /// Damage to metadata is noticed on reading, by checksums (those of a journal or log alone do not count).
    pub metadata_checksums: bool,
    /// Damage to the content of files is noticed on reading, by checksums.
    pub data_checksums: bool,
    /// Files can share their blocks until one of them is written (FICLONE).
    pub clones: bool,
    /// Files can have several names (link(2)).
    pub hard_links: bool,
    /// Algorithms of transparent compression; empty when there is none.
    pub compression: &'static [&'static str],
    /// Whether files are compressed without being asked to (Reiser4).
    pub compresses_by_default: bool,
    /// Whether `syncfs(2)` ends with a flush of the device's write cache; none where it could not be tried.
    ///
    /// Counted in `/proc/diskstats` under Linux 6.1: ext2 flushes on fsync only (its own driver; the ext4 driver flushes),
    /// JFS not even then; FAT, exFAT and NTFS on fsync only (read in 6.12's fs/fat, fs/exfat, fs/ntfs3). Where this is not `Some(true)` data is durable only after an fsync of the device node itself; a
    /// trial that left that out would let these two look faster for promising less.
    pub syncfs_flushes: Option<bool>,
    /// Whether an fsync empties the device's cache, so that what was synced outlives a power cut. Read in 6.12 for all:
    /// `fs/jfs` alone contains neither a flush nor a write with FUA.
    pub fsync_flushes: bool,
    /// How a name is found in a large directory.
    pub directory_index: DirectoryIndex,
    pub inodes: Inodes,
    /// Largest file, bytes, with 4 KiB blocks.
    pub maximum_file: u128,
    /// Largest volume, bytes, with 4 KiB blocks.
    pub maximum_volume: u128,
    /// Owners, groups and modes of files are kept.
    pub permissions: bool,
    /// Other systems that read it as they come, and write it unless said.
    pub read_by: &'static [&'static str],
    /// The conditional promises about the state after a power cut that it makes by default.
    pub promises: &'static [&'static str],
    /// Words among the options of mkfs or mount that give something, or take it away.
    pub changed_by: &'static [(&'static str, Property, bool)],
    /// Releases of Linux that have its driver, by their changelogs (kernelnewbies.org); all that are in use where it is older.
    pub mainline: Mainline,
    /// Whether it is in the kernel and developed there: its status is no news to a user.
    pub actively_developed: bool,
    pub kernel_status: &'static str,
    /// Where the status is from, and of when.
    pub status_source: &'static str,
    /// The reason in its status against using it; empty for a filesystem that is maintained in the kernel.
    pub status_drawback: &'static str,
    /// The newer driver that is built beside the kernel since it was removed there, with published figures on how much
    /// faster it is, and where; empty where there is none.
    pub newer_driver: &'static str,
    /// The reason against using it on a device that rotates; empty for a filesystem designed for any.
    pub drawback_on_disks: &'static str,
    /// What the root of a system on it needs besides; empty where installers of distributions offer it.
    pub as_root: &'static str,
    /// Whether blkid(8) of any release in use tells its UUID; otherwise it is mounted by the paths of its devices.
    pub blkid_knows: bool,
    pub source: &'static str,
}

impl FilesystemFacts {
    /// The default for descriptions: no guarantee except that `syncfs(2)` flushes, and the plainest structure.
    pub(super) const PLAIN: FilesystemFacts = FilesystemFacts {
        journaled: false,
        copy_on_write: false,
        metadata_checksums: false,
        data_checksums: false,
        clones: false,
        hard_links: true,
        compression: &[],
        compresses_by_default: false,
        syncfs_flushes: Some(true),
        fsync_flushes: true,
        directory_index: DirectoryIndex::Linear,
        inodes: Inodes::Dynamic,
        maximum_file: 0,
        maximum_volume: 0,
        permissions: true,
        read_by: &[],
        promises: &[],
        changed_by: &[],
        mainline: Mainline::Since((2, 6)),
        actively_developed: false,
        kernel_status: "",
        status_source: "MAINTAINERS of Linux 6.12, November 2024",
        status_drawback: "",
        newer_driver: "",
        drawback_on_disks: "",
        as_root: "",
        blkid_knows: true,
        source: "",
    };
}

/// The kernel's major and minor version.
pub type KernelVersion = (u32, u32);

/// The releases of Linux that have a driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mainline {
    Since(KernelVersion),
    /// From the first up to the one that has it no more.
    Between(KernelVersion, KernelVersion),
    /// Never in a release: it is patched into kernels that users build.
    Never,
}

/// Something a filesystem has or lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Property {
    Journal,
    MetadataChecksums,
    /// Corrupted data are detected when they are read.
    DataChecksums,
    Permissions,
    /// Snapshots of the whole filesystem.
    Snapshots,
    /// Files that share their blocks until one of them is written (FICLONE).
    Clones,
    /// A program that looks for damage.
    Checker,
}

/// How a name is found in a large directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DirectoryIndex {
    /// By reading it from the start: filling a directory of n files costs n² comparisons.
    Linear,
    /// Through an index that can be left out at mkfs (`-O ^dir_index`).
    Optional(&'static str),
    Always(&'static str),
}

/// Where inodes come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inodes {
    /// Their number is settled at mkfs.
    FixedAtMkfs {
        /// One inode per this many bytes of the device under the fair defaults.
        bytes_per_inode: u64,
        /// Options of mkfs that settle it otherwise; the first takes the number itself.
        options: &'static [&'static str],
    },
    /// They are made as files are, as long as there is space.
    Dynamic,
}

impl Inodes {
    /// The number of inodes on a device of this size under the fair defaults (slightly more than usable); `None` when
    /// only space limits it.
    pub const fn limit(self, device_bytes: u64) -> Option<u64> {
        match self {
            Self::FixedAtMkfs { bytes_per_inode, .. } => Some(device_bytes / bytes_per_inode),
            Self::Dynamic => None,
        }
    }
}
