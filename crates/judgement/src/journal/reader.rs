//! Reads a journal. A crash may leave a torn last line, or garbage after the last record; any other damage is an error.

use std::borrow::Cow;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rustix::fs::{CWD, OFlags};
use serde::Deserialize;

use super::parallel::map_in_parallel;
use super::{Event, JournalBounds, JournalError, Record, SCHEMA, TrialId};
use fsverdict_folders::{FolderFile, Links, open_regular};

/// The maximum length of a line in bytes: the longest contains the output of a benchmark program, of which half a
/// mebibyte is kept.
pub(super) const LONGEST_LINE: u64 = 8 << 20;

/// The maximum length in bytes of an event that is neither an observation nor a command. Serde first buffers such an
/// event in pieces, which take several times as much memory as the text.
pub(super) const LONGEST_OTHER_LINE: u64 = 4 << 20;

/// A journal is read in pieces of about this many bytes, on all processors from `LEAST_TO_SHARE` bytes on.
const PIECE: usize = 1 << 20;
const LEAST_TO_SHARE: usize = 1 << 19;

#[derive(Debug, Clone, PartialEq)]
pub struct Journal {
    pub path: PathBuf,
    pub records: Vec<Record>,
    /// Whether a crash cut the last line short, so that it was left out.
    pub torn: bool,
}

/// Reads the journal at `path`, which the caller named. A torn last line is left out and reported in [`Journal::torn`].
/// Use [`read_in_folder`] for the journal in a run's folder.
pub fn read(path: &Path) -> Result<Journal, JournalError> {
    read_open(path, open_journal(path)?)
}

/// Reads the journal in the folder of a run, as [`read`] does.
pub fn read_in_folder(place: &FolderFile) -> Result<Journal, JournalError> {
    let (path, mut records) = (place.path(), Vec::new());
    let scanned =
        scan_file(&path, &opened_in_folder(place)?, Scanned::default(), |record| records.push(record))?;
    Ok(Journal { path, records, torn: scanned.torn })
}

/// Reads a journal from an open file, as [`read`] does; `path` only appears in errors.
pub fn read_open(path: &Path, file: impl Read) -> Result<Journal, JournalError> {
    let mut records = Vec::new();
    let torn = scan_lines(path, BufReader::with_capacity(1 << 17, file), |record| records.push(record))?.torn;
    Ok(Journal { path: path.to_path_buf(), records, torn })
}

fn open_journal(path: &Path) -> Result<fs::File, JournalError> {
    open_regular(CWD, path, OFlags::RDONLY, Links::Follow)
        .map_err(|error| JournalError::from_open("read", path, error))
}

pub(super) fn opened_in_folder(place: &FolderFile) -> Result<fs::File, JournalError> {
    place.open().map_err(|error| JournalError::from_open("read", &place.path(), error))
}

/// Passes each record of the journal at `path` to `take`, without holding all of them in memory. Returns whether the
/// last line was torn.
pub(super) fn read_each(path: &Path, take: impl FnMut(Record)) -> Result<bool, JournalError> {
    Ok(scan_file(path, &open_journal(path)?, Scanned::default(), take)?.torn)
}

/// The first record of the journal in the folder of a run, if it is a valid record.
pub fn read_first_record(place: &FolderFile) -> Result<Option<Record>, JournalError> {
    let mut line = Vec::new();
    let read = BufReader::new(opened_in_folder(place)?).take(LONGEST_LINE).read_until(b'\n', &mut line);
    read.map_err(|error| JournalError::io("read", &place.path(), error))?;
    Ok(parse_record(&line).ok())
}

/// How far a journal could be read.
#[derive(Debug, Default)]
pub(super) struct Scanned {
    /// Lines up to there, for messages.
    lines: usize,
    /// Whether the last record is followed by something that is no record.
    pub(super) torn: bool,
    /// Bytes up to the end of the last record.
    pub(super) intact_bytes: u64,
    /// The counts of names in the records, which are bounded.
    pub(super) bounds: JournalBounds,
}

/// Continues in an open journal behind the last scanned record, up to the end that the file has now: another process may
/// append faster than records are read.
pub(super) fn scan_file(
    path: &Path,
    mut file: &fs::File,
    before: Scanned,
    take: impl FnMut(Record),
) -> Result<Scanned, JournalError> {
    let failed = |error: io::Error| JournalError::io("read", path, error);
    let length = file.metadata().map_err(failed)?.len();
    file.seek(SeekFrom::Start(before.intact_bytes)).map_err(failed)?;
    let rest = file.take(length.saturating_sub(before.intact_bytes));
    scan_further(path, BufReader::with_capacity(1 << 17, rest), before, take)
}

pub(super) fn scan_lines(
    path: &Path,
    lines: impl BufRead,
    take: impl FnMut(Record),
) -> Result<Scanned, JournalError> {
    scan_further(path, lines, Scanned::default(), take)
}

/// Continues behind the last scanned record: `lines` begin there.
pub(super) fn scan_further(
    path: &Path,
    mut lines: impl BufRead,
    before: Scanned,
    mut take: impl FnMut(Record),
) -> Result<Scanned, JournalError> {
    let failed = |error: io::Error| JournalError::io("read", path, error);
    let malformed = |line, reason| JournalError::Malformed { path: path.to_path_buf(), line, reason };
    let Scanned { lines: mut intact_lines, mut intact_bytes, mut bounds, .. } = before;
    let mut number = intact_lines;
    // The first of the invalid lines at the end.
    let mut damage: Option<JournalError> = None;
    loop {
        let piece = read_piece(&mut lines).map_err(failed)?;
        if piece.is_empty() {
            return Ok(Scanned { lines: intact_lines, torn: damage.is_some(), intact_bytes, bounds });
        }
        // Parsing a short piece takes less time than starting a thread.
        let together: usize = piece.iter().map(Vec::len).sum();
        let records = match together < LEAST_TO_SHARE {
            true => piece.iter().map(|line| parse_record(line)).collect(),
            false => map_in_parallel(&piece, |line| parse_record(line)),
        };
        let last = piece.len() - 1;
        for (at, (line, record)) in piece.iter().zip(records).enumerate() {
            number += 1;
            if line.len() as u64 == LONGEST_LINE {
                return Err(malformed(number, format!("it is longer than {} MiB", LONGEST_LINE >> 20)));
            }
            // A line without its line feed was never acknowledged, even if it happens to parse.
            if !line.ends_with(b"\n") {
                return Ok(Scanned { lines: intact_lines, torn: true, intact_bytes, bounds });
            }
            let record = match (record, damage.take()) {
                (Ok(record), None) => record,
                // A valid line follows, so the damage is within the journal and not after its end.
                (Ok(_), Some(damage)) => return Err(damage),
                (Err(_), Some(first)) => {
                    damage = Some(first);
                    continue;
                }
                (Err(error), None) => {
                    // After a crash, pages of the last writes may reach the disk out of order, and a disk may leave any
                    // bytes after the end of a file. But a complete JSON object that is no record cannot come from a
                    // crash. A file with an invalid first line is no journal, unless that line is its last.
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
            bounds.check(&record).map_err(|reason| malformed(number, reason.to_string()))?;
            take(record);
            intact_bytes += line.len() as u64;
            intact_lines = number;
        }
    }
}

/// The next lines, about [`PIECE`] bytes; none at the end. The last line lacks its line feed if that is missing or the
/// line is too long.
fn read_piece(lines: &mut impl BufRead) -> io::Result<Vec<Vec<u8>>> {
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

/// The fields before every event.
#[derive(Deserialize)]
struct EventHead<'a> {
    at: Timestamp,
    #[serde(default)]
    trial: Option<TrialId>,
    #[serde(borrow)]
    event: Cow<'a, str>,
}

/// Parses a line as a record. The two most frequent kinds of event are parsed with their own types: serde buffers an
/// internally tagged enum in pieces first, which takes several times as long.
fn parse_record(line: &[u8]) -> serde_json::Result<Record> {
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

/// Whether a line is a complete JSON object.
fn is_object(line: &[u8]) -> bool {
    serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(line).is_ok()
}

/// Finds the schema number in a first line of a later schema, which may not parse as a record.
fn later_schema(path: &Path, line: &[u8]) -> Option<JournalError> {
    let value: serde_json::Value = serde_json::from_slice(line).ok()?;
    let schema = u32::try_from(value.get("schema")?.as_u64()?).ok()?;
    (schema > SCHEMA).then(|| JournalError::TooNew { path: path.to_path_buf(), found: schema, known: SCHEMA })
}

/// The parser's message without its line number, which is always 1 here and would mislead.
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

    use super::{Scanned, parse_record, scan_file, scan_lines};
    use crate::journal::JournalError;

    const RESUMED: &str = r#"{"at":"2026-11-21T07:00:00Z","event":"run_resumed"}"#;

    /// The number of records, and whether the last line is torn.
    fn parsed(text: &str) -> Result<(usize, bool), JournalError> {
        let mut records = 0;
        let scanned = scan_lines(Path::new("runs/x/journal.jsonl"), text.as_bytes(), |_| records += 1)?;
        Ok((records, scanned.torn))
    }

    #[test]
    fn every_line_reads_the_same_whichever_way_it_is_read() {
        let recorded = include_str!("../../../../tests/runs/demo/journal.jsonl");
        for line in recorded.lines() {
            let general: crate::journal::Record = serde_json::from_str(line).unwrap();
            assert_eq!(parse_record(line.as_bytes()).unwrap(), general);
        }
    }

    #[test]
    fn a_journal_that_grows_as_fast_as_it_is_read_is_read_to_the_end_it_had() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.jsonl");
        std::fs::write(&path, format!("{RESUMED}\n{RESUMED}\n")).unwrap();
        let file = std::fs::File::open(&path).unwrap();
        let mut growing = std::fs::File::options().append(true).open(&path).unwrap();
        let mut records = 0;
        // More is appended than is read ahead.
        let more = format!("{RESUMED}\n").repeat(10_000);
        let scanned = scan_file(&path, &file, Scanned::default(), |_| {
            records += 1;
            assert!(records < 20_000, "it goes on reading");
            std::io::Write::write_all(&mut growing, more.as_bytes()).unwrap();
        });
        assert_eq!((records, scanned.unwrap().intact_bytes), (2, 2 * (RESUMED.len() as u64 + 1)));
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
                let scanned = scan_lines(Path::new("j"), bytes, |_| records += 1)?;
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
