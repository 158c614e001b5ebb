//! The files of a candidate's recorded trial: their names, and how they are read and removed.

use fsverdict_disk::crash::WriteLog;
use fsverdict_folders::FolderFile;
use fsverdict_judgement::plan::Candidate;
use fsverdict_text::{Hinted, Reason};

use super::record::CutRecord;
use super::{PowerCutting, file_error, remove_file};
use crate::error::FaultError;

/// No file about a log is longer.
const LONGEST: u64 = 256 << 20;

/// The error for a file of the recording that may be foreign or missing.
fn read_error(file: &FolderFile, error: impl std::fmt::Display) -> FaultError {
    let problem = format!("{}: {error}", file.path().display());
    FaultError::Refused(Reason::new(problem, "`fsverdict crash RUN --again` records it again"))
}

/// The same for a file that may be refused: then the refusal has its own hint.
fn open_error(file: &FolderFile, error: std::io::Error) -> FaultError {
    match error.hint() {
        Some(_) => file_error(&file.path(), error),
        None => read_error(file, error),
    }
}

impl PowerCutting<'_> {
    /// The log of a part, of the device of this number.
    pub(crate) fn log_file(&self, candidate: &Candidate, part: u32, device: usize) -> FolderFile {
        let number = if device > 1 { format!("device-{device}.") } else { String::new() };
        self.part_file(candidate, part, &format!("{number}writes"))
    }

    pub(super) fn record_file(&self, candidate: &Candidate, part: u32) -> FolderFile {
        self.part_file(candidate, part, "json")
    }

    /// The file with the findings so far.
    pub(super) fn findings_file(&self, candidate: &Candidate) -> FolderFile {
        self.part_file(candidate, 0, "found")
    }

    /// The findings of single states, which are not needed afterwards.
    pub(super) fn passing_findings_file(&self, candidate: &Candidate) -> FolderFile {
        self.part_file(candidate, 0, "looked")
    }

    fn part_file(&self, candidate: &Candidate, part: u32, kind: &str) -> FolderFile {
        let part = if part == 0 { String::new() } else { format!(".{part}") };
        self.folder.file(format!("{}{part}.{kind}", candidate.name))
    }

    /// Removes a part's log and its description.
    pub(super) fn remove_part_files(&self, candidate: &Candidate, part: u32) -> Result<(), FaultError> {
        for device in 1..=self.attachments.iter().count() {
            remove_file(&self.log_file(candidate, part, device))?;
        }
        remove_file(&self.record_file(candidate, part))
    }

    /// The log of a part's writes to the first device.
    pub(crate) fn read_log(&self, candidate: &Candidate, part: u32) -> Result<WriteLog, FaultError> {
        self.log_of(candidate, part, 1)
    }

    /// The log of a part's writes to the device of this number, from 1.
    pub(super) fn log_of(
        &self,
        candidate: &Candidate,
        part: u32,
        device: usize,
    ) -> Result<WriteLog, FaultError> {
        let file = self.log_file(candidate, part, device);
        let log = file.open().map_err(|error| open_error(&file, error))?;
        WriteLog::read_log(log).map_err(|error| read_error(&file, error))
    }

    pub(crate) fn read_record(&self, candidate: &Candidate, part: u32) -> Result<CutRecord, FaultError> {
        let file = self.record_file(candidate, part);
        let input = std::io::Read::take(file.open().map_err(|error| open_error(&file, error))?, LONGEST);
        let record: CutRecord = serde_json::from_reader(std::io::BufReader::new(input))
            .map_err(|error| read_error(&file, error))?;
        if record.promises.sequences.as_ref().is_some_and(|sequences| !sequences.is_understood()) {
            let problem = "its sequences were recorded by another version of fsverdict, by which their numbers stand for others";
            return Err(FaultError::Refused(Reason::new(
                problem,
                "run its plan again into another folder: --out DIR",
            )));
        }
        Ok(record)
    }
}
