//! What the verdict says to take, put to use: the lines to type on a system of one's own, and what one gets by them.

use serde::Serialize;

use super::text::one_line;
use fsverdict_text::quoted;

/// How the recommended candidate is made where it is to stay, without what only a trial needs.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ToUse {
    pub candidate: String,
    /// Lines for a shell, in their order. `$DEVICE` and `$FOLDER` are whoever types them to name. `&&` at a line's
    /// end: the next only if it went well.
    pub lines: Vec<String>,
    /// What the filesystem has and what it lacks, as it was made.
    pub has: Vec<&'static str>,
    pub lacks: Vec<&'static str>,
    /// Systems besides Linux that read it as they come.
    pub read_by: &'static [&'static str],
    /// Where that is written.
    pub source: &'static str,
    /// What else is to be known before.
    pub notes: Vec<String>,
}

/// The device, or a layer on it by its name or its path: `$NAME`, `$NAME-2`, `/dev/mapper/$NAME`.
fn is_to_be_named(word: &str) -> bool {
    let name = word.strip_prefix("/dev/mapper/").unwrap_or(word);
    word == "$DEVICE"
        || name.strip_prefix("$NAME").is_some_and(|rest| {
            let number = rest.strip_prefix('-').filter(|number| !number.is_empty());
            rest.is_empty() || number.is_some_and(|number| number.bytes().all(|digit| digit.is_ascii_digit()))
        })
}

impl ToUse {
    /// Adds a line for a shell; what would steer a terminal is taken out.
    pub fn add(&mut self, line: &str) {
        self.lines.push(one_line(line));
    }

    /// Adds a line after which the next is done only if it went well, however the lines reach the shell.
    pub fn add_step(&mut self, line: &str) {
        self.add(&format!("{line} &&"));
    }

    /// The same of a program with its words; what is to be named stays a variable.
    pub fn add_step_of(&mut self, argv: &[String]) {
        let words =
            argv.iter().map(|word| if is_to_be_named(word) { format!("\"{word}\"") } else { quoted(word) });
        self.add_step(&words.collect::<Vec<_>>().join(" "));
    }

    /// `btrfs has copy-on-write; it lacks …; Windows and macOS read it, too`.
    pub(super) fn properties(&self) -> String {
        let mut parts = Vec::new();
        for (verb, words) in [("has", &self.has), ("lacks", &self.lacks)] {
            if !words.is_empty() {
                parts.push(format!("{verb} {}", words.join(", ")));
            }
        }
        parts.push(match self.read_by {
            [] => "only Linux reads it as it comes".to_owned(),
            others => format!("read by {}, too", others.join(" and ")),
        });
        format!("{} {} ({})", self.candidate, parts.join("; "), self.source)
    }
}

/// What is said above the lines.
pub(super) const LEAD: &str = "All that is on the device is lost. Name it by its id, and the folder it is to be mounted on; then, as root:";

#[cfg(test)]
mod tests {
    use super::ToUse;

    #[test]
    fn a_line_is_no_more_than_its_words_to_a_shell() {
        let words = ["mkfs.ext4", "-L", "a b$(reboot)`x`'", "-O\u{1b}[2J", "$DEVICE"].map(str::to_owned);
        let mut to_use = ToUse::default();
        to_use.add_step_of(&words);
        let line = &to_use.lines[0];
        assert!(line.ends_with(" \"$DEVICE\" &&") && !line.contains('\u{1b}'), "{line}");
        assert!(line.contains(r"'a b$(reboot)`x`'\'''"), "{line}");
    }
}
