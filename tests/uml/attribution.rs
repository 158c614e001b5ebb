//! Whatever process of a guest's trial is killed: no candidate is blamed.

use crate::common::labs::attribution::every_process_is_killed;

#[test]
fn uml_no_candidate_is_blamed_for_a_process_that_is_killed() {
    let representatives = ["guest kernel", "supervisor of a guest"];
    every_process_is_killed("uml", representatives, |_| &[9, 15]);
}

#[test]
fn uml_simulated_no_candidate_is_blamed_for_a_process_that_is_killed() {
    // What a guest without a clock has, too, takes a SIGTERM as it does there.
    every_process_is_killed("simulated", ["supervisor of a device process", "device process"], |process| {
        if process.labs.contains(&"uml") { &[9] } else { &[9, 15] }
    });
}
