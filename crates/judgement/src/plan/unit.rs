//! Units of metrics, and the direction in which a metric is better, for built-in metrics and those that a plan reads
//! from a program's output.

use fsverdict_text::{Reason, suggest};

use super::choice_words::choice_words;

choice_words! {
    /// A unit, by its symbol in the journal, JSON and CSV.
    #[derive(PartialOrd, Ord, Hash)]
    pub enum Unit {
        Seconds = "s",
        Bytes = "B",
        BytesPerSecond = "B/s",
        PerSecond = "1/s",
        /// A ratio, or a share between 0 and 1.
        Ratio = "1",
        Count = "count",
    }

    /// The direction in which a metric is better.
    pub enum Better {
        Lower = "less",
        Higher = "more",
        /// The metric is informative and is not ranked.
        Neither = "neither",
    }
}

impl Unit {
    /// Whether numbers of it are times or rates, which vary with the state of the machine; counts of bytes and requests do not.
    pub fn is_timed(self) -> bool {
        matches!(self, Self::Seconds | Self::BytesPerSecond | Self::PerSecond)
    }
}

impl Better {
    /// The sign that makes a logarithm of the metric one of a cost, where smaller is better.
    pub(crate) fn cost_sign(self) -> f64 {
        if self == Self::Higher { -1.0 } else { 1.0 }
    }
}

impl std::str::FromStr for Better {
    type Err = Reason;

    fn from_str(word: &str) -> Result<Self, Reason> {
        Self::from_word(word).ok_or_else(|| {
            Reason::new(
                format!("it is `less`, `more` or `neither`, not `{word}`"),
                "which way the number is better: `neither` only informs",
            )
        })
    }
}

/// A unit in the notation of users.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct WrittenUnit {
    name: &'static str,
    pub(super) unit: Unit,
    /// How many of [`unit`](Self::unit) it is.
    pub(super) factor: f64,
}

const fn written(name: &'static str, unit: Unit, factor: f64) -> WrittenUnit {
    WrittenUnit { name, unit, factor }
}

/// The first entry of each [`Unit`] is the one that hints suggest.
const WRITTEN: [WrittenUnit; 29] = [
    written("s", Unit::Seconds, 1.0),
    written("ms", Unit::Seconds, 1e-3),
    written("us", Unit::Seconds, 1e-6),
    written("µs", Unit::Seconds, 1e-6),
    written("ns", Unit::Seconds, 1e-9),
    written("m", Unit::Seconds, 60.0),
    written("h", Unit::Seconds, 3600.0),
    written("B", Unit::Bytes, 1.0),
    written("kB", Unit::Bytes, 1e3),
    written("MB", Unit::Bytes, 1e6),
    written("GB", Unit::Bytes, 1e9),
    written("TB", Unit::Bytes, 1e12),
    written("KiB", Unit::Bytes, 1024.0),
    written("MiB", Unit::Bytes, 1_048_576.0),
    written("GiB", Unit::Bytes, 1_073_741_824.0),
    written("TiB", Unit::Bytes, 1_099_511_627_776.0),
    written("B/s", Unit::BytesPerSecond, 1.0),
    written("kB/s", Unit::BytesPerSecond, 1e3),
    written("MB/s", Unit::BytesPerSecond, 1e6),
    written("GB/s", Unit::BytesPerSecond, 1e9),
    written("KiB/s", Unit::BytesPerSecond, 1024.0),
    written("MiB/s", Unit::BytesPerSecond, 1_048_576.0),
    written("GiB/s", Unit::BytesPerSecond, 1_073_741_824.0),
    written("1/s", Unit::PerSecond, 1.0),
    written("/s", Unit::PerSecond, 1.0),
    written("count", Unit::Count, 1.0),
    written("1", Unit::Ratio, 1.0),
    written("x", Unit::Ratio, 1.0),
    written("%", Unit::Ratio, 1e-2),
];

/// The unit with this notation.
pub(super) fn unit_written(name: &str) -> Result<WrittenUnit, Reason> {
    let names: Vec<&str> = WRITTEN.iter().map(|known| known.name).collect();
    WRITTEN
        .iter()
        .find(|known| known.name == name)
        .copied()
        .ok_or_else(|| Reason::new(format!("there is no unit `{name}`"), suggest(name, &names)))
}

/// The notations of this unit, for a hint.
pub(super) fn units_of(unit: Unit) -> String {
    let names: Vec<&str> =
        WRITTEN.iter().filter(|known| known.unit == unit).map(|known| known.name).collect();
    names.join(" ")
}

#[cfg(test)]
mod tests {
    use super::{Better, Unit, WRITTEN, unit_written, units_of};

    #[test]
    fn a_unit_is_known_by_its_name_and_another_is_told_which_there_are() {
        for known in WRITTEN {
            assert_eq!(unit_written(known.name), Ok(known));
            assert!(units_of(known.unit).split(' ').any(|name| name == known.name));
        }
        let ms = unit_written("ms").unwrap();
        assert_eq!((ms.unit, ms.factor), (Unit::Seconds, 1e-3));
        assert!(unit_written("Ms").unwrap_err().hint.contains("`ms`"));
        assert_eq!("more".parse(), Ok(Better::Higher));
        assert!("higher".parse::<Better>().unwrap_err().what.contains("not `higher`"));
    }
}
