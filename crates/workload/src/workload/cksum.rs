//! The sum that the program of a state compares contents by: every POSIX system has it.

/// As cksum(1) has it (POSIX.1-2017, cksum: CRC of ISO/IEC 8802-3, the length appended).
pub(super) fn posix_checksum(bytes: &[u8]) -> u32 {
    let mut crc: u32 = 0;
    let mut add = |byte: u8| {
        crc ^= u32::from(byte) << 24;
        for _ in 0..8 {
            crc = if crc & 0x8000_0000 == 0 { crc << 1 } else { crc << 1 ^ 0x04c1_1db7 };
        }
    };
    bytes.iter().for_each(|byte| add(*byte));
    let mut length = bytes.len();
    while length > 0 {
        add((length & 0xff) as u8);
        length >>= 8;
    }
    !crc
}

#[cfg(test)]
mod tests {
    use super::posix_checksum;

    #[test]
    fn sums_are_those_of_cksum() {
        // printf 123456789 | cksum; cksum < /dev/null
        assert_eq!((posix_checksum(b"123456789"), posix_checksum(b"")), (930_766_865, 4_294_967_295));
    }
}
