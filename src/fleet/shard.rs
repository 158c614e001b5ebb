//! The files of a run that several sites share: `sites/NAME/block-0007.jsonl` below its folder, a whole journal for each block.
//! One that is under way has another name, and gets its own when it is whole: whoever copies or merges never sees half a block.
//!
//! They may come from anybody. So what lies there is opened through the folder's descriptor, without following a link and without
//! waiting, has to be a regular file of bounded size, and is believed as far as `believe` says.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use fsverdict_judgement::journal::{Event, Facts, Journal, JournalError, Writer, read_open};
use fsverdict_judgement::plan::Plan;
use fsverdict_text::{FolderFile, FolderHandle, Hinted, Reason, each_of};

use super::FleetError;
use super::believe::{content, disbelieved};
use super::left::Left;
use super::site::Site;

/// No block's journal is longer, in bytes: one of sixteen candidates takes a few hundred thousand.
pub(super) const LONGEST_SHARD: u64 = 64 << 20;

pub const FOLDER: &str = "sites";
const PREFIX: &str = "block-";
const WHOLE: &str = ".jsonl";
const PARTIAL: &str = ".partial";

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

/// The blocks in the folder of a run.
#[derive(Debug)]
pub struct Shards {
    run: FolderHandle,
}

impl Shards {
    pub fn of(run: &FolderHandle) -> Self {
        Shards { run: run.clone() }
    }

    /// The folder of a site's blocks.
    fn folder(&self, site: &Site) -> io::Result<FolderHandle> {
        self.run.subfolder(FOLDER)?.subfolder(site.to_string())
    }

    /// What a block's journal is called once it is whole.
    pub fn whole_name(block: u32) -> String {
        format!("{PREFIX}{block:04}{WHOLE}")
    }

    pub fn partial_name(block: u32) -> String {
        format!("{PREFIX}{block:04}{PARTIAL}")
    }

    /// Whether a file has that name. A link, a pipe or a device is none.
    pub fn has(&self, site: &Site, block: u32) -> bool {
        self.folder(site).is_ok_and(|folder| folder.file(Self::whole_name(block)).is_there())
    }

    /// The folder of a site's blocks, made where there is none; never the one that a link leads to.
    pub(super) fn make_folder(&self, site: &Site) -> Result<FolderHandle, FleetError> {
        let made = |above: &FolderHandle, name: &str| {
            above.make_subfolder(name).map_err(|error| match error.kind() {
                io::ErrorKind::InvalidInput => FleetError::InTheWay(above.path_of(name)),
                _ => FleetError::io(&above.path_of(name))(error),
            })
        };
        made(&made(&self.run, FOLDER)?, &site.to_string())
    }

    /// The file for a journal that is to be written; what an earlier attempt left there goes.
    pub(super) fn begin(&self, site: &Site, block: u32) -> Result<FolderFile, FleetError> {
        let folder = self.make_folder(site)?;
        let whole = folder.file(Self::whole_name(block));
        if whole.is_taken() {
            return Err(FleetError::InTheWay(whole.path()));
        }
        let file = folder.file(Self::partial_name(block));
        match file.is_taken().then(|| Writer::append_to(&file, drop)) {
            None => {}
            Some(Err(JournalError::Locked { .. })) => {
                return Err(FleetError::UnderWay { site: site.to_string(), block });
            }
            // Nothing of it was merged, and nothing will be.
            Some(_) => drop(file.remove().map_err(FleetError::io(&file.path()))?),
        }
        Ok(file)
    }

    /// Gives a journal that is whole, and counts, its name, for good.
    pub(super) fn end(&self, partial: &FolderFile, block: u32) -> Result<(), FleetError> {
        let whole = Self::whole_name(block);
        partial.rename_to(whole.as_ref()).map_err(FleetError::io(&partial.path()))
    }

    /// All whole blocks of a run of `plan`, by site and number, and what is left out. In whatever order they came, it is the same.
    pub fn read(&self, plan: &Plan) -> Result<(Vec<Shard>, Vec<Left>), FleetError> {
        let (mut shards, mut left) = (BTreeMap::new(), Vec::new());
        let sites = match self.run.subfolder(FOLDER) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((Vec::new(), left)),
            opened => opened.map_err(FleetError::io(&self.run.path_of(FOLDER)))?,
        };
        let mut found: Vec<Found> = Vec::new();
        for name in names(&sites).map_err(FleetError::io(sites.path()))? {
            let Ok(site) = name.parse::<Site>() else { continue };
            let below = Path::new(FOLDER).join(&name);
            let folder = match sites.subfolder(&name) {
                Ok(folder) => folder,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(_) => {
                    left.push(Left { path: below, why: Reason::plain("it is no folder that could be read") });
                    continue;
                }
            };
            for name in names(&folder).map_err(FleetError::io(folder.path()))? {
                let Some((block, partial)) = block_of(&name) else { continue };
                let (path, file, site) = (below.join(&name), folder.file(name), site.clone());
                found.push(Found { file, path, partial, site, block });
            }
        }
        let journals = each_of(&found, |one| one.journal(plan));
        for (Found { path, site, block, .. }, journal) in found.into_iter().zip(journals) {
            match journal {
                Ok(journal) => {
                    shards.insert((site.clone(), block), Shard { site, block, journal });
                }
                Err(why) => left.push(Left { path, why }),
            }
        }
        let (shards, copies) = without_copies(shards.into_values());
        left.extend(copies);
        left.sort_by(|one, other| one.path.cmp(&other.path));
        Ok((shards, left))
    }
}

/// The number that a file's name gives a block, and whether it is under way. A name of ours, to the letter: no block has two.
fn block_of(name: &str) -> Option<(u32, bool)> {
    let (stem, partial) = match name.strip_suffix(WHOLE) {
        Some(stem) => (stem, false),
        None => (name.strip_suffix(PARTIAL)?, true),
    };
    let block = stem.strip_prefix(PREFIX)?.parse().ok()?;
    (block > 0 && stem == format!("{PREFIX}{block:04}")).then_some((block, partial))
}

/// A file with a name of ours in a site's folder.
struct Found {
    file: FolderFile,
    /// Below the run's folder.
    path: PathBuf,
    partial: bool,
    site: Site,
    block: u32,
}

impl Found {
    /// Its journal, if it is that of a whole block and what it says can be believed; else why not.
    fn journal(&self, plan: &Plan) -> Result<Journal, Reason> {
        let Found { file, partial, site, block, .. } = self;
        whole(file, *partial, site, *block, plan)
    }
}

fn whole(file: &FolderFile, partial: bool, site: &Site, block: u32, plan: &Plan) -> Result<Journal, Reason> {
    let under_way = || Err(Reason::plain("under way, or ended before it was whole"));
    let read = || {
        // What to do about it is nothing that a caution of the whole run says.
        let opened = file.open().map_err(Reason::plain)?;
        if opened.metadata().map_err(Reason::plain)?.len() > LONGEST_SHARD {
            return Err(Reason::plain(format!("it is longer than {} MiB", LONGEST_SHARD >> 20)));
        }
        read_open(&file.path(), opened.take(LONGEST_SHARD)).map_err(|error| error.reason())
    };
    let journal = match read() {
        Err(_) if partial => return under_way(),
        read => read?,
    };
    let last = journal.records.last().map(|record| &record.event);
    if let Some(Event::BlockFinished { invalid: Some(rule), .. }) = last {
        return Err(Reason::plain(format!("it does not count, and is to be done again: {rule}")));
    }
    if partial {
        return under_way();
    }
    if let Some(why) = disbelieved(site, block, &journal, plan) {
        return Err(Reason::plain(why));
    }
    if journal.torn || !matches!(last, Some(Event::BlockFinished { .. })) {
        return Err(Reason::plain("its end is missing: it was cut short, or copied before it was whole"));
    }
    Ok(journal)
}

/// Without those that hold what another does to the last digit, be they called another site's or another block's. It makes
/// no difference which of them is the first.
fn without_copies(shards: impl Iterator<Item = Shard>) -> (Vec<Shard>, Vec<Left>) {
    let (mut known, mut own, mut left) = (BTreeMap::new(), Vec::new(), Vec::new());
    for shard in shards {
        let path =
            Path::new(FOLDER).join(shard.site.to_string()).join(format!("{PREFIX}{:04}{WHOLE}", shard.block));
        match content(&shard.journal).map(|content| known.entry(content).or_insert_with(|| path.clone())) {
            Some(first) if *first != path => {
                let why = format!(
                    "it measured to the last digit what {} did: one is a copy of the other",
                    first.display()
                );
                left.push(Left { path, why: Reason::plain(why) });
            }
            _ => own.push(shard),
        }
    }
    (own, left)
}

/// What lies in an open folder, sorted; no name of ours has letters of any other kind.
fn names(folder: &FolderHandle) -> io::Result<Vec<String>> {
    Ok(folder.names()?.into_iter().filter_map(|name| name.into_string().ok()).collect())
}
