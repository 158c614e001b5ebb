//! What is wrong with a text, so that it can be put right: where, the line itself, what, and a hint.

use std::fmt;

use super::reason::{Hinted, Reason};

/// So many faults are shown at once; whoever has more will not read them.
const SHOWN: usize = 10;

/// A file, or changes to it on the command line, that means nothing as written: everything that is wrong, in the order of the file.
/// There is at least one fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextError(pub Vec<Fault>);

/// One thing that is wrong, and the text to blame.
///
/// Shown on several lines: place and message, the line with the text underlined, and a hint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The file's name, or the command-line option (`--set`) the text came from.
    pub file: String,
    /// Line in that file, from 1; `None` when the text came from the command line.
    pub line: Option<usize>,
    /// Column in that line, in characters, from 1.
    pub column: usize,
    /// The line, or the neighbourhood of what is to blame where it is long.
    pub source_line: String,
    /// Characters of it before what is to blame.
    pub indent: usize,
    /// How many characters of the line are to blame.
    pub width: usize,
    pub message: String,
    /// What to do about it; may be empty.
    pub hint: String,
}

impl std::error::Error for TextError {}

impl Hinted for TextError {
    /// Each fault has its own.
    fn hint(&self) -> Option<String> {
        None
    }

    fn reason(&self) -> Reason {
        let shown = self.0.iter().take(SHOWN).enumerate();
        let faults = shown.map(|(number, fault)| {
            let blank = if number == 0 { "" } else { "\n" };
            Reason::new(format!("{blank}{}", Shown(fault)), fault.hint.as_str())
        });
        Reason::all(faults.chain(self.count().map(|count| Reason::plain(format!("\n{count}")))))
    }
}

impl TextError {
    /// How many there are, where that is not seen at once.
    fn count(&self) -> Option<String> {
        match self.0.len() {
            0 | 1 => None,
            all if all > SHOWN => Some(format!("{all} problems, of which {SHOWN} are shown")),
            all => Some(format!("{all} problems")),
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
        write!(formatter, "{}", Reason::new(Shown(self), self.hint.as_str()))
    }
}

/// Where a fault is, and what: all but the hint.
struct Shown<'a>(&'a Fault);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fault = self.0;
        let Fault { file, column, source_line, message, .. } = fault;
        let number = fault.line.map(|line| line.to_string()).unwrap_or_default();
        match fault.line {
            Some(line) => writeln!(formatter, "{file}:{line}:{column}: {message}")?,
            None => writeln!(formatter, "{file}: {message}")?,
        }
        let margin = " ".repeat(number.len());
        // Tabs stay tabs, so that the marks below stand under what they mark.
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
