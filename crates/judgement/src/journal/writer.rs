//! Appends records to a journal. A journal has one writer at a time; when `append` returns, the event is durable on
//! disk.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use super::{BoundError, Event, Fold, JournalBounds, JournalError, Record, Run, TrialId, reader};
use crate::plan::Plan;
use fsverdict_folders::FolderFile;

/// The only writer of a journal. It holds an exclusive lock on the file until it is dropped.
#[derive(Debug)]
pub struct Writer {
    /// The journal's name in the folder of its run, used to check that the name still refers to the open file.
    place: FolderFile,
    /// The path for error messages.
    path: PathBuf,
    file: File,
    /// The length of the file in bytes up to the last acknowledged record.
    acknowledged: u64,
    bounds: JournalBounds,
    closed: bool,
}

impl Writer {
    /// Creates a new journal. The folder must exist; the file must not.
    pub fn create(place: &FolderFile) -> Result<Self, JournalError> {
        let path = place.path();
        let file = place.create_new_to_append().map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => JournalError::Exists { path: path.clone() },
            _ => JournalError::io("create", &path, error),
        })?;
        let writer = Self::with_lock(place, file)?;
        // The directory entry must survive a crash too, or the records are lost.
        place.folder().sync().map_err(|error| JournalError::io("sync the folder of", &path, error))?;
        Ok(writer)
    }

    /// Opens an existing journal for appending, and passes its records to `take`. A torn last line is removed first.
    pub fn append_to(place: &FolderFile, take: impl FnMut(Record)) -> Result<Self, JournalError> {
        let path = place.path();
        let file = place.open_to_append().map_err(|error| JournalError::from_open("open", &path, error))?;
        let mut writer = Self::with_lock(place, file)?;
        let reader::Scanned { torn, intact_bytes, bounds, .. } =
            reader::scan_file(&path, &writer.file, reader::Scanned::default(), take)?;
        (writer.acknowledged, writer.bounds) = (intact_bytes, bounds);
        let length = writer.file.metadata().map_err(|error| JournalError::io("read", &path, error))?.len();
        if torn || length > intact_bytes {
            writer
                .truncate_unacknowledged()
                .map_err(|error| JournalError::io("cut the torn end of", &path, error))?;
        }
        Ok(writer)
    }

    fn with_lock(place: &FolderFile, file: File) -> Result<Self, JournalError> {
        let path = place.path();
        lock_file(&file, &path)?;
        let bounds = JournalBounds::default();
        Ok(Self { place: place.clone(), path, file, acknowledged: 0, bounds, closed: false })
    }

    /// Adds a timestamp to an event and appends it; when this returns, the event is durable on disk. Returns the record
    /// as written.
    ///
    /// # Errors
    /// If the event cannot be written completely; the file is then restored to its previous content.
    pub fn append(&mut self, trial: Option<&TrialId>, event: Event) -> Result<Record, JournalError> {
        if self.closed {
            return Err(JournalError::Closed { path: self.path.clone() });
        }
        if !self.is_in_place() {
            return Err(JournalError::Gone { path: self.path.clone() });
        }
        if let Some((what, value)) = not_finite(&event) {
            return Err(JournalError::NotFinite { path: self.path.clone(), what, value });
        }
        let record = Record { at: jiff::Timestamp::now(), trial: trial.cloned(), event };
        self.bounds
            .check(&record)
            .map_err(|reason| JournalError::Unbounded { path: self.path.clone(), reason })?;
        let mut line = serde_json::to_vec(&record)
            .map_err(|source| JournalError::Json { path: self.path.clone(), source })?;
        line.push(b'\n');
        check_line_length(&record.event, line.len())
            .map_err(|reason| JournalError::Unbounded { path: self.path.clone(), reason })?;
        if let Err(error) = self.file.write_all(&line).and_then(|()| self.file.sync_data()) {
            // A complete line must not follow a partial one.
            self.closed = self.truncate_unacknowledged().is_err();
            return Err(JournalError::io("write to", &self.path, error));
        }
        self.acknowledged += line.len() as u64;
        Ok(record)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Truncates everything after the last acknowledged record.
    fn truncate_unacknowledged(&mut self) -> io::Result<()> {
        self.file.set_len(self.acknowledged)?;
        self.file.sync_data()
    }

    /// Whether the file still has its name. Records that are written to a removed file are lost.
    fn is_in_place(&self) -> bool {
        self.place.is_name_of(&self.file)
    }
}

impl Drop for Writer {
    /// Unlocks explicitly. Closing the file is not enough: a child process that this program forked shares the open
    /// file until it calls exec.
    fn drop(&mut self) {
        // If this fails, the lock ends when the last copy of the descriptor is closed.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

/// Bytes that a record may have beside its event: moment and trial.
const RECORD_HEAD: usize = 16 << 10;

/// Checks that the record of this event fits into a line of a journal.
///
/// # Errors
/// If it is longer, so that [`Writer::append`] would refuse it.
pub fn check_record_length(event: &Event) -> Result<(), BoundError> {
    let bytes = serde_json::to_vec(event).map_or(usize::MAX, |text| text.len());
    check_line_length(event, bytes.saturating_add(RECORD_HEAD))
}

fn check_line_length(event: &Event, bytes: usize) -> Result<(), BoundError> {
    let longest = match event {
        Event::Observation(_) | Event::Command(_) => reader::LONGEST_LINE,
        _ => reader::LONGEST_OTHER_LINE,
    };
    if bytes as u64 >= longest { Err(BoundError::LongLine { bytes }) } else { Ok(()) }
}

fn lock_file(file: &File, path: &Path) -> Result<(), JournalError> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(()),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(JournalError::Locked { path: path.to_path_buf() }),
        Err(error) => Err(JournalError::io("lock", path, error.into())),
    }
}

/// The first number of an event that is not finite: JSON cannot represent it (it would become `null`, which cannot be
/// read back).
fn not_finite(event: &Event) -> Option<(String, f64)> {
    match event {
        Event::Observation(observation) => {
            observation.measurements.iter().find(|measurement| !measurement.value.is_finite()).map(
                |measurement| (format!("{} of {}", measurement.metric, observation.phase), measurement.value),
            )
        }
        Event::Command(command) if !command.seconds.is_finite() => {
            Some((format!("the time of a command of {}", command.step), command.seconds))
        }
        Event::TrialFinished { wall, .. } if !wall.is_finite() => {
            Some(("the wall time of a trial".to_owned(), *wall))
        }
        _ => None,
    }
}

/// A journal being written, with the run as far as it goes: each event is on the disk and in the run when it is appended.
#[derive(Debug)]
pub struct OpenJournal {
    writer: Writer,
    fold: Fold,
}

impl OpenJournal {
    /// Begins a journal with its first event.
    pub fn begin(plan: &Plan, place: &FolderFile, start: Event) -> Result<Self, JournalError> {
        let mut journal = OpenJournal { writer: Writer::create(place)?, fold: Fold::new(plan) };
        journal.append(None, start)?;
        Ok(journal)
    }

    /// Goes on with a journal; a torn last line is cut off.
    pub fn resume(plan: &Plan, place: &FolderFile) -> Result<Self, JournalError> {
        let mut fold = Fold::new(plan);
        let writer = Writer::append_to(place, |record| fold.add_record(record))?;
        let mut journal = OpenJournal { writer, fold };
        journal.run()?;
        Ok(journal)
    }

    /// Appends an event and takes it into the run.
    pub fn append(&mut self, trial: Option<&TrialId>, event: Event) -> Result<Record, JournalError> {
        let record = self.writer.append(trial, event)?;
        self.fold.add_record(record.clone());
        Ok(record)
    }

    /// The run as far as it goes.
    pub fn run(&mut self) -> Result<&Run, JournalError> {
        let path = self.writer.path();
        self.fold.run().ok_or_else(|| JournalError::NoRun { path: path.to_path_buf() })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use tempfile::TempDir;

    use super::Writer;
    use crate::journal::made::{ended, measured};
    use crate::journal::{Event, Histogram, JournalError, Observation, Record, TrialId, Unit, read};
    use fsverdict_folders::{FolderFile, FolderHandle};

    fn place() -> (TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.jsonl");
        (folder, path)
    }

    fn file(path: &std::path::Path) -> FolderFile {
        FolderHandle::open(path.parent().unwrap()).unwrap().file(path.file_name().unwrap())
    }

    fn trial() -> TrialId {
        TrialId { block: 1, candidate: "ext4|\"x\"\n".to_owned(), attempt: 2 }
    }

    fn observation(value: f64) -> Event {
        let histograms = vec![Histogram { call: "open".to_owned(), buckets: vec![(u64::MAX, 1)] }];
        Event::Observation(Observation {
            histograms,
            ..measured("write", &[("durable", Unit::Seconds, value)])
        })
    }

    fn written(path: &std::path::Path) -> Vec<Record> {
        let mut writer = Writer::create(&file(path)).unwrap();
        let trial = trial();
        vec![
            writer.append(None, Event::RunResumed { more: None }).unwrap(),
            writer.append(Some(&trial), observation(1.0 / 3.0)).unwrap(),
            writer.append(Some(&trial), ended(None, 0.1 + 0.2)).unwrap(),
        ]
    }

    #[test]
    fn what_was_appended_is_read_back_exactly() {
        let (_folder, path) = place();
        let records = written(&path);
        let journal = read(&path).unwrap();
        assert_eq!(journal.records, records);
        assert!(!journal.torn);
    }

    #[test]
    fn a_journal_torn_anywhere_keeps_its_whole_lines_and_can_be_continued() {
        let (_folder, path) = place();
        let records = written(&path);
        let whole = fs::read(&path).unwrap();
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            let lines = whole[..length].iter().filter(|&&byte| byte == b'\n').count();
            assert_eq!(read(&path).unwrap().torn, length > 0 && whole[length - 1] != b'\n', "{length} bytes");
            let mut held = Vec::new();
            let mut writer = Writer::append_to(&file(&path), |record| held.push(record)).unwrap();
            assert_eq!(held, records[..lines], "cut after {length} bytes");
            let added = writer.append(None, Event::RunResumed { more: None }).unwrap();
            drop(writer);
            let journal = read(&path).unwrap();
            assert!(!journal.torn);
            assert_eq!(journal.records.last(), Some(&added));
            assert_eq!(journal.records.len(), lines + 1);
        }
    }

    #[test]
    fn only_one_may_write() {
        let (_folder, path) = place();
        let first = Writer::create(&file(&path)).unwrap();
        assert!(matches!(Writer::append_to(&file(&path), drop), Err(JournalError::Locked { .. })));
        assert!(matches!(Writer::create(&file(&path)), Err(JournalError::Exists { .. })));
        assert!(read(&path).is_ok(), "a reader may look on");
        drop(first);
        assert!(Writer::append_to(&file(&path), drop).is_ok());
    }

    #[test]
    fn a_journal_that_was_removed_or_replaced_takes_no_more() {
        let (_folder, path) = place();
        let mut writer = Writer::create(&file(&path)).unwrap();
        writer.append(None, Event::RunResumed { more: None }).unwrap();
        let away = path.with_extension("away");
        fs::rename(&path, &away).unwrap();
        let append = |writer: &mut Writer| writer.append(None, Event::RunResumed { more: None });
        assert!(matches!(append(&mut writer), Err(JournalError::Gone { .. })));
        fs::write(&path, "another").unwrap();
        assert!(matches!(append(&mut writer), Err(JournalError::Gone { .. })));
        fs::rename(&away, &path).unwrap();
        writer.append(None, Event::RunResumed { more: None }).unwrap();
        drop(writer);
        fs::remove_file(&path).unwrap();
        assert!(matches!(read(&path), Err(JournalError::NoRun { .. })));
        assert!(matches!(Writer::append_to(&file(&path), drop), Err(JournalError::NoRun { .. })));
    }

    #[test]
    fn a_number_that_could_not_be_read_back_is_refused() {
        let (_folder, path) = place();
        let mut writer = Writer::create(&file(&path)).unwrap();
        let error = writer.append(Some(&trial()), observation(f64::NAN)).unwrap_err();
        assert!(
            matches!(&error, JournalError::NotFinite { what, .. } if what == "durable of write"),
            "{error}"
        );
        writer.append(None, Event::RunResumed { more: None }).unwrap();
        assert_eq!(read(&path).unwrap().records.len(), 1);
    }
}
