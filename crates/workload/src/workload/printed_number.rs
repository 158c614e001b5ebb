//! Parses a number as programs print it: with sign and exponent, a decimal point or comma, and thousands separators.
//! The error quotes the text and its position.

use fsverdict_judgement::plan::{PrintedTimeUnit, is_multiplier};
use fsverdict_text::Reason;

/// The maximum number of characters of output in an error.
const SHOWN: usize = 60;
/// Digits that a number shares with 2^64 where it is taken for an overflow.
const OVERFLOW_DIGITS: usize = 9;
const HINT: &str = "let the pattern catch the whole number: ([-+0-9.,eE]+)";

/// The position of a number in the output.
#[derive(Debug, Clone, Copy)]
pub(super) struct NumberPlace<'a> {
    pub(super) text: &'a str,
    /// The first byte that was captured, and the one behind the last.
    pub(super) begin: usize,
    pub(super) end: usize,
    /// Whether the pattern itself says that a comma or a colon before the number is none of it …
    pub(super) separated_before: bool,
    /// … and the text after it.
    pub(super) separated_behind: bool,
}

impl<'a> NumberPlace<'a> {
    /// A text that is a number as a whole.
    pub(super) fn whole_text(text: &'a str) -> Self {
        Self { text, begin: 0, end: text.len(), separated_before: false, separated_behind: false }
    }
}

/// A number, and the word behind it, which may be its unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PrintedNumber<'a> {
    pub(super) value: f64,
    pub(super) word: &'a str,
    /// Whether the word stands right behind the number …
    pub(super) attached: bool,
    /// … and was captured with it.
    pub(super) unit_is_captured: bool,
}

/// Parses the number that a pattern captured.
///
/// # Errors
/// The captured text is not a number, can be read as two, or is cut off in the middle of one.
pub(super) fn parse_captured_number<'a>(place: &NumberPlace<'a>) -> Result<PrintedNumber<'a>, Reason> {
    let captured = &place.text[place.begin..place.end];
    let trimmed = captured.trim_start();
    let begin = place.end - trimmed.len();
    let shown = shorten(captured);
    let parse_error =
        |what: String| Reason::new(format!("{}: {what}", describe_position(place.text, begin)), HINT);
    let length = number_length(trimmed);
    if length == 0 {
        let word = trimmed.trim_start_matches(['-', '+']).to_lowercase();
        if word.starts_with("nan") || word.starts_with("inf") {
            let problem = format!(
                "{}: it is `{shown}`, which is no finite number",
                describe_position(place.text, begin)
            );
            return Err(Reason::new(problem, "the program did not measure anything"));
        }
        return Err(parse_error(format!("`{shown}` is not a number")));
    }
    let digits = &trimmed[..length];
    if let Some(before) =
        digits_before_capture(place, begin).or_else(|| time_before_capture(place, begin, length))
    {
        return Err(parse_error(format!(
            "the number begins before what was captured: `{before}{}`",
            shorten(digits)
        )));
    }
    let behind = digits_after_capture(place, begin, length);
    if let Some(behind) = behind.or_else(|| time_after_capture(&place.text[begin + length..])) {
        return Err(parse_error(format!("`{}` goes on with `{}`", shorten(digits), shorten(behind))));
    }
    let value = value_of(digits).map_err(parse_error)?;
    // The text captured with the number must be its unit.
    let rest = &trimmed[length..];
    let (word, attached) = following_word(&place.text[begin + length..]);
    let beside = rest.trim().trim_end_matches(['.', ',', ';', ':']);
    if !beside.is_empty() && beside != word {
        return Err(parse_error(format!("`{shown}` is not a number")));
    }
    let behind_word = place.text[begin + length..].trim_start().strip_prefix(word).unwrap_or_default();
    // `6.68 k iops`: the multiplier stands apart, before a noun.
    let attached = attached || is_multiplier(word, following_word(behind_word).0);
    if is_overflow(digits) {
        let problem = format!(
            "{}: `{}` is what a counter of 64 bits holds below 0",
            describe_position(place.text, begin),
            shorten(digits)
        );
        return Err(Reason::new(problem, "the program subtracted more than it had; it did not measure this"));
    }
    Ok(PrintedNumber { value, word, attached, unit_is_captured: !beside.is_empty() })
}

/// Bytes at the beginning of a text that are a number's.
fn number_length(text: &str) -> usize {
    let letters: Vec<(usize, char)> = text.char_indices().collect();
    let is_digit = |at: usize| letters.get(at).is_some_and(|(_, letter)| letter.is_ascii_digit());
    let mut at = usize::from(letters.first().is_some_and(|(_, letter)| matches!(letter, '-' | '+' | '−')));
    let begins_with_fraction = matches!(letters.get(at), Some((_, '.' | ','))) && is_digit(at + 1);
    if !is_digit(at) && !begins_with_fraction {
        return 0;
    }
    while is_digit(at)
        || (letters.get(at).is_some_and(|(_, letter)| is_separator(*letter)) && is_digit(at + 1))
    {
        at += 1;
    }
    if matches!(letters.get(at), Some((_, 'e' | 'E'))) {
        let signed = usize::from(matches!(letters.get(at + 1), Some((_, '-' | '+'))));
        if is_digit(at + 1 + signed) {
            at += 1 + signed;
            while is_digit(at) {
                at += 1;
            }
        }
    }
    letters.get(at).map_or(text.len(), |(place, _)| *place)
}

/// Characters that locales put between digits: the decimal point or comma, and thousands separators.
fn is_separator(letter: char) -> bool {
    matches!(letter, '.' | ',' | '\'' | '’' | '_' | '\u{a0}' | '\u{202f}' | '\u{2009}' | '٫' | '٬')
}

/// The text before the number that belongs to it.
fn digits_before_capture(place: &NumberPlace<'_>, begin: usize) -> Option<String> {
    let mut before = place.text[..begin].chars().rev();
    let (last, second) = (before.next()?, before.next());
    let is_digit = |letter: Option<char>| letter.is_some_and(|letter| letter.is_ascii_digit());
    let belongs = match last {
        digit if digit.is_ascii_digit() => true,
        ',' | ':' if place.separated_before => false,
        '.' => !second.is_some_and(char::is_alphabetic),
        ':' => is_digit(second),
        separator if is_separator(separator) => is_digit(second),
        'e' | 'E' => is_digit(second),
        '-' | '+' | '−' => match second {
            None => true,
            Some('e' | 'E') => is_digit(before.next()),
            Some(other) => !other.is_alphanumeric() && other != '-' && other != '+',
        },
        _ => false,
    };
    belongs.then(|| {
        let mut part: Vec<char> =
            place.text[..begin].chars().rev().take(20).take_while(|letter| !letter.is_whitespace()).collect();
        part.reverse();
        part.into_iter().collect()
    })
}

/// The text after the number that belongs to it.
fn digits_after_capture<'a>(place: &NumberPlace<'a>, begin: usize, length: usize) -> Option<&'a str> {
    let rest = &place.text[begin + length..];
    let whole = number_length(&place.text[begin..]);
    let mut letters = rest.chars();
    let (first, second) = (letters.next(), letters.next());
    let comma = place.separated_behind && matches!(first, Some(',' | ':'));
    let is_clock = first == Some(':') && second.is_some_and(|letter| letter.is_ascii_digit());
    let is_hexadecimal =
        place.text[begin..].starts_with("0x") && second.is_some_and(|letter| letter.is_ascii_hexdigit());
    // `1m30s` is one time.
    let behind_letters = rest.trim_start_matches(char::is_alphabetic);
    let is_compound = behind_letters.len() < rest.len()
        && behind_letters.starts_with(|letter: char| letter.is_ascii_digit());
    let goes_on = !comma && (whole > length || is_clock || is_hexadecimal || is_compound);
    goes_on.then(|| rest.split_whitespace().next().unwrap_or(rest))
}

/// Whether the digits of a number are those of 2^64 or 2^63, whichever the unit: the program computed below 0.
fn is_overflow(digits: &str) -> bool {
    let mantissa = digits.split(['e', 'E']).next().unwrap_or_default();
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let significant = digits.trim_start_matches('0').trim_end_matches('0');
    // The last digit may be rounded.
    let Some(first) = significant.len().checked_sub(1).and_then(|last| significant.get(..last)) else {
        return false;
    };
    first.len() >= OVERFLOW_DIGITS
        && ["18446744073709551616", "9223372036854775808"].iter().any(|of| of.starts_with(first))
}

/// The rank of a unit of time among all.
fn time_unit(word: &str) -> Option<usize> {
    PrintedTimeUnit::find(word).map(|unit| unit.rank)
}

/// The larger part of a time that was captured in part: of `1m23.456s` and `1 min 23 s`.
fn time_before_capture(place: &NumberPlace<'_>, begin: usize, length: usize) -> Option<String> {
    let before = &place.text[..begin];
    let apart = before.ends_with(' ');
    let before = before.trim_end_matches(' ');
    let (rest, word) = before.split_at(before.trim_end_matches(char::is_alphabetic).len());
    let larger = time_unit(word)?;
    let number = rest.trim_end_matches(' ');
    let digits =
        number.len() - number.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.').len();
    let start = number.len() - digits;
    let is_begun =
        number[..start].chars().next_back().is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
    let smaller = time_unit(following_word(&place.text[begin + length..]).0);
    let follows = match smaller {
        Some(smaller) if apart => smaller == larger + 1,
        Some(smaller) => smaller > larger,
        None => !apart,
    };
    (digits > 0 && !is_begun && follows).then(|| place.text[start..begin].to_owned())
}

/// The smaller part of a time behind the unit of a captured number: ` 23 s` of `1 min 23 s`.
fn time_after_capture(rest: &str) -> Option<&str> {
    let (word, _) = following_word(rest);
    let larger = time_unit(word)?;
    let behind = rest.trim_start().strip_prefix(word)?;
    let next = behind.trim_start_matches(' ');
    let (smaller, _) = following_word(&next[number_length(next)..]);
    (number_length(next) > 0 && time_unit(smaller) == Some(larger + 1)).then(|| rest.trim_start())
}

/// The seconds of a time with several units or colons: `1m23.456s`, `1 h 2 min`, `1:02:03.5`. `None` where a text is
/// none as a whole.
pub(super) fn parse_whole_time(text: &str) -> Option<f64> {
    let text = text.trim();
    if text.contains(':') {
        let parts: Vec<&str> = text.split(':').collect();
        let (last, before) = parts.split_last()?;
        let is_whole = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        let whole = last.split(['.', ',']).next()?;
        let below_60 = |part: &&str| part.len() == 2 && part.parse::<u32>().is_ok_and(|number| number < 60);
        let fits = (1..=2).contains(&before.len()) && before.iter().all(is_whole) && below_60(&whole);
        if !fits || !before.iter().skip(1).all(below_60) {
            return None;
        }
        let seconds: f64 = last.replace(',', ".").parse().ok()?;
        return before
            .iter()
            .try_fold(0.0, |sum, part| Some(sum * 60.0 + part.parse::<f64>().ok()?))
            .map(|minutes| minutes * 60.0 + seconds);
    }
    let (mut rest, mut seconds, mut larger, mut parts) = (text, 0.0, None, 0);
    while !rest.is_empty() {
        let length = number_length(rest);
        let (word, _) = following_word(&rest[length..]);
        let unit = PrintedTimeUnit::find(word)?;
        if larger.is_some_and(|larger| larger >= unit.rank) || rest.starts_with(['-', '+']) {
            return None;
        }
        seconds += value_of(&rest[..length]).ok()? * unit.seconds;
        rest = rest[length..].trim_start().strip_prefix(word)?.trim_start();
        (larger, parts) = (Some(unit.rank), parts + 1);
    }
    (parts > 1).then_some(seconds)
}

/// The word behind a number, on its line, and whether it stands right behind it.
fn following_word(rest: &str) -> (&str, bool) {
    let trimmed = rest.trim_start_matches([' ', '\t', '\u{a0}', '\u{202f}']);
    let end = trimmed.find(|letter: char| !(letter.is_alphabetic() || matches!(letter, '/' | '%')));
    (&trimmed[..end.unwrap_or(trimmed.len())], trimmed.len() == rest.len())
}

/// The value of a number as it is printed in any locale.
fn value_of(text: &str) -> Result<f64, String> {
    let plain = text.replace('−', "-");
    let (mantissa, exponent) = match plain.find(['e', 'E']) {
        Some(at) => plain.split_at(at),
        None => (plain.as_str(), ""),
    };
    let separators: Vec<char> = mantissa.chars().filter(|letter| is_separator(*letter)).collect();
    let decimal = decimal_separator(mantissa, &separators)
        .ok_or_else(|| format!("`{}` is not a number", shorten(text)))?;
    let decimal = match decimal {
        Decimal::None => None,
        Decimal::At(letter) => Some(letter),
        Decimal::Ambiguous => {
            return Err(format!(
                "`{}` may be {} or {}: let the program print in the C locale (LC_ALL=C)",
                shorten(text),
                mantissa.replace(',', ""),
                mantissa.replace(',', ".")
            ));
        }
    };
    let mut normal = String::new();
    for letter in mantissa.chars() {
        match letter {
            letter if Some(letter) == decimal => normal.push('.'),
            letter if is_separator(letter) => {}
            other => normal.push(other),
        }
    }
    normal.push_str(exponent);
    let value = normal.parse::<f64>().map_err(|_| format!("`{}` is not a number", shorten(text)))?;
    match value {
        value if !value.is_finite() || value.abs() > 1e300 => {
            Err(format!("`{}` is no finite number", shorten(text)))
        }
        value => Ok(value),
    }
}

/// Which letter is the decimal point of a number.
enum Decimal {
    None,
    At(char),
    /// One comma with three digits behind it.
    Ambiguous,
}

/// `None` where the separators fit no way of writing numbers.
fn decimal_separator(mantissa: &str, separators: &[char]) -> Option<Decimal> {
    let Some(last) = separators.last().copied() else { return Some(Decimal::None) };
    let unsigned = mantissa.trim_start_matches(['-', '+']);
    let groups: Vec<&str> = unsigned.split(is_separator).collect();
    let is_grouped = |groups: &[&str]| {
        groups.first().is_some_and(|first| (1..=3).contains(&first.len()))
            && groups.iter().skip(1).all(|group| group.len() == 3)
    };
    let can_be_decimal = matches!(last, '.' | ',' | '٫');
    let others_are_one_kind = |of: &[char]| of.windows(2).all(|pair| pair[0] == pair[1]);
    let (before, count) =
        (&separators[..separators.len() - 1], separators.iter().filter(|one| **one == last).count());
    if count == 1 && can_be_decimal {
        if before.is_empty() {
            let (whole, fraction) = (groups[0], groups.get(1).copied().unwrap_or_default());
            let is_ambiguous = last == ','
                && fraction.len() == 3
                && (1..=3).contains(&whole.len())
                && !whole.starts_with('0');
            return Some(if is_ambiguous { Decimal::Ambiguous } else { Decimal::At(last) });
        }
        let whole = &groups[..groups.len() - 1];
        return (others_are_one_kind(before) && is_grouped(whole)).then_some(Decimal::At(last));
    }
    (others_are_one_kind(separators) && is_grouped(&groups)).then_some(Decimal::None)
}

/// Line and column of a byte, counted from 1.
fn describe_position(text: &str, at: usize) -> String {
    let before = &text[..at];
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|letter| *letter != '\n').count() + 1;
    format!("line {line}, column {column}")
}

fn shorten(text: &str) -> String {
    text.chars().take(SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use super::{NumberPlace, parse_captured_number};

    fn parse_in_text(text: &str, captured: &str, separated: bool) -> Result<(f64, String), String> {
        let begin = text.find(captured).unwrap();
        let place = NumberPlace {
            text,
            begin,
            end: begin + captured.len(),
            separated_before: separated,
            separated_behind: separated,
        };
        parse_captured_number(&place)
            .map(|found| (found.value, found.word.to_owned()))
            .map_err(|reason| reason.what)
    }

    #[test]
    fn whole_numbers_are_read_in_any_locale() {
        for (text, value, word) in [
            ("12.5", 12.5, ""),
            ("12", 12.0, ""),
            (".5", 0.5, ""),
            ("8.6e-05", 8.6e-5, ""),
            ("1E+3", 1000.0, ""),
            ("+7", 7.0, ""),
            ("-3.5", -3.5, ""),
            ("−3.5", -3.5, ""),
            ("0,00437 s", 0.00437, "s"),
            ("12,5", 12.5, ""),
            ("1234,567", 1234.567, ""),
            ("1.234", 1.234, ""),
            ("1,234,567", 1_234_567.0, ""),
            ("1.234.567", 1_234_567.0, ""),
            ("1,234.5", 1234.5, ""),
            ("1.234,5", 1234.5, ""),
            ("1'234'567.5", 1_234_567.5, ""),
            ("1’234", 1234.0, ""),
            ("1\u{202f}234,5 ms", 1234.5, "ms"),
            ("1_000_000", 1e6, ""),
            ("1.4 GB/s", 1.4, "GB/s"),
            ("15ms", 15.0, "ms"),
            ("5.", 5.0, ""),
            ("42 %", 42.0, "%"),
        ] {
            assert_eq!(parse_in_text(text, text, false), Ok((value, word.to_owned())), "{text}");
        }
    }

    #[test]
    fn a_part_of_a_number_is_an_error_that_shows_where() {
        for (text, captured, why) in [
            ("took 0,00437 s", "0", "line 1, column 6: `0` goes on with `,00437`"),
            (
                "x\nrate 12,345",
                "345",
                "line 2, column 9: the number begins before what was captured: `12,345`",
            ),
            ("8.6e-05", "8.6", "`8.6` goes on with `e-05`"),
            ("8.6e-05", "05", "begins before what was captured: `8.6e-05`"),
            ("1.234.567", "1.234", "goes on with `.567`"),
            ("1'234", "1", "goes on with `'234`"),
            ("1\u{202f}234", "1", "goes on with"),
            ("0:01.23elapsed", "01.23", "begins before"),
            ("1:02", "1", "goes on with `:02`"),
            ("0x1f", "0", "goes on with `x1f`"),
            ("1m30s", "1", "goes on with `m30s`"),
            ("tps = -3", "3", "begins before what was captured: `-3`"),
            ("1234.5", "5", "begins before"),
            ("1234", "4", "begins before"),
            ("1,234", "1,234", "`1,234` may be 1234 or 1.234"),
            ("1.2.3", "1.2.3", "`1.2.3` is not a number"),
            ("1,23,4", "1,23,4", "is not a number"),
            ("1.234,567.8", "1.234,567.8", "is not a number"),
            ("much", "much", "`much` is not a number"),
            ("12 apples", "12 apples and", "is not a number"),
            ("nan", "nan", "no finite number"),
            ("-inf", "-inf", "no finite number"),
            ("1e999", "1e999", "no finite number"),
        ] {
            let text = if captured.len() > text.len() { captured } else { text };
            let said = parse_in_text(text, captured, false).unwrap_err();
            assert!(said.contains(why), "{text} {captured}: {said}");
        }
    }

    #[test]
    fn what_stands_beside_a_number_is_none_of_it() {
        for (text, captured, value) in [
            ("p-99 = 5, 7", "5", 5.0),
            ("a 12.5, then", "12.5", 12.5),
            ("(12.5)", "12.5", 12.5),
            ("1;2;3", "2", 2.0),
            ("150/400", "150", 150.0),
            ("v.7", "7", 7.0),
            ("ext4", "4", 4.0),
            ("10-20", "20", 20.0),
            ("12. Next", "12", 12.0),
        ] {
            assert_eq!(parse_in_text(text, captured, false).map(|found| found.0), Ok(value), "{text}");
        }
        // A pattern that has the commas itself says that they are none of the number.
        assert_eq!(parse_in_text("31220,92,33851", "92", true).map(|found| found.0), Ok(92.0));
        assert!(parse_in_text("31220,92,33851", "92", false).is_err());
    }
}
