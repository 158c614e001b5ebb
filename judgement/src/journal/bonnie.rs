//! What bonnie++ measures, as a journal names it.

use super::{Better, MetricInfo, Unit};

/// The three metrics of each test, tests in the order of the output.
macro_rules! metrics {
    ($($name:literal, $unit:ident, $meaning:literal;)*) => {
        &[$(
            MetricInfo::adapter($name, Unit::$unit, Better::Higher, concat!("bonnie++: ", $meaning)),
            MetricInfo::adapter(
                concat!($name, "_cpu"),
                Unit::Ratio,
                Better::Lower,
                concat!("bonnie++: share of a CPU in use during: ", $meaning),
            ),
            MetricInfo::adapter(
                concat!($name, "_latency"),
                Unit::Seconds,
                Better::Lower,
                concat!("bonnie++: longest single call of: ", $meaning),
            ),
        )*]
    };
}

pub const METRICS: &[MetricInfo] = metrics! {
    "bonnie_char_write", BytesPerSecond, "writing byte by byte";
    "bonnie_block_write", BytesPerSecond, "writing block by block";
    "bonnie_rewrite", BytesPerSecond, "reading, changing and rewriting blocks";
    "bonnie_char_read", BytesPerSecond, "reading byte by byte";
    "bonnie_block_read", BytesPerSecond, "reading block by block";
    "bonnie_seeks", PerSecond, "seeking and reading, one block in ten rewritten";
    "bonnie_sequential_create", PerSecond, "creating files in order";
    "bonnie_sequential_stat", PerSecond, "looking at files in order";
    "bonnie_sequential_delete", PerSecond, "deleting files in order";
    "bonnie_random_create", PerSecond, "creating files in random order";
    "bonnie_random_stat", PerSecond, "looking at files in random order";
    "bonnie_random_delete", PerSecond, "deleting files in random order";
};
