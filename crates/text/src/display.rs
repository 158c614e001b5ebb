//! Makes text safe to display. Names, reasons and the output of programs may be anybody's; a terminal obeys control characters
//! (console_codes(4)), and the controls of bidirectional text (UAX #9) make a line read as something else.
//!
//! Every writer of text uses these functions at the border, where text leaves the program for a terminal or a page.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};

/// What is shown in the place of a character that is not displayed.
const SUBSTITUTE: char = '·';
/// The beginning of an escape sequence that sets a style (SGR, ECMA-48).
const ESCAPE: char = '\u{1b}';
/// Bytes of the longest of these sequences that pass.
const LONGEST_STYLE: usize = "\u{1b}[97m".len();

/// Control characters, and the invisible ones that change the direction or the joining of what follows: a terminal obeys them, and two
/// names that differ in nothing else look the same.
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
pub fn displayable(text: &str) -> Cow<'_, str> {
    match text.contains(is_hidden) {
        false => Cow::Borrowed(text),
        true => text.chars().map(|found| if is_hidden(found) { SUBSTITUTE } else { found }).collect(),
    }
}

/// JSON with each such character as `\u` and its number: it is safe to display, and reads back as the same. Outside of strings
/// JSON has none of them.
pub fn displayable_json(json: &str) -> Cow<'_, str> {
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

/// What a [`DisplayWriter`] lets pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DisplayForm {
    /// Text alone.
    Plain,
    /// Text, and the escape sequences that set one of the usual styles: bold, dim, underlined, a colour, none.
    Styled,
    /// JSON, whose characters are escaped and not replaced.
    Json,
}

/// Passes on the text that is written to it, in a form that is safe to display. What is not UTF-8 becomes U+FFFD.
#[derive(Debug)]
pub struct DisplayWriter<W: Write> {
    inner: W,
    form: DisplayForm,
    /// The beginning of a character, or of an escape sequence, whose end was not written yet.
    begun: Vec<u8>,
}

impl<W: Write> DisplayWriter<W> {
    pub fn new(inner: W, form: DisplayForm) -> Self {
        Self { inner, form, begun: Vec::new() }
    }

    /// Writes what is complete of these bytes, and returns the rest.
    fn write_complete(&mut self, bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut seen = 0;
        for chunk in bytes.utf8_chunks() {
            seen += chunk.valid().len() + chunk.invalid().len();
            let at_end = seen == bytes.len();
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

    /// Writes the text; where it may go on, an escape sequence at its end that is not complete is returned.
    fn write_text(&mut self, text: &str, may_go_on: bool) -> io::Result<Option<Vec<u8>>> {
        match self.form {
            DisplayForm::Plain => self.inner.write_all(displayable(text).as_bytes())?,
            DisplayForm::Json => self.inner.write_all(displayable_json(text).as_bytes())?,
            DisplayForm::Styled => {
                let mut rest = text;
                while let Some(at) = rest.find(ESCAPE) {
                    let (before, sequence) = rest.split_at(at);
                    self.inner.write_all(displayable(before).as_bytes())?;
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
                        self.inner.write_all(displayable("\u{1b}").as_bytes())?;
                    }
                    rest = &sequence[length.max(ESCAPE.len_utf8())..];
                }
                self.inner.write_all(displayable(rest).as_bytes())?;
            }
        }
        Ok(None)
    }
}

/// The number between `ESC [` and `m`, as far as it goes, and what follows it.
fn style_number(sequence: &str) -> Option<(&str, &str)> {
    let rest = sequence.strip_prefix("\u{1b}[")?;
    let digits = rest.len() - rest.trim_start_matches(|digit: char| digit.is_ascii_digit()).len();
    Some(rest.split_at(digits))
}

/// Bytes of the escape sequence that the text begins with, where it sets a usual style.
fn style_length(sequence: &str) -> Option<usize> {
    let (number, rest) = style_number(sequence)?;
    let is_usual = matches!(number.parse::<u8>(), Ok(0..=4 | 22 | 30..=37 | 39 | 90..=97));
    (is_usual && rest.starts_with('m')).then_some("\u{1b}[m".len() + number.len())
}

/// Whether such a sequence may have begun there, and nothing else.
fn is_begun_style(sequence: &str) -> bool {
    sequence == "\u{1b}" || style_number(sequence).is_some_and(|(_, rest)| rest.is_empty())
}

impl<W: Write> Write for DisplayWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.begun = match self.begun.is_empty() {
            true => self.write_complete(bytes)?,
            false => {
                let all = [std::mem::take(&mut self.begun).as_slice(), bytes].concat();
                self.write_complete(&all)?
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
            // What was begun and never completed; an error here has shown itself at the writes before.
            let _ = self.inner.write_all("\u{fffd}".as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::{DisplayForm, DisplayWriter, displayable, displayable_json, is_hidden};

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
        assert_eq!(displayable("a\tb\nü ≈"), "a\tb\nü ≈");
        assert_eq!(displayable(HOSTILE), "·".repeat(HOSTILE.chars().count()));
        assert!(HOSTILE.chars().all(is_hidden));
    }

    #[test]
    fn json_reads_back_as_the_same() {
        let json = serde_json::to_string(HOSTILE).unwrap();
        let shown = displayable_json(&json);
        assert!(!shown.contains(is_hidden), "{shown}");
        assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), HOSTILE);
        assert!(shown.contains("\\u009b") && shown.contains("\\udb40\\udc01"), "{shown}");
    }

    #[test]
    fn a_writer_passes_on_the_same_however_it_is_written_to() {
        let text = format!("a\u{1b}[1mb\u{1b}[0mc{HOSTILE}\u{1b}[2Jd\u{1b}]0;x\u{7}\u{1b}[8me\u{1b}[1;1Hü");
        for piece in 1..20 {
            let plain = written(DisplayForm::Plain, text.as_bytes(), piece);
            assert_eq!(plain, displayable(&text));
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
