//! Compares a folder that was found after a power cut with the history of its model: which names, contents, links and
//! attributes may be there.

mod found_node;
mod judge;

pub(crate) use found_node::FolderReader;
pub(crate) use judge::{Broken, FolderJudge};
