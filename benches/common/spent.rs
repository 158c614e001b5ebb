//! The program that a measurement starts, and the processor's time that it took.

use std::fs;
use std::time::Instant;

/// The program named on the command line, or `own`.
pub(crate) fn program(own: &str) -> String {
    std::env::args().skip(1).find(|argument| !argument.starts_with('-')).unwrap_or_else(|| own.to_owned())
}

/// Seconds of CPU that the children of this process took, as far as they have ended.
fn by_children() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    // proc_pid_stat(5): behind the name in parentheses `state` is the third field, cutime and cstime the 16th and 17th.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: f64 = fields[13..15].iter().map(|field| field.parse::<f64>().unwrap()).sum();
    ticks / rustix::param::clock_ticks_per_second() as f64
}

/// Does it: what came of it, the seconds that it took, and those of the processors by children that have ended.
pub(crate) fn over<T>(work: impl FnOnce() -> T) -> (T, f64, f64) {
    let (started, before) = (Instant::now(), by_children());
    let done = work();
    (done, started.elapsed().as_secs_f64(), by_children() - before)
}
