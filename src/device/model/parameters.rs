//! The numbers of a model, in the units the calculation uses: bytes, sectors of 512 bytes, nanoseconds.

use crate::device::limits::Discard;

/// Everything a model's file says, for one of its states.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Parameters {
    pub(crate) capacity_bytes: u64,
    pub(crate) rotational: bool,
    pub(crate) logical_block: u32,
    pub(crate) physical_block: u32,
    pub(crate) discard: Option<Discard>,
    pub(crate) write_zeroes: bool,
    pub(crate) link: Link,
    pub(crate) queue: Queue,
    pub(crate) cache: Option<Cache>,
    pub(crate) medium: MediumParameters,
}

/// What lies between host and device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Link {
    pub(crate) byte_ns: f64,
    /// Whether data goes both ways at once.
    pub(crate) full_duplex: bool,
    /// What each command takes of the link's own time.
    pub(crate) command_ns: u64,
    /// What a read waits inside the device besides, without keeping others from it.
    pub(crate) read_ns: u64,
    /// As `read_ns`, for a write.
    pub(crate) write_ns: u64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Queue {
    pub(crate) depth: u32,
    pub(crate) max_sectors: u32,
    /// Among how many of the waiting the device looks for the nearest.
    pub(crate) window: usize,
    /// Whether a flush goes through the queue like the rest. ATA's does not: the queue runs empty first, and nothing
    /// else is taken until it is done.
    pub(crate) flush_queued: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Cache {
    pub(crate) sectors: u64,
    /// Separate stretches it can hold.
    pub(crate) extents: usize,
    /// Among how many of them it looks for the nearest, in the order of the sweep.
    pub(crate) window: usize,
    /// How long writing back waits for more, where nothing presses.
    pub(crate) delay_ns: u64,
    /// What a flush takes beyond writing back.
    pub(crate) flush_ns: u64,
    /// Whether power-loss protection makes what is in it durable: then a flush writes nothing back.
    pub(crate) protected: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum MediumParameters {
    /// Every access takes the same.
    Ideal {
        access_ns: u64,
    },
    Platter(Platter),
    Shingles(Platter, Shingles),
    Units(Units),
    Flash(Flash),
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Platter {
    pub(crate) rotation_ns: f64,
    /// Sustained, head and track switches included, at the outer and the inner edge: nanoseconds a sector.
    pub(crate) outer_sector_ns: f64,
    pub(crate) inner_sector_ns: f64,
    pub(crate) zones: u32,
    pub(crate) heads: u32,
    pub(crate) seek: Seek,
    /// To another track of the same cylinder.
    pub(crate) head_switch_ns: f64,
    /// What a write waits longer than a read until the head has settled.
    pub(crate) write_settle_ns: f64,
    /// How far it reads on when nothing else is wanted.
    pub(crate) read_ahead_sectors: u64,
    /// How many separate stretches of what it read it remembers.
    pub(crate) segments: usize,
}

/// The time the arm takes over a distance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Seek {
    /// From the shortest, by the root of the distance, to the longest.
    Root { minimum_ns: f64, full_ns: f64 },
    /// `a + b√d` up to `knee` cylinders, `c + e·d` beyond (Ruemmler and Wilkes, IEEE Computer 27(3), 1994).
    Knee { a_ns: f64, b_ns: f64, knee: f64, c_ns: f64, e_ns: f64 },
}

/// Shingled tracks managed by the drive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Shingles {
    pub(crate) cache_sectors: u64,
    pub(crate) cache_extents: u64,
    pub(crate) band_sectors: u64,
    pub(crate) idle_ns: u64,
    /// How full the persistent cache is at the start, from 0 to 1.
    pub(crate) fill: f64,
}

/// Allocation units, few of them open at once: sticks and cards.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Units {
    pub(crate) unit_sectors: u64,
    pub(crate) open: usize,
    pub(crate) page_sectors: u64,
    pub(crate) read_ns: u64,
    pub(crate) read_sector_ns: f64,
    pub(crate) write_ns: u64,
    pub(crate) write_sector_ns: f64,
    pub(crate) copy_sector_ns: f64,
    pub(crate) erase_ns: u64,
    /// Pages of an open unit's log for writes that do not go on where the last one ended; 0 for none.
    pub(crate) log_pages: u64,
    /// Whether every unit holds data at the start.
    pub(crate) filled: bool,
}

/// Flash behind a translation layer that maps pages.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Flash {
    pub(crate) channels: usize,
    pub(crate) dies_per_channel: usize,
    pub(crate) page_bytes: u64,
    pub(crate) block_pages: u64,
    pub(crate) read_ns: u64,
    pub(crate) program_ns: u64,
    pub(crate) erase_ns: u64,
    pub(crate) channel_byte_ns: f64,
    /// Flash beyond what the host sees, as a share of what it sees.
    pub(crate) over_provisioning: f64,
    /// Cleaning starts when fewer blocks than this share are free.
    pub(crate) reserve: f64,
    pub(crate) victim: Victim,
    pub(crate) state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Victim {
    Greedy,
    Fifo,
}

/// What was done to flash before the trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// Nothing, or everything discarded.
    Fresh,
    /// Written once from end to end.
    Filled,
    /// Written at random, evenly, until cleaning takes as much as it ever will.
    Steady,
}
