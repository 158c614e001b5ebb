//! Requests as they were measured on a device.

use std::collections::{BTreeMap, BTreeSet};

use crate::device::Action;
use crate::device::trace::Traced;

/// A request, when it was issued and done, and what the trace calls it besides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Measured {
    pub record: Traced,
    /// What the trace says of it: `hit`, `miss`; empty where it says nothing.
    pub word: String,
    pub durability: Durability,
    /// The line of the recording that shows its beginning or the whole of it, from 1 on; 0 where there are no lines.
    pub line: usize,
}

/// What a write asks of the device's cache beside itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Durability {
    /// What was written before is durable before it (REQ_PREFLUSH).
    pub preflush: bool,
    /// It is durable itself when it is done (FUA).
    pub fua: bool,
}

/// The kind of each request: its operation with what the trace says of it, where that tells requests of the operation
/// apart, else whether it goes on where the one before it ended.
pub(super) fn kinds(trace: &[Measured]) -> Vec<String> {
    let mut words: BTreeMap<Action, BTreeSet<&str>> = BTreeMap::new();
    for one in trace {
        words.entry(one.record.operation).or_default().insert(&one.word);
    }
    let mut end = None;
    let kind = |one: &Measured| {
        let Traced { operation, sector, .. } = one.record;
        let name = operation.name();
        let goes_on = end.replace(one.record.end()) == Some(sector);
        if words.get(&operation).is_some_and(|words| words.len() > 1) {
            return format!("{name} {}", one.word);
        }
        match (operation, goes_on) {
            (Action::Read | Action::Write, true) => format!("{name} onwards"),
            (Action::Read | Action::Write, false) => format!("{name} elsewhere"),
            _ => name.to_owned(),
        }
    };
    trace.iter().map(kind).collect()
}
