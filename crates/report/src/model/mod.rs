//! The data of a report: the judgement of a run, and further facts about it.

mod clause;
pub(crate) mod index;
pub(crate) mod matrix;
mod object;
mod report;
pub(crate) mod thinning;
pub(crate) mod to_use;

pub(crate) use clause::{Clause, ClauseKind};
pub(crate) use index::Index;
pub(crate) use matrix::{
    CellSpread, Matrix, MatrixCell, MatrixColumn, MatrixRow, Spread, WIDEST_INTERVAL, is_too_wide,
};
pub(crate) use object::JsonObject;
pub(crate) use report::Detail;
pub use report::Report;
pub use to_use::{ToUse, shell_word};
