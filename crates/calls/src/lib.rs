//! A trace of system calls: the filesystem calls of a workload in their order, without names or content, which a plan
//! contains so that they can be replayed on another filesystem or device.
//!
//! Names are numbers, each with the number of its parent directory and its length; the replay generates names and
//! content. Every trace is validated: each call finds the objects on which it works.

mod content;
mod content_versions;
mod fault;
mod history;
mod model;
mod state;
mod text;
mod work;

use std::fmt;

use serde::{Deserialize, Serialize};

use fsverdict_text::Reason;

pub use content::{ContentSegment, FileContent, SegmentOrigin};
pub use content_versions::{ContentFault, ContentVersions};
pub use fault::CallFault;
pub use history::{FileHistory, PromisedPart};
pub use model::{FileModel, FileNode, MODEL_BLOCK, NameKey, NodeKind, RenamedNode};
pub use state::{TraceState, WritePeriods};
pub use work::{CallNumber, CallWork, OpenFlags};

/// The maximum number of calls in a trace.
pub const MOST_CALLS: usize = 500_000;
/// The maximum number of names in a trace.
pub const MOST_NAMES: usize = 100_000;
/// The maximum number of files that are open at the same time: the usual limit of a process is 1024.
pub const MOST_OPEN: usize = 512;
/// The maximum size of one call in bytes.
pub const LARGEST_CALL: u64 = 64 << 20;
/// The longest pause before a call, in microseconds: an hour.
pub const LONGEST_PAUSE_US: u64 = 3_600_000_000;

/// A name that calls use. The first has the number 1; 0 is the folder that contains all names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TracedName {
    /// The number of the parent directory.
    pub parent: u32,
    /// The length of the name in bytes.
    pub length: u16,
    pub before: NameBefore,
}

/// The object under a name before the first call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameBefore {
    Nothing,
    Directory,
    /// A file of this size in bytes.
    File(u64),
}

/// A call, and the pause before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TracedCall {
    /// Microseconds since the end of the previous call.
    pub pause_us: u64,
    pub work: CallWork,
}

/// Totals over a trace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TraceTotals {
    /// Files that exist before the first call.
    pub files: u64,
    /// The bytes of these files.
    pub bytes: u64,
    /// Directories that exist before the first call, including the folder itself.
    pub directories: u64,
    pub read: u64,
    pub written: u64,
    /// The maximum size of all files together in bytes, including files that were removed.
    pub most_bytes: u64,
}

/// A validated trace of calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct CallTrace {
    names: Vec<TracedName>,
    calls: Vec<TracedCall>,
    totals: TraceTotals,
    /// The number of the file that each opening gives, in order.
    opened: Vec<u32>,
}

impl CallTrace {
    /// # Errors Names the first call that does not find its object, or the bound that is exceeded.
    pub fn new(names: Vec<TracedName>, calls: Vec<TracedCall>) -> Result<Self, Reason> {
        let mut state = TraceState::initial_state(&names, WritePeriods::One).map_err(trace_reason)?;
        let mut totals =
            TraceTotals { bytes: state.model().bytes(), directories: 1, ..TraceTotals::default() };
        for name in &names {
            match name.before {
                NameBefore::File(_) => totals.files += 1,
                NameBefore::Directory => totals.directories += 1,
                NameBefore::Nothing => {}
            }
        }
        let mut opened = Vec::new();
        totals.most_bytes = totals.bytes;
        if calls.len() > MOST_CALLS {
            let what = format!("it has {} calls, and may have {MOST_CALLS}", calls.len());
            return Err(Reason::new(what, "keep a part of it"));
        }
        for (at, call) in calls.iter().enumerate() {
            state.apply(call.work).map_err(|fault| trace_reason(format!("call {}: {fault}", at + 1)))?;
            match call.work {
                CallWork::Read { length, .. } => totals.read = totals.read.saturating_add(length),
                CallWork::Write { length, .. } => totals.written = totals.written.saturating_add(length),
                CallWork::Copy { length, .. } => {
                    totals.read = totals.read.saturating_add(length);
                    totals.written = totals.written.saturating_add(length);
                }
                CallWork::Open { file, .. } | CallWork::OpenUnnamed { file, .. } => {
                    opened.extend(state.open_file(file).map(|(number, _)| number));
                }
                _ => {}
            }
            totals.most_bytes = totals.most_bytes.max(state.model().bytes());
        }
        Ok(Self { names, calls, totals, opened })
    }

    pub fn names(&self) -> &[TracedName] {
        &self.names
    }

    pub fn calls(&self) -> &[TracedCall] {
        &self.calls
    }

    /// The number that identifies the contents of each opened file, in the order of the openings.
    pub fn contents_opened(&self) -> &[u32] {
        &self.opened
    }

    pub fn totals(&self) -> TraceTotals {
        self.totals
    }

    /// The state after all calls.
    ///
    /// # Errors
    /// None that [`new`](Self::new) would not have met.
    pub fn final_state(&self, periods: WritePeriods) -> Result<TraceState, CallFault> {
        let mut state = TraceState::initial_state(&self.names, periods)?;
        self.calls.iter().try_for_each(|call| state.apply(call.work))?;
        Ok(state)
    }

    /// Whether it reads, writes and syncs files that are opened first and stay: calls that several threads may do in
    /// another order.
    pub fn only_moves_bytes(&self) -> bool {
        let mut rest = self.calls.iter().skip_while(|call| matches!(call.work, CallWork::Open { .. }));
        rest.all(|call| {
            use CallWork::{Fdatasync, Fsync, Read, Write};
            matches!(call.work, Read { .. } | Write { .. } | Fsync { .. } | Fdatasync { .. })
        })
    }

    /// Whether a device without a filesystem will do: one file, in which bytes are moved.
    pub fn suits_a_device(&self) -> bool {
        matches!(self.names.as_slice(), [TracedName { before: NameBefore::File(_), .. }])
            && self.only_moves_bytes()
    }

    /// The first calls of it, this share of them, one at least.
    pub fn shorten_to(&mut self, share: f64) {
        let call_count = ((self.calls.len() as f64 * share).round() as usize).max(1);
        self.calls.truncate(call_count);
        if let Ok(shorter) = Self::new(std::mem::take(&mut self.names), std::mem::take(&mut self.calls)) {
            *self = shorter;
        }
    }

    /// The name of a name's number: the digits, and as much behind them as its length asks for.
    pub fn name_text(&self, number: u32) -> String {
        let length = self.names.get((number as usize).wrapping_sub(1)).map_or(0, |name| name.length);
        let mut text = number.to_string();
        while text.len() < usize::from(length) {
            text.push('-');
        }
        text
    }
}

fn trace_reason(what: impl fmt::Display) -> Reason {
    Reason::new(what, "`fsverdict capture --trace FILE` writes such a list of calls")
}
