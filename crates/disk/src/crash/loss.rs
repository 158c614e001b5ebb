//! The rule by which a class of devices may lose writes when its power is cut.

use serde::{Deserialize, Serialize};

use crate::device::Model;

/// How writes that no flush has made durable may be lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LossRule {
    /// Whether completed writes can be lost until a flush.
    pub volatile: bool,
    /// Whether a later write may survive an earlier one that is lost. A disk's cache is written in the order of
    /// addresses, that of flash roughly in the order of arrival, by pages (Zheng et al., "Understanding the
    /// Robustness of SSDs under Power Fault", FAST '13, found both in drives: without a guarantee, any order is
    /// possible).
    pub any_order: bool,
    /// Whether a flush makes any write durable.
    pub flushes: bool,
    /// Sectors of 512 bytes that are written atomically: the device's physical block.
    pub unit_sectors: u32,
}

impl LossRule {
    /// Derives the rule of a model.
    pub fn from_model(model: &Model) -> LossRule {
        let limits = model.limits(model.capacity());
        LossRule {
            volatile: limits.volatile_cache,
            any_order: true,
            flushes: true,
            unit_sectors: (limits.physical_block / 512).max(1),
        }
    }

    /// The rule of a device that loses nothing: completed writes and those in flight survive.
    pub fn nothing_lost(self) -> LossRule {
        LossRule { volatile: false, any_order: false, ..self }
    }

    /// The rule of a faulty device, which reports each flush as done without doing anything.
    pub fn flushes_ignored(self) -> LossRule {
        LossRule { volatile: true, flushes: false, ..self }
    }
}
