//! Replaces the names of machines, people and their property by pseudonyms. A name gets the same pseudonym wherever
//! it occurs, and the name cannot be guessed from the pseudonym.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::hash::Hasher;

use regex_lite::Regex;
use siphasher::sip::SipHasher24;

use super::hidden_kind::{HIDDEN, HiddenKind};
use super::name_patterns::{GROUPS, PATTERNS, is_pseudonym, is_public, is_public_match, may_hold_names};

/// Names that every machine has.
const COMMON_NAMES: [&str; 3] = ["root", "localhost", "localdomain"];

/// Replaces names by pseudonyms, and counts the replacements.
pub(super) struct NameReplacer {
    key: [u8; 16],
    /// The registered names, the longest first.
    known: Vec<(String, HiddenKind)>,
    registered: HashSet<String>,
    patterns: Regex,
    /// Whether the run works with the user's own files: their names and content may occur anywhere.
    pub(super) own_files: bool,
    /// Whether the current value cites published work: its location identifies no user of this machine.
    pub(super) cites: bool,
    /// Whether the output of failed commands is kept, without names.
    pub(super) failed_output: bool,
    /// For each kind, the distinct names and the number of places in which they occurred.
    pub(super) found: BTreeMap<HiddenKind, (BTreeSet<String>, usize)>,
}

impl NameReplacer {
    /// Creates a replacer with this key for pseudonyms; `None` if the patterns do not compile.
    pub(super) fn new(key: [u8; 16]) -> Option<Self> {
        let patterns = Regex::new(PATTERNS).ok()?;
        Some(NameReplacer {
            key,
            known: Vec::new(),
            registered: HashSet::new(),
            patterns,
            own_files: false,
            cites: false,
            failed_output: false,
            found: BTreeMap::new(),
        })
    }

    /// Registers a name, to be replaced wherever it occurs from here on. A name that every machine has is ignored.
    pub(super) fn register(&mut self, name: &str, kind: HiddenKind) {
        let name = name.trim();
        let of_all = COMMON_NAMES.contains(&name) || kind == HiddenKind::Path && is_public(name);
        let somebodys = name.len() > 1 && !of_all && !name.chars().all(|c| c.is_ascii_digit());
        let name = name.to_ascii_lowercase();
        if somebodys && self.registered.insert(name.clone()) {
            let place = self.known.partition_point(|(known, _)| known.len() >= name.len());
            self.known.insert(place, (name, kind));
        }
    }

    /// Registers the users in paths of homes and mounted media that the text contains.
    pub(super) fn register_homes(&mut self, text: &str) {
        for folder in ["/home/", "/Users/", "/media/"] {
            for (at, _) in text.match_indices(folder) {
                let rest = &text[at + folder.len()..];
                let end =
                    rest.find(|c: char| !(c.is_alphanumeric() || "._-".contains(c))).unwrap_or(rest.len());
                self.register(&rest[..end], HiddenKind::User);
            }
        }
        for (at, _) in text.match_indices('~') {
            let rest = &text[at + 1..];
            let end = rest.find(|c: char| !(c.is_alphanumeric() || "._-".contains(c))).unwrap_or(rest.len());
            if rest.starts_with(char::is_alphabetic) && rest[end..].starts_with('/') {
                self.register(&rest[..end], HiddenKind::User);
            }
        }
    }

    /// Registers names that only several words of a command show together: the value after an option that names a
    /// filesystem, and secrets that span words.
    pub(super) fn register_words(&mut self, options: &[&str]) {
        if options.len() < 2 {
            return;
        }
        let line = options.join(" ");
        let patterns = self.patterns.clone();
        for found in patterns.captures_iter(&line) {
            let group = GROUPS[..1].iter().find_map(|(group, kind)| Some((found.name(group)?, *kind)));
            let Some((found, kind)) = group.or_else(|| Some((found.name("device")?, HiddenKind::Device)))
            else {
                continue;
            };
            let words: Vec<&str> = found.as_str().split(' ').collect();
            for (at, word) in words.iter().enumerate().skip(1) {
                if at + 1 == words.len() || word.contains(|c: char| c.is_ascii_digit()) {
                    self.register(word, kind);
                }
            }
        }
        for pair in options.windows(2).filter(|pair| ["-L", "--label"].contains(&pair[0])) {
            self.register(pair[1], HiddenKind::Other);
        }
    }

    /// The pseudonym of `name`.
    pub(super) fn pseudonym(&mut self, name: &str, kind: HiddenKind) -> String {
        let mut hasher = SipHasher24::new_with_key(&self.key);
        // A by-id name may also be written as its path.
        let bare = name.rsplit('/').next().filter(|_| kind == HiddenKind::Device).unwrap_or(name);
        hasher.write(bare.to_ascii_lowercase().as_bytes());
        let (names, places) = self.found.entry(kind).or_default();
        names.insert(bare.to_owned());
        *places += 1;
        kind.format_pseudonym(&format!("{:016x}", hasher.finish()))
    }

    /// Replaces the registered names in the text.
    pub(super) fn without_known(&mut self, text: &str) -> String {
        let lower = text.to_ascii_lowercase();
        let known: Vec<_> = self.known.iter().filter(|(name, _)| lower.contains(name)).cloned().collect();
        let mut text = text.to_owned();
        for (name, kind) in &known {
            // Lower case has the same length.
            let lower = text.to_ascii_lowercase();
            let (mut clean, mut done) = (String::with_capacity(text.len()), 0);
            for (start, _) in lower.match_indices(name) {
                let end = start + name.len();
                if is_word(&text, start, end) && !is_in_shipped_name(&text, start, end) {
                    clean.push_str(&text[done..start]);
                    clean.push_str(&self.pseudonym(name, *kind));
                    done = end;
                }
            }
            clean.push_str(&text[done..]);
            text = clean;
        }
        text
    }

    /// Replaces the registered names in the text, and everything that looks like a name.
    pub(super) fn without_any(&mut self, text: &str) -> String {
        let text = self.without_known(text);
        // The text is one word of a command, or a path in the plan, and may contain spaces.
        if text.starts_with('/') && !is_public(&text) && !text.contains(['\n', '\'', '"', ';', '|', ':']) {
            return self.pseudonym(&text, HiddenKind::Path);
        }
        if !may_hold_names(&text) {
            return text;
        }
        let patterns = self.patterns.clone();
        let (mut clean, mut done) = (String::with_capacity(text.len()), 0);
        while let Some(found) = patterns.captures_at(&text, done) {
            let Some(whole) = found.get(0) else { break };
            let (start, mut end) = (whole.start(), whole.end());
            let group = GROUPS.iter().find(|(group, _)| found.name(group).is_some());
            let place = match group.map(|(_, kind)| *kind) {
                _ if group.is_some_and(|(group, _)| is_public_match(group, whole.as_str(), self.cites)) => {
                    None
                }
                Some(HiddenKind::Path) => path_end(&text, start, end).map(|last| {
                    end = last;
                    self.pseudonym(&text[start..end], HiddenKind::Path)
                }),
                Some(HiddenKind::Device)
                    if whole.as_str().rsplit_once('/').is_some_and(|(_, name)| is_pseudonym(name)) =>
                {
                    None
                }
                // The model of a device with its size.
                Some(HiddenKind::Address)
                    if whole.as_str().contains('@') && text[..start].ends_with("model:") =>
                {
                    None
                }
                Some(HiddenKind::Device) if whole.as_str().starts_with("/dev/") => {
                    let folder = whole.as_str().rsplit_once('/').map_or("", |(folder, _)| folder);
                    Some(format!("{folder}/{}", self.pseudonym(whole.as_str(), HiddenKind::Device)))
                }
                Some(kind) => Some(self.pseudonym(whole.as_str(), kind)),
                None => None,
            };
            clean.push_str(&text[done..start]);
            clean.push_str(place.as_deref().unwrap_or(&text[start..end]));
            done = end;
        }
        clean.push_str(&text[done..]);
        clean
    }
}

/// Whether these bytes are a whole word and not part of a longer one.
fn is_word(text: &str, start: usize, end: usize) -> bool {
    let word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let inside = &text[start..end];
    let joins = |own: Option<char>, next: Option<char>| word(own) && word(next);
    !joins(inside.chars().next(), text[..start].chars().next_back())
        && !joins(inside.chars().next_back(), text[end..].chars().next())
}

/// Whether these bytes are a part of the name of a processor or device model that comes with the program: a host may be
/// called `vm`, and `epyc-vm` still means the model.
fn is_in_shipped_name(text: &str, start: usize, end: usize) -> bool {
    let is_joined = |c: char| c.is_alphanumeric() || "-_".contains(c);
    let first = text[..start].trim_end_matches(is_joined).len();
    let last = text.len() - text[end..].trim_start_matches(is_joined).len();
    let word = &text[first..last];
    fsverdict_lab::cpu::shipped().iter().any(|model| model.name == word)
        || fsverdict_disk::device::built_in().iter().any(|model| model.name == word)
}

/// Where the path that was found ends; `None` if it is no path or no private one. File names may contain spaces,
/// which belong to the path within quotes and below a path that is already hidden.
fn path_end(text: &str, start: usize, end: usize) -> Option<usize> {
    let before = text[..start].chars().next_back();
    let of_home = ["$HOME", "${HOME}", "~"].iter().any(|home| text[..start].ends_with(home));
    let part_of_word = before.is_some_and(|c| c.is_alphanumeric() || "._-}".contains(c)) && !of_home;
    let address = text[start..].starts_with("//") && before == Some(':');
    let hidden = text[start..].starts_with(HIDDEN);
    if part_of_word || address || is_public(&text[start..end]) && (hidden || !of_home) {
        return None;
    }
    let rest = &text[end..];
    let line = rest.find('\n').unwrap_or(rest.len());
    match before {
        Some(quote @ ('\'' | '"' | '`')) => Some(end + rest[..line].find(quote).unwrap_or(0)),
        _ if hidden => {
            let colon = rest[..line].find(": ").unwrap_or(line);
            Some(end + rest[..colon].find(['\'', '"']).unwrap_or(colon))
        }
        _ => Some(end),
    }
}

#[cfg(test)]
mod tests {
    use super::{HiddenKind, NameReplacer};

    fn names() -> NameReplacer {
        let mut names = NameReplacer::new([7; 16]).unwrap();
        names.register("Planthost", HiddenKind::Host);
        names.register("ata-ACME_S3R14L", HiddenKind::Device);
        names.register("/home/alice/my photos", HiddenKind::Path);
        names.register_homes("cd /home/alice/x");
        names
    }

    #[test]
    fn what_names_somebody_goes_and_everything_else_stays() {
        let gone = [
            "[    0.0] Linux version 6.1 (alice@planthost) (gcc 12)",
            "root@planthost.local: mail bob@example.org",
            "mke2fs: /home/alice/a: No such file",
            "cannot read '/srv/my secrets/tax 2025.ods': denied",
            "tar: /home/alice/my photos/at the beach.jpg: Cannot open",
            "/dev/disk/by-id/ata-ACME_S3R14L-part1 is mounted on /media/alice/USB DISK",
            "/dev/mapper/alices-volume",
            "cp -a $HOME/secret-folder ~/other-secret",
            "UUID=0f1e2d3c-0000-4000-8000-123456789abc",
            "02:42:ac:11:00:02 at 10.1.2.3, fe80::42:acff:fe11:2",
            "wwn-0x5000c500a1b2c3d4 is 5000c500a1b2c3d4, 0x5000c500a1b2c3d4",
            "rsync host:/home/alice/x",
            "PLANTHOST_backup",
        ];
        let secrets = [
            "alice",
            "planthost",
            "bob",
            "example",
            "srv",
            "secret",
            "tax",
            "beach",
            "S3R14L",
            "USB",
            "volume",
            "0f1e2d3c",
            "02:42",
            "10.1.2.3",
            "fe80",
            "5000c500",
            "my photos",
        ];
        for text in gone {
            let clean = names().without_any(text);
            for secret in secrets {
                assert!(!clean.to_lowercase().contains(&secret.to_lowercase()), "{text} → {clean}");
            }
            assert_eq!(names().without_any(&clean), clean, "what is clean stays as it is");
        }
        let kept = [
            "mkfs.ext4 -F -O ^has_journal /dev/loop0",
            "/usr/sbin/fsck.jfs version 1.1.15, 04-Mar-2011",
            "rw,noatime,data=ordered at 12:30:05, 1/s and 3.5 MB/s",
            "see https://www.kernel.org/doc/html/latest/admin-guide/ext4.html",
            "Linux 6.1.176, ext4 on model:usb-disk-5400@2TB, #1 SMP @0",
            "root on localhost, planthosts",
            "/dev/sda (Acme Spinner 3000, 1.024 GB)",
        ];
        for text in kept {
            assert_eq!(names().without_any(text), text);
        }
    }

    /// A known user's name was replaced first, and the text behind it then taken for a part of the pseudonym.
    #[test]
    fn users_go_in_whatever_form_with_their_hosts_and_known_or_not() {
        let forms = [
            "user=NAME@HOST",
            "USER=NAME@HOST,password=x",
            "user='NAME@HOST'",
            "user='NAME'",
            "username=\"NAME\"",
            "login=HOST\\NAME",
            "NAME@HOST",
            "NAME@[10.9.8.7]",
            "NAME@h",
            "NAME@HOST:/srv/x",
            "NAME@HOST::module",
            "//NAME@HOST/share",
            "ssh://NAME@HOST",
            "ssh://NAME:word@HOST:22/x",
            "https://NAME@git.kernel.org/pub",
            "sftp://NAME@HOST/~/x",
            "mailto:NAME@HOST",
            "uid=1000(NAME) gid=1000(NAME)",
            "/home/NAME/x",
            "~NAME/x",
        ];
        for form in forms {
            for known in [false, true] {
                let mut names = NameReplacer::new([7; 16]).unwrap();
                if known {
                    names.register("wilhelmine", HiddenKind::User);
                }
                let text = form.replace("NAME", "wilhelmine").replace("HOST", "attic.example.org");
                names.register_homes(&text);
                let clean = names.without_any(&text);
                let leaks =
                    ["wilhelmine", "attic", "example", "10.9.8.7"].iter().any(|one| clean.contains(one));
                assert!(!leaks, "{text} → {clean} ({known})");
                assert_eq!(names.without_any(&clean), clean, "what is clean stays as it is");
            }
        }
    }

    /// Each place of a name was looked for in all of the rest of the text: minutes for this.
    #[test]
    fn a_name_that_comes_again_and_again_takes_linear_time() {
        let mut names = names();
        (0..2000).for_each(|number| names.register(&format!("name{number}"), HiddenKind::User));
        let clean = names.without_known(&"alice planthost ".repeat(20_000));
        assert!(!clean.contains("alice") && !clean.contains("planthost"));
        assert!(clean.starts_with("user-") && clean.len() > 400_000);
    }

    #[test]
    fn a_name_has_one_pseudonym_with_a_key_and_another_with_another() {
        let with = |key: u8, text: &str| {
            let mut names = NameReplacer::new([key; 16]).unwrap();
            names.register("ata-ACME_S3R14L", HiddenKind::Device);
            names.without_any(text)
        };
        let (own, path) = (with(1, "ata-ACME_S3R14L"), with(1, "/dev/disk/by-id/ata-ACME_S3R14L"));
        assert_eq!(path, format!("/dev/disk/by-id/{own}"));
        assert!(own.starts_with("device-") && own != with(2, "ata-ACME_S3R14L"));
    }
}
