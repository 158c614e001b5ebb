//! Recognises names in text: the patterns of private names, and the names that are public.

use super::hidden_kind::{DIGITS, HIDDEN, HiddenKind};

/// System folders. Their paths reveal nothing about the owner of the machine.
const PUBLIC: [&str; 11] =
    ["usr", "bin", "sbin", "lib", "lib32", "lib64", "etc", "boot", "proc", "sys", "hidden"];
/// Prefixes of the device nodes that the kernel names by number.
const NODES: [&str; 16] = [
    "sd", "hd", "vd", "xvd", "nvme", "mmcblk", "loop", "dm-", "md", "ram", "zram", "ubd", "nbd", "null",
    "zero", "random",
];

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
pub(super) const PATTERNS: &str = concat!(
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
    r"|(?P<mail>[A-Za-z0-9._%+-]+@(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[^\]\s]*\])(?::[^\s'\x22`,;()]*)?)",
    r"|(?P<user>(?i:\b(?:user|username|login|domain|workgroup)=['\x22]?[^\s,;'\x22)]+|\b(?:uid|gid|groups)=[0-9]+\([^)\s]*\)))",
    r"|(?P<device>/dev/disk/by-[a-z]+/[^\s'\x22`,;:()]+|\b(?:wwn|naa|eui|nvme|t10|nqn|iqn)[.-][A-Za-z0-9_.:-]{6,}|\b(?:0x)?[0-9a-fA-F]{16}\b",
    r"|(?i:\b(?:serial(?:[ _-]?(?:number|no\.?))?|s/n|asset[ _-]?tag|(?:part)?label)\s*[=:]\s*[^\s,;]+))",
    r"|(?P<remote>\b[A-Za-z0-9][A-Za-z0-9._-]*::?/[^\s'\x22`,;()\[\]{}<>|&=]*|\b[A-Za-z][A-Za-z0-9._-]*::[A-Za-z][^\s'\x22`,;()]*)",
    r"|(?P<address>\b(?:[0-9a-fA-F]{2}[:-]){5,7}[0-9a-fA-F]{2}\b|\b[0-9a-fA-F]{4}(?:\.[0-9a-fA-F]{4}){2}\b|\b[0-9]{1,3}(?:\.[0-9]{1,3}){3}\b|\b(?:[0-9a-fA-F]{1,4}:){1,7}:[0-9a-fA-F:]*|\b(?:[0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}\b)",
    r"|(?P<host>\b(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?\.){2,}[A-Za-z]{2,}\b|\b[A-Za-z0-9-]+\.(?:local|lan|home|internal|intern|corp|private)\b)",
    r"|(?P<path>/[^\s'\x22`,;:()\[\]{}<>|&=]+)",
);

/// The kind of each group of the expression.
pub(super) const GROUPS: [(&str, HiddenKind); 10] = [
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

/// Whether any pattern could match. Most strings in a journal are short and fsverdict's own, so this test saves time.
pub(super) fn may_hold_names(text: &str) -> bool {
    text.len() > 11 || text.contains(['/', '@', ':', '.', '=', '-'])
}

/// Whether a match of this group is no private name: a well-known site, a word of fsverdict's, or a pseudonym.
pub(super) fn is_public_match(group: &str, found: &str, cites: bool) -> bool {
    match group {
        "site" | "host" | "path" if cites && !found.contains(['@', '?']) => true,
        "site" => {
            let rest = found.split_once("://").map_or(found, |(_, rest)| rest);
            let host = rest.split(['/', '?', '#']).next().unwrap_or(rest);
            // Before an @ stands the name of a user.
            is_known_site(host) && !found.contains(['?', '@'])
        }
        "host" => is_known_site(found) || FACTS.iter().any(|fact| found.starts_with(fact)),
        "secret" | "user" | "device" => {
            let last = found.rsplit([' ', '=', ':', '\'', '"']).next().unwrap_or(found);
            is_pseudonym(last)
        }
        _ => false,
    }
}

/// Whether a word is a pseudonym and nothing else: behind one in `user-1a2b3c4d@host`, a name may follow.
pub(super) fn is_pseudonym(word: &str) -> bool {
    const PREFIXES: [&str; 6] = ["secret-", "user-", "device-", "uuid-", "name-", HIDDEN];
    let digits = PREFIXES.iter().find_map(|prefix| word.strip_prefix(prefix)).unwrap_or_default();
    let digits =
        digits.split_once("-part").filter(|(_, part)| is_number(part)).map_or(digits, |(digits, _)| digits);
    digits.len() == DIGITS && digits.chars().all(|digit| digit.is_ascii_hexdigit())
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|digit| digit.is_ascii_digit())
}

fn is_known_site(host: &str) -> bool {
    KNOWN_SITES
        .iter()
        .any(|known| host == *known || host.strip_suffix(known).is_some_and(|rest| rest.ends_with('.')))
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
