//! The machines of a laboratory: `sites.toml`, the user's own.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use fsverdict_text::quoted;

use super::FleetError;
use super::site::Site;

/// How blocks come to their sites.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum On {
    /// An array of jobs for each site, the run's folder on a filesystem that all share
    Slurm,
    /// Each site by itself over ssh, its blocks copied by rsync
    Ssh,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fleet {
    pub on: On,
    pub sites: Vec<SiteEntry>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SiteEntry {
    /// One machine with one device.
    pub name: Site,
    /// What Slurm calls the machine; the site's name where absent.
    pub node: Option<String>,
    /// Where ssh finds it, `user@host`; the site's name where absent.
    pub ssh: Option<String>,
    /// Its device, where it is another than the plan's.
    pub device: Option<String>,
    /// The identity of what may be erased there.
    pub erase: Option<String>,
    /// fsverdict there: `fsverdict` where absent.
    pub program: Option<String>,
    /// The run's folder there, over ssh: that of this machine where absent.
    pub folder: Option<PathBuf>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    site: Vec<SiteEntry>,
}

impl Fleet {
    pub fn from_inventory(path: &Path, on: On) -> Result<Self, FleetError> {
        let wrong = |reason: String| FleetError::Inventory { path: path.to_owned(), reason };
        let text = std::fs::read_to_string(path)
            .map_err(|error| wrong(format!("the inventory cannot be read: {error}")))?;
        let File { site: sites } = toml::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        let fleet = Fleet { on, sites };
        fleet.check().map_err(wrong)?;
        Ok(fleet)
    }

    /// What is wrong with it: names that would mean something else to a program they are handed to.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.sites.is_empty() {
            return Err("it names no site".to_owned());
        }
        let mut known = BTreeSet::new();
        if let Some(twice) = self.sites.iter().find(|site| !known.insert(&site.name)) {
            return Err(format!("it names the site {} twice", twice.name));
        }
        self.sites.iter().try_for_each(SiteEntry::check)
    }
}

impl SiteEntry {
    /// Where ssh finds it.
    pub(super) fn host(&self) -> String {
        self.ssh.clone().unwrap_or_else(|| self.name.to_string())
    }

    /// What Slurm calls the machine.
    pub(super) fn node(&self) -> String {
        self.node.clone().unwrap_or_else(|| self.name.to_string())
    }

    fn check(&self) -> Result<(), String> {
        let name = &self.name;
        let (host, node) = (self.host(), self.node());
        let options = |text: &str| text.is_empty() || text.starts_with('-');
        let of =
            |text: &str, signs: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || signs.contains(c));
        if host.split('@').any(options) || !of(&host, "._-+@") {
            return Err(format!(
                "`{host}` of the site {name} is no host as `user@host`: letters, digits, `.`, `_`, `-` and `+`, the first no `-`; what is reached otherwise can have a name in ~/.ssh/config"
            ));
        }
        if options(&node) || !of(&node, "._-") {
            return Err(format!("`{node}` of the site {name} is no name of a node"));
        }
        let folder = self.folder.as_ref().map(|folder| folder.to_string_lossy().into_owned());
        for text in [&self.device, &self.erase, &self.program, &folder].into_iter().flatten() {
            if text.is_empty() || text.chars().any(char::is_control) {
                return Err(format!(
                    "the site {name} has a name without a letter, or with one that cannot be seen"
                ));
            }
        }
        Ok(())
    }

    /// The words that do a block there, of the run in `folder`, quoted for a shell; that may replace `$…` in the block.
    pub(super) fn block(&self, folder: &Path, block: &str, more: &[&str]) -> String {
        let program = self.program.as_deref().unwrap_or("fsverdict");
        let mut words = vec![quoted(program), "block".to_owned()];
        words.extend([format!("--site={}", self.name), format!("--block={block}"), "--quiet".to_owned()]);
        for (option, value) in [("--device", &self.device), ("--erase", &self.erase)] {
            words.extend(value.iter().map(|value| quoted(&format!("{option}={value}"))));
        }
        words.extend(more.iter().map(|word| (*word).to_owned()));
        words.extend(["--".to_owned(), quoted(&folder.to_string_lossy())]);
        words.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::{Fleet, On};

    #[test]
    fn an_inventory_is_read_and_what_is_wrong_in_it_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sites.toml");
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            Fleet::from_inventory(&path, On::Slurm).map_err(|error| error.to_string())
        };
        let fleet =
            read("[[site]]\nname = \"a\"\ndevice = \"/dev/disk/by id/x\"\n[[site]]\nname = \"b\"\n").unwrap();
        let command = fleet.sites[0].block("/srv/my run".as_ref(), "$N", &[]);
        assert_eq!(
            command,
            "fsverdict block --site=a --block=$N --quiet '--device=/dev/disk/by id/x' -- '/srv/my run'"
        );
        for (text, words) in [
            ("[[site]]\nname = \"a\"\n[[site]]\nname = \"a\"\n", "the site a twice"),
            ("[[site]]\nname = \"../a\"\n", "cannot be the name of a site"),
            ("[[site]]\nname = \"a\"\ndisk = 1\n", "unknown field `disk`"),
            ("site = []", "no site"),
            ("[[site]]\nname = \"a\"\nssh = \"-oProxyCommand=x\"\n", "is no host"),
            ("[[site]]\nname = \"a\"\nssh = \"root@-x\"\n", "is no host"),
            ("[[site]]\nname = \"a\"\nssh = \"a b\"\n", "is no host"),
            ("[[site]]\nname = \"a\"\nssh = \"a::module\"\n", "is no host"),
            ("[[site]]\nname = \"a\"\nnode = \"/etc/passwd\"\n", "is no name of a node"),
            ("[[site]]\nname = \"a\"\nnode = \"lab[1-9]\"\n", "is no name of a node"),
            ("[[site]]\nname = \"a\"\nprogram = \"x\\ny\"\n", "cannot be seen"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(words) && error.contains("sites.toml"), "{error}");
        }
    }
}
