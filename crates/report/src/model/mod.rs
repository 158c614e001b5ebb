//! What a report is made from: the judgement of a run, and what else is known of it.

pub(crate) mod clause;
pub(crate) mod index;
pub(crate) mod matrix;
pub(crate) mod report;
pub(crate) mod thinning;
pub(crate) mod to_use;
