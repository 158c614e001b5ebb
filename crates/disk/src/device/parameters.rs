//! Numbers of link, queue and cache of a device, in the units of the calculation: bytes, sectors of 512 bytes,
//! nanoseconds.

/// The link between host and device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LinkParameters {
    pub(super) byte_ns: f64,
    /// Whether data is transferred in both directions at once.
    pub(super) full_duplex: bool,
    /// Time for which each command occupies the link.
    pub(super) command_ns: u64,
    /// Time that a read takes inside the device in addition, without occupying the link.
    pub(super) read_ns: u64,
    /// As `read_ns`, for a write.
    pub(super) write_ns: u64,
}

/// The queue of a device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Queue {
    pub(super) depth: u32,
    pub(super) max_sectors: u32,
    /// Number of waiting requests among which the device looks for the nearest.
    pub(super) window: usize,
    /// Whether a flush goes through the queue like other requests. ATA's does not: the queue runs empty first, and
    /// nothing else is accepted until it is done.
    pub(super) flush_queued: bool,
}

/// The write cache of a device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CacheParameters {
    pub(super) sectors: u64,
    /// Largest number of separate extents.
    pub(super) extents: usize,
    /// Number of extents among which it looks for the nearest, in the order of the sweep.
    pub(super) window: usize,
    /// Time for which write-back waits for more data, unless room is needed.
    pub(super) delay_ns: u64,
    /// Time to accept a write that begins where the last one ended: after a write, and after a read.
    pub(super) onwards_ns: (u64, u64),
    /// Whether a write on the track on which the last request ended takes that time, too.
    pub(super) onwards_on_track: bool,
    /// Time to accept any other write: after a write, and after a read.
    pub(super) elsewhere_ns: (u64, u64),
    /// Time of a flush in addition to writing back.
    pub(super) flush_ns: u64,
    /// Whether power-loss protection makes the cached data durable: then a flush writes nothing back.
    pub(super) protected: bool,
    /// Whether the host is told of the cache, and sends flushes. Sticks and cards do not report their buffer.
    pub(super) announced: bool,
}
