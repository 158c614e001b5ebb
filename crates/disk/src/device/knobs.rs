//! What of a model calibration can tell: which of its numbers follows from which figure of a device, and how.

/// Straight lines through what was timed on a device, in nanoseconds. Not a number where that was not done.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Figures {
    /// What a read of nothing would take that the device still has in its memory.
    pub(crate) command: f64,
    /// What each byte takes on the way.
    pub(crate) link_byte: f64,
    /// What a read of nothing would take that lies anywhere.
    pub(crate) access: f64,
    /// What each byte of it takes.
    pub(crate) access_byte: f64,
    /// A byte where reading goes on, at the start of the device, at its end, and on the whole.
    pub(crate) first_byte: f64,
    pub(crate) last_byte: f64,
    pub(crate) onward_byte: f64,
    /// The shortest jump, and one of mean distance, where the platter hardly had to be waited for.
    pub(crate) shortest: f64,
    pub(crate) mean_jump: f64,
    /// How far reads after the same jump differ (standard deviation): a share of one rotation.
    pub(crate) spread: f64,
    /// What a write of nothing would take that goes on.
    pub(crate) write_command: f64,
    /// A byte of a long row of writes.
    pub(crate) written_byte: f64,
    /// What a flush takes beyond writing, and each scattered write before it.
    pub(crate) flush: f64,
    pub(crate) scattered: f64,
    /// How many streams go as fast as one; and what a byte takes with more.
    pub(crate) streams: f64,
    pub(crate) copied_byte: f64,
}

/// How a number follows from a figure of the device and the same of the model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Effect {
    /// It moves by the difference, times this.
    Moves(f64),
    /// A rate in MB/s: its nanoseconds a byte move by the difference.
    Rate,
    /// It takes as many times as long, or as little.
    Times,
    /// A rate in MB/s of what takes as many times as long.
    Slower,
    /// A number of things: it moves by the difference.
    Counts,
    /// Turns a minute: the spread of reads is a share of one; among the speeds that drives have.
    Speed,
}

/// Section and key of a number, the figure that shows it, and how it follows from that.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Knob(
    pub(crate) &'static str,
    pub(crate) &'static str,
    pub(crate) fn(&Figures) -> f64,
    pub(crate) Effect,
);

/// Knobs in steps: what comes later rests on what came before.
pub(crate) type Steps = &'static [&'static [Knob]];

/// What reading shows of a kind of medium, and what writing does besides; and what a trace of single requests does.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Knobs {
    pub(crate) reading: Steps,
    pub(crate) writing: Steps,
    pub(crate) traced: &'static [TracedKnob],
}

/// A key that a trace shows: its section and name, and what it may be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TracedKnob(pub(crate) &'static str, pub(crate) &'static str, pub(crate) ShownBy);

/// What a trace shows of a key.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ShownBy {
    /// One of these, as a file has it; the first is what an absent key means. Told by each request's own time.
    Policy(&'static [&'static str]),
    /// A time, in its unit, that requests which wait for no platter show: where the key is absent, as the key named here, or 0.
    /// The number is what a millisecond is in its unit.
    Sharp(&'static str, f64),
    /// The same of requests that do wait: only their distribution shows it.
    Blurred(&'static str, f64),
    /// A rate, shown by how time grows with length.
    Rate,
    /// The share of reads onwards that take far longer than they should.
    Missed,
}
