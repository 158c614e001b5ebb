//! A trace done again on a model: issued as it was, each request as long after what it waited for.

use super::measured::Measured;
use crate::device::{Device, Model, ModelError, Request};
use fsverdict_text::{Hinted, Reason};

/// A trace cannot be done on a model.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    #[error("request {number} ends at sector {end}, and the model {name} holds {sectors}")]
    Beyond { number: usize, end: u64, name: String, sectors: u64 },
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error("the model {name} does not answer request {number}")]
    Silent { number: usize, name: String },
}

impl Hinted for ReplayError {
    fn hint(&self) -> Option<String> {
        match self {
            ReplayError::Beyond { .. } => {
                Some("raise `capacity` in a copy of the model to that of the measured device".to_owned())
            }
            ReplayError::Model(error) => error.hint(),
            ReplayError::Silent { .. } => None,
        }
    }

    fn reason(&self) -> Reason {
        match self {
            ReplayError::Model(error) => error.reason(),
            other => Reason::new(other, other.hint().unwrap_or_default()),
        }
    }
}

/// How long each request took on the model, in nanoseconds.
///
/// A request is issued once as many are done as were when it was issued in the trace, and as long after the last of them. With
/// one request at a time that is: issue, wait, think, issue the next.
///
/// # Errors
/// When a request lies beyond what the model holds.
pub fn replay(model: &Model, trace: &[Measured]) -> Result<Vec<f64>, ReplayError> {
    let size = model.capacity() / 512 * 512;
    let sectors = size / 512;
    let beyond = trace.iter().enumerate().find(|(_, one)| one.record.end() > sectors);
    if let Some((at, one)) = beyond {
        let (number, end, name) = (at + 1, one.record.end(), model.name.clone());
        return Err(ReplayError::Beyond { number, end, name, sectors });
    }
    let mut device = Device::new(model, size, 1)?;
    let mut done = Vec::with_capacity(trace.len());
    let mut took = vec![0.0; trace.len()];
    let mut now_ns = 0;
    for (at, turn) in turns(trace).into_iter().enumerate() {
        let silent = || ReplayError::Silent { number: at + 1, name: model.name.clone() };
        while done.len() < turn.after {
            now_ns = device.next_event().ok_or_else(silent)?;
            device.advance(now_ns, &mut done);
        }
        let awaited_ns = turn.after.checked_sub(1).map_or(0, |last| done[last].completed_ns);
        let due_ns = now_ns.max(awaited_ns.saturating_add(turn.think_ns));
        // Only what is done by then is done: time passes for the device all the same.
        while let Some(next_ns) = device.next_event().filter(|next_ns| *next_ns <= due_ns) {
            device.advance(next_ns, &mut done);
        }
        now_ns = due_ns;
        let record = &trace[at].record;
        let (operation, sector, sectors) = (record.operation, record.sector, record.sectors);
        device.submit(now_ns, Request { id: at as u64, operation, sector, sectors });
    }
    while let Some(next_ns) = device.next_event() {
        device.advance(next_ns, &mut done);
    }
    for completion in &done {
        took[completion.request.id as usize] = (completion.completed_ns - completion.submitted_ns) as f64;
    }
    Ok(took)
}

/// What a request waits for.
struct ReplayWait {
    /// How many requests are done before it is issued …
    after: usize,
    /// … and how long after the last of them.
    think_ns: u64,
}

/// The turns of requests in the order of their issue.
fn turns(trace: &[Measured]) -> Vec<ReplayWait> {
    let mut ends: Vec<u64> = trace.iter().filter_map(|one| one.record.completed_ns).collect();
    ends.sort_unstable();
    let start_ns = trace.first().map_or(0, |one| one.record.submitted_ns);
    let turn = |(at, one): (usize, &Measured)| {
        let issued_ns = one.record.submitted_ns;
        // No request waits for itself, however short it was.
        let after = ends.partition_point(|end_ns| *end_ns <= issued_ns).min(at);
        let since_ns = after.checked_sub(1).map_or(start_ns, |last| ends[last]);
        ReplayWait { after, think_ns: issued_ns - since_ns.min(issued_ns) }
    };
    trace.iter().enumerate().map(turn).collect()
}
