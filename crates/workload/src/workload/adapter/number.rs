//! Numbers as programs print them.

/// A decimal number: no sign, no exponent, no word for infinity.
pub(super) fn number(text: &str) -> Result<f64, String> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let parsed = text.parse::<f64>().ok().filter(|number| plain && number.is_finite());
    parsed.ok_or_else(|| format!("\"{text}\" is not a number"))
}

/// The same in milliseconds, as seconds.
pub(super) fn milliseconds(text: &str) -> Result<f64, String> {
    Ok(number(text.strip_suffix("ms").unwrap_or(text).trim())? / 1e3)
}

/// The same in microseconds, as seconds.
pub(super) fn microseconds(text: &str) -> Result<f64, String> {
    Ok(number(text)? / 1e6)
}

/// The rest of the only line of `output` that begins with `start`; of several the last.
pub(super) fn after<'a>(output: &'a str, start: &str) -> Option<&'a str> {
    output.lines().rev().find_map(|line| line.trim().strip_prefix(start)).map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::{after, microseconds, milliseconds, number};

    #[test]
    fn only_plain_numbers_are_numbers() {
        assert_eq!(number("12.5"), Ok(12.5));
        for odd in ["", "-1", "1e9", "inf", "nan", "0x1", "1,5", "."] {
            assert!(number(odd).is_err(), "{odd}");
        }
        assert_eq!(milliseconds("1.5 ms"), Ok(0.0015));
        assert_eq!(microseconds("3"), Ok(3e-6));
        assert_eq!(after("a = 1\n  a = 2 \nb = 3", "a ="), Some("2"));
        assert_eq!(after("ab", "b"), None);
    }
}
