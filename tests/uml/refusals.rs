//! Why a trial in a guest failed, and which options are refused before there is any.

use crate::common::labs::refusals::{
    failures_say_why, options_are_tried_before_the_first_trial, refused_options_end_a_comparison_of_two,
};

#[test]
fn uml_a_mount_that_fails_quotes_the_kernel_and_a_timeout_what_was_done() {
    failures_say_why("uml", "");
}

#[test]
fn uml_simulated_options_that_nobody_knows_are_refused_before_the_first_trial() {
    options_are_tried_before_the_first_trial("uml", "model = \"ideal\", size = \"256MiB\"");
}

#[test]
fn uml_simulated_refused_options_end_a_comparison_of_two() {
    refused_options_end_a_comparison_of_two("uml", "model = \"ideal\", size = \"512MiB\"");
}
