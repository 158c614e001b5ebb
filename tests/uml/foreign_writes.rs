//! Another program writes to a device that guests are given.

use crate::common::labs::foreign_writes::{
    Moment, PLACES, Strike, stranger_is_spared, stranger_is_spared_by_who_resumes,
};
use crate::common::{is_root, not_run};

#[test]
fn uml_a_stranger_who_writes_to_a_device_of_guests_is_spared() {
    if !is_root() {
        return not_run("devices are root's");
    }
    let moments =
        [Moment::BeforeFirstTrial, Moment::BetweenTrials, Moment::BetweenBlocks, Moment::AfterKilledTrial];
    // Where is written matters to the guard alone, which is the same in each lab: natively each moment is tried with each place.
    for (moment, place) in moments.into_iter().zip(PLACES.into_iter().cycle()) {
        stranger_is_spared("uml", 1, Strike { moment, place, device: 0 });
    }
}

#[test]
fn uml_a_stranger_who_writes_to_either_of_a_guests_devices_is_spared() {
    if !is_root() {
        return not_run("devices are root's");
    }
    for device in [0, 1] {
        for moment in [Moment::BeforeFirstTrial, Moment::BetweenTrials] {
            stranger_is_spared("uml", 2, Strike { moment, place: PLACES[1], device });
        }
    }
}

#[test]
fn uml_a_stranger_who_writes_to_what_a_killed_run_left_is_spared() {
    if !is_root() {
        return not_run("devices are root's");
    }
    stranger_is_spared_by_who_resumes("uml", &PLACES[1..2]);
}
