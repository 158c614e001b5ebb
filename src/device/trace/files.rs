//! Where a run keeps its traces, and what they are called.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// The folder of the traces within a run's.
pub const FOLDER: &str = "traces";
const SUFFIX: &str = ".trace";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceFile {
    pub path: PathBuf,
    pub candidate: String,
    pub block: u32,
    pub attempt: u32,
}

impl TraceFile {
    /// The trace of this trial, within the folder of its run. Candidates' names are fit for file names.
    pub fn of(run: &Path, candidate: &str, block: u32, attempt: u32) -> TraceFile {
        let path = run.join(FOLDER).join(format!("{block}-{candidate}-{attempt}{SUFFIX}"));
        TraceFile { path, candidate: candidate.to_owned(), block, attempt }
    }

    /// The same, empty, to be written; its folder is made where it is missing.
    pub(crate) fn create(run: &Path, candidate: &str, block: u32, attempt: u32) -> io::Result<File> {
        std::fs::create_dir_all(run.join(FOLDER))?;
        File::create(TraceFile::of(run, candidate, block, attempt).path)
    }
}

/// The traces a run has, in no order; none where they cannot be listed.
pub fn files(run: &Path) -> Vec<TraceFile> {
    let entries = std::fs::read_dir(run.join(FOLDER)).into_iter().flatten().flatten();
    entries.filter_map(|entry| named(run, entry.file_name().to_str()?)).collect()
}

fn named(run: &Path, name: &str) -> Option<TraceFile> {
    let (block, rest) = name.strip_suffix(SUFFIX)?.split_once('-')?;
    // Names of candidates have hyphens, too.
    let (candidate, attempt) = rest.rsplit_once('-')?;
    Some(TraceFile::of(run, candidate, block.parse().ok()?, attempt.parse().ok()?))
}
