//! Runs a user's command line in a sandbox: it can write only to the filesystem under test and to its own scratch
//! folder.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use fsverdict_linux::sandbox::program::Program;
use fsverdict_linux::sandbox::{Capabilities, Devices, Isolation, Sandbox};

#[derive(Debug, Clone)]
pub struct CommandContext<'a> {
    /// The mount point of the filesystem under test: `$MOUNT`.
    pub mount: &'a Path,
    /// The name of the device under it: `$DEVICE`. The command cannot open it.
    pub device: &'a Path,
    /// A folder in memory that lasts as long as the trial: `$SCRATCH`.
    pub scratch: &'a Path,
    /// One variable per staged dataset.
    pub datasets: &'a [(String, OsString)],
    /// Whether this machine's network is there for it.
    pub network: bool,
    /// Whether the kernel is there for this trial alone.
    pub in_guest: bool,
    pub limit: Duration,
}

/// The program that runs `line` with `/bin/sh` in such a context; an unset variable is an error (`-u`), so that `$etc`
/// instead of `$ETC` cannot copy nothing, fast.
pub fn command_program(line: &str, context: &CommandContext<'_>) -> Program {
    let mut sandbox = Sandbox::new(Isolation::Namespaces, [""; 0]);
    sandbox.writable = vec![context.scratch.to_owned(), context.mount.to_owned()];
    sandbox.devices = Devices::Closed;
    sandbox.capabilities = Capabilities::Phase;
    sandbox.network = context.network;
    if context.in_guest {
        sandbox.process_limit = None;
    }
    let program = Program::new(["/bin/sh", "-u", "-c", line])
        .inside(sandbox)
        .with_time_limit(context.limit)
        .in_folder(context.mount)
        .with_variable("MOUNT", context.mount)
        .with_variable("DEVICE", context.device)
        .with_variable("SCRATCH", context.scratch)
        .with_variable("TMPDIR", context.scratch)
        .with_variable("HOME", context.scratch);
    context.datasets.iter().fold(program, |program, (name, path)| program.with_variable(name, path))
}
