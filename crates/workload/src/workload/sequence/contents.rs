//! The contents that sequences write, and the check which contents a file may have.

use std::sync::Arc;

use crate::dataset::mix_bits;

/// Fills bytes that begin at this offset of a file. Each write has other bytes than all other writes, and no byte is zero.
pub(super) fn fill_pattern(bytes: &mut [u8], with: u64, offset: u64) {
    for (byte, at) in bytes.iter_mut().zip(offset..) {
        let word = mix_bits(with.wrapping_mul(0x9e37_79b9) ^ (at / 8));
        *byte = word.to_le_bytes()[(at % 8) as usize] | 1;
    }
}

/// A mismatch in a file's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ContentFault {
    Size {
        bytes: usize,
        least: usize,
        most: usize,
    },
    /// The byte at this position is neither the old nor the new one.
    Lost {
        at: usize,
    },
    /// The byte at this position was never written there.
    Foreign {
        at: usize,
    },
}

/// Checks whether a file may have this content while it changes from the first of these versions to the last: the writes in
/// between may have reached it or not, in any order, and its size may lie anywhere between the sizes of the versions. With a
/// single version, the content must be equal.
pub(super) fn compare_content(found: &[u8], versions: &[Arc<Vec<u8>>]) -> Result<(), ContentFault> {
    let least = versions.iter().map(|version| version.len()).min().unwrap_or(0);
    let most = versions.iter().map(|version| version.len()).max().unwrap_or(0);
    let bytes = found.len();
    if bytes < least || bytes > most {
        return Err(ContentFault::Size { bytes, least, most });
    }
    if versions.iter().any(|version| version.as_slice() == found) {
        return Ok(());
    }
    for (at, byte) in found.iter().enumerate() {
        let is = |version: &Arc<Vec<u8>>| version.get(at).copied().unwrap_or(0) == *byte;
        if !versions.iter().any(is) {
            return Err(if *byte == 0 { ContentFault::Lost { at } } else { ContentFault::Foreign { at } });
        }
    }
    Ok(())
}
