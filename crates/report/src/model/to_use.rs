//! The shell commands that set up the recommended candidate on the user's own system, and the properties of the result.

use serde::Serialize;

use crate::wording::one_line;
use fsverdict_text::quoted;

/// How to set up the recommended candidate for permanent use, without the steps that only a trial needs.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ToUse {
    pub candidate: String,
    /// Shell commands, in order. The user sets the variables in them, such as `$DEVICE` and `$FOLDER`. A line that ends
    /// in `&&` runs the next line only on success.
    pub lines: Vec<String>,
    /// The features that the filesystem has as it is set up; `lacks` has those that it does not have.
    pub has: Vec<&'static str>,
    pub lacks: Vec<&'static str>,
    /// Operating systems besides Linux that read it without extra software.
    pub read_by: &'static [&'static str],
    /// The source for `read_by`.
    pub source: &'static str,
    /// Further facts that the user should know beforehand.
    pub notes: Vec<String>,
    /// How the filesystem stands in the kernel, where it is not actively developed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<&'static str>,
}

/// Starts of words with a variable that the user sets, such as a device or an opened layer.
const NAMED: [&str; 8] =
    ["$DEVICE", "/dev/mapper/$NAME", "/dev/md/$NAME", "/dev/$NAME", "$HEADER", "$SIZE", "$POOL", "$FOLDER"];

/// Quotes a word for a shell, but keeps a variable that the user sets.
pub fn shell_word(word: &str) -> String {
    if is_to_be_named(word) { format!("\"{word}\"") } else { quoted(word) }
}

/// Whether the word has such a variable and nothing else that is special to a shell.
fn is_to_be_named(word: &str) -> bool {
    let plain =
        |text: &str| text.chars().all(|letter| letter.is_ascii_alphanumeric() || " =,_.:/-".contains(letter));
    let rest = |begins: &&str| word.split_once(begins).filter(|(before, _)| plain(before));
    let alone = word.strip_prefix("$NAME").map(|after| ("", after));
    NAMED.iter().find_map(rest).or(alone).is_some_and(|(_, after)| plain(after))
}

fn shell_command(argv: &[String]) -> String {
    argv.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ")
}

impl ToUse {
    /// Adds a line for a shell, without terminal control characters.
    pub fn add(&mut self, line: &str) {
        self.lines.push(one_line(line));
    }

    /// Adds a command after which the next one runs only on success, even if the lines are pasted together.
    pub fn add_step(&mut self, line: &str) {
        self.add(&format!("{line} &&"));
    }

    /// Adds a program with its arguments as such a command; variables that the user sets stay variables.
    pub fn add_step_of(&mut self, argv: &[String]) {
        self.add_step(&shell_command(argv));
    }

    /// Adds a program with its arguments as the last command.
    pub fn add_last_of(&mut self, argv: &[String]) {
        self.add(&shell_command(argv));
    }

    /// `btrfs has copy-on-write; it lacks …; Windows and macOS read it, too`.
    pub(crate) fn properties(&self) -> String {
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

/// The text above the commands.
pub(crate) const LEAD: &str = "As root. It erases DEVICE: see `lsblk -f`, and set DEVICE and FOLDER first.";

#[cfg(test)]
mod tests {
    use super::{ToUse, shell_word};

    #[test]
    fn a_line_is_no_more_than_its_words_to_a_shell() {
        let words = ["mkfs.ext4", "-L", "a b$(reboot)`x`'", "-O\u{1b}[2J", "$DEVICE"].map(str::to_owned);
        for (word, wanted) in [
            ("/dev/md/$NAME-2", "\"/dev/md/$NAME-2\""),
            ("$NAME2", "\"$NAME2\""),
            ("logdev=$DEVICE2,size=64m", "\"logdev=$DEVICE2,size=64m\""),
            ("$(reboot)$DEVICE", "'$(reboot)$DEVICE'"),
            ("$DEVICE`reboot`", "'$DEVICE`reboot`'"),
            ("$NAMES$(x)", "'$NAMES$(x)'"),
        ] {
            assert_eq!(shell_word(word), wanted);
        }
        let mut to_use = ToUse::default();
        to_use.add_step_of(&words);
        let line = &to_use.lines[0];
        assert!(line.ends_with(" \"$DEVICE\" &&") && !line.contains('\u{1b}'), "{line}");
        assert!(line.contains(r"'a b$(reboot)`x`'\'''"), "{line}");
    }
}
