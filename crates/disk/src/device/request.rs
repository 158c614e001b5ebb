//! Requests to a modelled device, and their completions.

/// The operation of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Action {
    Read,
    Write,
    /// Everything written before it must survive a power loss after it.
    Flush,
    /// The content of the sectors is no longer needed.
    Discard,
    /// The sectors must read as zeroes.
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

/// One request. Sectors have 512 bytes, independent of the device's own block size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Chosen by the caller, and returned with the completion. The device does not interpret it.
    pub id: u64,
    pub operation: Action,
    /// The first sector; 0 for a flush.
    pub sector: u64,
    pub sectors: u32,
}

impl Request {
    /// Returns the sector after the last one.
    pub fn end_sector(&self) -> u64 {
        self.sector.saturating_add(u64::from(self.sectors))
    }
}

/// A completed request. A modelled device never fails a request: errors come from the store and the backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    pub request: Request,
    /// Time of submission, in nanoseconds of the simulation clock.
    pub submitted_ns: u64,
    /// Time of completion, in nanoseconds of the simulation clock.
    pub completed_ns: u64,
}
