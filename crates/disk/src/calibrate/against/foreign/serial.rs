//! Reads requests that were issued one at a time, each with its duration and the pause until the next: `R|W [word]
//! sector sectors µs µs`.

use super::super::measured::Measured;
use super::account::RequestAccount;
use super::line_account::LineOutcome;
use super::lines::{LATEST_NS, RequestShape, parse_time, whole_number};
use super::{LineFault, LineForm, ReadLines};
use crate::device::Action;

#[derive(Default)]
pub(super) struct Serial {
    now_ns: u64,
    taken: Vec<Measured>,
}

/// Whether a line begins as one of these.
pub(super) fn is_line(line: &str) -> bool {
    matches!(line.split_whitespace().next(), Some("R" | "W"))
}

impl LineForm for Serial {
    fn read_line(&mut self, number: usize, line: &str) -> Result<LineOutcome, LineFault> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (kind, word, rest) = match words.as_slice() {
            [kind, word, rest @ ..] if word.parse::<f64>().is_err() => (*kind, word.to_lowercase(), rest),
            [kind, rest @ ..] => (*kind, String::new(), rest),
            [] => return Err(LineFault::NumberCount(0)),
        };
        let operation = match kind {
            "R" => Action::Read,
            "W" => Action::Write,
            other => return Err(LineFault::UnknownKind(other.to_owned())),
        };
        let [sector, sectors, took, think] = rest else {
            return Err(LineFault::NumberCount(rest.len()));
        };
        let (sector, sectors) = (whole_number(sector)?, whole_number(sectors)?);
        let (took_ns, think_ns) = (parse_time(took, 1e3)?, parse_time(think, 1e3)?);
        let shape =
            RequestShape { operation, sector, sectors, issued_ns: self.now_ns, took_ns, line: number };
        self.taken.push(Measured { word, ..shape.validate_shape()? });
        self.now_ns = self.now_ns.saturating_add(took_ns.saturating_add(think_ns)).min(LATEST_NS);
        Ok(LineOutcome::Read)
    }

    fn taken_count(&self) -> usize {
        self.taken.len()
    }

    fn shows_end(&self) -> bool {
        false
    }

    fn into_lines(self) -> ReadLines {
        let account = RequestAccount { seen: self.taken.len() as u64, ..RequestAccount::default() };
        ReadLines::new(self.taken, account)
    }
}
