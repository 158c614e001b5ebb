//! A dry run of trials in a guest tells what is then done.

use crate::common::labs::steps::{CHECKED, EVERYTHING, SEALED, told_is_done};
use crate::common::{has_uml, not_run};

#[test]
fn uml_a_dry_run_tells_what_the_journal_then_has() {
    if !has_uml() {
        return not_run("linux.uml is not there");
    }
    told_is_done("uml", &[EVERYTHING, SEALED].concat());
    told_is_done("uml", CHECKED);
}
