//! What a workload did, made again natively.

use crate::common::labs::traces::{
    requests_are_made_again_on_the_bare_device_and_in_a_file_by_threads,
    what_strace_saw_is_made_again_and_nothing_is_named,
};

#[test]
fn loop_traces_of_calls() {
    what_strace_saw_is_made_again_and_nothing_is_named("native");
}

#[test]
fn loop_traces_of_requests_and_depth() {
    requests_are_made_again_on_the_bare_device_and_in_a_file_by_threads("native");
}
