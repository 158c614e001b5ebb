//! The metrics that git reports of itself, as a journal names them.

use super::MetricInfo;

/// The whole first; the adapter names the others by their place.
pub const METRICS: &[MetricInfo] = &[
    MetricInfo::adapter_time("git_total", "git: from the start of the command to its end"),
    MetricInfo::adapter_time("git_index_read", "git: reading the index"),
    MetricInfo::adapter_time("git_refresh", "git: asking the filesystem of every file in the index (lstat)"),
    MetricInfo::adapter_time(
        "git_untracked",
        "git: looking through folders for files that are not in the index",
    ),
    MetricInfo::adapter_time("git_index_write", "git: writing the index"),
    MetricInfo::adapter_time("git_checkout", "git: writing and removing files of the work tree"),
    MetricInfo::adapter_time("git_pack_enumerate", "git: finding the objects to pack"),
    MetricInfo::adapter_time("git_pack_deltas", "git: reading objects and finding deltas between them"),
    MetricInfo::adapter_time("git_pack_write", "git: writing the pack"),
];
