//! The nodes of a tree that were visited: a tree visits each once, and none below itself.

use std::collections::HashSet;

use fsverdict_judgement::journal::{ReadingStopped, StopReason};

/// Which nodes a walk has entered, by their addresses.
#[derive(Debug, Default)]
pub(super) struct VisitedNodes {
    /// The path from the root to the current node.
    path: Vec<u64>,
    seen: HashSet<u64>,
}

impl VisitedNodes {
    /// Enters a node; whether it is a new one. `block` is where it lies, in blocks of 4096 bytes.
    ///
    /// # Errors
    /// When the node lies above itself.
    pub(super) fn enter_node(&mut self, address: u64, block: u64) -> Result<bool, ReadingStopped> {
        if self.path.contains(&address) {
            return Err(ReadingStopped::at_block(block, StopReason::RefersToItself));
        }
        self.path.push(address);
        Ok(self.seen.insert(address))
    }

    /// Leaves the node that was entered last.
    pub(super) fn leave_node(&mut self) {
        self.path.pop();
    }
}
