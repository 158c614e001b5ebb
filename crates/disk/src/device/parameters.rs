//! The numbers of what lies before a medium, in the units the calculation uses: bytes, sectors of 512 bytes, nanoseconds.

/// What lies between host and device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LinkParameters {
    pub(super) byte_ns: f64,
    /// Whether data goes both ways at once.
    pub(super) full_duplex: bool,
    /// What each command takes of the link's own time.
    pub(super) command_ns: u64,
    /// What a read waits inside the device besides, without keeping others from it.
    pub(super) read_ns: u64,
    /// As `read_ns`, for a write.
    pub(super) write_ns: u64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Queue {
    pub(super) depth: u32,
    pub(super) max_sectors: u32,
    /// Among how many of the waiting the device looks for the nearest.
    pub(super) window: usize,
    /// Whether a flush goes through the queue like the rest. ATA's does not: the queue runs empty first, and nothing
    /// else is taken until it is done.
    pub(super) flush_queued: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CacheParameters {
    pub(super) sectors: u64,
    /// Separate stretches it can hold.
    pub(super) extents: usize,
    /// Among how many of them it looks for the nearest, in the order of the sweep.
    pub(super) window: usize,
    /// How long writing back waits for more, where nothing presses.
    pub(super) delay_ns: u64,
    /// What taking a write takes that begins where the last ended, after a write and after a read …
    pub(super) onwards_ns: (u64, u64),
    /// … and one that does not.
    pub(super) elsewhere_ns: (u64, u64),
    /// What a flush takes beyond writing back.
    pub(super) flush_ns: u64,
    /// Whether power-loss protection makes what is in it durable: then a flush writes nothing back.
    pub(super) protected: bool,
    /// Whether the host is told of it, and sends flushes. Sticks and cards keep their buffer to themselves.
    pub(super) announced: bool,
}
