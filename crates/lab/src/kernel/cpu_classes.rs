//! The classes of computation that a laboratory kernel (patch 0014) counts, each of which has a price.
//!
//! The counts are in `/proc/cpu_price`, which exists if the kernel's command line has the word `cpu_price=`: one line,
//! `CHARGED_NS SLEPT_NS COUNT COUNT …`, in the order of the classes. Counting starts when it is read first.
//!
//! Look for the word in `/proc/cmdline` before opening the file. In a kernel without it the attempt would fail, and a failed
//! system call takes a microsecond of simulated time there, so that every trace without prices would change.

/// The names of the classes, in the order in which the kernel takes their prices and prints their counts. They are the keys
/// of a CPU model's table `[picoseconds]`.
///
/// A block is a basic block of the guest kernel's code. It is hot if it ran recently (one of the last 1 024 distinct blocks,
/// as a first-level cache would keep it), warm if it ran some time ago (one of the last 8 192), else cold. `NAME_call` counts
/// calls of an algorithm, `NAME_byte` the bytes it took in (compressors, ciphers, digests) or produced (decompressors).
pub const CPU_CLASSES: [&str; 43] = [
    "block_hot",
    "block_warm",
    "block_cold",
    "byte_copied",
    "byte_set",
    "system_call",
    "context_switch",
    "wake_up",
    "interrupt",
    "page_fault",
    "user_return",
    "aes_call",
    "aes_byte",
    "other_cipher_call",
    "other_cipher_byte",
    "crc32c_call",
    "crc32c_byte",
    "sha256_call",
    "sha256_byte",
    "blake2b_call",
    "blake2b_byte",
    "xxhash_call",
    "xxhash_byte",
    "other_digest_call",
    "other_digest_byte",
    "zstd_compress_call",
    "zstd_compress_byte",
    "zstd_decompress_call",
    "zstd_decompress_byte",
    "lzo_compress_call",
    "lzo_compress_byte",
    "lzo_decompress_call",
    "lzo_decompress_byte",
    "lz4_compress_call",
    "lz4_compress_byte",
    "lz4_decompress_call",
    "lz4_decompress_byte",
    "zlib_compress_call",
    "zlib_compress_byte",
    "zlib_decompress_call",
    "zlib_decompress_byte",
    "parity_call",
    "parity_byte",
];

#[cfg(test)]
mod tests {
    use super::CPU_CLASSES;

    #[test]
    fn every_call_class_is_followed_by_its_bytes_and_no_name_repeats() {
        for (at, name) in CPU_CLASSES.iter().enumerate() {
            if let Some(algorithm) = name.strip_suffix("_call").filter(|stem| *stem != "system") {
                assert_eq!(CPU_CLASSES.get(at + 1), Some(&format!("{algorithm}_byte").as_str()));
            }
            assert_eq!(CPU_CLASSES.iter().filter(|other| *other == name).count(), 1, "{name}");
        }
    }
}
