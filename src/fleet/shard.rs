//! Reads and writes the files of a run that several sites share: `sites/NAME/block-0007.jsonl` below the run's
//! folder, a complete journal for each block. A block in progress has a different name (`.partial`) and is renamed
//! when it is complete, so that a reader that copies or merges never sees half a block.
//!
//! The files may come from anyone. Each is therefore opened through the folder's descriptor, without following links
//! and without blocking, must be a regular file of bounded size, and passes the checks of `plausibility`.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use fsverdict_folders::{FolderFile, FolderHandle};
use fsverdict_judgement::journal::{
    Event, Facts, Journal, JournalError, Writer, map_in_parallel, read_first_record, read_open,
};
use fsverdict_judgement::plan::Plan;
use fsverdict_text::{Hinted, Reason};

use super::copies::KnownTimes;
use super::error::{FleetError, IgnoredFile};
use super::plausibility::{ExpectedBlocks, find_implausibility};
use super::run_key::RunKey;
use super::site::{RUN, Site};

/// The maximum size of a block's journal in bytes (64 MiB); a block of sixteen candidates needs some hundred
/// thousand.
pub(super) const LONGEST_SHARD: u64 = 64 << 20;

pub const FOLDER: &str = "sites";
const PREFIX: &str = "block-";
const WHOLE: &str = ".jsonl";
const PARTIAL: &str = ".partial";

/// A block of a site, with the journal that was read.
#[derive(Debug, Clone)]
pub struct Shard {
    pub site: Site,
    /// The number of the block at its site, from 1.
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
    pub fn new(run: &FolderHandle) -> Self {
        Shards { run: run.clone() }
    }

    /// Opens the folder of a site's blocks.
    fn site_folder(&self, site: &Site) -> io::Result<FolderHandle> {
        self.run.open_subfolder(FOLDER)?.open_subfolder(site.to_string())
    }

    /// The file name of a complete block's journal.
    pub fn whole_name(block: u32) -> String {
        format!("{PREFIX}{block:04}{WHOLE}")
    }

    pub fn partial_name(block: u32) -> String {
        format!("{PREFIX}{block:04}{PARTIAL}")
    }

    /// Whether a regular file has that name; a link, a pipe or a device does not count.
    pub fn has_block(&self, site: &Site, block: u32) -> bool {
        self.site_folder(site).is_ok_and(|folder| folder.file(Self::whole_name(block)).is_there())
    }

    /// The key of the run that a block says it was done for, if that is another than `key`.
    pub(super) fn other_run(&self, site: &Site, block: u32, key: &RunKey) -> Option<String> {
        let file = self.site_folder(site).ok()?.file(Self::whole_name(block));
        match read_first_record(&file).ok().flatten()?.event {
            Event::RunStarted { environment, .. } => key.other_of(environment.get(RUN)).cloned(),
            _ => None,
        }
    }

    /// Removes a block that was done for another run; returns the key of that run.
    pub(super) fn remove_other_run(&self, site: &Site, block: u32) -> Result<Option<String>, FleetError> {
        let Some(key) = RunKey::read_from(&self.run)? else { return Ok(None) };
        let Some(other) = self.other_run(site, block, &key) else { return Ok(None) };
        let file = self.make_folder(site)?.file(Self::whole_name(block));
        file.remove().map_err(FleetError::io_error(&file.path()))?;
        Ok(Some(other))
    }

    /// Opens the folder of a site's blocks, and creates it if it does not exist. Never follows a link.
    pub(super) fn make_folder(&self, site: &Site) -> Result<FolderHandle, FleetError> {
        let made = |above: &FolderHandle, name: &str| {
            above.open_or_create_subfolder(name).map_err(|error| match error.kind() {
                io::ErrorKind::InvalidInput => FleetError::InTheWay(above.path_of(name)),
                _ => FleetError::io_error(&above.path_of(name))(error),
            })
        };
        made(&made(&self.run, FOLDER)?, &site.to_string())
    }

    /// The file for a new journal; removes the partial journal of an earlier attempt.
    pub(super) fn begin_block(&self, site: &Site, block: u32) -> Result<FolderFile, FleetError> {
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
            // The partial journal was not merged and never will be, so it can be removed.
            Some(_) => drop(file.remove().map_err(FleetError::io_error(&file.path()))?),
        }
        Ok(file)
    }

    /// Renames a complete journal of a block that counts to its final name.
    pub(super) fn finish_block(&self, partial: &FolderFile, block: u32) -> Result<(), FleetError> {
        let whole = Self::whole_name(block);
        partial.rename_to(whole.as_ref()).map_err(FleetError::io_error(&partial.path()))
    }

    /// Reads all complete blocks of a run of `plan`, sorted by site and number, and lists the files that are left
    /// out. The result does not depend on the order in which the files arrived.
    pub fn read_blocks(&self, plan: &Plan) -> Result<(Vec<Shard>, Vec<IgnoredFile>), FleetError> {
        let (mut shards, mut left) = (BTreeMap::new(), Vec::new());
        let sites = match self.run.open_subfolder(FOLDER) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((Vec::new(), left)),
            opened => opened.map_err(FleetError::io_error(&self.run.path_of(FOLDER)))?,
        };
        let mut block_files: Vec<BlockFile> = Vec::new();
        for name in list_names(&sites).map_err(FleetError::io_error(sites.path()))? {
            let Ok(site) = name.parse::<Site>() else { continue };
            let below = Path::new(FOLDER).join(&name);
            let folder = match sites.open_subfolder(&name) {
                Ok(folder) => folder,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(_) => {
                    left.push(IgnoredFile {
                        path: below,
                        why: Reason::plain("it is no folder that could be read"),
                    });
                    continue;
                }
            };
            for name in list_names(&folder).map_err(FleetError::io_error(folder.path()))? {
                let Some((block, partial)) = parse_file_name(&name) else { continue };
                let (path, file, site) = (below.join(&name), folder.file(name), site.clone());
                block_files.push(BlockFile { file, path, partial, site, block });
            }
        }
        let expected = ExpectedBlocks { plan, now: Timestamp::now() };
        let journals = map_in_parallel(&block_files, |one| one.read_journal(&expected));
        for (BlockFile { path, site, block, .. }, journal) in block_files.into_iter().zip(journals) {
            match journal {
                Ok(journal) => {
                    shards.insert((site.clone(), block), Shard { site, block, journal });
                }
                Err(why) => left.push(IgnoredFile { path, why }),
            }
        }
        let (shards, copies) = without_copies(shards.into_values(), plan.device.source.is_modelled());
        left.extend(copies);
        left.sort_by(|one, other| one.path.cmp(&other.path));
        Ok((shards, left))
    }
}

/// The block number in a file's name, and whether the block is in progress. Only the exact spelling is accepted, so
/// that a block has one name.
fn parse_file_name(name: &str) -> Option<(u32, bool)> {
    let (stem, partial) = match name.strip_suffix(WHOLE) {
        Some(stem) => (stem, false),
        None => (name.strip_suffix(PARTIAL)?, true),
    };
    let block = stem.strip_prefix(PREFIX)?.parse().ok()?;
    (block > 0 && stem == format!("{PREFIX}{block:04}")).then_some((block, partial))
}

/// A file in a site's folder that has the name of a block.
struct BlockFile {
    file: FolderFile,
    /// The path below the run's folder.
    path: PathBuf,
    partial: bool,
    site: Site,
    block: u32,
}

impl BlockFile {
    /// Reads the journal, if it is a complete block's and passes the checks; otherwise returns why not.
    fn read_journal(&self, expected: &ExpectedBlocks<'_>) -> Result<Journal, Reason> {
        let BlockFile { file, partial, site, block, .. } = self;
        read_whole_journal(file, *partial, site, *block, expected)
    }
}

fn read_whole_journal(
    file: &FolderFile,
    partial: bool,
    site: &Site,
    block: u32,
    expected: &ExpectedBlocks<'_>,
) -> Result<Journal, Reason> {
    let under_way = || Err(Reason::plain("under way, or ended before it was whole"));
    let read = || {
        // The hint is left out: a caution of the whole run states only the reason.
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
    if let Some(why) = find_implausibility(site, block, &journal, expected) {
        return Err(Reason::plain(why));
    }
    if journal.torn || !matches!(last, Some(Event::BlockFinished { .. })) {
        return Err(Reason::plain("its end is missing: it was cut short, or copied before it was whole"));
    }
    Ok(journal)
}

/// Leaves out shards that are copies of another, even if they carry another site's or block's name. Of two, the one whose
/// site and number come first stays.
fn without_copies(shards: impl Iterator<Item = Shard>, simulated: bool) -> (Vec<Shard>, Vec<IgnoredFile>) {
    let (mut known, mut own, mut left) = (KnownTimes::new(simulated), Vec::new(), Vec::new());
    let path_of =
        |shard: &Shard| Path::new(FOLDER).join(shard.site.to_string()).join(Shards::whole_name(shard.block));
    for shard in shards {
        match known.add_block(own.len(), &shard.journal).and_then(|first| own.get(first)) {
            Some(first) => {
                let why = format!(
                    "it measured to the last digit what {} did: one is a copy of the other",
                    path_of(first).display()
                );
                left.push(IgnoredFile { path: path_of(&shard), why: Reason::plain(why) });
            }
            None => own.push(shard),
        }
    }
    (own, left)
}

/// The file names in an open folder, sorted. Names that are not UTF-8 are left out: no block has one.
fn list_names(folder: &FolderHandle) -> io::Result<Vec<String>> {
    Ok(folder.list_names()?.into_iter().filter_map(|name| name.into_string().ok()).collect())
}
