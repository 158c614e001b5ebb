//! The cell an agent lives in: its own processes, its own mounts, and nothing of the machine to write on but devices.

use std::path::{Path, PathBuf};

use crate::host::cell::{Cell, THIS_PROGRAM, Walls};
use crate::plan::Dataset;

use super::spec::TrialSpec;
use super::staging::REAL;

/// The agent's cell for this trial: `fsverdict agent`, which reads `spec` on its standard input.
///
/// `/dev`, `/run` and `/sys` stay writable for mkfs, cryptsetup and the I/O scheduler; `/tmp` is fresh memory.
pub fn agent_cell(spec: &TrialSpec) -> Cell {
    let mut cell = Cell::new(Walls::Namespaces, [THIS_PROGRAM, "agent"]);
    cell.writable = ["/dev", "/run", "/sys"].map(PathBuf::from).into();
    cell.memory = vec![PathBuf::from("/tmp")];
    cell.shown = spec
        .datasets
        .iter()
        .filter_map(|(name, dataset)| match dataset {
            Dataset::Folder { path, .. } => Some((path.clone(), Path::new(REAL).join(name))),
            _ => None,
        })
        .collect();
    cell
}
