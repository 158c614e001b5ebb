//! A dry run of native trials tells what is then done.

use crate::common::labs::steps::{CHECKED, EVERYTHING, KEPT, SCHEDULED, told_is_done};

#[test]
fn loop_a_dry_run_tells_what_the_journal_then_has() {
    told_is_done("native", &[EVERYTHING, SCHEDULED].concat());
    told_is_done("native", CHECKED);
    told_is_done("native", KEPT);
}
