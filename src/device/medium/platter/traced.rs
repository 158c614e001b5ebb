//! What a trace of requests shows of a drive's firmware that no data sheet tells.

use super::super::super::knobs::{Shown, Traced};

const FLAG: &[&str] = &["false", "true"];

pub(super) const TRACED: &[Traced] = &[
    Traced("platter", "through", Shown::Policy(FLAG)),
    Traced("platter", "on_arrival", Shown::Policy(FLAG)),
    Traced("platter", "written_stay", Shown::Policy(FLAG)),
    Traced("platter", "read_ahead", Shown::Policy(SIZES)),
    Traced("platter", "segment", Shown::Policy(SIZES)),
    Traced("platter", "ahead_tracks", Shown::Policy(&["0", "1", "2"])),
    Traced("platter", "ahead_after_crossing", Shown::Policy(FLAG)),
    Traced("platter", "stops_at_cylinder", Shown::Policy(FLAG)),
    Traced("platter", "ahead_after_hit", Shown::Policy(&["true", "false"])),
    Traced("link", "mb_s", Shown::Rate),
    Traced("platter", "hit_ms", Shown::Sharp("", 1.0)),
    Traced("platter", "hit_onwards_ms", Shown::Sharp("hit_ms", 1.0)),
    Traced("platter", "hit_after_write_ms", Shown::Sharp("hit_ms", 1.0)),
    Traced("cache", "onwards_us", Shown::Sharp("", 1e3)),
    Traced("cache", "onwards_after_read_us", Shown::Sharp("onwards_us", 1e3)),
    Traced("cache", "elsewhere_us", Shown::Sharp("", 1e3)),
    Traced("cache", "elsewhere_after_read_us", Shown::Sharp("elsewhere_us", 1e3)),
    Traced("platter", "miss_ms", Shown::Blurred("", 1.0)),
    Traced("platter", "miss_after_write_ms", Shown::Blurred("miss_ms", 1.0)),
    Traced("platter", "write_ms", Shown::Blurred("", 1.0)),
    Traced("platter", "write_after_write_ms", Shown::Blurred("write_ms", 1.0)),
    Traced("platter", "breaks_off", Shown::Missed),
];

const SIZES: &[&str] = &[
    "\"0B\"",
    "\"8KiB\"",
    "\"16KiB\"",
    "\"32KiB\"",
    "\"64KiB\"",
    "\"128KiB\"",
    "\"256KiB\"",
    "\"512KiB\"",
    "\"1MiB\"",
];
