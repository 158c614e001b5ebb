//! Keeps the findings of a candidate's states in a file until all were examined: an interrupted run continues there.

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde::{Deserialize, Serialize};

use crate::error::FaultError;
use fsverdict_folders::FolderFile;
use fsverdict_judgement::journal::StateFinding;

use super::{CutName, file_error, remove_file, to_fault_error};

/// No file of findings is longer, in bytes; beyond the second findings are kept without their texts.
const LONGEST: u64 = 1 << 30;
const WITH_TEXTS: u64 = 256 << 20;

/// A line of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum KeptLine {
    /// The trial of this part was recorded.
    Begun(u32),
    Found(StateFinding),
    /// All states of a part were looked at; the digest of its requests.
    Ended(u32, String),
}

/// The file and its lines.
pub(super) struct KeptFindings {
    kept: Mutex<FindingsFile>,
}

struct FindingsFile {
    path: PathBuf,
    file: File,
    lines: Vec<KeptLine>,
    /// Bytes that it has, and that it may have with texts.
    length: u64,
    most: u64,
}

impl KeptFindings {
    /// Opens or creates the file; `again` discards its content.
    pub(super) fn open_file(place: &FolderFile, again: bool) -> Result<KeptFindings, FaultError> {
        if again {
            remove_file(place)?;
        }
        let (file, lines) = match place.open_to_append() {
            Ok(file) => {
                let (lines, whole) = read_lines(&place.path(), &file)?;
                // A line that was cut short.
                file.set_len(whole).map_err(|error| file_error(&place.path(), error))?;
                (file, lines)
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let new = place.create_new_to_append();
                (new.map_err(|error| file_error(&place.path(), error))?, Vec::new())
            }
            Err(error) => return Err(file_error(&place.path(), error)),
        };
        let length = file.metadata().map_err(|error| file_error(&place.path(), error))?.len();
        let (path, most) = (place.path(), WITH_TEXTS);
        Ok(KeptFindings { kept: Mutex::new(FindingsFile { path, file, lines, length, most }) })
    }

    fn with_file<T>(
        &self,
        work: impl FnOnce(&mut FindingsFile) -> std::io::Result<T>,
    ) -> Result<T, FaultError> {
        let mut file = self.kept.lock().map_err(|_| to_fault_error("a thread was lost"))?;
        work(&mut file).map_err(|error| file_error(&file.path, error))
    }

    /// The digest of a part that was looked at to its end.
    pub(super) fn finished_trace(&self, part: u32) -> Option<String> {
        let file = self.kept.lock().ok()?;
        file.lines.iter().find_map(|line| match line {
            KeptLine::Ended(ended, trace) if *ended == part => Some(trace.clone()),
            _ => None,
        })
    }

    /// Whether the trial of this part had been recorded.
    pub(super) fn has_begun(&self, part: u32) -> bool {
        self.kept.lock().is_ok_and(|kept| kept.lines.contains(&KeptLine::Begun(part)))
    }

    pub(super) fn begin_part(&self, part: u32) -> Result<(), FaultError> {
        if self.has_begun(part) {
            Ok(())
        } else {
            self.with_file(|kept| kept.append_line(KeptLine::Begun(part)))
        }
    }

    /// Keeps these, and says how many there are now of the part.
    pub(super) fn add_findings(&self, findings: Vec<StateFinding>) -> Result<(), FaultError> {
        self.with_file(|kept| {
            findings.into_iter().try_for_each(|finding| kept.append_line(KeptLine::Found(finding)))
        })
    }

    /// All states of a part are examined; records whether one of them lost data.
    pub(super) fn end_part(&self, part: u32, trace: &str) -> Result<bool, FaultError> {
        let findings = self.findings();
        let of_part =
            |finding: &&StateFinding| finding.state.parse::<CutName>().is_ok_and(|name| name.part == part);
        self.with_file(|kept| kept.append_line(KeptLine::Ended(part, trace.to_owned())))?;
        Ok(findings.iter().filter(of_part).any(|finding| finding.outcome.is_loss()))
    }

    pub(super) fn findings(&self) -> Vec<StateFinding> {
        let Ok(kept) = self.kept.lock() else { return Vec::new() };
        let findings = kept.lines.iter().filter_map(|line| match line {
            KeptLine::Found(finding) => Some(finding.clone()),
            _ => None,
        });
        findings.collect()
    }
}

impl FindingsFile {
    /// Writes a line. A file that has become long gets outcomes alone, so that all of it can be read again.
    fn append_line(&mut self, mut line: KeptLine) -> std::io::Result<()> {
        let as_text = |line: &KeptLine| -> std::io::Result<Vec<u8>> {
            let mut text = serde_json::to_vec(line)?;
            text.push(b'\n');
            Ok(text)
        };
        let mut text = as_text(&line)?;
        if self.length + text.len() as u64 > self.most
            && let KeptLine::Found(finding) = line
        {
            line = KeptLine::Found(finding.without_texts("the file of findings is full"));
            text = as_text(&line)?;
        }
        self.file.write_all(&text)?;
        self.length += text.len() as u64;
        self.lines.push(line);
        Ok(())
    }
}

/// The whole lines, and how many bytes they are.
fn read_lines(path: &Path, file: &File) -> Result<(Vec<KeptLine>, u64), FaultError> {
    let mut input = BufReader::new(file.take(LONGEST));
    let (mut lines, mut whole, mut text) = (Vec::new(), 0, Vec::new());
    loop {
        text.clear();
        let length = input.read_until(b'\n', &mut text).map_err(|error| file_error(path, error))?;
        match serde_json::from_slice(&text) {
            Ok(line) if text.ends_with(b"\n") => lines.push(line),
            _ => return Ok((lines, whole)),
        }
        whole += length as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::KeptFindings;
    use fsverdict_folders::FolderHandle;
    use fsverdict_judgement::journal::{CutOutcome, LossAges, StateFinding};

    /// A guest that reports megabytes of each state.
    #[test]
    fn a_file_of_findings_stays_small_whatever_a_guest_reports() {
        let folder = tempfile::tempdir().unwrap();
        let file = FolderHandle::open(folder.path()).unwrap().file("ext4.found");
        let kept = KeptFindings::open_file(&file, false).unwrap();
        kept.kept.lock().unwrap().most = 1 << 20;
        let hostile = |number: u32| StateFinding {
            state: format!("{number}-all"),
            outcome: CutOutcome::SilentLoss,
            broken: vec!["name".repeat(1000); 10_000],
            seen: "\u{1b}".repeat(1 << 20),
            back_s: 0.0,
            ages: LossAges::default(),
        };
        kept.add_findings((0..60).map(|number| hostile(number).with_bounded_text()).collect()).unwrap();
        let length = std::fs::metadata(file.path()).unwrap().len();
        assert!(length <= (1 << 20) + 60 * 200, "{length} bytes");
        let findings = KeptFindings::open_file(&file, false).unwrap().findings();
        assert_eq!(findings.len(), 60);
        assert!(findings.iter().all(|finding| finding.outcome == CutOutcome::SilentLoss));
        let said = |words: &str| findings.iter().filter(|finding| finding.seen.contains(words)).count();
        assert!(said("more bytes]") >= 1 && said("not kept: the file of findings is full") >= 1);
    }

    #[test]
    fn what_was_found_is_there_after_the_end_of_its_finder() {
        let folder = tempfile::tempdir().unwrap();
        let file = FolderHandle::open(folder.path()).unwrap().file("ext4.found");
        let path = file.path();
        let found = |state: &str, outcome| StateFinding {
            state: state.to_owned(),
            outcome,
            broken: Vec::new(),
            seen: String::new(),
            back_s: 0.5,
            ages: LossAges::default(),
        };
        let kept = KeptFindings::open_file(&file, false).unwrap();
        kept.begin_part(0).unwrap();
        kept.add_findings(vec![found("1-all", CutOutcome::Replayed)]).unwrap();
        assert!(!kept.end_part(0, "digest").unwrap());
        kept.begin_part(1).unwrap();
        kept.add_findings(vec![found("1:2-all", CutOutcome::SilentLoss)]).unwrap();
        drop(kept);
        // It was ended while it wrote.
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, format!("{text}{{\"found\":{{\"sta")).unwrap();
        let kept = KeptFindings::open_file(&file, false).unwrap();
        assert_eq!((kept.finished_trace(0).as_deref(), kept.finished_trace(1)), (Some("digest"), None));
        assert!(kept.has_begun(1) && !kept.has_begun(2));
        assert_eq!(kept.findings().len(), 2);
        kept.add_findings(vec![found("1:3-all", CutOutcome::Replayed)]).unwrap();
        assert!(kept.end_part(1, "other").unwrap());
        assert_eq!(KeptFindings::open_file(&file, false).unwrap().findings().len(), 3);
        assert!(KeptFindings::open_file(&file, true).unwrap().findings().is_empty());
    }
}
