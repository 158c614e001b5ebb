//! Parses the parts that all forms of lines share: words as numbers and times, and a request made of them.

use super::super::measured::{Durability, Measured};
use super::LineFault;
use crate::device::Action;
use crate::device::trace::{Flags, Traced};

/// Sectors of one request that moves data: 1 GiB.
pub(super) const LARGEST_SECTORS: u64 = 1 << 21;
/// The last sector that a request may begin at.
const LAST_SECTOR: u64 = 1 << 50;
/// Nanoseconds of a time in a trace, which may be one of the clock.
pub(super) const LATEST_NS: u64 = 8_000_000_000_000_000_000;

/// A request as a line or several show it.
#[derive(Debug, Clone, Copy)]
pub(super) struct RequestShape {
    pub(super) operation: Action,
    pub(super) sector: u64,
    pub(super) sectors: u64,
    pub(super) issued_ns: u64,
    pub(super) took_ns: u64,
    /// Of the recording, from 1 on.
    pub(super) line: usize,
}

impl RequestShape {
    /// Checks that a device may be asked for this.
    pub(super) fn validate_shape(self) -> Result<Measured, LineFault> {
        let Self { operation, sector, sectors, issued_ns, took_ns, line } = self;
        // A discard moves nothing and may be as large as the device.
        let largest = match operation {
            Action::Discard | Action::WriteZeroes => u64::from(u32::MAX),
            _ => LARGEST_SECTORS,
        };
        if sectors > largest || sector > LAST_SECTOR {
            return Err(LineFault::Range { sector, sectors });
        }
        let record = Traced {
            submitted_ns: issued_ns,
            completed_ns: Some(issued_ns.saturating_add(took_ns)),
            operation,
            sector,
            sectors: u32::try_from(sectors).unwrap_or(u32::MAX),
            flags: Flags::default(),
            by: None,
        };
        Ok(Measured { record, word: String::new(), durability: Durability::default(), line })
    }
}

pub(super) fn whole_number(word: &str) -> Result<u64, LineFault> {
    word.parse().map_err(|_| LineFault::NoWholeNumber(word.to_owned()))
}

/// A time in some unit, in nanoseconds. A locale may have a comma for the decimal point.
pub(super) fn parse_time(word: &str, unit_ns: f64) -> Result<u64, LineFault> {
    let number = word.parse::<f64>().or_else(|_| word.replacen(',', ".", 1).parse::<f64>());
    match number.map(|number| number * unit_ns) {
        Ok(ns) if (0.0..=LATEST_NS as f64).contains(&ns) => Ok(ns.round() as u64),
        _ => Err(LineFault::NoTime(word.to_owned())),
    }
}

/// The time of an event, and its digits behind the point: one without a fraction is the end of a time that is cut.
pub(super) fn parse_stamp(word: &str) -> Result<(u64, usize), LineFault> {
    let decimals = word.split_once(['.', ',']).map_or(0, |(_, fraction)| fraction.len());
    if decimals == 0 {
        return Err(LineFault::NoTime(word.to_owned()));
    }
    Ok((parse_seconds(word)?, decimals))
}

/// Seconds with a fraction, in nanoseconds: exact for the clock of a day, which 53 bits are too few for.
pub(super) fn parse_seconds(word: &str) -> Result<u64, LineFault> {
    let wrong = || LineFault::NoTime(word.to_owned());
    let (whole, fraction) = word.split_once(['.', ',']).unwrap_or((word, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) {
        return Err(wrong());
    }
    let whole: u64 = whole.parse().map_err(|_| wrong())?;
    let nine: String = fraction.chars().chain(std::iter::repeat('0')).take(9).collect();
    let fraction: u64 = nine.parse().map_err(|_| wrong())?;
    let ns = whole.checked_mul(1_000_000_000).and_then(|ns| ns.checked_add(fraction));
    ns.filter(|ns| *ns <= LATEST_NS).ok_or_else(wrong)
}
