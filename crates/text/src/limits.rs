//! How large what a text says may be: far beyond any use, and small enough that no sum of it overflows, no product of it
//! exhausts memory, and no weight makes an infinity of a score.

/// Whatever is counted: files, directories.
pub const COUNT: u64 = 1_000_000_000;
/// Bytes of a size: 1 PiB.
pub const SIZE: u64 = 1 << 50;
/// Milliseconds of a time: 1000 days.
pub const TIME: u64 = 1000 * 86_400_000;
/// Weights, figures and factors, and one divided by the smallest of them.
pub const NUMBER: f64 = 1e9;
/// Bytes of a text.
pub const LONGEST: u64 = 1 << 20;
