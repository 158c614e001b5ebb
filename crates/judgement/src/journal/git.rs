//! The metrics that git reports of itself, as a journal names them.

use super::{Better, MetricInfo, Unit};
use crate::plan::Flow;

const fn time(name: &'static str, meaning: &'static str) -> MetricInfo {
    MetricInfo::adapter(name, Unit::Seconds, Better::Lower, Flow::Neither, meaning)
}

/// The whole first; the adapter names the others by their place.
pub const METRICS: &[MetricInfo] = &[
    time("git_total", "git: from the start of the command to its end"),
    time("git_index_read", "git: reading the index"),
    time("git_refresh", "git: asking the filesystem of every file in the index (lstat)"),
    time("git_untracked", "git: looking through folders for files that are not in the index"),
    time("git_index_write", "git: writing the index"),
    time("git_checkout", "git: writing and removing files of the work tree"),
    time("git_pack_enumerate", "git: finding the objects to pack"),
    time("git_pack_deltas", "git: reading objects and finding deltas between them"),
    time("git_pack_write", "git: writing the pack"),
];
