//! The sandbox an agent lives in: its own processes, its own mounts, and nothing of the machine to write on but devices.

use std::path::{Path, PathBuf};

use fsverdict_judgement::plan::Dataset;
use fsverdict_linux::host::procfs::THIS_PROGRAM;
use fsverdict_linux::sandbox::{Capabilities, Isolation, Sandbox};

use super::spec::{Assignment, Staging, TrialDevice, TrialSpec};
use super::stack::PLACE;
use super::staging::{DATA, REAL, RECORDS, staged_path};

/// The agent's sandbox for this trial: `fsverdict agent`, which reads its assignment on standard input.
///
/// `/dev`, `/run` and `/sys` stay writable for the agent itself, to claim the device and set its I/O scheduler; the tools
/// it starts see them otherwise (`Stack::shut_in`). `/tmp` is fresh memory.
pub fn agent_sandbox(assignment: &Assignment) -> Sandbox {
    let mut sandbox = sandbox_for_step(&assignment.spec, "agent");
    if matches!(assignment.bench.staging, Staging::Held { .. }) {
        // One by one, because the first may be a mount of its own.
        sandbox.shown = [DATA, RECORDS].map(|folder| (PathBuf::from(folder), staged_path(folder))).into();
    }
    for device in &assignment.bench.devices {
        if let TrialDevice::Folder { path } = device {
            sandbox.writable = vec![path.clone()];
            sandbox.shown.push((path.clone(), PLACE.into()));
        }
    }
    sandbox
}

/// The sandbox in which datasets are staged once for a whole run: `fsverdict stage`, which reads an assignment on
/// the first line of its standard input.
pub fn staging_sandbox(assignment: &Assignment) -> Sandbox {
    sandbox_for_step(&assignment.spec, "stage")
}

fn sandbox_for_step(spec: &TrialSpec, step: &str) -> Sandbox {
    // An ordinary user's works in a folder, and needs no device.
    let isolation =
        if rustix::process::geteuid().is_root() { Isolation::Namespaces } else { Isolation::UserNamespaces };
    let mut sandbox = Sandbox::new(isolation, [THIS_PROGRAM, step]);
    sandbox.capabilities = Capabilities::Agent;
    sandbox.writable = ["/dev", "/run", "/sys"].map(PathBuf::from).into();
    sandbox.memory = vec![PathBuf::from("/tmp")];
    sandbox.shown = spec
        .datasets
        .iter()
        .filter_map(|(name, dataset)| match dataset {
            Dataset::Folder { path, .. } => Some((path.clone(), Path::new(REAL).join(name))),
            _ => None,
        })
        .collect();
    sandbox
}
