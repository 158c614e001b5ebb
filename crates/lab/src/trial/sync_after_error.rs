//! Tests the answers of fsync about writes that the device refuses, and the content afterwards: each file is
//! overwritten in place, synced, synced again after a failure, and read; then read again after a remount (Rebello et
//! al., *Can Applications Recover from fsync Failures?*, ATC '20).

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

/// A file, with the observations that its user would have made.
struct TriedFile {
    path: PathBuf,
    /// Of the content that was written: it is not kept.
    wanted: u64,
    /// Whether each fsync reported success; the second is called only if the first failed.
    answers: [Option<bool>; 2],
    /// Whether the new content could be read after a failure, before the remount.
    shown: bool,
}

/// The files that were written over.
pub(super) struct TriedSyncs {
    files: Vec<TriedFile>,
}

impl TriedSyncs {
    /// Overwrites every file with other content. A file that cannot be opened for writing, or read, is skipped: its
    /// user gets an error in any case.
    pub(super) fn overwrite_files(look: &RotLook) -> TriedSyncs {
        let entries = look.folders.iter().flat_map(|folder| {
            std::fs::read_dir(Path::new(MOUNT).join(&folder.into)).into_iter().flatten().flatten()
        });
        TriedSyncs {
            files: entries
                .take(MOST_FILES)
                .filter_map(|entry| TriedFile::overwrite_file(entry.path()).ok())
                .collect(),
        }
    }

    /// The result after the remount: the worst of all files, and its path.
    pub(super) fn worst_answer(&self) -> Option<(SyncAnswer, &Path)> {
        let answers = self.files.iter().map(|file| (file.sync_answer(), file.path.as_path()));
        answers.max_by_key(|(answer, _)| *answer)
    }
}

impl TriedFile {
    fn overwrite_file(path: PathBuf) -> io::Result<TriedFile> {
        let mut bytes = std::fs::read(&path)?;
        bytes.iter_mut().for_each(|byte| *byte = !*byte);
        let file = File::options().write(true).open(&path)?;
        let done = |result: io::Result<()>| Some(result.is_ok());
        // A write that fails is as good as a sync that does.
        let first = done(file.write_all_at(&bytes, 0).and_then(|()| file.sync_all()));
        let second = if first == Some(false) { done(file.sync_all()) } else { None };
        let shown = second.is_some() && std::fs::read(&path).is_ok_and(|read| read == bytes);
        Ok(TriedFile { path, wanted: digest_bytes(&bytes), answers: [first, second], shown })
    }

    fn sync_answer(&self) -> SyncAnswer {
        let is_there = std::fs::read(&self.path).is_ok_and(|bytes| digest_bytes(&bytes) == self.wanted);
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

fn digest_bytes(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}
