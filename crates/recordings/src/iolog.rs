//! Reads fio's iolog (fio(1), "Trace file format"): a file's name, the action, offset and length. In version 2 a line
//! with `wait` is a pause; in version 3 each line begins with its time; both are in microseconds.

use std::path::Path;

use fsverdict_calls::{CallWork, OpenFlags};
use fsverdict_text::Reason;

use super::CapturedCalls;
use super::account::{BEYOND, CallOutcome, CallWeight};
use super::folded::FoldedPlaces;
use super::iolog_lines::{Iolog, IologAction, IologFault, IologLine};
use super::request_recorder::{RecordedRequest, RequestRecorder};

pub(super) fn read_iolog(text: &str, version: u8, at_most: u64) -> Result<CapturedCalls, Reason> {
    let log = Iolog::parse_iolog(text, version)?;
    let (folded, bases, extent) = log.fold_offsets(at_most)?;
    let mut recorder = RequestRecorder::new(Some(text));
    recorder.calls.keep_short_pauses();
    let notes = &mut recorder.calls.notes;
    if version < 3 {
        notes.push("Not kept: how long anything took, which this form does not say.".to_owned());
    }
    notes.extend(folded.describe_folding(extent));
    let files = vec![IologFile::default(); log.files.len()];
    let mut reading = IologReading { recorder, files, folded, bases };
    for line in &log.lines {
        reading
            .replay_line(line, &log.files)
            .map_err(|fault| Reason::plain(format!("line {}: {fault}", line.number)))?;
    }
    reading.recorder.set_lines(log.account);
    reading.recorder.into_captured(match version {
        2 => "an iolog of fio's (version 2)",
        _ => "an iolog of fio's (version 3)",
    })
}

/// A file of a log.
#[derive(Debug, Clone, Copy, Default)]
struct IologFile {
    name: Option<u32>,
    /// The number under which it is open.
    open: Option<u32>,
}

struct IologReading<'a> {
    recorder: RequestRecorder<'a>,
    files: Vec<IologFile>,
    folded: FoldedPlaces,
    bases: Vec<u64>,
}

impl IologReading<'_> {
    /// Makes the calls of a line, and counts its request, if it is one.
    fn replay_line(&mut self, line: &IologLine, names: &[String]) -> Result<(), IologFault> {
        let times = (line.at_ns, line.at_ns);
        let weight = match line.action {
            IologAction::Open | IologAction::Close => None,
            IologAction::Read { length, .. } | IologAction::Write { length, .. } => {
                Some(CallWeight::of_bytes(length))
            }
            IologAction::Sync | IologAction::DataSync => Some(CallWeight::one_sync()),
            IologAction::Other(reason) => {
                self.recorder.count_outcome(not_kept(reason), CallWeight::NONE, line.number);
                return Ok(());
            }
            IologAction::Wait => return Ok(()),
        };
        let name = self.name_of(line.file, names)?;
        let open = match (self.files[line.file].open, line.action) {
            (Some(_), IologAction::Open) | (None, IologAction::Close) => return Ok(()),
            (Some(open), _) => Ok(open),
            (None, _) => self.open_file(line.file, name, times),
        };
        let open = match (open, weight) {
            (Ok(open), _) => open,
            (Err(reason), Some(weight)) => {
                self.recorder.count_outcome(not_kept(reason), weight, line.number);
                return Ok(());
            }
            (Err(_), None) => return Ok(()),
        };
        let works = match line.action {
            IologAction::Open | IologAction::Wait | IologAction::Other(_) => return Ok(()),
            IologAction::Close => {
                if self.recorder.has_room_for(1) {
                    self.files[line.file].open = None;
                    self.recorder.calls.add_file_call(times, CallWork::Close { file: open });
                    self.recorder.note_other_call();
                }
                return Ok(());
            }
            IologAction::Read { length: 0, .. } | IologAction::Write { length: 0, .. } => {
                Err(not_kept("requests of no bytes"))
            }
            IologAction::Read { offset, length } => {
                Ok(CallWork::Read { file: open, offset: self.folded_offset(line.file, offset), length })
            }
            IologAction::Write { offset, length } => {
                let offset = self.folded_offset(line.file, offset);
                // A job of fio's lays its files out before it begins.
                self.recorder.calls.note_size(name, offset.saturating_add(length));
                Ok(CallWork::Write { file: open, offset, length })
            }
            IologAction::Sync => Ok(CallWork::Fsync { file: open }),
            IologAction::DataSync => Ok(CallWork::Fdatasync { file: open }),
        };
        let weight = weight.filter(|_| works.is_ok()).unwrap_or(CallWeight::NONE);
        let request = RecordedRequest { line: line.number, times, weight };
        self.recorder.add_request(request, works.map(|work| vec![work]));
        Ok(())
    }

    /// The number of a file's name. All files get names in one folder: the rest of the path must not appear in a plan.
    fn name_of(&mut self, file: usize, names: &[String]) -> Result<u32, IologFault> {
        if let Some(name) = self.files[file].name {
            return Ok(name);
        }
        let flat: String = names[file].replace('/', "_").chars().rev().take(60).collect();
        let name =
            self.recorder.calls.files.number_of_path(Path::new(&flat)).ok_or(IologFault::TooManyNames)?;
        self.files[file].name = Some(name);
        Ok(name)
    }

    /// Opens a file, or says why a request on it is not kept.
    fn open_file(&mut self, file: usize, name: u32, times: (u64, u64)) -> Result<u32, &'static str> {
        if !self.recorder.has_room_for(2) {
            return Err(BEYOND);
        }
        self.recorder.calls.files.note_file(name);
        let flags = OpenFlags { direct: true, ..OpenFlags::default() };
        let open = self.recorder.calls.open_file(times, name, flags, false)?;
        self.recorder.note_other_call();
        self.files[file].open = Some(open);
        Ok(open)
    }

    fn folded_offset(&self, file: usize, offset: u64) -> u64 {
        let base = self.bases.get(file).copied().unwrap_or(0);
        self.folded.folded_offset(base + offset) - self.folded.folded_offset(base)
    }
}

fn not_kept(reason: &str) -> CallOutcome {
    CallOutcome::NotKept(reason.to_owned())
}
