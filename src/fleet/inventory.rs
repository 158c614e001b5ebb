//! The machines of a laboratory: `sites.toml`, and what a run keeps of it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::plan::quoted;

use super::FleetError;
use super::shard::Site;

/// What a run keeps of it, in its folder.
const FILE: &str = "fleet.json";

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
        if sites.is_empty() {
            return Err(wrong("it names no site".to_owned()));
        }
        let mut known = BTreeSet::new();
        match sites.iter().find(|site| !known.insert(&site.name)) {
            Some(twice) => Err(wrong(format!("it names the site {} twice", twice.name))),
            None => Ok(Fleet { on, sites }),
        }
    }

    /// That of the run in this folder; `None` where blocks are done without one.
    pub fn of_run(run: &Path) -> Result<Option<Self>, FleetError> {
        let path = run.join(FILE);
        match std::fs::read_to_string(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(FleetError::io(&path)(error)),
            Ok(text) => {
                let wrong =
                    |error: serde_json::Error| FleetError::Inventory { path, reason: error.to_string() };
                serde_json::from_str(&text).map(Some).map_err(wrong)
            }
        }
    }

    pub fn keep(&self, run: &Path) -> Result<(), FleetError> {
        let path = run.join(FILE);
        let unfinished = path.with_extension("new");
        let text = serde_json::to_string_pretty(self).unwrap_or_default();
        std::fs::write(&unfinished, text)
            .and_then(|()| std::fs::rename(&unfinished, &path))
            .map_err(FleetError::io(&path))
    }
}

impl SiteEntry {
    /// The words that do a block there, of the run in `folder`; the shell there may replace `$…` in the block.
    pub(super) fn block(&self, folder: &Path, block: &str) -> String {
        let program = self.program.as_deref().unwrap_or("fsverdict");
        let mut words = vec![quoted(program), "block".to_owned(), quoted(&folder.to_string_lossy())];
        words.extend(["--site".to_owned(), self.name.to_string(), "--block".to_owned(), block.to_owned()]);
        words.push("--quiet".to_owned());
        for (option, value) in [("--device", &self.device), ("--erase", &self.erase)] {
            words.extend(value.iter().flat_map(|value| [option.to_owned(), quoted(value)]));
        }
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
        let command = fleet.sites[0].block("/srv/my run".as_ref(), "$N");
        assert_eq!(
            command,
            "fsverdict block '/srv/my run' --site a --block $N --quiet --device '/dev/disk/by id/x'"
        );
        fleet.keep(folder.path()).unwrap();
        assert_eq!(Fleet::of_run(folder.path()).unwrap(), Some(fleet));
        for (text, words) in [
            ("[[site]]\nname = \"a\"\n[[site]]\nname = \"a\"\n", "the site a twice"),
            ("[[site]]\nname = \"../a\"\n", "cannot be the name of a site"),
            ("[[site]]\nname = \"a\"\ndisk = 1\n", "unknown field `disk`"),
            ("site = []", "no site"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(words) && error.contains("sites.toml"), "{error}");
        }
    }
}
