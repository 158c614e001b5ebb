//! The files of a run that several sites share: `sites/NAME/block-0007.jsonl` below its folder, a whole journal for each block.
//! One that is under way has another name, and gets its own when it is whole: whoever copies or merges never sees half a block.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::journal::{Event, Facts, Journal, JournalError, Writer, read};

use super::FleetError;

/// The fact in which a block's journal names its site.
pub(super) const SITE: &str = "site";
/// … and the program that made it.
pub(super) const BINARY: &str = "fsverdict.binary";

const FOLDER: &str = "sites";
const WHOLE: (&str, &str) = ("block-", ".jsonl");

/// Names are in the order of the numbers in them: lab2 comes before lab10.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Site(String);

impl FromStr for Site {
    type Err = FleetError;

    fn from_str(name: &str) -> Result<Self, FleetError> {
        let fits = |at: usize, c: char| c.is_ascii_alphanumeric() || (at > 0 && ".-_".contains(c));
        let good = (1..=64).contains(&name.len()) && name.char_indices().all(|(at, c)| fits(at, c));
        if good { Ok(Site(name.to_owned())) } else { Err(FleetError::SiteName(name.to_owned())) }
    }
}

impl Ord for Site {
    fn cmp(&self, other: &Self) -> Ordering {
        parts(&self.0).cmp(parts(&other.0)).then_with(|| self.0.cmp(&other.0))
    }
}

impl PartialOrd for Site {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The numbers of a name, by their length without zeros in front, and the text between them.
fn parts(name: &str) -> impl Iterator<Item = (usize, &[u8])> {
    name.as_bytes().chunk_by(|one, next| one.is_ascii_digit() == next.is_ascii_digit()).map(|part| {
        let zeros = part.iter().take_while(|byte| **byte == b'0').count();
        if part.first().is_some_and(u8::is_ascii_digit) {
            (part.len() - zeros, &part[zeros..])
        } else {
            (usize::MAX, part)
        }
    })
}

impl TryFrom<String> for Site {
    type Error = FleetError;

    fn try_from(name: String) -> Result<Self, FleetError> {
        name.parse()
    }
}

impl From<Site> for String {
    fn from(site: Site) -> String {
        site.0
    }
}

impl fmt::Display for Site {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// A block of a site, with its journal as it was read.
#[derive(Debug, Clone)]
pub struct Shard {
    pub site: Site,
    /// From 1.
    pub block: u32,
    pub journal: Journal,
}

impl Shard {
    pub(super) fn facts(&self) -> Facts {
        match self.journal.records.first().map(|record| &record.event) {
            Some(Event::RunStarted { environment, .. }) => environment.clone(),
            _ => Facts::new(),
        }
    }
}

/// A file that is no whole block, and why it is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    pub path: PathBuf,
    pub why: String,
}

/// The blocks in the folder of a run.
#[derive(Debug)]
pub struct Shards {
    folder: PathBuf,
}

impl Shards {
    pub fn of(run: &Path) -> Self {
        Shards { folder: run.join(FOLDER) }
    }

    /// Where a block's journal lies once it is whole.
    pub fn whole(&self, site: &Site, block: u32) -> PathBuf {
        self.folder.join(&site.0).join(format!("{}{block:04}{}", WHOLE.0, WHOLE.1))
    }

    fn partial(&self, site: &Site, block: u32) -> PathBuf {
        self.whole(site, block).with_extension("partial")
    }

    /// The path for a journal that is to be written; what an earlier attempt left there goes.
    pub(super) fn begin(&self, site: &Site, block: u32) -> Result<PathBuf, FleetError> {
        let path = self.partial(site, block);
        let folder = self.folder.join(&site.0);
        fs::create_dir_all(&folder).map_err(FleetError::io(&folder))?;
        match Writer::append_to(&path, drop) {
            Err(JournalError::NoRun { .. }) => return Ok(path),
            Err(JournalError::Locked { .. }) => {
                return Err(FleetError::UnderWay { site: site.to_string(), block });
            }
            // Nothing of it was merged, and nothing will be.
            Ok(_) | Err(_) => fs::remove_file(&path).map_err(FleetError::io(&path))?,
        }
        Ok(path)
    }

    /// Gives a journal that is whole, and counts, its name, for good.
    pub(super) fn end(&self, site: &Site, block: u32) -> Result<(), FleetError> {
        let (from, to) = (self.partial(site, block), self.whole(site, block));
        fs::rename(&from, &to).map_err(FleetError::io(&to))?;
        let folder = self.folder.join(&site.0);
        fs::File::open(&folder).and_then(|folder| folder.sync_all()).map_err(FleetError::io(&folder))
    }

    /// All whole blocks, by site and number, and what is left out. In whatever order they came, it is the same.
    pub fn read(&self) -> Result<(Vec<Shard>, Vec<Left>), FleetError> {
        let (mut shards, mut left) = (BTreeMap::new(), Vec::new());
        for folder in entries(&self.folder)? {
            let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let Ok(site) = name.parse::<Site>() else { continue };
            for path in entries(&folder)? {
                let Some(block) = block_number(&path) else { continue };
                let partial = path.extension().is_some_and(|extension| extension == "partial");
                match whole(&path, partial) {
                    Ok(journal) => {
                        shards.insert((site.clone(), block), Shard { site: site.clone(), block, journal });
                    }
                    Err(why) => left.push(Left { path, why }),
                }
            }
        }
        Ok((shards.into_values().collect(), left))
    }
}

/// The journal at `path`, if it is that of a whole block; else why not.
fn whole(path: &Path, partial: bool) -> Result<Journal, String> {
    let under_way = || Err("under way, or ended before it was whole".to_owned());
    let journal = match read(path) {
        Err(_) if partial => return under_way(),
        read => read.map_err(|error| error.to_string())?,
    };
    match journal.records.last().map(|record| &record.event) {
        Some(Event::BlockFinished { invalid: Some(rule), .. }) => {
            Err(format!("it does not count, and is to be done again: {rule}"))
        }
        _ if partial => under_way(),
        Some(Event::BlockFinished { .. }) if !journal.torn => Ok(journal),
        _ => Err("its end is missing: it was cut short, or copied before it was whole".to_owned()),
    }
}

fn block_number(path: &Path) -> Option<u32> {
    path.file_stem()?.to_str()?.strip_prefix(WHOLE.0)?.parse().ok()
}

/// What lies in a folder, sorted; nothing where there is none.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, FleetError> {
    let listed = match fs::read_dir(folder) {
        Ok(listed) => listed,
        Err(error)
            if matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) =>
        {
            return Ok(Vec::new());
        }
        Err(error) => return Err(FleetError::io(folder)(error)),
    };
    let mut paths = Vec::new();
    for entry in listed {
        paths.push(entry.map_err(FleetError::io(folder))?.path());
    }
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::Site;

    #[test]
    fn sites_are_in_the_order_of_their_numbers() {
        let ordered =
            ["2-a", "10-a", "lab01", "lab1", "lab2", "lab10", "lab10.b2", "lab10.b10", "laboratory", "z"];
        let mut sites: Vec<Site> = ordered.iter().rev().map(|name| name.parse().unwrap()).collect();
        sites.sort();
        assert_eq!(sites.iter().map(Site::to_string).collect::<Vec<_>>(), ordered);
    }
}
