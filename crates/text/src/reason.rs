//! The reason of an error and its hint, carried as two fields from where the error occurs to where it is shown.

use std::fmt;

use serde::{Deserialize, Serialize};

/// States an error or an impossibility, and advises the user how to resolve it.
///
/// It is displayed on separate lines: the statement, then `hint:` and the advice, then the reasons in `more`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// The statement.
    pub what: String,
    /// The advice; empty where none is known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub hint: String,
    /// Further reasons, each displayed from a new line on: the next fault, or one more hint.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub more: Vec<Reason>,
}

impl Reason {
    /// Creates a reason without a hint.
    pub fn plain(what: impl fmt::Display) -> Self {
        Reason::new(what, "")
    }

    pub fn new(what: impl fmt::Display, hint: impl Into<String>) -> Self {
        Reason { what: what.to_string(), hint: hint.into(), more: Vec::new() }
    }

    /// Returns the same reason with `words` before its statement, such as the key that it concerns.
    pub fn after(self, words: impl fmt::Display) -> Self {
        Reason { what: format!("{words}{}", self.what), ..self }
    }

    /// Returns the same reason with one more hint.
    pub fn and_hint(mut self, hint: impl Into<String>) -> Self {
        let hint = hint.into();
        if self.hint.is_empty() && self.more.is_empty() {
            self.hint = hint;
        } else if !hint.is_empty() {
            self.more.push(Reason { hint, ..Reason::default() });
        }
        self
    }

    /// Joins several reasons, which are displayed one after another.
    pub fn all(reasons: impl IntoIterator<Item = Reason>) -> Self {
        let mut reasons = reasons.into_iter();
        let mut first = reasons.next().unwrap_or_default();
        first.more.extend(reasons);
        first
    }

    /// Returns its lines in the order in which they are displayed.
    pub fn parts(&self) -> Vec<ReasonLine<'_>> {
        let statement = Some(ReasonLine::What(&self.what)).filter(|_| !self.what.is_empty());
        let hint = Some(ReasonLine::Hint(&self.hint)).filter(|_| !self.hint.is_empty());
        let first_lines = statement.into_iter().chain(hint);
        first_lines.chain(self.more.iter().flat_map(Reason::parts)).collect()
    }
}

/// One displayed line of a reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReasonLine<'a> {
    What(&'a str),
    Hint(&'a str),
}

impl std::error::Error for Reason {}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, part) in self.parts().into_iter().enumerate() {
            if number > 0 {
                formatter.write_str("\n")?;
            }
            match part {
                ReasonLine::What(text) => formatter.write_str(text)?,
                ReasonLine::Hint(text) => write!(formatter, "hint: {text}")?,
            }
        }
        Ok(())
    }
}

/// An error that may carry a hint. Its own text states only the error.
pub trait Hinted: fmt::Display {
    /// Advice to the user, where some is known.
    fn hint(&self) -> Option<String>;

    /// Returns the text and the hint together.
    fn reason(&self) -> Reason {
        Reason::new(self, self.hint().unwrap_or_default())
    }
}

impl<T: Hinted + ?Sized> Hinted for &T {
    fn hint(&self) -> Option<String> {
        (**self).hint()
    }

    fn reason(&self) -> Reason {
        (**self).reason()
    }
}

impl Hinted for Reason {
    fn hint(&self) -> Option<String> {
        Some(self.hint.clone()).filter(|hint| !hint.is_empty())
    }

    fn reason(&self) -> Reason {
        self.clone()
    }
}

/// Implements [`Hinted`] for types that carry no hint.
macro_rules! plain {
    ($($of:ty),*) => {$(
        impl Hinted for $of {
            fn hint(&self) -> Option<String> {
                None
            }
        }
    )*};
}

plain!(str, String, serde_json::Error);

/// Gives hints for errors that occur when this machine lacks a resource, and for refusals in a folder that others can
/// write to.
impl Hinted for std::io::Error {
    fn hint(&self) -> Option<String> {
        use std::io::ErrorKind;
        if let Some(refusal) = fsverdict_folders::FolderRefusal::find_in(self) {
            return Some(refusal.hint.clone()).filter(|hint| !hint.is_empty());
        }
        let hint = match self.kind() {
            ErrorKind::StorageFull => "make room there, or name a place that has some",
            ErrorKind::QuotaExceeded => {
                "your quota there is used up: `quota` shows it; make room, or name another place"
            }
            ErrorKind::FileTooLarge if self.raw_os_error().is_some() => {
                "the shell limits the size of files (`ulimit -f` shows it), or the filesystem does: raise the limit, or name another place"
            }
            _ => return None,
        };
        Some(hint.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::{Hinted, Reason, ReasonLine};

    #[test]
    fn hints_are_lines_after_what_they_belong_to() {
        let full = Reason::new("no room", "make some");
        assert_eq!(full.to_string(), "no room\nhint: make some");
        assert_eq!(Reason::plain("no").to_string(), "no");
        let more = full.clone().and_hint("resume carries on");
        assert_eq!(more.to_string(), "no room\nhint: make some\nhint: resume carries on");
        assert_eq!(Reason::plain("no").and_hint("yes"), Reason::new("no", "yes"));
        let both = Reason::all([full.clone(), Reason::plain("nor time")]).after("not begun: ");
        assert_eq!(both.to_string(), "not begun: no room\nhint: make some\nnor time");
        let parts = [
            ReasonLine::What("not begun: no room"),
            ReasonLine::Hint("make some"),
            ReasonLine::What("nor time"),
        ];
        assert_eq!(both.parts(), parts);
        assert_eq!(full.reason(), full);
        assert_eq!("plain".reason(), Reason::plain("plain"));
        let full = std::io::Error::from(std::io::ErrorKind::StorageFull);
        assert!(full.hint().is_some_and(|hint| hint.contains("make room")));
    }
}
