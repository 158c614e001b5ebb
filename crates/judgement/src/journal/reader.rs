//! Reads a journal back. A crash may tear its last line, or leave anything behind its end; anything else that is wrong is an error.

use std::borrow::Cow;
use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rustix::fs::{CWD, OFlags};
use serde::Deserialize;

use super::{Event, JournalBounds, JournalError, Record, SCHEMA, TrialId};
use fsverdict_text::{FolderFile, Links, each_of, open_regular};

/// No line is longer: the longest is the output of a benchmark program, of which half a mebibyte is kept.
pub(super) const LONGEST_LINE: u64 = 8 << 20;

/// Of an event that is neither an observation nor of a command: it is taken apart into pieces first, each of which takes several
/// times as much memory as its text.
pub(super) const LONGEST_OTHER_LINE: u64 = 4 << 20;

/// About so many bytes of a journal are read at a time, on all processors from the second number on.
const PIECE: usize = 1 << 20;
const LEAST_TO_SHARE: usize = 1 << 19;

#[derive(Debug, Clone, PartialEq)]
pub struct Journal {
    pub path: PathBuf,
    pub records: Vec<Record>,
    /// Whether the last line was cut short by a crash and left out.
    pub torn: bool,
}

/// Reads the journal at `path`, which the caller named. A torn last line is left out and reported in [`Journal::torn`]. The journal
/// of a run's folder is read with [`read_in_folder`].
pub fn read(path: &Path) -> Result<Journal, JournalError> {
    read_open(path, opened(path)?)
}

/// The same of the journal in the folder of a run.
pub fn read_in_folder(place: &FolderFile) -> Result<Journal, JournalError> {
    read_open(&place.path(), opened_in_folder(place)?)
}

/// The same of a file that is open; `path` is only named in errors.
pub fn read_open(path: &Path, file: impl Read) -> Result<Journal, JournalError> {
    let mut records = Vec::new();
    let torn = scan(path, BufReader::with_capacity(1 << 17, file), |record| records.push(record))?.torn;
    Ok(Journal { path: path.to_path_buf(), records, torn })
}

fn opened(path: &Path) -> Result<fs::File, JournalError> {
    open_regular(CWD, path, OFlags::RDONLY, Links::Follow)
        .map_err(|error| JournalError::opening("read", path, error))
}

pub(super) fn opened_in_folder(place: &FolderFile) -> Result<fs::File, JournalError> {
    place.open().map_err(|error| JournalError::opening("read", &place.path(), error))
}

/// Gives each record of the journal at `path` to `take`, without ever holding all of them. Returns whether the last
/// line was torn.
pub(super) fn read_each(path: &Path, take: impl FnMut(Record)) -> Result<bool, JournalError> {
    Ok(scan(path, BufReader::with_capacity(1 << 17, opened(path)?), take)?.torn)
}

/// The first record of the journal in the folder of a run, if it is one.
pub fn first(place: &FolderFile) -> Result<Option<Record>, JournalError> {
    let mut line = Vec::new();
    let read = BufReader::new(opened_in_folder(place)?).take(LONGEST_LINE).read_until(b'\n', &mut line);
    read.map_err(|error| JournalError::io("read", &place.path(), error))?;
    Ok(record(&line).ok())
}

/// How far a journal could be read.
pub(super) struct Scanned {
    /// Whether something that is no record follows the last one.
    pub(super) torn: bool,
    /// Bytes up to the end of the last record.
    pub(super) intact_bytes: u64,
    /// What the records have named.
    pub(super) bounds: JournalBounds,
}

pub(super) fn scan(
    path: &Path,
    mut lines: impl BufRead,
    mut take: impl FnMut(Record),
) -> Result<Scanned, JournalError> {
    let failed = |error: io::Error| JournalError::io("read", path, error);
    let malformed = |line, reason| JournalError::Malformed { path: path.to_path_buf(), line, reason };
    let (mut intact_bytes, mut number) = (0, 0);
    let mut bounds = JournalBounds::default();
    // The first line of those at the end that are no records.
    let mut damage: Option<JournalError> = None;
    loop {
        let piece = piece(&mut lines).map_err(failed)?;
        if piece.is_empty() {
            return Ok(Scanned { torn: damage.is_some(), intact_bytes, bounds });
        }
        // What is short is read sooner than a thread begins.
        let together: usize = piece.iter().map(Vec::len).sum();
        let records = match together < LEAST_TO_SHARE {
            true => piece.iter().map(|line| record(line)).collect(),
            false => each_of(&piece, |line| record(line)),
        };
        let last = piece.len() - 1;
        for (at, (line, record)) in piece.iter().zip(records).enumerate() {
            number += 1;
            if line.len() as u64 == LONGEST_LINE {
                return Err(malformed(number, format!("it is longer than {} MiB", LONGEST_LINE >> 20)));
            }
            // Without its line feed the line was never acknowledged, even if what is there happens to parse.
            if !line.ends_with(b"\n") {
                return Ok(Scanned { torn: true, intact_bytes, bounds });
            }
            let record = match (record, damage.take()) {
                (Ok(record), None) => record,
                // Something intact follows: the damage is within the journal, and not behind its end.
                (Ok(_), Some(damage)) => return Err(damage),
                (Err(_), Some(first)) => {
                    damage = Some(first);
                    continue;
                }
                (Err(error), None) => {
                    // Pages of the last writes may reach the disk out of order, and a disk may leave anything behind the end of a
                    // file. But an object of JSON that is complete and no record is somebody's doing, not a crash's. And what is
                    // not ours from its first line on is no journal, unless that line is its last.
                    let is_last = at == last && lines.fill_buf().map_err(failed)?.is_empty();
                    let may_be_torn = (intact_bytes > 0 || is_last) && !is_object(line);
                    let wrong = later_schema(path, line).unwrap_or_else(|| malformed(number, reason(&error)));
                    if !may_be_torn {
                        return Err(wrong);
                    }
                    damage = Some(wrong);
                    continue;
                }
            };
            if let Event::RunStarted { schema, .. } = &record.event
                && *schema > SCHEMA
            {
                return Err(JournalError::TooNew { path: path.to_path_buf(), found: *schema, known: SCHEMA });
            }
            bounds.check(&record).map_err(|reason| malformed(number, reason))?;
            take(record);
            intact_bytes += line.len() as u64;
        }
    }
}

/// The next lines, some [`PIECE`] bytes of them; none at the end. The last is without its line feed where that is missing, or the
/// line is too long.
fn piece(lines: &mut impl BufRead) -> io::Result<Vec<Vec<u8>>> {
    let (mut piece, mut bytes) = (Vec::new(), 0);
    while bytes < PIECE {
        let mut line = Vec::new();
        let read = lines.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line)?;
        if read > 0 {
            piece.push(line);
        }
        if read == 0 || !piece.last().is_some_and(|line| line.ends_with(b"\n")) {
            break;
        }
        bytes += read;
    }
    Ok(piece)
}

/// What stands in front of every event.
#[derive(Deserialize)]
struct EventHead<'a> {
    at: Timestamp,
    #[serde(default)]
    trial: Option<TrialId>,
    #[serde(borrow)]
    event: Cow<'a, str>,
}

/// The record of a line. The two kinds of event that fill a journal are read by their own types: an enum that is told
/// apart by one of its fields is first taken apart into pieces of its own, which takes several times as long.
fn record(line: &[u8]) -> serde_json::Result<Record> {
    let EventHead { at, trial, event } = serde_json::from_slice(line)?;
    let event = match event.as_ref() {
        "observation" => Event::Observation(serde_json::from_slice(line)?),
        "command" => Event::Command(serde_json::from_slice(line)?),
        _ if line.len() as u64 > LONGEST_OTHER_LINE => {
            let what = format!("it is longer than {} MiB", LONGEST_OTHER_LINE >> 20);
            return Err(serde::de::Error::custom(what));
        }
        _ => return serde_json::from_slice(line),
    };
    Ok(Record { at, trial, event })
}

/// Whether a line is a whole object of JSON.
fn is_object(line: &[u8]) -> bool {
    serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(line).is_ok()
}

/// A first line of a later schema may not even parse; its number is then looked up by hand.
fn later_schema(path: &Path, line: &[u8]) -> Option<JournalError> {
    let value: serde_json::Value = serde_json::from_slice(line).ok()?;
    let found = u32::try_from(value.get("schema")?.as_u64()?).ok()?;
    (found > SCHEMA).then(|| JournalError::TooNew { path: path.to_path_buf(), found, known: SCHEMA })
}

/// What the parser said, without its line number: that is always 1 here, and would mislead.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rfind(" at line ") {
        Some(at) => format!("{} (column {})", &text[..at], error.column()),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{record, scan};
    use crate::journal::JournalError;

    const RESUMED: &str = r#"{"at":"2026-11-21T07:00:00Z","event":"run_resumed"}"#;

    /// How many records there are, and whether the last line is torn.
    fn parsed(text: &str) -> Result<(usize, bool), JournalError> {
        let mut records = 0;
        let scanned = scan(Path::new("runs/x/journal.jsonl"), text.as_bytes(), |_| records += 1)?;
        Ok((records, scanned.torn))
    }

    #[test]
    fn every_line_reads_the_same_whichever_way_it_is_read() {
        let recorded = include_str!("../../../../tests/runs/demo/journal.jsonl");
        for line in recorded.lines() {
            let general: crate::journal::Record = serde_json::from_str(line).unwrap();
            assert_eq!(record(line.as_bytes()).unwrap(), general);
        }
    }

    #[test]
    fn an_empty_journal_has_no_records_and_is_not_torn() {
        assert_eq!(parsed("").unwrap(), (0, false));
    }

    #[test]
    fn a_line_without_an_end_is_not_read_to_its_end() {
        let long = "x".repeat(usize::try_from(super::LONGEST_LINE).unwrap() + 1);
        let error = parsed(&long).unwrap_err().to_string();
        assert!(
            error.starts_with("runs/x/journal.jsonl:1: ") && error.contains("longer than 8 MiB"),
            "{error}"
        );
    }

    #[test]
    fn a_malformed_line_before_the_last_names_file_and_line() {
        let error = parsed(&format!("{RESUMED}\n{{\"at\":\n{RESUMED}\n")).unwrap_err().to_string();
        assert!(error.starts_with("runs/x/journal.jsonl:2: not a journal record: "), "{error}");
        assert!(!error.contains("line 1"), "{error}");
        let error = parsed(&format!("\n{RESUMED}\n")).unwrap_err().to_string();
        assert!(error.starts_with("runs/x/journal.jsonl:1: "), "{error}");
    }

    #[test]
    fn a_hole_in_the_last_line_is_a_tear_but_a_strange_record_is_not() {
        let holed = format!("{RESUMED}\n{}\0\0\0\0\"}}\n", &RESUMED[..30]);
        assert_eq!(parsed(&holed).unwrap(), (1, true));
        let strange = format!("{RESUMED}\n{{\"at\":\"2026-11-21T07:00:00Z\",\"event\":\"coffee_break\"}}\n");
        let error = parsed(&strange).unwrap_err().to_string();
        assert!(error.contains(":2: ") && error.contains("coffee_break"), "{error}");
    }

    #[test]
    fn bytes_behind_the_end_are_a_tear_and_damage_within_is_not() {
        let noise: &[&[u8]] = &[
            b"\x00\xff\n7\n\n\x00",
            b"\n\n\n",
            b"\xff\xfe",
            b"nonsense\nmore\n{\n",
            b"7\nnull\n",
            &[0; 5000],
        ];
        for noise in noise {
            let scan = |bytes: &[u8]| {
                let mut records = 0;
                let scanned = scan(Path::new("j"), bytes, |_| records += 1)?;
                Ok::<_, JournalError>((records, scanned.torn, scanned.intact_bytes))
            };
            let whole = format!("{RESUMED}\n{RESUMED}\n");
            let with_noise = [whole.as_bytes(), noise].concat();
            assert_eq!(scan(&with_noise).unwrap(), (2, true, whole.len() as u64), "{noise:?}");
            let within = [&with_noise, b"\n".as_slice(), whole.as_bytes()].concat();
            let error = scan(&within).unwrap_err().to_string();
            assert!(error.starts_with("j:3: "), "{noise:?}: {error}");
        }
    }

    #[test]
    fn a_file_that_is_no_journal_is_not_a_torn_one() {
        for strange in ["not ours\n{}\n", "\n\n", "x\ny"] {
            assert!(parsed(strange).is_err(), "{strange:?}");
        }
    }

    #[test]
    fn a_later_schema_is_told_apart_from_damage() {
        let later = r#"{"at":"2026-11-21T07:00:00Z","event":"run_started","schema":7,"new":"shape"}"#;
        assert!(matches!(
            parsed(&format!("{later}\n")),
            Err(JournalError::TooNew { found: 7, known: 1, .. })
        ));
    }
}
