//! Formats numbers for people: one unit for a whole column, and no more digits than the data justify.

use fsverdict_judgement::journal::Unit;
use fsverdict_judgement::statistics::wilson_interval;
use fsverdict_judgement::verdict::Estimate;

/// A unit chosen for a set of numbers shown together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct NumberScale {
    /// The divisor from the base unit to this one.
    pub(crate) divisor: f64,
    /// The unit's sign; empty for plain ratios and counts.
    pub(crate) label: &'static str,
}

impl NumberScale {
    /// Chooses the unit for a column of values, which are in the base unit.
    pub(crate) fn suited(unit: Unit, values: impl Iterator<Item = f64>) -> Self {
        let (mut low, mut high) = (f64::INFINITY, 0.0_f64);
        for value in values.filter(|value| *value > 0.0 && value.is_finite()) {
            low = low.min(value);
            high = high.max(value);
        }
        // The geometric middle of smallest and largest represents the column better than either.
        let middle = if high > 0.0 { libm::sqrt(low) * libm::sqrt(high) } else { 1.0 };
        let steps: &[(f64, &'static str)] = match unit {
            Unit::Seconds => &[(1e-6, "µs"), (1e-3, "ms"), (1.0, "s"), (60.0, "min")],
            Unit::Bytes => &[(1.0, "B"), (KIB, "KiB"), (KIB * KIB, "MiB"), (KIB * KIB * KIB, "GiB")],
            Unit::BytesPerSecond => &[(1.0, "B/s"), (1e3, "kB/s"), (1e6, "MB/s"), (1e9, "GB/s")],
            Unit::PerSecond => &[(1.0, "1/s"), (1e3, "1000/s")],
            Unit::Ratio | Unit::Count => &[(1.0, "")],
        };
        // Minutes start at 20 min, not at half a minute: 600 s is shown in seconds, as studies do.
        let reach = |label: &str| if label == "min" { 20.0 } else { 0.5 };
        let suited = steps.iter().rev().find(|(divisor, label)| middle >= divisor * reach(label));
        let (divisor, label) = suited.or(steps.first()).copied().unwrap_or((1.0, ""));
        Self { divisor, label }
    }
}

const KIB: f64 = 1024.0;

/// The number of decimals for a value with the relative uncertainty `spread`: the last digit shown is between a third
/// and a thirtieth of the uncertainty. A negative result means that digits before the point are not significant. A
/// single value (`None`) gets two digits, or three where the first digit is 1, because repeated runs commonly differ by
/// some per cent.
pub(crate) fn decimals(value: f64, spread: Option<f64>) -> i32 {
    let leading = exponent(value);
    let digits = match spread {
        Some(spread) if spread > 0.0 => {
            // The clamp limits it to a few digits for every spread.
            #[allow(clippy::cast_possible_truncation)]
            let carried = libm::round(-libm::log10(spread)).clamp(1.0, 3.0) as i32;
            carried + 1
        }
        Some(_) => 3,
        None if value.abs() / libm::exp10(f64::from(leading)) < 2.0 => 3,
        None => 2,
    };
    digits - 1 - leading
}

/// Formats the value with that many decimals; insignificant digits before the point become zeros.
pub(crate) fn fixed(value: f64, decimals: i32) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    match usize::try_from(decimals) {
        Ok(decimals) => format!("{value:.decimals$}"),
        Err(_) => {
            let step = libm::exp10(f64::from(-decimals));
            format!("{:.0}", libm::round(value / step) * step)
        }
    }
}

/// A share as a whole percentage: `4%`, `<1%`, `0%`.
pub(crate) fn percent(share: f64) -> String {
    match share * 100.0 {
        exact if exact > 0.0 && exact < 0.95 => "<1%".to_owned(),
        near => format!("{near:.0}%"),
    }
}

/// The share of cases in per cent, with its interval: `6 (2.8–12.5)`.
pub(crate) fn percent_of_cases(hits: u32, cases: u32) -> String {
    let per_cent = |share: f64| plain_number(share * 100.0);
    let within = wilson_interval(hits, cases)
        .map_or(String::new(), |[low, high]| format!(" ({}–{})", per_cent(low), per_cent(high)));
    format!("{}{within}", per_cent(f64::from(hits) / f64::from(cases.max(1))))
}

/// A share as a percentage with two digits: `12%`, `2.1%`, `0.34%`.
pub(crate) fn fine_percent(share: f64) -> String {
    match share * 100.0 {
        none if none <= 0.0 => "0%".to_owned(),
        tiny if tiny < 0.01 => "<0.01%".to_owned(),
        near => format!("{}%", fixed(near, 1 - exponent(near))),
    }
}

/// A signed share: `+72%`, `−24.9%`, and `±0%` for a share that rounds to zero, where either sign would be wrong.
pub(crate) fn signed_percent(share: f64, digits: usize) -> String {
    let size = format!("{:.digits$}", (share * 100.0).abs());
    match size.bytes().all(|letter| matches!(letter, b'0' | b'.')) {
        true => "±0%".to_owned(),
        false => format!("{}{size}%", if share < 0.0 { '−' } else { '+' }),
    }
}

/// A number with two digits: `0.34`, `3.2`, `12`, `130`.
pub(crate) fn plain_number(value: f64) -> String {
    fixed(value, 1 - exponent(value))
}

/// A ratio with its interval, in as many digits as the interval justifies: `1.42 (1.31 to 1.55)`, `1.004 (0.999 to
/// 1.010)`.
pub(crate) fn times_within(ratio: &Estimate) -> String {
    let Some((low, high)) = ratio.ends() else { return times(ratio.point) };
    if high - low < 1e-3 || high < 0.0995 {
        return times(ratio.point);
    }
    // The last digit is between a tenth and the whole of half the interval.
    #[allow(clippy::cast_possible_truncation)]
    let carried = libm::ceil(-libm::log10((high - low) / 2.0)).clamp(0.0, 4.0) as i32;
    // Even a wide interval keeps two decimals, to show on which side of 1 the ratio lies and to match the table beside
    // it.
    let decimals = match ratio.point {
        near if (0.905..1.095).contains(&near) => carried.max(2),
        point => carried.max(1 - exponent(point)),
    };
    // So does an end that would be rounded to 1.
    let is_hidden = |end: f64| {
        (end - 1.0).abs() > 1e-3 && (end - 1.0).abs() < 0.5 * libm::pow(10.0, -f64::from(decimals))
    };
    let decimals = if is_hidden(low) || is_hidden(high) { decimals.max(2) } else { decimals };
    format!("{} ({} to {})", fixed(ratio.point, decimals), fixed(low, decimals), fixed(high, decimals))
}

/// A ratio with its interval, each formatted by [`times`].
pub(crate) fn times_with_ends(ratio: &Estimate) -> String {
    match ratio.ends() {
        Some((low, high)) => format!("{} ({} to {})", times(ratio.point), times(low), times(high)),
        None => times(ratio.point),
    }
}

/// The share within which two candidates are equal, where the ratio would read `1.00` and its interval includes 1: the
/// farther end of the interval, rounded up. `None` for any other ratio.
pub(crate) fn alike_within(ratio: &Estimate) -> Option<String> {
    let (low, high) = ratio.ends()?;
    let shown = times_within(ratio);
    let point = shown.split(' ').next().unwrap_or_default();
    let is_one =
        point == "1" || point.strip_prefix("1.").is_some_and(|rest| rest.bytes().all(|digit| digit == b'0'));
    if !is_one || !(low..=high).contains(&1.0) {
        return None;
    }
    match (high - 1.0).max(1.0 - low) {
        // No measurement here is more exact than that.
        tiny if tiny < 1e-4 => Some("0.01%".to_owned()),
        small if small < 0.01 => Some(fine_percent(small)),
        share => Some(percent(libm::ceil(share * 100.0 - 1e-9) / 100.0)),
    }
}

/// Whether two candidates are as good as each other: the interval of their ratio includes 1, and no end of it is farther from 1
/// than differences that matter.
pub(crate) fn is_alike(ratio: &Estimate, tie: f64) -> bool {
    let Some((low, high)) = ratio.ends() else { return false };
    (low..=high).contains(&1.0) && high <= 1.0 + tie && low * (1.0 + tie) >= 1.0
}

/// A ratio: `1.00`, `1.4`, `12`, with as many digits as stay readable.
pub(crate) fn times(ratio: f64) -> String {
    match ratio {
        0.0 => "0".to_owned(),
        // Small ratios keep two significant digits.
        #[allow(clippy::cast_sign_loss)]
        tiny if tiny < 0.0995 => format!("{tiny:.0$}", (1 - exponent(tiny)).clamp(2, 9) as usize),
        small if small < 9.95 => format!("{small:.2}"),
        middle if middle < 99.5 => format!("{middle:.1}"),
        large => format!("{large:.0}"),
    }
}

/// The decimal exponent of the first digit.
fn exponent(value: f64) -> i32 {
    if value == 0.0 || !value.is_finite() {
        return 0;
    }
    // A double's exponent lies within ±324.
    #[allow(clippy::cast_possible_truncation)]
    let floor = libm::floor(libm::log10(value.abs())) as i32;
    floor
}

#[cfg(test)]
mod tests;
