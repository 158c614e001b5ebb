//! Replays a trace on a model: requests are issued in the trace's order, with the trace's dependencies and think
//! times.

use super::measured::Measured;
use crate::device::{Device, Model, ModelError, Request};
use fsverdict_text::{Hinted, Reason};

/// Why a trace cannot be replayed on a model.
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

/// Replays a trace; returns the time that each request takes on the model, in nanoseconds.
///
/// A request is issued when as many requests are done as were when it was issued in the trace, and as long after the
/// last of them. With one request at a time this means: issue, wait, think, issue the next.
///
/// # Errors
/// When a request lies beyond the model's capacity.
pub fn replay_trace(model: &Model, trace: &[Measured]) -> Result<Vec<f64>, ReplayError> {
    let size = model.capacity() / 512 * 512;
    let sectors = size / 512;
    let beyond = trace.iter().enumerate().find(|(_, request)| request.record.end() > sectors);
    if let Some((index, request)) = beyond {
        let (number, end, name) = (index + 1, request.record.end(), model.name.clone());
        return Err(ReplayError::Beyond { number, end, name, sectors });
    }
    let mut device = Device::new(model, size, 1)?;
    let mut completions = Vec::with_capacity(trace.len());
    let mut latencies_ns = vec![0.0; trace.len()];
    let mut now_ns = 0;
    for (index, wait) in waits_of(trace).into_iter().enumerate() {
        let silent = || ReplayError::Silent { number: index + 1, name: model.name.clone() };
        while completions.len() < wait.after {
            now_ns = device.next_event().ok_or_else(silent)?;
            device.advance(now_ns, &mut completions);
        }
        let awaited_ns = wait.after.checked_sub(1).map_or(0, |last| completions[last].completed_ns);
        let due_ns = now_ns.max(awaited_ns.saturating_add(wait.think_ns));
        // The device advances event by event up to this time, and no further.
        while let Some(next_ns) = device.next_event().filter(|next_ns| *next_ns <= due_ns) {
            device.advance(next_ns, &mut completions);
        }
        now_ns = due_ns;
        let record = &trace[index].record;
        let (operation, sector, sectors) = (record.operation, record.sector, record.sectors);
        device.submit(now_ns, Request { id: index as u64, operation, sector, sectors });
    }
    while let Some(next_ns) = device.next_event() {
        device.advance(next_ns, &mut completions);
    }
    for completion in &completions {
        latencies_ns[completion.request.id as usize] =
            (completion.completed_ns - completion.submitted_ns) as f64;
    }
    Ok(latencies_ns)
}

/// The condition on which a request is issued.
struct ReplayWait {
    /// Number of requests that are done before it is issued.
    after: usize,
    /// Time between the last of these and its issue, in nanoseconds.
    think_ns: u64,
}

/// The conditions of all requests, in the order of their issue.
fn waits_of(trace: &[Measured]) -> Vec<ReplayWait> {
    let mut ends: Vec<u64> = trace.iter().filter_map(|request| request.record.completed_ns).collect();
    ends.sort_unstable();
    let start_ns = trace.first().map_or(0, |request| request.record.submitted_ns);
    let wait = |(index, request): (usize, &Measured)| {
        let issued_ns = request.record.submitted_ns;
        // A request does not wait for itself, however short it was.
        let after = ends.partition_point(|end_ns| *end_ns <= issued_ns).min(index);
        let since_ns = after.checked_sub(1).map_or(start_ns, |last| ends[last]);
        ReplayWait { after, think_ns: issued_ns - since_ns.min(issued_ns) }
    };
    trace.iter().enumerate().map(wait).collect()
}
