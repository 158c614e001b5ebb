//! Faults in a text that a user wrote: file, line, the source line with the fault underlined, message and hint.

use std::fmt;

use super::reason::{Hinted, Reason};

/// At most this many faults are shown at once; a longer list would not be read.
const MAX_SHOWN_FAULTS: usize = 10;

/// Every fault of a file, or of changes to it on the command line, in the order of the text. There is at least one
/// fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextError(pub Vec<Fault>);

/// One fault, and the part of the text that causes it.
///
/// It is displayed on several lines: place and message, the line with the faulty part underlined, and the hint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Name of the file, or the command-line option (`--set`) that the text comes from.
    pub file: String,
    /// Line in that file, counted from 1; `None` when the text comes from the command line.
    pub line: Option<usize>,
    /// Column in that line, in characters, from 1.
    pub column: usize,
    /// The source line; a long line is shortened to the part around the fault.
    pub source_line: String,
    /// Number of characters in `source_line` before the fault.
    pub indent: usize,
    /// Length of the fault in characters.
    pub width: usize,
    pub message: String,
    /// Advice to the user, which may be empty.
    pub hint: String,
}

impl std::error::Error for TextError {}

impl Hinted for TextError {
    /// Each fault has its own hint.
    fn hint(&self) -> Option<String> {
        None
    }

    fn reason(&self) -> Reason {
        let shown = self.0.iter().take(MAX_SHOWN_FAULTS).enumerate();
        let faults = shown.map(|(number, fault)| {
            let blank = if number == 0 { "" } else { "\n" };
            Reason::new(format!("{blank}{}", FaultWithoutHint(fault)), fault.hint.as_str())
        });
        Reason::all(faults.chain(self.count_text().map(|count| Reason::plain(format!("\n{count}")))))
    }
}

impl TextError {
    /// States the number of faults, where the output does not make it obvious.
    fn count_text(&self) -> Option<String> {
        match self.0.len() {
            0 | 1 => None,
            number if number > MAX_SHOWN_FAULTS => {
                Some(format!("{number} problems, of which {MAX_SHOWN_FAULTS} are shown"))
            }
            number => Some(format!("{number} problems")),
        }
    }
}

impl fmt::Display for TextError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.reason())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", Reason::new(FaultWithoutHint(self), self.hint.as_str()))
    }
}

/// Displays a fault without its hint: place, message and source line.
struct FaultWithoutHint<'a>(&'a Fault);

impl fmt::Display for FaultWithoutHint<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fault = self.0;
        let Fault { file, column, source_line, message, .. } = fault;
        let number = fault.line.map(|line| line.to_string()).unwrap_or_default();
        match fault.line {
            Some(line) => writeln!(formatter, "{file}:{line}:{column}: {message}")?,
            None => writeln!(formatter, "{file}: {message}")?,
        }
        let margin = " ".repeat(number.len());
        // Tabs stay tabs, so that the marks below align with the text that they mark.
        let blank = |letter| if letter == '\t' { '\t' } else { ' ' };
        let indent: String = source_line.chars().take(fault.indent).map(blank).collect();
        writeln!(formatter, "{margin} |\n{number} | {source_line}")?;
        write!(formatter, "{margin} | {indent}{}", "^".repeat(fault.width.max(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::{Fault, TextError};

    #[test]
    fn what_is_to_blame_is_underlined_and_many_faults_are_counted() {
        let fault = Fault {
            file: "a.toml".to_owned(),
            line: Some(12),
            column: 7,
            source_line: "\ttie = 3".to_owned(),
            indent: 6,
            width: 1,
            message: "too large".to_owned(),
            hint: "write 0.03".to_owned(),
        };
        let in_file = "a.toml:12:7: too large\n   |\n12 | \ttie = 3\n   | \t     ^\nhint: write 0.03";
        assert_eq!(fault.to_string(), in_file);
        let option = Fault { line: None, hint: String::new(), ..fault.clone() };
        assert_eq!(option.to_string(), "a.toml: too large\n |\n | \ttie = 3\n | \t     ^");
        let both = TextError(vec![fault.clone(), option.clone()]);
        assert_eq!(both.to_string(), format!("{fault}\n\n{option}\n\n2 problems"));
        assert!(TextError(vec![fault; 30]).to_string().ends_with("30 problems, of which 10 are shown"));
    }
}
