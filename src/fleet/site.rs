//! The name of a site, and the facts of a journal that hold it.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use fsverdict_text::Reason;

/// The fact in which a block's journal names its site.
pub(super) const SITE: &str = "site";
/// The fact in which a block's journal identifies the build of the program that wrote it.
pub(super) const BINARY: &str = "fsverdict.binary";

/// The fact in which a block's journal names its run, by the run's key: another run of the same plan has another.
pub(super) const RUN: &str = "run.key";

/// The name of a site. Names are sorted by the numbers in them: lab2 comes before lab10.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Site(String);

impl FromStr for Site {
    type Err = Reason;

    fn from_str(name: &str) -> Result<Self, Reason> {
        let fits = |at: usize, c: char| c.is_ascii_alphanumeric() || (at > 0 && ".-_".contains(c));
        let good = (1..=64).contains(&name.len()) && name.char_indices().all(|(at, c)| fits(at, c));
        if good {
            return Ok(Site(name.to_owned()));
        }
        let hint = "letters, digits, `.`, `-` and `_`, at most 64, the first of them a letter or digit";
        Err(Reason::new(format!("`{name}` cannot be the name of a site"), hint))
    }
}

impl Ord for Site {
    fn cmp(&self, other: &Self) -> Ordering {
        split_numbers(&self.0).cmp(split_numbers(&other.0)).then_with(|| self.0.cmp(&other.0))
    }
}

impl PartialOrd for Site {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Splits a name into numbers, each with its length without leading zeros, and the text between them. (natord 1.0 is not
/// used: it reads a number with a leading zero as a fraction, so that lab02 comes before lab1.)
fn split_numbers(name: &str) -> impl Iterator<Item = (usize, &[u8])> {
    name.as_bytes().chunk_by(|one, next| one.is_ascii_digit() == next.is_ascii_digit()).map(|part| {
        let zeros = part.iter().take_while(|byte| **byte == b'0').count();
        if part.first().is_some_and(u8::is_ascii_digit) {
            (part.len() - zeros, &part[zeros..])
        } else {
            (usize::MAX, part)
        }
    })
}

impl TryFrom<String> for Site {
    type Error = Reason;

    fn try_from(name: String) -> Result<Self, Reason> {
        name.parse()
    }
}

impl From<Site> for String {
    fn from(site: Site) -> String {
        site.0
    }
}

impl fmt::Display for Site {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::Site;

    #[test]
    fn sites_are_in_the_order_of_their_numbers() {
        let ordered = [
            "2-a",
            "10-a",
            "lab01",
            "lab1",
            "lab02",
            "lab2",
            "lab10",
            "lab10.b2",
            "lab10.b10",
            "laboratory",
            "z",
        ];
        let mut sites: Vec<Site> = ordered.iter().rev().map(|name| name.parse().unwrap()).collect();
        sites.sort();
        assert_eq!(sites.iter().map(Site::to_string).collect::<Vec<_>>(), ordered);
    }
}
