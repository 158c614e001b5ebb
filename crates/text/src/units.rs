//! Quantities with units, as people write them: parses and formats sizes in bytes and lengths of time.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use jiff::fmt::friendly::SpanParser;
use jiff::{SignedDuration, SpanRelativeTo, Unit};
use serde::{Deserialize, Serialize};

use super::limits;
use super::reason::Reason;
use super::suggest::nearest_word;

/// A size in bytes. In TOML it is a string with a unit (`"4GiB"`, `"2GB"`, `"64 KiB"`); in JSON it is a plain number.
///
/// It is shown in the largest unit that fits, exactly where three decimals or fewer suffice, else rounded to two.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bytes(pub u64);

/// Units of size in ascending order; `KB` is accepted beside the correct `kB`.
const SIZE_UNITS: &[(&str, u64)] = &[
    ("B", 1),
    ("kB", 1000),
    ("KB", 1000),
    ("KiB", 1 << 10),
    ("MB", 1_000_000),
    ("MiB", 1 << 20),
    ("GB", 1_000_000_000),
    ("GiB", 1 << 30),
    ("TB", 1_000_000_000_000),
    ("TiB", 1 << 40),
];

/// Units beyond every size that is accepted.
const LARGER_UNITS: [&str; 8] = ["PB", "PiB", "EB", "EiB", "ZB", "ZiB", "YB", "YiB"];

const SIZE_HELP: &str = "sizes are written \"64KiB\", \"200MiB\", \"4GiB\" (powers of 1024) \
    or \"64kB\", \"200MB\", \"1.5GB\" (powers of 1000); \
    the units are B kB MB GB TB KiB MiB GiB TiB";
const TIME_HELP: &str = "times are written \"90s\", \"20m\", \"2h\", \"1h30m\"; the units are ms s m h d";

impl FromStr for Bytes {
    type Err = Reason;

    fn from_str(text: &str) -> Result<Bytes, Reason> {
        let (number, unit) = split_number(text.trim());
        if number.is_empty() {
            return Err(Reason::new(format!("\"{text}\" is not a size"), SIZE_HELP));
        }
        let factor = if unit.is_empty() { Some(1) } else { find_factor(SIZE_UNITS, unit) };
        let Some(factor) = factor else {
            let names: Vec<&str> = SIZE_UNITS.iter().map(|(name, _)| *name).collect();
            if let Some(larger) = LARGER_UNITS.iter().find(|name| name.eq_ignore_ascii_case(unit)) {
                return Err(Reason::new(
                    format!("\"{text}\" is too large: nothing here is counted in {larger}"),
                    format!("{} is the most that there is", Bytes(limits::SIZE)),
                ));
            }
            // A unit of another magnitude is not a likely misspelling.
            let has_same_initial = |name: &&str| {
                name.get(..1).zip(unit.get(..1)).is_some_and(|(one, other)| one.eq_ignore_ascii_case(other))
            };
            let guess = nearest_word(unit, &names)
                .filter(has_same_initial)
                .map(|name| format!("did you mean \"{number}{name}\"? "));
            return Err(Reason::new(
                format!("\"{text}\" has the unit `{unit}`, which is not a unit of size"),
                format!("{}{SIZE_HELP}", guess.unwrap_or_default()),
            ));
        };
        match multiply_decimal(number, factor) {
            Some(bytes) if bytes <= limits::SIZE => Ok(Bytes(bytes)),
            _ => Err(Reason::new(
                format!("\"{text}\" is not a size: `{number}` is no number or too large"),
                SIZE_HELP,
            )),
        }
    }
}

impl Bytes {
    /// The size to three significant digits, for sentences; unchanged where it is a whole number of a unit.
    #[must_use]
    pub fn rounded(self) -> Self {
        let digits = self.0.checked_ilog10().map_or(1, |exponent| exponent + 1);
        if digits <= 3 || !self.to_string().contains('.') {
            return self;
        }
        let step = 10_u64.pow(digits - 3);
        Self((self.0 + step / 2) / step * step)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fitting = |binary: bool| {
            SIZE_UNITS.iter().rev().find(|(name, factor)| {
                *name != "KB" && (*factor == 1 || name.contains('i') == binary) && *factor <= self.0
            })
        };
        let exact = |unit: &&(&str, u64)| (u128::from(self.0) * 1000).is_multiple_of(u128::from(unit.1));
        let binary = fitting(true).unwrap_or(&SIZE_UNITS[0]);
        let unit = Some(binary).filter(exact).or_else(|| fitting(false).filter(exact)).unwrap_or(binary);
        let decimals = if exact(&unit) { 3 } else { 2 };
        let scale = 10_u128.pow(decimals);
        let scaled = (u128::from(self.0) * scale + u128::from(unit.1) / 2) / u128::from(unit.1);
        let fraction = format!("{:0width$}", scaled % scale, width = decimals as usize);
        let fraction = fraction.trim_end_matches('0');
        let point = if fraction.is_empty() { "" } else { "." };
        write!(formatter, "{}{point}{fraction} {}", scaled / scale, unit.0)
    }
}

/// Parses a length of time above zero.
///
/// # Errors
/// As [`parse_duration`], on zero, and beyond 1000 days.
pub fn parse_time(text: &str) -> Result<Duration, Reason> {
    match parse_duration(text)? {
        Duration::ZERO => Err(Reason::new("it may not be 0", TIME_HELP)),
        long if long > Duration::from_millis(limits::TIME) => {
            let most = duration_text(Duration::from_millis(limits::TIME));
            Err(Reason::new(format!("it may be {most} at most, but is {}", duration_text(long)), TIME_HELP))
        }
        time => Ok(time),
    }
}

/// Parses a length of time such as `90s`, `20m`, `2h`, `1h30m`, `1.5h` or `2 days`, to the millisecond.
///
/// # Errors
/// Fails if a number or a unit is missing or wrong, and for months and years, because their lengths vary.
pub fn parse_duration(text: &str) -> Result<Duration, Reason> {
    let problem = if text.trim().parse::<f64>().is_ok() { "lacks a unit of time" } else { "is not a time" };
    let wrong = || Reason::new(format!("\"{text}\" {problem}"), TIME_HELP);
    let exact = parse_exactly(text).ok_or_else(wrong)?;
    if exact.is_negative() {
        return Err(Reason::new(
            format!("\"{text}\" is negative, and a length of time must be positive"),
            TIME_HELP,
        ));
    }
    let rounded = exact.round(Unit::Millisecond).map_err(|_| wrong())?;
    Duration::try_from(rounded).map_err(|_| wrong())
}

/// Parses a length of time from a nanosecond to `most`, such as `35us` or `1.5ms`.
///
/// # Errors
/// As [`parse_duration`], and if it is too short or too long.
pub fn parse_short_time(text: &str, most: Duration) -> Result<Duration, Reason> {
    let help = || format!("as in \"35us\"; {} at most", short_time_text(most));
    let wrong = || Reason::new(format!("\"{text}\" is not a short time"), help());
    let time = parse_exactly(text).and_then(|exact| Duration::try_from(exact).ok());
    time.filter(|time| !time.is_zero() && *time <= most).ok_or_else(wrong)
}

/// The length of time that a text states, to the nanosecond; `None` for months and years, whose lengths vary.
fn parse_exactly(text: &str) -> Option<SignedDuration> {
    let span = SpanParser::new().parse_span(text.trim()).ok()?;
    span.to_duration(SpanRelativeTo::days_are_24_hours()).ok()
}

/// Formats a length of time to the nanosecond so that [`parse_short_time`] reads it back: `35us`.
pub fn short_time_text(time: Duration) -> String {
    let nanoseconds = time.as_nanos();
    let unit =
        [(1_000_000, "ms"), (1000, "us")].into_iter().find(|(unit, _)| nanoseconds.is_multiple_of(*unit));
    let (unit, name) = unit.unwrap_or((1, "ns"));
    format!("{}{name}", nanoseconds / unit)
}

/// Formats a length of time to the millisecond so that [`parse_duration`] reads it back: `1h30m`.
pub fn duration_text(duration: Duration) -> String {
    let mut rest = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    let mut text = String::new();
    for (name, factor) in [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)] {
        if rest >= factor {
            text.push_str(&format!("{}{name}", rest / factor));
            rest %= factor;
        }
    }
    if text.is_empty() { "0s".to_owned() } else { text }
}

/// Formats seconds without more digits than an estimate supports: `400ms`, `42s`, `3m10s`, `2h10m`.
pub fn rough_duration_text(seconds: f64) -> String {
    let step = match seconds {
        short if short < 1.0 => 0.1,
        short if short < 60.0 => 1.0,
        long if long < 1200.0 => 10.0,
        _ => 60.0,
    };
    let rounded = Duration::try_from_secs_f64(libm::round(seconds / step) * step).unwrap_or(Duration::MAX);
    duration_text(rounded)
}

fn find_factor(units: &[(&str, u64)], unit: &str) -> Option<u64> {
    units.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor)
}

/// Splits `64 KiB` into `64` and `KiB`.
fn split_number(text: &str) -> (&str, &str) {
    let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.' && letter != '_');
    let (number, rest) = text.split_at(end.unwrap_or(text.len()));
    (number, rest.trim_start())
}

/// Multiplies a decimal number by a factor, rounded to a whole number; `None` if it is not a number or does not fit.
fn multiply_decimal(number: &str, factor: u64) -> Option<u64> {
    let plain: String = number.chars().filter(|letter| *letter != '_').collect();
    let (whole, fraction) = plain.split_once('.').unwrap_or((&plain, ""));
    if whole.is_empty() || fraction.len() > 12 || (plain.contains('.') && fraction.is_empty()) {
        return None;
    }
    let scale = 10_u128.pow(u32::try_from(fraction.len()).ok()?);
    let digits: u128 = format!("{whole}{fraction}").parse().ok()?;
    let product = digits.checked_mul(u128::from(factor))?;
    u64::try_from((product + scale / 2) / scale).ok()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::{Just, any, prop_assert, prop_assert_eq, prop_oneof, proptest};

    use super::{Bytes, SIZE_UNITS, duration_text, limits, parse_duration};

    fn bytes(text: &str) -> u64 {
        text.parse::<Bytes>().map(|size| size.0).unwrap()
    }

    #[test]
    fn a_size_is_rounded_to_three_digits_unless_it_is_a_whole_number_of_a_unit() {
        for (bytes, rounded) in
            [(18_432_000, "18.4 MB"), (999_999_999, "1 GB"), (64 << 20, "64 MiB"), (999, "999 B"), (0, "0 B")]
        {
            assert_eq!(Bytes(bytes).rounded().to_string(), rounded);
        }
    }

    #[test]
    fn sizes_are_binary_or_decimal_as_written() {
        assert_eq!(bytes("4GiB"), 4 << 30);
        assert_eq!(bytes("2GB"), 2_000_000_000);
        assert_eq!(bytes("64 KiB"), 65_536);
        assert_eq!(bytes("512"), 512);
        assert_eq!(bytes("1.5GB"), 1_500_000_000);
        assert_eq!(bytes("0.3 KiB"), 307);
        assert_eq!(bytes("64kB"), bytes("64KB"));
    }

    #[test]
    fn sizes_are_shown_as_a_person_would_write_them() {
        let shown = |size: u64| Bytes(size).to_string();
        assert_eq!(shown(0), "0 B");
        assert_eq!(shown(512), "512 B");
        assert_eq!(shown(4 << 30), "4 GiB");
        assert_eq!(shown(1_500_000_000), "1.5 GB");
        assert_eq!(shown(1536), "1.5 KiB");
        assert_eq!(shown(1_234_567_891), "1.15 GiB");
        assert_eq!(shown(5 << 40), "5 TiB");
    }

    #[test]
    fn a_wrong_unit_is_named_and_the_right_ones_are_listed() {
        for (text, part) in [
            ("4Gb", "`Gb`"),
            ("4 parsec", "`parsec`"),
            ("4G", "`G`"),
            ("much", "\"much\""),
            ("-4GiB", "-4GiB"),
        ] {
            let error = text.parse::<Bytes>().unwrap_err();
            assert!(error.what.contains(part), "{text}: {}", error.what);
            assert!(error.hint.contains("GiB"), "{text}: {}", error.hint);
        }
        let error = "99PiB".parse::<Bytes>().unwrap_err();
        assert!(error.what.contains("too large") && !error.hint.contains("99"), "{error}");
        assert!(error.hint.contains("TiB"), "{error}");
        assert!(!"99Pib8".parse::<Bytes>().unwrap_err().hint.contains("did you mean"));
        assert!("4Gb".parse::<Bytes>().unwrap_err().hint.starts_with("did you mean \"4GB\"?"));
        for text in ["99999999999 TiB", "1..5GB", ".5GB", "1.GB", ""] {
            assert!(text.parse::<Bytes>().is_err(), "{text}");
        }
    }

    #[test]
    fn times_add_up() {
        assert_eq!(parse_duration("90s").unwrap(), Duration::from_secs(90));
        assert_eq!(parse_duration("1h30m").unwrap(), Duration::from_secs(5400));
        assert_eq!(parse_duration("1.5 h").unwrap(), Duration::from_secs(5400));
        assert_eq!(parse_duration("250ms").unwrap(), Duration::from_millis(250));
        for text in ["", "90", "20 mintues", "2 months", "-5m", "m", "1h 30", "999999999999999999d"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
        assert_eq!(duration_text(Duration::from_secs(5400)), "1h30m");
        assert_eq!(duration_text(Duration::ZERO), "0s");
    }

    proptest! {
        #[test]
        fn a_written_size_survives_being_shown_and_read(
            count in 0_u64..1000,
            thousandths in prop_oneof![Just(0_u64), Just(5), Just(25), Just(125)],
            unit in 0..SIZE_UNITS.len(),
        ) {
            let (name, factor) = SIZE_UNITS[unit];
            let size: Bytes = format!("{count}.{thousandths:03}{name}").parse().unwrap();
            // Only sizes that are whole bytes; the others were rounded when they were read.
            if ((count * 1000 + thousandths) * factor).is_multiple_of(1000) {
                prop_assert_eq!(size.to_string().parse::<Bytes>().unwrap(), size);
            }
        }

        #[test]
        fn any_size_is_shown_to_within_half_a_percent(size in any::<u64>()) {
            // The largest sizes round up beyond what a plan may say.
            let size = size >> 15;
            let back = Bytes(size).to_string().parse::<Bytes>().unwrap().0;
            prop_assert!(back.abs_diff(size) <= size / 200, "{} became {}", size, back);
        }

        #[test]
        fn any_time_survives_being_shown_and_read(milliseconds in 0..=limits::TIME) {
            let time = Duration::from_millis(milliseconds);
            prop_assert_eq!(parse_duration(&duration_text(time)).unwrap(), time);
        }
    }
}
