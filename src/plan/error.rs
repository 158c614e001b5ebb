//! What is wrong with a plan, told so that it can be put right: where, the line itself, what, and a hint.

use std::fmt;

/// A value that cannot be read, without the place it stands in; [`PlanError`] adds that.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ValueError {
    /// What is wrong.
    pub message: String,
    /// How it is written right; may be empty.
    pub hint: String,
}

impl ValueError {
    pub(super) fn new(message: impl Into<String>, hint: impl Into<String>) -> ValueError {
        ValueError { message: message.into(), hint: hint.into() }
    }
}

impl fmt::Display for ValueError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)?;
        if self.hint.is_empty() { Ok(()) } else { write!(formatter, "\nhint: {}", self.hint) }
    }
}

/// A plan, or a change to it on the command line, that cannot be carried out as written.
///
/// Shown on several lines: place and message, the offending line with its culprit underlined, and a hint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanError {
    /// Where.
    pub culprit: Box<Culprit>,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// The text to blame: where it stands, and its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Culprit {
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
}

impl std::error::Error for PlanError {}

impl fmt::Display for PlanError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Culprit { file, line, column, source_line, indent, width } = &*self.culprit;
        let number = match line {
            Some(line) => {
                writeln!(formatter, "{file}:{line}:{column}: {}", self.message)?;
                line.to_string()
            }
            None => {
                writeln!(formatter, "{file}: {}", self.message)?;
                String::new()
            }
        };
        let margin = " ".repeat(number.len());
        // Tabs stay tabs, so that the marks below stand under what they mark.
        let indent: String =
            source_line.chars().take(*indent).map(|letter| if letter == '\t' { '\t' } else { ' ' }).collect();
        writeln!(formatter, "{margin} |\n{number} | {source_line}")?;
        write!(formatter, "{margin} | {indent}{}", "^".repeat((*width).max(1)))?;
        match &self.hint {
            Some(hint) => write!(formatter, "\nhint: {hint}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Culprit, PlanError};

    #[test]
    fn the_culprit_is_underlined() {
        let culprit = Culprit {
            file: "a.toml".to_owned(),
            line: Some(12),
            column: 7,
            source_line: "\ttie = 3".to_owned(),
            indent: 6,
            width: 1,
        };
        let mut error = PlanError {
            culprit: Box::new(culprit),
            message: "too large".to_owned(),
            hint: Some("write 0.03".to_owned()),
        };
        assert_eq!(
            error.to_string(),
            "a.toml:12:7: too large\n   |\n12 | \ttie = 3\n   | \t     ^\nhint: write 0.03"
        );
        error.culprit.line = None;
        error.hint = None;
        assert_eq!(error.to_string(), "a.toml: too large\n |\n | \ttie = 3\n | \t     ^");
    }
}
