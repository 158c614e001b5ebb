//! Kinds of corruption of a single block of a medium, and the names of rotten blocks, from which each can be made
//! again.
//!
//! The kinds are those of fault studies: flipped bits and blocks that cannot be read or written (Prabhakaran et al.,
//! "IRON File Systems", SOSP '05), and writes that arrive in part, elsewhere or not at all (Jaffer et al.,
//! "Evaluating File System Reliability on Solid State Drives", ATC '19: shorn after 3/8 or 7/8 of a block).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Size of a block that rots, in bytes.
pub const ROT_BLOCK: u64 = 4096;
/// Bits of such a block.
const BITS_OF_BLOCK: u64 = ROT_BLOCK * 8;

/// A block of a device, and the kind of its corruption.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct RottenBlock {
    /// Number of the block from 0, in blocks of `ROT_BLOCK_BYTES`.
    pub block: u64,
    pub decay: Decay,
}

/// The kind of corruption of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Decay {
    /// This bit is flipped.
    Flipped(u16),
    /// The block holds zeroes.
    Zeroed,
    /// Only this many eighths of the last write arrived, the first ones; the rest of the block holds its content
    /// before that write.
    Shorn(u8),
    /// The last write to it never arrived.
    Lost,
    /// The block holds the data written to this other block.
    Misdirected(u64),
    /// Reads fail until the block is written again.
    Unreadable,
    /// Writes fail.
    Unwritable,
}

/// A text that does not name a rotten block.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no name of a rotten block: a name has a block number and a kind of corruption, as in rot-1234-flip77"
)]
pub struct RotNameError(String);

impl Decay {
    /// All kinds, each with a representative value.
    pub const KINDS: [Decay; 8] = [
        Decay::Flipped(0),
        Decay::Zeroed,
        Decay::Shorn(3),
        Decay::Shorn(7),
        Decay::Lost,
        Decay::Misdirected(0),
        Decay::Unreadable,
        Decay::Unwritable,
    ];

    /// The kind as one word, for the user.
    pub const fn word(self) -> &'static str {
        match self {
            Decay::Flipped(_) => "flipped",
            Decay::Zeroed => "zeroed",
            Decay::Shorn(_) => "shorn",
            Decay::Lost => "lost",
            Decay::Misdirected(_) => "misdirected",
            Decay::Unreadable => "unreadable",
            Decay::Unwritable => "unwritable",
        }
    }

    /// Whether the block holds other bytes than were written; otherwise reads or writes fail.
    pub const fn changes_content(self) -> bool {
        !matches!(self, Decay::Unreadable | Decay::Unwritable)
    }
}

impl fmt::Display for RottenBlock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "rot-{}-", self.block)?;
        match self.decay {
            Decay::Flipped(bit) => write!(formatter, "flip{bit}"),
            Decay::Zeroed => formatter.write_str("zero"),
            Decay::Shorn(eighths) => write!(formatter, "shorn{eighths}"),
            Decay::Lost => formatter.write_str("lost"),
            Decay::Misdirected(other) => write!(formatter, "from{other}"),
            Decay::Unreadable => formatter.write_str("unreadable"),
            Decay::Unwritable => formatter.write_str("unwritable"),
        }
    }
}

impl FromStr for RottenBlock {
    type Err = RotNameError;

    fn from_str(name: &str) -> Result<RottenBlock, RotNameError> {
        let parse_parts = || {
            let (block, decay) = name.strip_prefix("rot-")?.split_once('-')?;
            let digits_start = decay.find(|letter: char| letter.is_ascii_digit()).unwrap_or(decay.len());
            let (word, number) = decay.split_at(digits_start);
            let decay = match (word, number) {
                ("flip", bit) => {
                    Decay::Flipped(bit.parse().ok().filter(|bit| u64::from(*bit) < BITS_OF_BLOCK)?)
                }
                ("zero", "") => Decay::Zeroed,
                ("shorn", eighths) => {
                    Decay::Shorn(eighths.parse().ok().filter(|eighths| (1..=7).contains(eighths))?)
                }
                ("lost", "") => Decay::Lost,
                ("from", other) => Decay::Misdirected(other.parse().ok()?),
                ("unreadable", "") => Decay::Unreadable,
                ("unwritable", "") => Decay::Unwritable,
                _ => return None,
            };
            Some(RottenBlock { block: block.parse().ok()?, decay })
        };
        parse_parts().ok_or_else(|| RotNameError(name.chars().take(40).collect()))
    }
}

impl From<RottenBlock> for String {
    fn from(rotten: RottenBlock) -> String {
        rotten.to_string()
    }
}

impl TryFrom<String> for RottenBlock {
    type Error = RotNameError;

    fn try_from(name: String) -> Result<RottenBlock, RotNameError> {
        name.parse()
    }
}
