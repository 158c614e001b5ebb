//! Another program writes to a device of a native run.

use crate::common::labs::foreign_writes::{
    Moment, PLACES, Strike, stranger_is_spared, stranger_is_spared_by_who_resumes,
};

/// Each moment, with each place.
fn every_place(moment: Moment) {
    for place in PLACES {
        stranger_is_spared("native", 1, Strike { moment, place, device: 0 });
    }
}

#[test]
fn loop_a_stranger_who_writes_before_the_first_trial_is_spared() {
    every_place(Moment::BeforeFirstTrial);
}

#[test]
fn loop_a_stranger_who_writes_before_the_first_write_is_spared() {
    every_place(Moment::BeforeFirstWrite);
}

#[test]
fn loop_a_stranger_who_writes_between_two_trials_is_spared() {
    every_place(Moment::BetweenTrials);
}

#[test]
fn loop_a_stranger_who_writes_between_two_blocks_is_spared() {
    every_place(Moment::BetweenBlocks);
}

#[test]
fn loop_a_stranger_who_writes_after_a_killed_trial_is_spared() {
    every_place(Moment::AfterKilledTrial);
}

#[test]
fn loop_a_stranger_who_writes_to_either_of_two_devices_is_spared() {
    for device in [0, 1] {
        for place in PLACES {
            for moment in [Moment::BeforeFirstTrial, Moment::BetweenTrials] {
                stranger_is_spared("native", 2, Strike { moment, place, device });
            }
        }
    }
}

#[test]
fn loop_a_stranger_who_writes_to_what_a_killed_run_left_is_spared() {
    stranger_is_spared_by_who_resumes("native");
}
