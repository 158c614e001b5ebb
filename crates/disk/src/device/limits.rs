//! What the guest must know of a device before it makes a filesystem: kernels decide by these.

/// The limits of a modelled device, for the virtio configuration and the guest's `/sys/block/*/queue`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub size_bytes: u64,
    /// Requests the guest may have underway at once: `virtio_blk.queue_depth` on the kernel's command line. It decides
    /// what the guest's elevator gets to merge.
    pub queue_depth: u32,
    /// The largest read or write, in KiB: `queue/max_sectors_kb`.
    pub max_sectors_kb: u32,
    /// `queue/rotational`: btrfs, ext4's allocator and BFQ read it, so it must be set before mkfs.
    pub rotational: bool,
    /// Bytes.
    pub logical_block: u32,
    /// Bytes.
    pub physical_block: u32,
    pub discard: Option<Discard>,
    /// Whether `WriteZeroes` is taken without the zeroes being sent.
    pub write_zeroes: bool,
    /// Whether completed writes can be lost until a flush: `VIRTIO_BLK_F_FLUSH`, `queue/write_cache`.
    pub volatile_cache: bool,
}

/// How a device takes discards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Discard {
    /// Alignment and least size in bytes: `queue/discard_granularity`.
    pub granularity: u32,
    /// The largest, in sectors of 512 bytes: `max_discard_sectors`.
    pub max_sectors: u32,
}
