//! Reads the inventory of a laboratory's machines from the user's `sites.toml`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use fsverdict_folders::read_regular;
use fsverdict_text::{LONGEST, Node, Reason, Section, parse_duration, quoted, read_strictly, value};

use super::FleetError;
use super::site::Site;

/// The means by which blocks are started at sites.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum SiteTransport {
    /// An array of jobs for each site, the run's folder on a filesystem that all share
    Slurm,
    /// Each site by itself over ssh, its blocks copied by rsync
    Ssh,
}

impl SiteTransport {
    /// The effect of interrupting the conducting process on the running blocks, for a message.
    pub fn describe_interruption(self) -> &'static str {
        match self {
            SiteTransport::Slurm => "Ctrl-C leaves them to it",
            SiteTransport::Ssh => "Ctrl-C ends those under way, which are then done again",
        }
    }

    /// Where a user finds the reason why a site stopped working for the run in this folder.
    pub fn describe_log_place(self, folder: &Path) -> String {
        match self {
            SiteTransport::Slurm => {
                format!("{} says why", quoted(&folder.join("slurm-SITE.log").to_string_lossy()))
            }
            SiteTransport::Ssh => "what the site said is above".to_owned(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fleet {
    pub on: SiteTransport,
    pub sites: Vec<SiteEntry>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SiteEntry {
    /// The name of the site: one machine with one device.
    pub name: Site,
    /// The machine's name in Slurm; the site's name if absent.
    pub node: Option<String>,
    /// The machine's ssh destination, `user@host`; the site's name if absent.
    pub ssh: Option<String>,
    /// The site's device, if it differs from the plan's.
    pub device: Option<String>,
    /// The identity of the device that may be erased there.
    pub erase: Option<String>,
    /// The path of fsverdict at the site; `fsverdict` if absent.
    pub program: Option<String>,
    /// Over ssh: the run's folder at the site; the path on this machine if absent.
    pub folder: Option<PathBuf>,
    /// Over ssh: the time limit of a block there; derived from the plan's own limits if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<Duration>,
}

/// The keys that an entry may have.
const KEYS: [&str; 8] = ["name", "node", "ssh", "device", "erase", "program", "folder", "within"];
/// The maximum number of sites; no laboratory has more machines.
const MOST_SITES: usize = 10_000;

impl Fleet {
    /// Reads `sites.toml`.
    ///
    /// # Errors
    /// Fails when the file cannot be read. If the content is wrong, reports all errors at once, each with its place.
    pub fn from_inventory(path: &Path, on: SiteTransport) -> Result<Self, FleetError> {
        let unread = |error: String| FleetError::Inventory {
            path: path.to_owned(),
            reason: format!("the inventory cannot be read: {error}"),
        };
        let bytes = read_regular(path, LONGEST).map_err(|error| unread(error.to_string()))?;
        let text = String::from_utf8(bytes).map_err(|error| unread(error.to_string()))?;
        let file = path.display().to_string();
        let sites = read_strictly(&file, &text, "the inventory", &["site"], |top| {
            if !top.has_key("site") {
                top.report_wrong("site", "it names no site", "[[site]], and below it: name = \"lab1\"");
            }
            let sections = top.read_tables("site", "[[site]]", &KEYS, MOST_SITES)?;
            let sites: Vec<SiteEntry> = sections.iter().filter_map(SiteEntry::from_section).collect();
            let mut known = BTreeSet::new();
            if let Some(twice) = sections.iter().zip(&sites).find(|(_, site)| !known.insert(&site.name)) {
                twice.0.report_wrong("name", &format!("the site {} is there twice", twice.1.name), "");
            }
            (sites.len() == sections.len()).then_some(sites)
        })?;
        Ok(Fleet { on, sites })
    }

    /// Checks a stored inventory for names that a program would interpret as something else, such as an option.
    pub(super) fn check(&self) -> Result<(), Reason> {
        if self.sites.is_empty() {
            return Err(Reason::plain("it names no site"));
        }
        self.sites.iter().try_for_each(SiteEntry::check)
    }
}

/// Checks an ssh destination.
fn check_host(host: &str) -> Result<(), Reason> {
    let word = |word: &str| word.is_empty() || word.starts_with('-');
    if host.split('@').any(word) || !consists_of(host, "._-+@") {
        return Err(Reason::new(
            format!(
                "`{}` is no host as `user@host`: letters, digits, `.`, `_`, `-` and `+`, the first no `-`",
                host.escape_debug()
            ),
            "what is reached otherwise can have a name in ~/.ssh/config",
        ));
    }
    Ok(())
}

/// Checks the name of a Slurm node.
fn check_node(node: &str) -> Result<(), Reason> {
    if node.is_empty() || node.starts_with('-') || !consists_of(node, "._-") {
        let statement = format!("`{}` is no name of a node", node.escape_debug());
        return Err(Reason::new(statement, "letters, digits, `.`, `_` and `-`, the first no `-`"));
    }
    Ok(())
}

/// Checks a string that is passed to programs unchanged.
fn check_visible(text: &str) -> Result<(), Reason> {
    if text.is_empty() || text.chars().any(char::is_control) {
        return Err(Reason::plain("it has no letter, or one that cannot be seen"));
    }
    Ok(())
}

/// Whether the text contains only ASCII letters, digits, and these characters.
fn consists_of(text: &str, signs: &str) -> bool {
    text.chars().all(|c| c.is_ascii_alphanumeric() || signs.contains(c))
}

/// Makes a reader of strings that pass `check`.
fn checked_text(check: fn(&str) -> Result<(), Reason>) -> impl Fn(&Node) -> Result<String, Reason> {
    move |node| {
        let text = value::text(node)?;
        check(&text).map(|()| text)
    }
}

impl SiteEntry {
    fn from_section(section: &Section<'_>) -> Option<Self> {
        let text = |key: &str| section.get(key, checked_text(check_visible));
        let entry = SiteEntry {
            name: section.need("name", "name = \"lab1\"", |node| value::text(node)?.parse())?,
            node: section.get("node", checked_text(check_node)),
            ssh: section.get("ssh", checked_text(check_host)),
            device: text("device"),
            erase: text("erase"),
            program: text("program"),
            folder: text("folder").map(PathBuf::from),
            within: section.get("within", |node| parse_duration(&value::text(node)?)),
        };
        Some(entry)
    }

    /// The site's ssh destination.
    pub(super) fn ssh_destination(&self) -> String {
        self.ssh.clone().unwrap_or_else(|| self.name.to_string())
    }

    /// The machine's name in Slurm.
    pub(super) fn slurm_node(&self) -> String {
        self.node.clone().unwrap_or_else(|| self.name.to_string())
    }

    fn check(&self) -> Result<(), Reason> {
        let folder = self.folder.as_ref().map(|folder| folder.to_string_lossy().into_owned());
        let mut texts = [&self.device, &self.erase, &self.program, &folder].into_iter().flatten();
        let checked_names = check_host(&self.ssh_destination()).and_then(|()| check_node(&self.slurm_node()));
        let checked_entry = checked_names.and_then(|()| texts.try_for_each(|text| check_visible(text)));
        checked_entry.map_err(|reason| reason.after(format!("the site {}: ", self.name)))
    }

    /// The command line for a shell at the site that does a block of the run in `folder`, quoted; `block` is not
    /// quoted, so that the shell may expand a `$…` in it.
    pub(super) fn block_command(&self, folder: &Path, block: &str, more: &[&str]) -> String {
        let mut words = self.command_words("block");
        words.extend([format!("--site={}", self.name), format!("--block={block}"), "--quiet".to_owned()]);
        for (option, value) in [("--device", &self.device), ("--erase", &self.erase)] {
            words.extend(value.iter().map(|value| quoted(&format!("{option}={value}"))));
        }
        words.extend(self.erase.iter().map(|_| "--standing".to_owned()));
        words.extend(more.iter().map(|word| (*word).to_owned()));
        words.extend(["--".to_owned(), quoted(&folder.to_string_lossy())]);
        words.join(" ")
    }

    /// The command line for a shell at the site that carries out the whole run in `folder`, quoted.
    pub(super) fn resume_command(&self, folder: &Path, more: &[&str]) -> String {
        let mut words = self.command_words("resume");
        words.push("--quiet".to_owned());
        words.extend(more.iter().map(|word| (*word).to_owned()));
        words.extend(["--".to_owned(), quoted(&folder.to_string_lossy())]);
        words.join(" ")
    }

    /// The program of the site and one of its commands.
    fn command_words(&self, command: &str) -> Vec<String> {
        vec![quoted(self.program.as_deref().unwrap_or("fsverdict")), command.to_owned()]
    }
}

#[cfg(test)]
mod tests {
    use super::{Fleet, SiteTransport};

    #[test]
    fn an_inventory_is_read_and_what_is_wrong_in_it_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sites.toml");
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            Fleet::from_inventory(&path, SiteTransport::Slurm).map_err(|error| error.to_string())
        };
        let fleet =
            read("[[site]]\nname = \"a\"\ndevice = \"/dev/disk/by id/x\"\n[[site]]\nname = \"b\"\n").unwrap();
        let command = fleet.sites[0].block_command("/srv/my run".as_ref(), "$N", &[]);
        assert_eq!(
            command,
            "fsverdict block --site=a --block=$N --quiet '--device=/dev/disk/by id/x' -- '/srv/my run'"
        );
        for (text, place, words) in [
            ("[[site]]\nname = \"a\"\n[[site]]\nname = \"a\"\n", "4:8", "the site a is there twice"),
            ("[[site]]\nname = \"../a\"\n", "2:8", "cannot be the name of a site"),
            ("[[site]]\nnode = \"a\"\n", "1:1", "[[site]] lacks `name`"),
            ("[[site]]\nname = \"a\"\ndisk = 1\n", "3:1", "unknown key `disk` in [[site]]"),
            ("[[site]]\nname = \"a\"\ndevice = 1\n", "3:10", "a string is wanted"),
            ("site = []", "1:1", "there are 0"),
            ("# nobody\n", "1:1", "it names no site"),
            ("[[site]]\nname = \"a\n", "2:10", "not TOML"),
            ("[[site]]\nname = \"a\"\nssh = \"-oProxyCommand=x\"\n", "3:7", "is no host"),
            ("[[site]]\nname = \"a\"\nssh = \"root@-x\"\n", "3:7", "is no host"),
            ("[[site]]\nname = \"a\"\nssh = \"a b\"\n", "3:7", "is no host"),
            ("[[site]]\nname = \"a\"\nssh = \"a::module\"\n", "3:7", "is no host"),
            ("[[site]]\nname = \"a\"\nnode = \"/etc/passwd\"\n", "3:8", "is no name of a node"),
            ("[[site]]\nname = \"a\"\nnode = \"lab[1-9]\"\n", "3:8", "is no name of a node"),
            ("[[site]]\nname = \"a\"\nprogram = \"x\\ny\"\n", "3:11", "cannot be seen"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(words) && error.contains(&format!("sites.toml:{place}: ")), "{error}");
        }
        // All errors are reported at once, each with its line underlined.
        let both = read("[[site]]\nname = \"a\"\nnode = \"\"\nssh = \"-x\"\n").unwrap_err();
        assert!(
            both.contains("4 | ssh = \"-x\"\n  |       ^^^^\nhint: ") && both.contains("2 problems"),
            "{both}"
        );
    }
}
