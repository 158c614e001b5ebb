//! Requests with the times that they took on a device, and their kinds.

use std::collections::{BTreeMap, BTreeSet};

use crate::device::Action;
use crate::device::trace::Traced;

/// A request, its times of submission and completion, and the word by which the trace classifies it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Measured {
    pub record: Traced,
    /// The word that the trace has for it: `hit`, `miss`; empty where the trace gives none.
    pub word: String,
    pub durability: Durability,
    /// The line of the recording that shows its beginning or the whole of it, from 1 on; 0 where there are no lines.
    pub line: usize,
}

/// The demands of a write on the device's cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Durability {
    /// Earlier writes are durable before this one begins (REQ_PREFLUSH).
    pub preflush: bool,
    /// It is durable itself when it is done (FUA).
    pub fua: bool,
}

/// Returns the kind of each request: its operation with the trace's word, where words differ within the operation;
/// otherwise its operation and whether it is sequential to the request before.
pub(super) fn request_kinds(trace: &[Measured]) -> Vec<String> {
    let mut words: BTreeMap<Action, BTreeSet<&str>> = BTreeMap::new();
    for request in trace {
        words.entry(request.record.operation).or_default().insert(&request.word);
    }
    let mut end = None;
    let kind = |request: &Measured| {
        let Traced { operation, sector, .. } = request.record;
        let name = operation.name();
        let is_sequential = end.replace(request.record.end()) == Some(sector);
        if words.get(&operation).is_some_and(|words| words.len() > 1) {
            return format!("{name} {}", request.word);
        }
        match (operation, is_sequential) {
            (Action::Read | Action::Write, true) => format!("{name} onwards"),
            (Action::Read | Action::Write, false) => format!("{name} elsewhere"),
            _ => name.to_owned(),
        }
    };
    trace.iter().map(kind).collect()
}
