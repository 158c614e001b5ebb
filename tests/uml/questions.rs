//! Numbers of a plan's own, what a goal requires, and who keeps a phase company.

use crate::common::labs::questions::{
    a_constraint_is_missed_by_one_and_by_all, a_number_is_read_and_what_is_none_is_a_clear_fate,
    a_server_that_refuses_root_serves_a_benchmark,
    a_service_that_does_not_start_and_a_background_that_dies_are_said,
    services_and_company_go_on_while_phases_do_and_nothing_of_them_stays, what_lacks_a_property_is_skipped,
};

#[test]
fn uml_numbers_and_requirements() {
    a_number_is_read_and_what_is_none_is_a_clear_fate("uml");
    a_constraint_is_missed_by_one_and_by_all("uml");
    what_lacks_a_property_is_skipped("uml");
}

#[test]
fn uml_services_and_company() {
    services_and_company_go_on_while_phases_do_and_nothing_of_them_stays("uml");
    a_service_that_does_not_start_and_a_background_that_dies_are_said("uml");
}

#[test]
fn uml_a_database_server_and_its_benchmark() {
    a_server_that_refuses_root_serves_a_benchmark("uml", &[]);
}
