//! Devices of this machine that fail under a guest.

use crate::common::labs::device_faults::{Fault, faults_are_not_held_against_candidates};
use crate::common::{is_root, not_run};

#[test]
fn uml_a_device_that_fails_is_not_held_against_a_candidate() {
    if !is_root() {
        return not_run("devices are root's");
    }
    let faults = [Fault::Errors, Fault::NoRoom, Fault::Truncated, Fault::TruncatedToNothing, Fault::Shrunk];
    faults_are_not_held_against_candidates("uml", &faults, &["ext4", "btrfs"]);
}
