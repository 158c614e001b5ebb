//! The moments at which requests enter the device and leave it, in order: how many are inside follows from them.

/// A moment at which the number of requests inside the device changes. Of steps at the same time, those of requests that
/// leave come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct QueueStep {
    pub(super) at_ns: u64,
    pub(super) enters: bool,
    /// The number of the request, in the order of the spans.
    pub(super) request: usize,
}

/// The steps of requests that are inside the device from the first time to the second. Requests without duration have
/// none.
pub(super) fn queue_steps(spans: impl ExactSizeIterator<Item = (u64, u64)>) -> Vec<QueueStep> {
    let mut steps = Vec::with_capacity(2 * spans.len());
    for (request, (began_ns, ended_ns)) in spans.enumerate() {
        if began_ns < ended_ns {
            steps.push(QueueStep { at_ns: began_ns, enters: true, request });
            steps.push(QueueStep { at_ns: ended_ns, enters: false, request });
        }
    }
    steps.sort_unstable();
    steps
}
