//! Upper bounds of values in user input: far beyond any use, and small enough that no sum overflows, no product
//! exhausts memory, and no weight makes a score infinite.

/// Largest number of anything that is counted, such as files or directories.
pub const COUNT: u64 = 1_000_000_000;
/// Largest size in bytes: 1 PiB.
pub const SIZE: u64 = 1 << 50;
/// Longest time in milliseconds: 1000 days.
pub const TIME: u64 = 1000 * 86_400_000;
/// Largest weight, figure or factor; its reciprocal is the smallest allowed.
pub const NUMBER: f64 = 1e9;
/// Longest text in bytes.
pub const LONGEST: u64 = 1 << 20;
