//! Kinds of access to a device: a model's times of each may be wrong by another amount.

use super::request::Action;

/// The number of requests inside the device from which on a read elsewhere counts as queued.
pub(super) const QUEUED: usize = 8;

/// A kind of access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessKind {
    /// A read that begins where a recent read ended.
    ReadOnwards,
    /// Any other read, with fewer than eight requests inside the device.
    ReadElsewhere,
    /// Any other read, with eight requests or more inside the device, itself included.
    ReadQueued,
    /// A write that begins where a recent write ended.
    WriteOnwards,
    WriteElsewhere,
    Flush,
    /// Discarding, or writing zeroes.
    Discard,
}

impl AccessKind {
    pub const ALL: [AccessKind; 7] = [
        AccessKind::ReadOnwards,
        AccessKind::ReadElsewhere,
        AccessKind::ReadQueued,
        AccessKind::WriteOnwards,
        AccessKind::WriteElsewhere,
        AccessKind::Flush,
        AccessKind::Discard,
    ];

    /// The kind of a request: whether it goes on where a recent one of its operation ended, and how many requests are
    /// inside the device, itself included.
    pub fn of_request(operation: Action, goes_on: bool, inside: usize) -> AccessKind {
        match operation {
            Action::Read if goes_on => AccessKind::ReadOnwards,
            Action::Read if inside >= QUEUED => AccessKind::ReadQueued,
            Action::Read => AccessKind::ReadElsewhere,
            Action::Write if goes_on => AccessKind::WriteOnwards,
            Action::Write => AccessKind::WriteElsewhere,
            Action::Flush => AccessKind::Flush,
            Action::Discard | Action::WriteZeroes => AccessKind::Discard,
        }
    }

    /// The name, as keys of models and journals have it.
    pub fn name(self) -> &'static str {
        match self {
            AccessKind::ReadOnwards => "read_onwards",
            AccessKind::ReadElsewhere => "read_elsewhere",
            AccessKind::ReadQueued => "read_queued",
            AccessKind::WriteOnwards => "write_onwards",
            AccessKind::WriteElsewhere => "write_elsewhere",
            AccessKind::Flush => "flush",
            AccessKind::Discard => "discard",
        }
    }
}

/// By how much the times of a model may be wrong, by kind of access: one standard deviation of the logarithm, so that 0.1
/// means 10 %. Variation between the drives of a class is not part of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ModelErrors(pub [f64; AccessKind::ALL.len()]);

impl ModelErrors {
    /// The error of a model that states none: 95 % of its times are within a factor of 1.5.
    pub const UNKNOWN: ModelErrors = ModelErrors([0.2; AccessKind::ALL.len()]);

    /// The largest error that a model may state: a factor of 50 either way (two standard deviations).
    pub const MAX: f64 = 2.0;

    pub fn of(&self, kind: AccessKind) -> f64 {
        self.0[kind as usize]
    }

    /// The larger error of two models, for each kind.
    pub fn max(self, other: ModelErrors) -> ModelErrors {
        ModelErrors(std::array::from_fn(|kind| self.0[kind].max(other.0[kind])))
    }
}
