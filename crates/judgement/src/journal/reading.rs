//! Where the reading of a filesystem's layout stopped, and why. A guest may leave any bytes on its device, so a layout can be
//! damaged, or made to lead its reader in circles.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The number of bytes that are kept of a field's name in a reader's report.
const LONGEST_FIELD: usize = 40;

/// The place at which a reader of an image gave up. Its findings up to there are kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadingStopped {
    /// The block that it could not follow, in blocks of 4096 bytes; `None` where no single block is the cause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<u64>,
    pub reason: StopReason,
}

/// Why a reader gave up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The superblock of the filesystem is not where it must be.
    #[error("holds no superblock of this filesystem")]
    NoSuperblock,
    /// A block leads back to itself, directly or through others.
    #[error("refers to itself")]
    RefersToItself,
    /// A block of a tree has two parents.
    #[error("is referred to twice")]
    ReferredToTwice,
    /// A piece of the address space lies where another piece lies already.
    #[error("is mapped by a chunk onto blocks that another chunk has")]
    MapsOntoItself,
    /// The place is behind the end of the device.
    #[error("is beyond the end of the device, which has {blocks} blocks")]
    BeyondDevice {
        /// Blocks of 4096 bytes that the device has.
        blocks: u64,
    },
    /// A node of a tree is on another level than the pointer to it implies.
    #[error("is a node of level {level}, and its parent implies level {expected}")]
    WrongLevel { level: u64, expected: u64 },
    /// A field has a value that no such filesystem has.
    #[error("the on-disk field {field} is {value}, which is impossible for this filesystem")]
    Implausible { field: String, value: u64 },
    /// The filesystem has blocks of another size than its reader knows, in bytes.
    #[error("describes blocks of {bytes} bytes, and those of 4096 alone are read")]
    OtherBlockSize { bytes: u64 },
    /// The image could not be read there.
    #[error("cannot be read")]
    Unreadable,
    /// Reading took more steps than an image of this size can need.
    #[error("the reader has taken {steps} steps, more than an image of this size needs")]
    TooManySteps { steps: u64 },
    /// The layout describes more blocks than an image of this size can hold.
    #[error("is one more than the {blocks} blocks that an image of this size can describe")]
    TooManyBlocks { blocks: u64 },
    /// The reader's process was ended by this signal.
    #[error("the reader was killed by signal {signal}")]
    KilledBySignal { signal: i32 },
    /// The reader's process reached its limit of memory.
    #[error("the reader used more than {mib} MiB")]
    MemoryLimit { mib: u64 },
    /// The reader's process reached its limit of processor time.
    #[error("the reader used more than {seconds} s of processor time")]
    ProcessorTimeLimit { seconds: u64 },
    /// The reader's process did not end in time.
    #[error("the reader did not end within {seconds} s")]
    WallTimeLimit { seconds: u64 },
    /// The reader's process sent something else than a layout.
    #[error("the reader sent no valid result")]
    InvalidResult,
}

impl ReadingStopped {
    /// Reading stopped at this block of 4096 bytes.
    pub fn at_block(block: u64, reason: StopReason) -> ReadingStopped {
        ReadingStopped { block: Some(block), reason }
    }

    /// Reading stopped, and no single block is the cause.
    pub fn without_block(reason: StopReason) -> ReadingStopped {
        ReadingStopped { block: None, reason }
    }

    /// A field in this block has a value that no such filesystem has.
    pub fn implausible(block: u64, field: &str, value: u64) -> ReadingStopped {
        Self::at_block(block, StopReason::Implausible { field: field.to_owned(), value })
    }

    /// The same, with a field's name of bounded length and without terminal control characters.
    pub fn with_bounded_text(mut self) -> ReadingStopped {
        if let StopReason::Implausible { field, .. } = &mut self.reason {
            field.retain(|letter| letter.is_ascii_graphic());
            field.truncate(LONGEST_FIELD);
        }
        self
    }
}

impl fmt::Display for ReadingStopped {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("stopped: ")?;
        match (self.block, &self.reason) {
            (Some(block), StopReason::Implausible { .. } | StopReason::TooManySteps { .. }) => {
                write!(formatter, "at block {block}, {}", self.reason)
            }
            (Some(block), reason) => write!(formatter, "block {block} {reason}"),
            (None, reason) => write!(formatter, "{reason}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ReadingStopped, StopReason};

    #[test]
    fn a_stop_is_told_with_its_block_and_its_reason() {
        let describe = |block: Option<u64>, reason: StopReason| ReadingStopped { block, reason }.to_string();
        assert_eq!(describe(Some(4711), StopReason::RefersToItself), "stopped: block 4711 refers to itself");
        assert_eq!(
            describe(None, StopReason::KilledBySignal { signal: 9 }),
            "stopped: the reader was killed by signal 9"
        );
        assert_eq!(
            ReadingStopped::implausible(0, "s_blocks_per_group", 0).to_string(),
            "stopped: at block 0, the on-disk field s_blocks_per_group is 0, which is impossible for this filesystem"
        );
    }

    #[test]
    fn the_name_of_a_field_is_short_and_steers_no_terminal() {
        let hostile =
            ReadingStopped::implausible(1, &"\u{1b}[2J\u{202e}x".repeat(1000), 2).with_bounded_text();
        let StopReason::Implausible { field, .. } = hostile.reason else { panic!("another reason") };
        assert!(field.len() <= 40 && field.chars().all(|letter| letter.is_ascii_graphic()));
    }
}
