//! Makes text safe to display. Names, reasons and the output of programs may come from untrusted sources; a terminal obeys
//! control characters (console_codes(4)), and the controls of bidirectional text (UAX #9) change how a line reads.
//!
//! All code that writes text to a terminal or a page uses these functions.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};

/// The character that is shown in the place of a hidden one.
const SUBSTITUTE: char = '·';
/// The beginning of an escape sequence that sets a style (SGR, ECMA-48).
const ESCAPE: char = '\u{1b}';
/// The maximum length in bytes of a style sequence that passes.
const LONGEST_STYLE: usize = "\u{1b}[97m".len();

/// Whether this is a control character, or an invisible character that changes the direction or the joining of the
/// following text. A terminal obeys such characters, and two names that differ only in them look the same.
pub fn is_steering(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Whether a character may not be displayed: it steers, and is neither a line feed nor a tab.
pub fn is_hidden(character: char) -> bool {
    is_steering(character) && !matches!(character, '\n' | '\t')
}

/// The text with a visible `·` for each character that steers a terminal or hides something. Line feeds and tabs stay.
pub fn make_displayable(text: &str) -> Cow<'_, str> {
    match text.contains(is_hidden) {
        false => Cow::Borrowed(text),
        true => text.chars().map(|found| if is_hidden(found) { SUBSTITUTE } else { found }).collect(),
    }
}

/// The JSON text with each such character as `\u` and its number: it is safe to display, and parses to the same value.
/// Outside of strings, JSON contains no such character.
pub fn make_json_displayable(json: &str) -> Cow<'_, str> {
    if !json.contains(is_hidden) {
        return Cow::Borrowed(json);
    }
    let mut escaped = String::with_capacity(json.len() + 64);
    for found in json.chars() {
        if is_hidden(found) {
            for unit in found.encode_utf16(&mut [0; 2]) {
                // Writing to a string cannot fail.
                let _ = write!(escaped, "\\u{unit:04x}");
            }
        } else {
            escaped.push(found);
        }
    }
    Cow::Owned(escaped)
}

/// The form of text that a [`DisplayWriter`] lets pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DisplayForm {
    /// Text alone.
    Plain,
    /// Text, and the escape sequences that set one of the usual styles: bold, dim, underlined, a colour, none.
    Styled,
    /// JSON; its characters are escaped and not replaced.
    Json,
}

/// Passes on the text that is written to it, in a form that is safe to display. Bytes that are not UTF-8 become U+FFFD.
#[derive(Debug)]
pub struct DisplayWriter<W: Write> {
    inner: W,
    form: DisplayForm,
    /// The beginning of a character or of an escape sequence that is not complete yet.
    begun: Vec<u8>,
}

impl<W: Write> DisplayWriter<W> {
    pub fn new(inner: W, form: DisplayForm) -> Self {
        Self { inner, form, begun: Vec::new() }
    }

    /// Writes the complete characters and sequences of these bytes, and returns the rest.
    fn write_complete(&mut self, bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut position = 0;
        for chunk in bytes.utf8_chunks() {
            position += chunk.valid().len() + chunk.invalid().len();
            let at_end = position == bytes.len();
            if let Some(begun) = self.write_text(chunk.valid(), at_end && chunk.invalid().is_empty())? {
                return Ok(begun);
            }
            if !chunk.invalid().is_empty() {
                let is_begun =
                    std::str::from_utf8(chunk.invalid()).is_err_and(|error| error.error_len().is_none());
                if at_end && is_begun {
                    return Ok(chunk.invalid().to_vec());
                }
                self.inner.write_all("\u{fffd}".as_bytes())?;
            }
        }
        Ok(Vec::new())
    }

    /// Writes the text. If the text may continue, returns an incomplete escape sequence at its end.
    fn write_text(&mut self, text: &str, may_go_on: bool) -> io::Result<Option<Vec<u8>>> {
        match self.form {
            DisplayForm::Plain => self.inner.write_all(make_displayable(text).as_bytes())?,
            DisplayForm::Json => self.inner.write_all(make_json_displayable(text).as_bytes())?,
            DisplayForm::Styled => {
                let mut rest = text;
                while let Some(at) = rest.find(ESCAPE) {
                    let (before, sequence) = rest.split_at(at);
                    self.inner.write_all(make_displayable(before).as_bytes())?;
                    let length = style_length(sequence);
                    if length.is_none()
                        && may_go_on
                        && sequence.len() < LONGEST_STYLE
                        && is_begun_style(sequence)
                    {
                        return Ok(Some(sequence.as_bytes().to_vec()));
                    }
                    let length = length.unwrap_or(0);
                    self.inner.write_all(&sequence.as_bytes()[..length])?;
                    if length == 0 {
                        self.inner.write_all(make_displayable("\u{1b}").as_bytes())?;
                    }
                    rest = &sequence[length.max(ESCAPE.len_utf8())..];
                }
                self.inner.write_all(make_displayable(rest).as_bytes())?;
            }
        }
        Ok(None)
    }
}

/// Splits off the number after `ESC [`, which may be incomplete, from the rest of the sequence.
fn style_number(sequence: &str) -> Option<(&str, &str)> {
    let rest = sequence.strip_prefix("\u{1b}[")?;
    let digits = rest.len() - rest.trim_start_matches(|digit: char| digit.is_ascii_digit()).len();
    Some(rest.split_at(digits))
}

/// The length in bytes of the escape sequence at the beginning of the text, if it sets a usual style.
fn style_length(sequence: &str) -> Option<usize> {
    let (number, rest) = style_number(sequence)?;
    let is_usual = matches!(number.parse::<u8>(), Ok(0..=4 | 22 | 30..=37 | 39 | 90..=97));
    (is_usual && rest.starts_with('m')).then_some("\u{1b}[m".len() + number.len())
}

/// Whether the text could be the beginning of such a sequence.
fn is_begun_style(sequence: &str) -> bool {
    sequence == "\u{1b}" || style_number(sequence).is_some_and(|(_, rest)| rest.is_empty())
}

impl<W: Write> Write for DisplayWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.begun = match self.begun.is_empty() {
            true => self.write_complete(bytes)?,
            false => {
                let pending = [std::mem::take(&mut self.begun).as_slice(), bytes].concat();
                self.write_complete(&pending)?
            }
        };
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<W: Write> Drop for DisplayWriter<W> {
    fn drop(&mut self) {
        if !self.begun.is_empty() {
            // Writes a sequence that was never completed. Errors are ignored: earlier writes have reported them.
            let _ = self.inner.write_all("\u{fffd}".as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::{DisplayForm, DisplayWriter, is_hidden, make_displayable, make_json_displayable};

    /// Every kind of character that may not be displayed.
    const HOSTILE: &str = "\0\u{7}\u{8}\r\u{1b}\u{7f}\u{80}\u{9b}\u{9f}\u{61c}\u{200e}\u{200f}\u{2028}\u{2029}\u{202a}\u{202e}\u{2066}\u{2069}\u{e0001}";

    /// What is passed on of text that is written in pieces of so many bytes.
    fn written(form: DisplayForm, bytes: &[u8], piece: usize) -> String {
        let mut out = Vec::new();
        let mut writer = DisplayWriter::new(&mut out, form);
        bytes.chunks(piece).for_each(|piece| writer.write_all(piece).unwrap());
        drop(writer);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn each_character_that_steers_becomes_visible() {
        assert_eq!(make_displayable("a\tb\nü ≈"), "a\tb\nü ≈");
        assert_eq!(make_displayable(HOSTILE), "·".repeat(HOSTILE.chars().count()));
        assert!(HOSTILE.chars().all(is_hidden));
    }

    #[test]
    fn json_reads_back_as_the_same() {
        let json = serde_json::to_string(HOSTILE).unwrap();
        let shown = make_json_displayable(&json);
        assert!(!shown.contains(is_hidden), "{shown}");
        assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), HOSTILE);
        assert!(shown.contains("\\u009b") && shown.contains("\\udb40\\udc01"), "{shown}");
    }

    #[test]
    fn a_writer_passes_on_the_same_however_it_is_written_to() {
        let text = format!("a\u{1b}[1mb\u{1b}[0mc{HOSTILE}\u{1b}[2Jd\u{1b}]0;x\u{7}\u{1b}[8me\u{1b}[1;1Hü");
        for piece in 1..20 {
            let plain = written(DisplayForm::Plain, text.as_bytes(), piece);
            assert_eq!(plain, make_displayable(&text));
            let styled = written(DisplayForm::Styled, text.as_bytes(), piece);
            assert!(styled.starts_with("a\u{1b}[1mb\u{1b}[0mc·"), "{styled:?}");
            assert_eq!(styled.matches('\u{1b}').count(), 2, "{styled:?}");
            assert!(styled.ends_with("·[2Jd·]0;x··[8me·[1;1Hü"), "{styled:?}");
        }
    }

    #[test]
    fn what_is_not_utf_8_is_replaced() {
        for piece in 1..5 {
            assert_eq!(written(DisplayForm::Plain, b"a\xffb\xc3", piece), "a\u{fffd}b\u{fffd}");
            assert_eq!(written(DisplayForm::Styled, b"a\x9b\x1b[", piece), "a\u{fffd}\u{fffd}");
        }
    }
}
