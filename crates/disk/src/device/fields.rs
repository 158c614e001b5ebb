//! Reads numbers, sizes and flags of a model's file, within their bounds.

use std::ops::RangeInclusive;

use fsverdict_text::value::{any_number, boolean, size};
use fsverdict_text::{Bytes, Node, Reason, Section};

/// Bytes of a sector.
pub(super) const SECTOR: u64 = 512;
/// Nanoseconds of a millisecond.
pub(super) const MS: f64 = 1e6;
/// Nanoseconds of a microsecond.
pub(super) const US: f64 = 1e3;
/// Bounds of rates, in MB/s.
pub(super) const RATE: RangeInclusive<f64> = 0.001..=1e6;
/// Bounds of times, in the unit of the key.
pub(super) const TIME: RangeInclusive<f64> = 0.0..=1e7;

/// Converts a rate in MB/s (10⁶ bytes) to nanoseconds per byte.
pub(super) fn byte_ns(mb_s: f64) -> f64 {
    1e3 / mb_s
}

/// Converts a rate in MB/s to nanoseconds per sector.
pub(super) fn sector_ns(mb_s: f64) -> f64 {
    byte_ns(mb_s) * SECTOR as f64
}

/// Splits a list of keys at its spaces.
pub(super) fn split_keys(words: &str) -> Vec<&str> {
    words.split(' ').collect()
}

/// Reads a number within these bounds; the key must be there.
pub(super) fn read_number(section: &Section<'_>, key: &str, bounds: RangeInclusive<f64>) -> Option<f64> {
    let within = |node: &Node| match any_number(node)? {
        number if bounds.contains(&number) => Ok(number),
        number => {
            let (least, most) = (bounds.start(), bounds.end());
            Err(Reason::new(format!("it must be from {least} to {most}, but is {number}"), ""))
        }
    };
    section.need(key, "", within)
}

/// As `read_number`, with the value of an absent key.
pub(super) fn number_or(
    section: &Section<'_>,
    key: &str,
    bounds: RangeInclusive<f64>,
    absent: f64,
) -> Option<f64> {
    if section.has_key(key) { read_number(section, key, bounds) } else { Some(absent) }
}

/// Reads a whole number within these bounds; the key must be there.
pub(super) fn read_whole(section: &Section<'_>, key: &str, bounds: RangeInclusive<u64>) -> Option<u64> {
    let number = read_number(section, key, *bounds.start() as f64..=*bounds.end() as f64)?;
    if number.fract() != 0.0 {
        section.report_wrong(key, &format!("a whole number is wanted here, not {number}"), "");
    }
    Some(number as u64)
}

/// As `read_whole`, with the value of an absent key.
pub(super) fn whole_or(
    section: &Section<'_>,
    key: &str,
    bounds: RangeInclusive<u64>,
    absent: u64,
) -> Option<u64> {
    if section.has_key(key) { read_whole(section, key, bounds) } else { Some(absent) }
}

/// Reads a size in bytes, which must be a multiple of `multiple` and at most `most`.
pub(super) fn read_size(section: &Section<'_>, key: &str, multiple: u64, most: u64) -> Option<u64> {
    let Bytes(bytes) = section.need(key, "", size)?;
    if bytes > most || !bytes.is_multiple_of(multiple) {
        let (multiple, most) = (Bytes(multiple), Bytes(most));
        let is = Bytes(bytes);
        section.report_wrong(
            key,
            &format!("it must be a multiple of {multiple} up to {most}, but is {is}"),
            "",
        );
    }
    Some(bytes)
}

/// Reads a flag, which is false where it is absent.
pub(super) fn read_flag(section: &Section<'_>, key: &str) -> bool {
    flag_or(section, key, false)
}

/// Reads a flag, with the value of an absent key.
pub(super) fn flag_or(section: &Section<'_>, key: &str, absent: bool) -> bool {
    section.get(key, boolean).unwrap_or(absent)
}
