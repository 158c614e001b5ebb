//! The data of a report: the judgement of a run, and further facts about it.

pub(crate) mod clause;
pub(crate) mod index;
pub(crate) mod matrix;
pub(crate) mod object;
pub(crate) mod report;
pub(crate) mod thinning;
pub(crate) mod to_use;
