//! Numbers of a drive's firmware that a trace of requests shows and no data sheet states.

use super::super::super::knobs::{ShownBy, TracedKnob};

const FLAG: &[&str] = &["false", "true"];

pub(super) const TRACED: &[TracedKnob] = &[
    TracedKnob("platter", "through", ShownBy::Policy(FLAG)),
    TracedKnob("platter", "on_arrival", ShownBy::Policy(FLAG)),
    TracedKnob("platter", "written_stay", ShownBy::Policy(FLAG)),
    TracedKnob("platter", "read_ahead", ShownBy::Policy(SIZES)),
    TracedKnob("platter", "segment", ShownBy::Policy(SIZES)),
    TracedKnob("platter", "ahead_tracks", ShownBy::Policy(&["0", "1", "2"])),
    TracedKnob("platter", "ahead_after_crossing", ShownBy::Policy(FLAG)),
    TracedKnob("platter", "stops_at_cylinder", ShownBy::Policy(FLAG)),
    TracedKnob("platter", "ahead_after_hit", ShownBy::Policy(&["true", "false"])),
    TracedKnob("platter", "ahead_from_second", ShownBy::Policy(FLAG)),
    TracedKnob("cache", "onwards_on_track", ShownBy::SharpPolicy(FLAG)),
    TracedKnob("link", "mb_s", ShownBy::Rate),
    TracedKnob("platter", "hit_ms", ShownBy::Sharp("", 1.0)),
    TracedKnob("platter", "hit_onwards_ms", ShownBy::Sharp("hit_ms", 1.0)),
    TracedKnob("platter", "hit_after_write_ms", ShownBy::Sharp("hit_ms", 1.0)),
    TracedKnob("cache", "onwards_us", ShownBy::Sharp("", 1e3)),
    TracedKnob("cache", "onwards_after_read_us", ShownBy::Sharp("onwards_us", 1e3)),
    TracedKnob("cache", "elsewhere_us", ShownBy::Sharp("", 1e3)),
    TracedKnob("cache", "elsewhere_after_read_us", ShownBy::Sharp("elsewhere_us", 1e3)),
    TracedKnob("platter", "miss_ms", ShownBy::Blurred("", 1.0)),
    TracedKnob("platter", "miss_after_write_ms", ShownBy::Blurred("miss_ms", 1.0)),
    TracedKnob("platter", "write_ms", ShownBy::Blurred("", 1.0)),
    TracedKnob("platter", "write_after_write_ms", ShownBy::Blurred("write_ms", 1.0)),
    TracedKnob("platter", "breaks_off", ShownBy::Missed),
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
