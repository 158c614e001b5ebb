//! Names and opens the traces of a run in its folder.

use std::fs::File;
use std::io::{self, BufReader};

use fsverdict_disk::device::trace::{TraceReader, Traced};
use fsverdict_folders::{FolderFile, FolderHandle};
use fsverdict_text::{Hinted, Reason};

/// The folder of the traces within a run's.
pub const FOLDER: &str = "traces";
const SUFFIX: &str = ".trace";
/// Requests that any trace may have, and bytes for each further one. A request takes about nine.
const ANY_TRACE: u64 = 1_000_000;
const BYTES_PER_REQUEST: u64 = 4;

/// The trace of one device of a trial, whether there is one or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceFile {
    run: FolderHandle,
    name: String,
    pub candidate: String,
    pub block: u32,
    pub attempt: u32,
    /// Of several devices, the number of this one, from 1.
    pub device: usize,
}

impl TraceFile {
    /// The trace of this trial, within the folder of its run, of its first device. Candidates' names are fit for file names.
    pub fn for_trial(run: &FolderHandle, candidate: &str, block: u32, attempt: u32) -> TraceFile {
        TraceFile::of_device(run, candidate, block, attempt, 1)
    }

    /// The same of the device of this number.
    pub fn of_device(
        run: &FolderHandle,
        candidate: &str,
        block: u32,
        attempt: u32,
        device: usize,
    ) -> TraceFile {
        let which = if device > 1 { format!(".{device}") } else { String::new() };
        let name = format!("{block}-{candidate}-{attempt}{which}{SUFFIX}");
        TraceFile { run: run.clone(), name, candidate: candidate.to_owned(), block, attempt, device }
    }

    /// The traces a run has, in no order; none where it has no folder of traces.
    ///
    /// # Errors
    /// When that folder is a link, say, or cannot be listed.
    pub fn list_traces(run: &FolderHandle) -> io::Result<Vec<TraceFile>> {
        let names = match run.open_subfolder(FOLDER) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            folder => folder?.list_names()?,
        };
        Ok(names.iter().filter_map(|name| parse_name(run, name.to_str()?)).collect())
    }

    /// Its name in the folder of the traces.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The path for messages.
    pub fn path(&self) -> std::path::PathBuf {
        self.run.path_of(FOLDER).join(&self.name)
    }

    /// Opens it to be read.
    ///
    /// # Errors
    /// When it is not there, or is anything but a regular file that this user or the owner of the run made.
    pub fn open(&self) -> io::Result<File> {
        self.in_folder(&self.run.open_subfolder(FOLDER)?).open()
    }

    /// Reads its requests.
    ///
    /// # Errors
    /// When it cannot be read, or has more requests than a trace of its size: a few kilobytes can unpack to any number.
    pub fn read_requests(&self) -> Result<Vec<Traced>, Reason> {
        let file = self.open().map_err(|error| error.reason())?;
        let bytes = file.metadata().map_err(Reason::plain)?.len();
        let most = usize::try_from(ANY_TRACE + bytes / BYTES_PER_REQUEST).unwrap_or(usize::MAX);
        let reader = TraceReader::new(BufReader::new(file)).map_err(Reason::plain)?;
        let requests =
            reader.take(most.saturating_add(1)).collect::<Result<Vec<_>, _>>().map_err(Reason::plain)?;
        if requests.len() > most {
            let what = format!("it unpacks to more than {most} requests, which no trace of its size has");
            return Err(Reason::new(what, "`fsverdict run` makes new traces"));
        }
        Ok(requests)
    }

    /// Creates the file empty for writing, replacing an earlier one; creates its folder if missing. Never writes
    /// through a link or a special file at its path.
    pub(super) fn create(&self) -> io::Result<File> {
        let file = self.in_folder(&self.run.open_or_create_subfolder(FOLDER)?);
        file.remove()?;
        file.create_new()
    }

    fn in_folder(&self, folder: &FolderHandle) -> FolderFile {
        folder.file(self.name.as_str())
    }
}

fn parse_name(run: &FolderHandle, name: &str) -> Option<TraceFile> {
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

    use super::{FOLDER, TraceFile, parse_name};
    use fsverdict_folders::FolderHandle;

    #[test]
    fn a_trace_is_written_and_read_through_no_link() {
        let place = tempfile::tempdir().unwrap();
        let (run, mine) = (place.path().join("run"), place.path().join("mine"));
        fs::write(&mine, "mine").unwrap();
        fs::create_dir_all(run.join(FOLDER)).unwrap();
        let file = TraceFile::for_trial(&FolderHandle::open(&run).unwrap(), "ext4", 1, 1);
        symlink(&mine, file.path()).unwrap();
        for refused in [file.open(), file.create()] {
            assert!(refused.unwrap_err().to_string().contains("a link"));
        }
        assert_eq!(fs::read(&mine).unwrap(), b"mine");
        fs::remove_file(file.path()).unwrap();
        for text in ["first", "second"] {
            file.create().unwrap().write_all(text.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(file.path()).unwrap(), text);
        }
        fs::remove_dir_all(run.join(FOLDER)).unwrap();
        fs::create_dir(place.path().join("elsewhere")).unwrap();
        symlink(place.path().join("elsewhere"), run.join(FOLDER)).unwrap();
        file.create().unwrap_err();
        assert_eq!(fs::read_dir(place.path().join("elsewhere")).unwrap().count(), 0);
    }

    #[test]
    fn each_device_has_a_trace_of_its_own() {
        let run = &FolderHandle::open(Path::new("/")).unwrap();
        for (device, name) in
            [(1, "3-xfs-on-a-2.trace"), (2, "3-xfs-on-a-2.2.trace"), (8, "3-xfs-on-a-2.8.trace")]
        {
            let file = TraceFile::of_device(run, "xfs-on-a", 3, 2, device);
            assert_eq!(file.path(), Path::new("/").join(FOLDER).join(name));
            assert_eq!(parse_name(run, name), Some(file));
        }
        assert_eq!(parse_name(run, "3-xfs-on-a-2.x.trace"), None);
    }
}
