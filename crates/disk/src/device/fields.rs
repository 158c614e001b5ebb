//! Numbers, sizes and flags as a model's file gives them, within their bounds.

use std::ops::RangeInclusive;

use fsverdict_text::value::{any_number, boolean, size};
use fsverdict_text::{Bytes, Node, Reason, Section};

pub(super) const SECTOR: u64 = 512;
pub(super) const MS: f64 = 1e6;
pub(super) const US: f64 = 1e3;
pub(super) const RATE: RangeInclusive<f64> = 0.001..=1e6;
pub(super) const TIME: RangeInclusive<f64> = 0.0..=1e7;

/// A rate in MB/s (10⁶ bytes) as nanoseconds a byte.
pub(super) fn byte_ns(mb_s: f64) -> f64 {
    1e3 / mb_s
}

/// As [`byte_ns`], a sector.
pub(super) fn sector_ns(mb_s: f64) -> f64 {
    byte_ns(mb_s) * SECTOR as f64
}

pub(super) fn keys(words: &str) -> Vec<&str> {
    words.split(' ').collect()
}

pub(super) fn number(section: &Section<'_>, key: &str, bounds: RangeInclusive<f64>) -> Option<f64> {
    let within = |node: &Node| match any_number(node)? {
        number if bounds.contains(&number) => Ok(number),
        number => {
            let (least, most) = (bounds.start(), bounds.end());
            Err(Reason::new(format!("it must be from {least} to {most}, but is {number}"), ""))
        }
    };
    section.need(key, "", within)
}

/// As [`number`], with what counts where the key is absent.
pub(super) fn number_or(
    section: &Section<'_>,
    key: &str,
    bounds: RangeInclusive<f64>,
    absent: f64,
) -> Option<f64> {
    if section.has(key) { number(section, key, bounds) } else { Some(absent) }
}

pub(super) fn whole(section: &Section<'_>, key: &str, bounds: RangeInclusive<u64>) -> Option<u64> {
    let number = number(section, key, *bounds.start() as f64..=*bounds.end() as f64)?;
    if number.fract() != 0.0 {
        section.wrong(key, &format!("a whole number is wanted here, not {number}"), "");
    }
    Some(number as u64)
}

/// As [`whole`], with what counts where the key is absent.
pub(super) fn whole_or(
    section: &Section<'_>,
    key: &str,
    bounds: RangeInclusive<u64>,
    absent: u64,
) -> Option<u64> {
    if section.has(key) { whole(section, key, bounds) } else { Some(absent) }
}

/// A size in bytes: a multiple of `multiple`, up to `most`.
pub(super) fn bytes(section: &Section<'_>, key: &str, multiple: u64, most: u64) -> Option<u64> {
    let Bytes(bytes) = section.need(key, "", size)?;
    if bytes > most || !bytes.is_multiple_of(multiple) {
        let (multiple, most) = (Bytes(multiple), Bytes(most));
        let is = Bytes(bytes);
        section.wrong(key, &format!("it must be a multiple of {multiple} up to {most}, but is {is}"), "");
    }
    Some(bytes)
}

/// False where absent.
pub(super) fn flag(section: &Section<'_>, key: &str) -> bool {
    flag_or(section, key, false)
}

/// True or false, and which where absent.
pub(super) fn flag_or(section: &Section<'_>, key: &str, absent: bool) -> bool {
    section.get(key, boolean).unwrap_or(absent)
}
