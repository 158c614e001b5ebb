//! fio's iolog, versions 2 and 3 (fio(1), "Trace file format v2", "v3"): a file's name, what is done to it, where and how much.

use std::collections::HashMap;
use std::path::Path;

use fsverdict_judgement::plan::{CallWork, OpenFlags};
use fsverdict_text::Reason;

use super::CapturedCalls;
use super::calls::CallRecorder;

pub(super) fn read(text: &str, first: &str) -> Result<CapturedCalls, Reason> {
    let version = match first {
        "fio version 2 iolog" => 2,
        "fio version 3 iolog" => 3,
        _ => return Err(Reason::new("this version of fio's iolog is not known", "known are 2 and 3")),
    };
    let mut reading = IologReading { calls: CallRecorder::new("requests"), open: HashMap::new(), now_ns: 0 };
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line == first || reading.calls.is_full() {
            continue;
        }
        reading.line(line, version).map_err(|what| Reason::plain(format!("line {}: {what}", at + 1)))?;
    }
    if version == 2 {
        reading
            .calls
            .notes
            .push("Not kept: how long anything took, which this form does not say.".to_owned());
    }
    reading.calls.finish("an iolog of fio's")
}

struct IologReading {
    calls: CallRecorder,
    /// By the name in the log: the name's number, and the one that it is open under.
    open: HashMap<String, (u32, Option<u32>)>,
    now_ns: u64,
}

impl IologReading {
    fn line(&mut self, line: &str, version: u8) -> Result<(), String> {
        let mut words = line.split_ascii_whitespace();
        if version == 3 {
            let at: u64 = number(words.next())?;
            self.now_ns = at.saturating_mul(1_000_000);
        }
        let name = words.next().ok_or("a file's name is missing")?;
        let action = words.next().ok_or("what is done is missing")?;
        if action == "wait" {
            self.now_ns = self.now_ns.saturating_add(number(words.next())?.saturating_mul(1000));
            return Ok(());
        }
        let times = (self.now_ns, self.now_ns);
        let known = match self.open.get(name) {
            Some(known) => *known,
            None => {
                // All lie in one folder: what else a path says is nobody's business.
                let flat = name.replace('/', "_");
                let flat: String = flat.chars().rev().take(60).collect();
                let number = self.calls.number(Path::new(&flat)).ok_or("there are too many names")?;
                self.open.insert(name.to_owned(), (number, None));
                (number, None)
            }
        };
        let opened = match (known.1, action) {
            (_, "add") => return Ok(()),
            (Some(_), "open") => return Ok(()),
            (None, "close") => return Ok(()),
            (Some(open), _) => open,
            (None, _) => {
                self.calls.is_file(known.0);
                let flags = OpenFlags { direct: true, ..OpenFlags::default() };
                let Some(open) = self.calls.open(times, known.0, flags, false) else { return Ok(()) };
                self.open.insert(name.to_owned(), (known.0, Some(open)));
                open
            }
        };
        let work = match action {
            "open" => return Ok(()),
            "close" => {
                self.open.insert(name.to_owned(), (known.0, None));
                CallWork::Close { file: opened }
            }
            "read" | "write" => {
                let (offset, length) = (number(words.next())?, number(words.next())?);
                if action == "read" {
                    CallWork::Read { file: opened, offset, length }
                } else {
                    // A job of fio's lays its files out before it begins.
                    self.calls.has_size(known.0, offset.saturating_add(length).min(1 << 50));
                    CallWork::Write { file: opened, offset, length }
                }
            }
            "sync" => CallWork::Fsync { file: opened },
            "datasync" => CallWork::Fdatasync { file: opened },
            "trim" => {
                self.calls.leave_out("requests to discard");
                return Ok(());
            }
            other => return Err(format!("{:?} is nothing that is done to a file", short(other))),
        };
        self.calls.on_file(times, work);
        Ok(())
    }
}

fn number(word: Option<&str>) -> Result<u64, String> {
    let word = word.ok_or("a number is missing")?;
    word.parse().map_err(|_| format!("{:?} is no whole number", short(word)))
}

fn short(word: &str) -> String {
    word.chars().take(40).collect()
}
