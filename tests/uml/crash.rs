//! kill -9 and Ctrl-C, of the conductor and of guests, in the middle of a phase.

use rustix::process::Signal;

use crate::common::labs::crash::{
    conductor_is_ended, worker_is_killed_again, worker_is_killed_once, worker_is_stopped,
};

#[test]
fn uml_a_killed_conductor_leaves_nothing_and_the_run_can_be_resumed() {
    conductor_is_ended("uml", Signal::KILL);
}

/// Ctrl-C. What it says before is `src/cli/interrupt.rs`'s.
#[test]
fn uml_conductor_is_interrupted() {
    conductor_is_ended("uml", Signal::INT);
}

#[test]
fn uml_a_killed_guest_is_tried_again_in_its_place() {
    worker_is_killed_once("uml", "linux.uml");
}

#[test]
fn uml_a_guest_that_is_killed_three_times_fails_no_candidate() {
    worker_is_killed_again("uml", "linux.uml");
}

#[test]
fn uml_a_stopped_guest_is_seen_and_its_block_repeated() {
    worker_is_stopped("uml", "linux.uml");
}
