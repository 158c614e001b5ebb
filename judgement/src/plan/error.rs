//! What is wrong with a plan, so that it can be put right: where, the line itself, what, and a hint.

use std::fmt;

/// So many faults are shown at once; whoever has more will not read them.
const SHOWN: usize = 10;

/// A value that cannot be read, without the place it stands in; a [`Fault`] adds that.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ValueError {
    pub message: String,
    pub hint: String,
}

impl ValueError {
    pub fn new(message: impl Into<String>, hint: impl Into<String>) -> ValueError {
        ValueError { message: message.into(), hint: hint.into() }
    }
}

impl fmt::Display for ValueError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)?;
        if self.hint.is_empty() { Ok(()) } else { write!(formatter, "\nhint: {}", self.hint) }
    }
}

/// A plan, or changes to it on the command line, that cannot be carried out as written: everything that is wrong, in
/// the order of the file. There is at least one fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanError(pub Vec<Fault>);

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

impl std::error::Error for PlanError {}

impl fmt::Display for PlanError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, fault) in self.0.iter().take(SHOWN).enumerate() {
            write!(formatter, "{}{fault}", if number == 0 { "" } else { "\n\n" })?;
        }
        match self.0.len() {
            0 | 1 => Ok(()),
            all if all > SHOWN => write!(formatter, "\n\n{all} problems, of which {SHOWN} are shown"),
            all => write!(formatter, "\n\n{all} problems"),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fault { file, column, source_line, message, hint, .. } = self;
        let number = self.line.map(|line| line.to_string()).unwrap_or_default();
        match self.line {
            Some(line) => writeln!(formatter, "{file}:{line}:{column}: {message}")?,
            None => writeln!(formatter, "{file}: {message}")?,
        }
        let margin = " ".repeat(number.len());
        // Tabs stay tabs, so that the marks below stand under what they mark.
        let blank = |letter| if letter == '\t' { '\t' } else { ' ' };
        let indent: String = source_line.chars().take(self.indent).map(blank).collect();
        writeln!(formatter, "{margin} |\n{number} | {source_line}")?;
        write!(formatter, "{margin} | {indent}{}", "^".repeat(self.width.max(1)))?;
        if hint.is_empty() { Ok(()) } else { write!(formatter, "\nhint: {hint}") }
    }
}

#[cfg(test)]
mod tests {
    use super::{Fault, PlanError};

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
        let both = PlanError(vec![fault.clone(), option.clone()]);
        assert_eq!(both.to_string(), format!("{fault}\n\n{option}\n\n2 problems"));
        assert!(PlanError(vec![fault; 30]).to_string().ends_with("30 problems, of which 10 are shown"));
    }
}
