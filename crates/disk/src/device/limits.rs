//! Limits of a modelled device that a guest needs before it creates a filesystem, because its kernel decides by them.

/// The limits of a modelled device, for the virtio configuration and the guest's `/sys/block/*/queue`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub size_bytes: u64,
    /// Requests that the guest may have in flight at once, which the kernel's command line sets as
    /// `virtio_blk.queue_depth`. It decides which requests the guest's I/O scheduler can merge.
    pub queue_depth: u32,
    /// The largest read or write, in KiB: `queue/max_sectors_kb`.
    pub max_sectors_kb: u32,
    /// `queue/rotational`: btrfs, ext4's allocator and BFQ read it, so it must be set before mkfs.
    pub rotational: bool,
    /// Size of a logical block in bytes.
    pub logical_block: u32,
    /// Size of a physical block in bytes.
    pub physical_block: u32,
    pub discard: Option<Discard>,
    /// Whether `WriteZeroes` is accepted without sending the zeroes.
    pub write_zeroes: bool,
    /// Whether completed writes can be lost until a flush: `VIRTIO_BLK_F_FLUSH`, `queue/write_cache`.
    pub volatile_cache: bool,
}

/// How a device accepts discards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Discard {
    /// Alignment and smallest size of a discard in bytes: `queue/discard_granularity`.
    pub granularity: u32,
    /// Largest discard, in sectors of 512 bytes: `max_discard_sectors`.
    pub max_sectors: u32,
}
