//! Numbers as programs print them.

use super::OutputFault;

/// Parses a decimal number: no sign, no exponent, no word for infinity.
pub(super) fn parse_number(text: &str) -> Result<f64, OutputFault> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let parsed = text.parse::<f64>().ok().filter(|number| plain && number.is_finite());
    parsed.ok_or_else(|| OutputFault::of_word(text, "is not a number"))
}

/// The same in microseconds, as seconds.
pub(super) fn parse_microseconds(text: &str) -> Result<f64, OutputFault> {
    Ok(parse_number(text)? / 1e6)
}

/// The rest of the line of `output` that begins with `start`; the last such line if there are several.
pub(super) fn text_after<'a>(output: &'a str, start: &str) -> Option<&'a str> {
    output.lines().rev().find_map(|line| line.trim().strip_prefix(start)).map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::{parse_microseconds, parse_number, text_after};

    #[test]
    fn only_plain_numbers_are_numbers() {
        assert_eq!(parse_number("12.5"), Ok(12.5));
        for odd in ["", "-1", "1e9", "inf", "nan", "0x1", "1,5", "."] {
            assert!(parse_number(odd).is_err(), "{odd}");
        }
        assert_eq!(parse_microseconds("3"), Ok(3e-6));
        assert_eq!(text_after("a = 1\n  a = 2 \nb = 3", "a ="), Some("2"));
        assert_eq!(text_after("ab", "b"), None);
    }
}
