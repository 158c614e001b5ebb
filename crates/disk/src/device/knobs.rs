//! Numbers of a model that calibration can determine: the figure of a device that shows each, and how the number
//! follows from it.

/// Coefficients of straight lines through the times that were measured on a device, in nanoseconds; NaN where nothing
/// was measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Figures {
    /// Time of a read of zero bytes that the device has in its cache.
    pub(crate) command: f64,
    /// Time of each byte of such a read.
    pub(crate) link_byte: f64,
    /// Time of a read of zero bytes at a random position.
    pub(crate) access: f64,
    /// Time of each byte of such a read.
    pub(crate) access_byte: f64,
    /// Time of a byte of sequential reads: at the start of the device, at its end, and on average.
    pub(crate) first_byte: f64,
    pub(crate) last_byte: f64,
    pub(crate) onward_byte: f64,
    /// Time of the shortest seek, and of one of mean distance, both with little rotational latency.
    pub(crate) shortest: f64,
    pub(crate) mean_jump: f64,
    /// Standard deviation of reads after the same seek, which is a share of one rotation.
    pub(crate) spread: f64,
    /// Time of a sequential write of zero bytes.
    pub(crate) write_command: f64,
    /// Time of a byte of a long sequence of writes.
    pub(crate) written_byte: f64,
    /// Time of a flush besides writing, and of each random write before it.
    pub(crate) flush: f64,
    pub(crate) scattered: f64,
    /// Number of streams that are as fast as one; and the time of a byte with more streams.
    pub(crate) streams: f64,
    pub(crate) copied_byte: f64,
}

/// How a number follows from a figure of the device and the same figure of the model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Effect {
    /// The number changes by the difference of the figures, times this factor.
    Moves(f64),
    /// The number is a rate in MB/s, of which the nanoseconds per byte change by the difference.
    Rate,
    /// The number is scaled by the ratio of the device's figure to the model's.
    Times,
    /// The number is a rate in MB/s, which is divided by that ratio.
    Slower,
    /// The number is a count, which changes by the difference.
    Counts,
    /// The number is the revolutions per minute, divided by the ratio of the spreads and rounded to a speed that
    /// drives have.
    Speed,
}

/// Section and key of a number, the figure that shows it, and how it follows from that figure.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Knob(
    pub(crate) &'static str,
    pub(crate) &'static str,
    pub(crate) fn(&Figures) -> f64,
    pub(crate) Effect,
);

/// Knobs in the steps in which they are fitted: later ones depend on earlier ones.
pub(crate) type Steps = &'static [&'static [Knob]];

/// The knobs of a kind of medium: those that reads show, those that writes show as well, and those that a trace
/// shows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Knobs {
    pub(crate) reading: Steps,
    pub(crate) writing: Steps,
    pub(crate) traced: &'static [TracedKnob],
}

/// A key that a trace shows: its section and name, and how the trace shows it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TracedKnob(pub(crate) &'static str, pub(crate) &'static str, pub(crate) ShownBy);

/// How a trace shows a key.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ShownBy {
    /// The value is one of these, as a file has it; the first is that of an absent key. The time of each request
    /// shows it.
    Policy(&'static [&'static str]),
    /// As `Policy`, where the choices differ by little: by less than a hit and a miss do.
    SharpPolicy(&'static [&'static str]),
    /// The value is a time in its unit, which requests show that do not wait for a platter. An absent key has the
    /// value of the key named here, or 0. The number is one millisecond in the key's unit.
    Sharp(&'static str, f64),
    /// As `Sharp`, but for requests that wait for a platter: only their distribution shows the value.
    Blurred(&'static str, f64),
    /// The value is a rate, which the growth of times with length shows.
    Rate,
    /// The value is the share of sequential reads that take far longer than predicted.
    Missed,
}
