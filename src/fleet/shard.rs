//! The files of a run that several sites share: `sites/NAME/block-0007.jsonl` below its folder, a whole journal for each block.
//! One that is under way has another name, and gets its own when it is whole: whoever copies or merges never sees half a block.
//!
//! They may come from anybody. So what lies there is opened without following a link and without waiting, has to be a regular
//! file of bounded size, and is believed as far as `believe` says.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{CWD, Mode, OFlags, openat};

use fsverdict_judgement::journal::{Event, Facts, Journal, JournalError, Writer, read_open};
use fsverdict_judgement::plan::Plan;
use fsverdict_text::{Hinted, Links, Reason, each_of, open_regular};

use super::FleetError;
use super::believe::{content, disbelieved};
use super::left::Left;
use super::site::Site;

/// No block's journal is longer, in bytes: one of sixteen candidates takes a few hundred thousand.
pub(super) const LONGEST_SHARD: u64 = 64 << 20;

const FOLDER: &str = "sites";
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
    run: PathBuf,
}

impl Shards {
    pub fn of(run: &Path) -> Self {
        Shards { run: run.to_owned() }
    }

    fn folder(&self, site: &Site) -> PathBuf {
        self.run.join(FOLDER).join(site.to_string())
    }

    /// Where a block's journal lies once it is whole.
    pub fn whole(&self, site: &Site, block: u32) -> PathBuf {
        self.folder(site).join(format!("{PREFIX}{block:04}{WHOLE}"))
    }

    fn partial(&self, site: &Site, block: u32) -> PathBuf {
        self.whole(site, block).with_extension(&PARTIAL[1..])
    }

    /// Whether a file has that name. A link, a pipe or a device is none.
    pub fn has(&self, site: &Site, block: u32) -> bool {
        self.whole(site, block).symlink_metadata().is_ok_and(|found| found.is_file())
    }

    /// The folder of a site's blocks, made where there is none; never the one that a link leads to.
    pub(super) fn make_folder(&self, site: &Site) -> Result<PathBuf, FleetError> {
        let folder = self.folder(site);
        for folder in [&self.run.join(FOLDER), &folder] {
            match fs::create_dir(folder) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => made.map_err(FleetError::io(folder))?,
            }
            if !folder.symlink_metadata().map_err(FleetError::io(folder))?.is_dir() {
                return Err(FleetError::InTheWay(folder.clone()));
            }
        }
        Ok(folder)
    }

    /// The path for a journal that is to be written; what an earlier attempt left there goes.
    pub(super) fn begin(&self, site: &Site, block: u32) -> Result<PathBuf, FleetError> {
        self.make_folder(site)?;
        let whole = self.whole(site, block);
        if whole.symlink_metadata().is_ok() {
            return Err(FleetError::InTheWay(whole));
        }
        let path = self.partial(site, block);
        let regular = path.symlink_metadata().map(|found| found.is_file());
        match regular.map(|regular| regular.then(|| Writer::append_to(&path, drop))) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Ok(Some(Err(JournalError::Locked { .. }))) => {
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
        let folder = self.folder(site);
        File::open(&folder).and_then(|folder| folder.sync_all()).map_err(FleetError::io(&folder))
    }

    /// All whole blocks of a run of `plan`, by site and number, and what is left out. In whatever order they came, it is the same.
    pub fn read(&self, plan: &Plan) -> Result<(Vec<Shard>, Vec<Left>), FleetError> {
        let (mut shards, mut left) = (BTreeMap::new(), Vec::new());
        let Some(sites) = self.open_folder(FOLDER.as_ref())? else { return Ok((Vec::new(), left)) };
        let mut found: Vec<Found> = Vec::new();
        for name in names(&sites).map_err(FleetError::io(&self.run.join(FOLDER)))? {
            let Ok(site) = name.parse::<Site>() else { continue };
            let below = Path::new(FOLDER).join(&name);
            let folder = match self.open_folder(&below) {
                Ok(Some(folder)) => Arc::new(folder),
                Ok(None) => continue,
                Err(FleetError::Io { .. }) => {
                    left.push(Left { path: below, why: Reason::plain("it is no folder that could be read") });
                    continue;
                }
                Err(error) => return Err(error),
            };
            for name in names(&folder).map_err(FleetError::io(&self.run.join(&below)))? {
                let Some((block, partial)) = block_of(&name) else { continue };
                let (path, folder, site) = (below.join(&name), Arc::clone(&folder), site.clone());
                found.push(Found { folder, path, partial, site, block });
            }
        }
        let journals = each_of(&found, |one| one.journal(&self.run, plan));
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

    /// A folder below that of the run, to which no link leads; `None` where there is nothing of that name.
    fn open_folder(&self, below: &Path) -> Result<Option<OwnedFd>, FleetError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut at = openat(CWD, &self.run, flags, Mode::empty());
        for name in below {
            at = at.and_then(|folder| openat(folder, name, flags | OFlags::NOFOLLOW, Mode::empty()));
        }
        match at {
            Ok(folder) => Ok(Some(folder)),
            Err(rustix::io::Errno::NOENT) => Ok(None),
            Err(error) => Err(FleetError::io(&self.run.join(below))(error.into())),
        }
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
    folder: Arc<OwnedFd>,
    /// Below the run's folder.
    path: PathBuf,
    partial: bool,
    site: Site,
    block: u32,
}

impl Found {
    /// Its journal, if it is that of a whole block and what it says can be believed; else why not.
    fn journal(&self, run: &Path, plan: &Plan) -> Result<Journal, Reason> {
        let Found { folder, path, partial, site, block } = self;
        whole(folder, &run.join(path), *partial, site, *block, plan)
    }
}

fn whole(
    folder: &OwnedFd,
    path: &Path,
    partial: bool,
    site: &Site,
    block: u32,
    plan: &Plan,
) -> Result<Journal, Reason> {
    let under_way = || Err(Reason::plain("under way, or ended before it was whole"));
    let name = Path::new(path.file_name().unwrap_or_default());
    let read = || {
        let file =
            open_regular(folder, name, OFlags::RDONLY, Links::Refuse).map_err(|error| error.reason())?;
        if file.metadata().map_err(|error| error.reason())?.len() > LONGEST_SHARD {
            return Err(Reason::plain(format!("it is longer than {} MiB", LONGEST_SHARD >> 20)));
        }
        read_open(path, file.take(LONGEST_SHARD)).map_err(|error| error.reason())
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
fn names(folder: &OwnedFd) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in rustix::fs::Dir::read_from(folder)? {
        names.extend(entry?.file_name().to_str().ok().map(str::to_owned));
    }
    names.sort();
    Ok(names)
}
