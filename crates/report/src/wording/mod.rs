//! Words for numbers, names and differences, which every part of a report uses.

pub(crate) mod candidates;
mod device_number;
pub(crate) mod difference;
pub(crate) mod harness;
mod number;
mod text;

pub use device_number::describe_number;
pub(crate) use device_number::{describe_value, format_values};
pub(crate) use number::{
    NumberScale, alike_within, decimals, fine_percent, fixed, is_alike, percent, percent_of_cases,
    plain_number, signed_percent, times, times_with_ends, times_within,
};
pub(crate) use text::{TextTable, capitalize, lower_verb, of_level, one_line, shorten, shorten_to_clauses};
pub use text::{count, in_lines, listing, wrap};
