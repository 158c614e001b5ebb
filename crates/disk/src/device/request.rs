//! What a device is asked for, and its answer.

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Action {
    Read,
    Write,
    /// What was written before it must survive a loss of power after it.
    Flush,
    /// The sectors' content is no longer wanted.
    Discard,
    /// The sectors are to read as zeroes.
    WriteZeroes,
}

impl Action {
    /// Every operation, in the order of its number in a trace.
    pub const ALL: [Action; 5] =
        [Action::Read, Action::Write, Action::Flush, Action::Discard, Action::WriteZeroes];

    /// Its name, as metrics and exports write it.
    pub fn name(self) -> &'static str {
        match self {
            Action::Read => "read",
            Action::Write => "write",
            Action::Flush => "flush",
            Action::Discard => "discard",
            Action::WriteZeroes => "write_zeroes",
        }
    }
}

/// One request. Sectors are of 512 bytes, whatever the device's own blocks are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// The caller's name for it; comes back with the completion. The device gives it no meaning.
    pub id: u64,
    pub operation: Action,
    /// The first sector; 0 for a flush.
    pub sector: u64,
    pub sectors: u32,
}

impl Request {
    pub fn end(&self) -> u64 {
        self.sector.saturating_add(u64::from(self.sectors))
    }
}

/// A request that is done. A modelled device never fails one: faults are made on the store, by the trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    pub request: Request,
    /// When it was submitted, in nanoseconds of the simulation clock.
    pub submitted_ns: u64,
    /// When it was done, in nanoseconds of the simulation clock.
    pub completed_ns: u64,
}
