//! Replaces the names of machines, people and their property by pseudonyms. A name gets the same pseudonym wherever
//! it occurs, and the name cannot be guessed from the pseudonym.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hasher;

use regex_lite::Regex;
use siphasher::sip::SipHasher24;

use fsverdict_judgement::journal::HIDDEN_DIGEST;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum HiddenKind {
    Device,
    Site,
    Host,
    User,
    Path,
    /// A UUID of any object.
    Uuid,
    /// A network address: hardware, Internet or mail.
    Address,
    /// The content of a user's folder.
    Content,
    /// A secret: a key, a token or a password.
    Secret,
    /// Any other name that the user gave.
    Other,
    Run,
}

impl HiddenKind {
    /// The kind's name for messages, in the singular and in the plural.
    pub(super) fn noun_forms(self) -> (&'static str, &'static str) {
        match self {
            HiddenKind::Device => ("name of a device", "names of devices"),
            HiddenKind::Site => ("site", "sites"),
            HiddenKind::Host => ("host name", "host names"),
            HiddenKind::User => ("user name", "user names"),
            HiddenKind::Path => ("path", "paths"),
            HiddenKind::Uuid => ("UUID", "UUIDs"),
            HiddenKind::Address => ("address", "addresses"),
            HiddenKind::Content => ("digest of a folder", "digests of folders"),
            HiddenKind::Secret => ("key or password", "keys and passwords"),
            HiddenKind::Other => ("other name", "other names"),
            HiddenKind::Run => ("name of the run", "names of runs"),
        }
    }

    fn format_pseudonym(self, digits: &str) -> String {
        let short = &digits[..8];
        match self {
            HiddenKind::Device => format!("device-{short}"),
            HiddenKind::Site => format!("site-{short}"),
            HiddenKind::Host => format!("host-{short}"),
            HiddenKind::User => format!("user-{short}"),
            HiddenKind::Path => format!("{HIDDEN}{short}"),
            HiddenKind::Uuid => format!("uuid-{short}"),
            HiddenKind::Address => format!("address-{short}"),
            HiddenKind::Content => format!("{HIDDEN_DIGEST}{short}"),
            HiddenKind::Secret => format!("secret-{short}"),
            HiddenKind::Other => format!("name-{short}"),
            HiddenKind::Run => format!("run-{short}"),
        }
    }
}

/// The prefix of a path's pseudonym.
const HIDDEN: &str = "/hidden/";
/// System folders. Their paths reveal nothing about the owner of the machine.
const PUBLIC: [&str; 11] =
    ["usr", "bin", "sbin", "lib", "lib32", "lib64", "etc", "boot", "proc", "sys", "hidden"];
/// Prefixes of the device nodes that the kernel names by number.
const NODES: [&str; 16] = [
    "sd", "hd", "vd", "xvd", "nvme", "mmcblk", "loop", "dm-", "md", "ram", "zram", "ubd", "nbd", "null",
    "zero", "random",
];
/// Names that every machine has.
const COMMON_NAMES: [&str; 3] = ["root", "localhost", "localdomain"];

/// Sites of fsverdict and of distributions that hints mention; they identify no user.
const KNOWN_SITES: [&str; 4] = ["kernel.org", "debian.org", "rustup.rs", "example.invalid"];
/// Prefixes of dotted words that are fsverdict's own and not names of machines.
const FACTS: [&str; 12] = [
    "device.",
    "kernel.",
    "cpu.",
    "memory.",
    "lab.",
    "mount.",
    "protocol.",
    "tool.",
    "dataset.",
    "folder.",
    "cleaner.",
    "site.",
];

/// The regular expression for everything that looks like a name; each group is a kind. Of several matches that begin
/// at the same place, the first alternative wins.
const PATTERNS: &str = concat!(
    // Secrets, recognised by their form …
    r"(?P<secret>-----BEGIN [A-Z ]*-----(?:[^-]|-[^-])*(?:-----END [A-Z ]*-----)?",
    r"|\b(?:ssh-(?:rsa|dss|ed25519)|ecdsa-sha2-[a-z0-9-]+)\s+[A-Za-z0-9+/=]+(?:[ \t]+\S+)?",
    r"|\b(?:SHA256|MD5):[A-Za-z0-9+/:=]{16,}",
    r"|\b(?:gh[pousr]_|github_pat_|glpat-|xox[abprs]-|sk-|AKIA|ASIA|AIza|hf_|npm_|pypi-|eyJ)[A-Za-z0-9_.=-]{8,}",
    // … and by the word before them.
    r"|(?i:[\w.-]*(?:passw(?:or)?d|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential|auth)[\w-]*['\x22]?\s*[=:]\s*(?:(?:bearer|basic)\s+)?['\x22]?[^\s'\x22`,;&]+)",
    r"|(?i:--?[\w-]*(?:password|passphrase|secret|token|api-key)[\w-]*\s+\S+)",
    r"|(?i:\b(?:bearer|basic)\s+[A-Za-z0-9+/=._~-]{6,})",
    r"|(?:-u|--user)[ =][^\s:]+:\S+|\bsshpass\s+-p\s*\S+|\b(?:mysql|mysqldump|mariadb)\b[^\n;|]*?\s-p\S+)",
    r"|(?P<uuid>\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b|\b[A-Za-z0-9]{6}(?:-[A-Za-z0-9]{4}){5}-[A-Za-z0-9]{6}\b|(?i:uuid[=: ]+['\x22]?[0-9a-f]{4}-[0-9a-f]{4}\b)|\b[0-9a-fA-F]{32}\b)",
    r"|(?P<site>\b[a-z][a-z0-9+.-]*://[^\s'\x22`<>)\]]+)",
    r"|(?P<mail>[A-Za-z0-9._%+-]+@[A-Za-z0-9][A-Za-z0-9.-]*[A-Za-z0-9](?::[^\s'\x22`,;()]*)?)",
    r"|(?P<user>(?i:\b(?:user|username|login|domain|workgroup)=[^\s,;'\x22)]+))",
    r"|(?P<device>/dev/disk/by-[a-z]+/[^\s'\x22`,;:()]+|\b(?:wwn|naa|eui|nvme|t10|nqn|iqn)[.-][A-Za-z0-9_.:-]{6,}|\b(?:0x)?[0-9a-fA-F]{16}\b",
    r"|(?i:\b(?:serial(?:[ _-]?(?:number|no\.?))?|s/n|asset[ _-]?tag|(?:part)?label)\s*[=:]\s*[^\s,;]+))",
    r"|(?P<remote>\b[A-Za-z0-9][A-Za-z0-9._-]*::?/[^\s'\x22`,;()\[\]{}<>|&=]*|\b[A-Za-z][A-Za-z0-9._-]*::[A-Za-z][^\s'\x22`,;()]*)",
    r"|(?P<address>\b(?:[0-9a-fA-F]{2}[:-]){5,7}[0-9a-fA-F]{2}\b|\b[0-9a-fA-F]{4}(?:\.[0-9a-fA-F]{4}){2}\b|\b[0-9]{1,3}(?:\.[0-9]{1,3}){3}\b|\b(?:[0-9a-fA-F]{1,4}:){1,7}:[0-9a-fA-F:]*|\b(?:[0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}\b)",
    r"|(?P<host>\b(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?\.){2,}[A-Za-z]{2,}\b|\b[A-Za-z0-9-]+\.(?:local|lan|home|internal|intern|corp|private)\b)",
    r"|(?P<path>/[^\s'\x22`,;:()\[\]{}<>|&=]+)",
);

/// The kind of each group of the expression.
const GROUPS: [(&str, HiddenKind); 10] = [
    ("secret", HiddenKind::Secret),
    ("uuid", HiddenKind::Uuid),
    ("site", HiddenKind::Address),
    ("mail", HiddenKind::Address),
    ("user", HiddenKind::User),
    ("device", HiddenKind::Device),
    ("remote", HiddenKind::Address),
    ("address", HiddenKind::Address),
    ("host", HiddenKind::Host),
    ("path", HiddenKind::Path),
];

/// Replaces names by pseudonyms, and counts the replacements.
pub(super) struct NameReplacer {
    key: [u8; 16],
    known: Vec<(String, HiddenKind)>,
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
        if somebodys && !self.known.iter().any(|(known, _)| known.eq_ignore_ascii_case(name)) {
            self.known.push((name.to_ascii_lowercase(), kind));
            self.known.sort_by_key(|(known, _)| std::cmp::Reverse(known.len()));
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
            let mut from = 0;
            while let Some(at) = text.get(from..).and_then(|rest| rest.to_ascii_lowercase().find(name)) {
                let (start, end) = (from + at, from + at + name.len());
                from = end;
                if is_word(&text, start, end) {
                    let place = self.pseudonym(name, *kind);
                    text.replace_range(start..end, &place);
                    from = start + place.len();
                }
            }
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
                Some(HiddenKind::Device) if whole.as_str().contains("/device-") => None,
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

/// Whether any pattern could match. Most strings in a journal are short and fsverdict's own, so this test saves time.
fn may_hold_names(text: &str) -> bool {
    text.len() > 11 || text.contains(['/', '@', ':', '.', '=', '-'])
}

/// Whether a match of this group is no private name: a well-known site, a word of fsverdict's, or a pseudonym.
fn is_public_match(group: &str, found: &str, cites: bool) -> bool {
    match group {
        "site" | "host" | "path" if cites && !found.contains(['@', '?']) => true,
        "site" => {
            let rest = found.split_once("://").map_or(found, |(_, rest)| rest);
            let host = rest.split(['/', '?', '#']).next().unwrap_or(rest);
            is_known_site(host) && !found.contains('?')
        }
        "host" => is_known_site(found) || FACTS.iter().any(|fact| found.starts_with(fact)),
        "secret" | "user" | "device" => {
            let last = found.rsplit([' ', '=', ':', '\'', '"']).next().unwrap_or(found);
            ["secret-", "user-", "device-", "uuid-", "name-", HIDDEN].iter().any(|own| last.starts_with(own))
        }
        _ => false,
    }
}

fn is_known_site(host: &str) -> bool {
    KNOWN_SITES
        .iter()
        .any(|known| host == *known || host.strip_suffix(known).is_some_and(|rest| rest.ends_with('.')))
}

/// Whether these bytes are a whole word and not part of a longer one.
fn is_word(text: &str, start: usize, end: usize) -> bool {
    let word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let inside = &text[start..end];
    let joins = |own: Option<char>, next: Option<char>| word(own) && word(next);
    !joins(inside.chars().next(), text[..start].chars().next_back())
        && !joins(inside.chars().next_back(), text[end..].chars().next())
}

/// Whether the path belongs to the system.
pub(super) fn is_public(path: &str) -> bool {
    let mut parts = path.split('/').filter(|part| !part.is_empty());
    match (parts.next(), parts.next()) {
        (Some("dev"), None) => true,
        (Some("dev"), Some("disk")) => true,
        (Some("dev"), Some(node)) => NODES.iter().any(|known| node.starts_with(known)),
        (Some("hidden"), _) => parts.next().is_none(),
        (Some(first), _) => PUBLIC.contains(&first),
        (None, _) => true,
    }
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
