//! Where a run keeps its traces, and what they are called.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;

use fsverdict_disk::device::trace::{TraceReader, Traced};
use fsverdict_text::{Links, Reason, open_regular};

/// The folder of the traces within a run's.
const FOLDER: &str = "traces";
const SUFFIX: &str = ".trace";
/// Requests that any trace may have, and bytes for each further one. A request takes about nine.
const ANY_TRACE: u64 = 1_000_000;
const BYTES_PER_REQUEST: u64 = 4;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceFile {
    pub path: PathBuf,
    pub candidate: String,
    pub block: u32,
    pub attempt: u32,
    /// Of several devices, the number of this one, from 1.
    pub device: usize,
}

impl TraceFile {
    /// The trace of this trial, within the folder of its run, of its first device. Candidates' names are fit for file names.
    pub fn of(run: &Path, candidate: &str, block: u32, attempt: u32) -> TraceFile {
        TraceFile::of_device(run, candidate, block, attempt, 1)
    }

    /// The same of the device of this number.
    pub fn of_device(run: &Path, candidate: &str, block: u32, attempt: u32, device: usize) -> TraceFile {
        let which = if device > 1 { format!(".{device}") } else { String::new() };
        let path = run.join(FOLDER).join(format!("{block}-{candidate}-{attempt}{which}{SUFFIX}"));
        TraceFile { path, candidate: candidate.to_owned(), block, attempt, device }
    }

    /// Where the traces of a run lie.
    pub fn folder(run: &Path) -> PathBuf {
        run.join(FOLDER)
    }

    /// The traces a run has, in no order; none where they cannot be listed.
    pub fn all(run: &Path) -> Vec<TraceFile> {
        let entries = std::fs::read_dir(TraceFile::folder(run)).into_iter().flatten().flatten();
        entries.filter_map(|entry| named(run, entry.file_name().to_str()?)).collect()
    }

    /// Opens it to be read: a regular file, and no link to one.
    pub fn open(&self) -> io::Result<File> {
        open_regular(CWD, &self.path, OFlags::RDONLY, Links::Refuse)
    }

    /// Reads its requests.
    ///
    /// # Errors
    /// When it cannot be read, or has more requests than a trace of its size: a few kilobytes can unpack to any number.
    pub fn read_requests(&self) -> Result<Vec<Traced>, Reason> {
        let file = self.open().map_err(Reason::plain)?;
        let bytes = file.metadata().map_err(Reason::plain)?.len();
        let most = usize::try_from(ANY_TRACE + bytes / BYTES_PER_REQUEST).unwrap_or(usize::MAX);
        let reader = TraceReader::new(BufReader::new(file)).map_err(Reason::plain)?;
        let requests =
            reader.take(most.saturating_add(1)).collect::<Result<Vec<_>, _>>().map_err(Reason::plain)?;
        if requests.len() > most {
            let what = format!("it unpacks to more than {most} requests, which no trace of its size has");
            return Err(Reason::new(what, "`fsverdict run` makes traces anew"));
        }
        Ok(requests)
    }

    /// The same, empty, to be written; its folder is made where it is missing. Nothing is written through what else lies in its
    /// place.
    pub(super) fn create(&self) -> io::Result<File> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = rustix::fs::open(folder, flags, Mode::empty())?;
        let name = self.path.file_name().unwrap_or_default();
        match rustix::fs::unlinkat(&folder, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(errno) => return Err(errno.into()),
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::WGRP | Mode::ROTH | Mode::WOTH;
        Ok(rustix::fs::openat(&folder, name, flags, mode)?.into())
    }
}

fn named(run: &Path, name: &str) -> Option<TraceFile> {
    let (block, rest) = name.strip_suffix(SUFFIX)?.split_once('-')?;
    // Names of candidates have hyphens, too.
    let (candidate, attempt) = rest.rsplit_once('-')?;
    let (attempt, device) = attempt.split_once('.').unwrap_or((attempt, "1"));
    let (block, attempt) = (block.parse().ok()?, attempt.parse().ok()?);
    Some(TraceFile::of_device(run, candidate, block, attempt, device.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use super::{FOLDER, TraceFile, named};

    #[test]
    fn a_trace_is_written_and_read_through_no_link() {
        let place = tempfile::tempdir().unwrap();
        let (run, mine) = (place.path().join("run"), place.path().join("mine"));
        fs::write(&mine, "mine").unwrap();
        let file = TraceFile::of(&run, "ext4", 1, 1);
        fs::create_dir_all(run.join(FOLDER)).unwrap();
        symlink(&mine, &file.path).unwrap();
        assert!(file.open().unwrap_err().to_string().contains("a link"));
        file.create().unwrap().write_all(b"trace").unwrap();
        assert_eq!(
            (fs::read(&mine).unwrap(), fs::read(&file.path).unwrap()),
            (b"mine".to_vec(), b"trace".to_vec())
        );
        fs::remove_dir_all(run.join(FOLDER)).unwrap();
        fs::create_dir(place.path().join("elsewhere")).unwrap();
        symlink(place.path().join("elsewhere"), run.join(FOLDER)).unwrap();
        file.create().unwrap_err();
        assert_eq!(fs::read_dir(place.path().join("elsewhere")).unwrap().count(), 0);
    }

    #[test]
    fn each_device_has_a_trace_of_its_own() {
        let run = Path::new("/run");
        for (device, name) in
            [(1, "3-xfs-on-a-2.trace"), (2, "3-xfs-on-a-2.2.trace"), (8, "3-xfs-on-a-2.8.trace")]
        {
            let file = TraceFile::of_device(run, "xfs-on-a", 3, 2, device);
            assert_eq!(file.path, run.join(FOLDER).join(name));
            assert_eq!(named(run, name), Some(file));
        }
        assert_eq!(named(run, "3-xfs-on-a-2.x.trace"), None);
    }
}
