//! The kinds of private names, and the form of their pseudonyms.

use fsverdict_judgement::journal::HIDDEN_DIGEST;

/// The number of digits of a pseudonym.
pub(super) const DIGITS: usize = 8;

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

    pub(super) fn format_pseudonym(self, digits: &str) -> String {
        let short = &digits[..DIGITS];
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
pub(super) const HIDDEN: &str = "/hidden/";
