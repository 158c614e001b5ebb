//! The metrics of bonnie++, as a journal names them.

use super::{Better, MetricInfo, Unit};
use crate::plan::Flow;

/// The three metrics of each test, tests in the order of the output.
macro_rules! metrics {
    ($($name:literal, $unit:ident $flow:ident, $meaning:literal;)*) => {
        &[$(
            MetricInfo::adapter($name, Unit::$unit, Better::Higher, Flow::$flow, concat!("bonnie++: ", $meaning)),
            MetricInfo::adapter(
                concat!($name, "_cpu"),
                Unit::Ratio,
                Better::Lower,
                Flow::$flow,
                concat!("bonnie++: share of a CPU in use during: ", $meaning),
            ),
            MetricInfo::adapter(
                concat!($name, "_latency"),
                Unit::Seconds,
                Better::Lower,
                Flow::$flow,
                concat!("bonnie++: longest single call of: ", $meaning),
            ),
        )*]
    };
}

pub const METRICS: &[MetricInfo] = metrics! {
    "bonnie_char_write", BytesPerSecond Writes, "writing byte by byte";
    "bonnie_block_write", BytesPerSecond Writes, "writing block by block";
    "bonnie_rewrite", BytesPerSecond Writes, "reading, changing and rewriting blocks";
    "bonnie_char_read", BytesPerSecond Reads, "reading byte by byte";
    "bonnie_block_read", BytesPerSecond Reads, "reading block by block";
    "bonnie_seeks", PerSecond Reads, "seeking and reading, one block in ten rewritten";
    "bonnie_sequential_create", PerSecond Neither, "creating files in order";
    "bonnie_sequential_stat", PerSecond Neither, "looking at files in order";
    "bonnie_sequential_delete", PerSecond Neither, "deleting files in order";
    "bonnie_random_create", PerSecond Neither, "creating files in random order";
    "bonnie_random_stat", PerSecond Neither, "looking at files in random order";
    "bonnie_random_delete", PerSecond Neither, "deleting files in random order";
};
