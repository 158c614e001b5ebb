//! What a class of devices may lose when its power is cut.

use crate::device::Model;

/// What may become of writes that no flush has made durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LossRule {
    /// Whether completed writes can be lost until a flush.
    pub volatile: bool,
    /// Whether a later write may survive an earlier one that does not: a disk's cache is written in the order of places, one of
    /// flash in that of arrival, give or take its pages (Zheng et al., "Understanding the Robustness of SSDs under Power Fault",
    /// FAST '13, found both in drives: where nothing is promised, any order is possible).
    pub any_order: bool,
    /// Sectors of 512 bytes that are written wholly or not at all: the device's physical block.
    pub unit_sectors: u32,
}

impl LossRule {
    /// That of a model.
    pub fn of(model: &Model) -> LossRule {
        let limits = model.limits(model.capacity());
        LossRule {
            volatile: limits.volatile_cache,
            any_order: true,
            unit_sectors: (limits.physical_block / 512).max(1),
        }
    }

    /// A device that keeps whatever it was given: nothing that is completed or underway is lost.
    pub fn nothing_lost(self) -> LossRule {
        LossRule { volatile: false, any_order: false, ..self }
    }
}
