//! The cell an agent lives in: its own processes, its own mounts, and nothing of the machine to write on but devices.

use std::path::{Path, PathBuf};

use crate::host::sandbox::{Capabilities, Isolation, Sandbox, THIS_PROGRAM};
use crate::plan::Dataset;

use super::spec::{Assignment, Staging, TrialDevice, TrialSpec};
use super::stack::PLACE;
use super::staging::{DATA, REAL, RECORDS, held};

/// The agent's cell for this trial: `fsverdict agent`, which reads its assignment on standard input.
///
/// `/dev`, `/run` and `/sys` stay writable for the agent itself, to claim the device and set its I/O scheduler; the tools
/// it starts see them otherwise (`Stack::shut_in`). `/tmp` is fresh memory.
pub fn agent_sandbox(assignment: &Assignment) -> Sandbox {
    let mut cell = cell(&assignment.spec, "agent");
    if matches!(assignment.bench.staging, Staging::Held { .. }) {
        // One by one: the first may be a mount of its own.
        cell.shown = [DATA, RECORDS].map(|folder| (PathBuf::from(folder), held(folder))).into();
    }
    if let TrialDevice::Folder { path } = &assignment.bench.device {
        cell.writable = vec![path.clone()];
        cell.shown.push((path.clone(), PLACE.into()));
    }
    cell
}

/// The cell in which datasets are staged once for a whole run: `fsverdict stage`, which reads an assignment on
/// the first line of its standard input.
pub fn staging_cell(assignment: &Assignment) -> Sandbox {
    cell(&assignment.spec, "stage")
}

fn cell(spec: &TrialSpec, step: &str) -> Sandbox {
    // An ordinary user's works in a folder, and needs no device.
    let walls =
        if rustix::process::geteuid().is_root() { Isolation::Namespaces } else { Isolation::UserNamespaces };
    let mut cell = Sandbox::new(walls, [THIS_PROGRAM, step]);
    cell.capabilities = Capabilities::Agent;
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
