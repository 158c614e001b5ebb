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

/// Where a variable begins that whoever types the lines sets: a device, or an opened layer.
const NAMED: [&str; 6] = ["$DEVICE", "/dev/mapper/$NAME", "/dev/md/$NAME", "/dev/$NAME", "$HEADER", "$SIZE"];

/// A word as a shell takes it, with the variable in it that is to be named.
pub fn shell_word(word: &str) -> String {
    if is_to_be_named(word) { format!("\"{word}\"") } else { quoted(word) }
}

/// Whether it is such a variable, with nothing around it that says anything to a shell.
fn is_to_be_named(word: &str) -> bool {
    let plain = |text: &str| text.chars().all(|one| one.is_ascii_alphanumeric() || " =,_.:/-".contains(one));
    let rest = |begins: &&str| word.split_once(begins).filter(|(before, _)| plain(before));
    let alone = word.strip_prefix("$NAME").map(|after| ("", after));
    NAMED.iter().find_map(rest).or(alone).is_some_and(|(_, after)| plain(after))
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
        self.add_step(&argv.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" "));
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
