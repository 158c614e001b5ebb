//! Words for numbers, names and differences, which every part of a report uses.

pub(crate) mod candidates;
pub(crate) mod device_number;
pub(crate) mod difference;
pub(crate) mod harness;
pub(crate) mod number;
pub(crate) mod text;
