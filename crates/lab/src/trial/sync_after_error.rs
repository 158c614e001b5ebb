//! What fsync says of writes that the device refuses, and what is there afterwards: each file is written over in place, synced, synced
//! again where that failed, and read; and once more when it was mounted anew (Rebello et al., *Can Applications Recover from
//! fsync Failures?*, ATC '20).

use std::collections::hash_map::DefaultHasher;
use std::fs::File;
use std::hash::{Hash, Hasher};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use fsverdict_judgement::journal::SyncAnswer;

use super::spec::RotLook;
use super::stack::MOUNT;

/// Files that are written over, at most.
const MOST_FILES: usize = 2000;

/// What a file's user was told.
struct TriedFile {
    path: PathBuf,
    /// Of the content that was written: it is not kept.
    wanted: u64,
    /// Whether each fsync that was asked for said that all is done; the second is asked for where the first did not.
    answers: [Option<bool>; 2],
    /// Whether what was written was read after a failure, before anything was mounted anew.
    shown: bool,
}

/// The files that were written over.
pub(super) struct TriedSyncs {
    files: Vec<TriedFile>,
}

impl TriedSyncs {
    /// Writes other content over every file's own. A file that cannot be opened for writing, or read, is passed over: who cannot
    /// write is told so.
    pub(super) fn over(look: &RotLook) -> TriedSyncs {
        let entries = look.folders.iter().flat_map(|folder| {
            std::fs::read_dir(Path::new(MOUNT).join(&folder.into)).into_iter().flatten().flatten()
        });
        TriedSyncs {
            files: entries.take(MOST_FILES).filter_map(|entry| TriedFile::over(entry.path()).ok()).collect(),
        }
    }

    /// What it came to, now that it was mounted anew: the worst of all files, and of which.
    pub(super) fn answer(&self) -> Option<(SyncAnswer, &Path)> {
        let answers = self.files.iter().map(|file| (file.answer(), file.path.as_path()));
        answers.max_by_key(|(answer, _)| *answer)
    }
}

impl TriedFile {
    fn over(path: PathBuf) -> io::Result<TriedFile> {
        let mut bytes = std::fs::read(&path)?;
        bytes.iter_mut().for_each(|byte| *byte = !*byte);
        let file = File::options().write(true).open(&path)?;
        let done = |result: io::Result<()>| Some(result.is_ok());
        // A write that fails is as good as a sync that does.
        let first = done(file.write_all_at(&bytes, 0).and_then(|()| file.sync_all()));
        let second = if first == Some(false) { done(file.sync_all()) } else { None };
        let shown = second.is_some() && std::fs::read(&path).is_ok_and(|read| read == bytes);
        Ok(TriedFile { path, wanted: digest(&bytes), answers: [first, second], shown })
    }

    fn answer(&self) -> SyncAnswer {
        let is_there = std::fs::read(&self.path).is_ok_and(|bytes| digest(&bytes) == self.wanted);
        match (self.answers, is_there) {
            ([Some(true), _], true) => SyncAnswer::Kept,
            ([Some(true), _], false) => SyncAnswer::NeverTold,
            ([_, Some(true)], true) => SyncAnswer::Recovered,
            ([_, Some(true)], false) if self.shown => SyncAnswer::ToldOnceAndShown,
            ([_, Some(true)], false) => SyncAnswer::ToldOnce,
            _ => SyncAnswer::ToldAgain,
        }
    }
}

fn digest(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}
