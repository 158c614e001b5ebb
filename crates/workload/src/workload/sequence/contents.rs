//! The contents that sequences write.

use crate::dataset::mix_bits;

/// Fills bytes that begin at this offset of a file. Each write has other bytes than all other writes, and no byte is zero.
pub(super) fn fill_pattern(bytes: &mut [u8], with: u64, offset: u64) {
    for (byte, at) in bytes.iter_mut().zip(offset..) {
        let word = mix_bits(with.wrapping_mul(0x9e37_79b9) ^ (at / 8));
        *byte = word.to_le_bytes()[(at % 8) as usize] | 1;
    }
}
