//! Where tools are started from: a thread of this process that has given up capabilities, and may have mounts of its own.
//!
//! A plan chooses options of mkfs and mount, and these may name any path. Anything that such a program must not reach
//! is therefore absent. The thread is created once per trial and costs no program and no mount while a clock runs.

use std::process::{Child, Command};
use std::sync::mpsc;

use rustix::thread::UnshareFlags;

use super::capabilities::keep_only;
use super::{Capabilities, SandboxError, system};
use crate::host::mounts;
use crate::host::syscall::unshare_namespaces;

/// A thread that starts programs with [`Capabilities::Tool`].
#[derive(Debug, Clone)]
pub struct ToolSpawner {
    jobs: mpsc::Sender<SpawnJob>,
}

#[derive(Debug)]
struct SpawnJob {
    command: Command,
    answer: mpsc::Sender<std::io::Result<Child>>,
}

impl ToolSpawner {
    /// For programs that mount on behalf of this process, which must see the mounts: mount(8), umount(8).
    pub fn for_mounting() -> Result<Self, SandboxError> {
        Self::start_thread(|| keep_only(Capabilities::Tool))
    }

    /// For programs that work on devices: every mount there is now is read-only to them, those of the kernel too.
    pub fn for_formatting() -> Result<Self, SandboxError> {
        Self::start_thread(|| {
            unshare_namespaces(UnshareFlags::NEWNS).map_err(system("make mounts for tools"))?;
            mounts::make_private()?;
            mounts::restrict_mounts(&mounts::list_mounts()?, false, &[], |point| {
                point.starts_with(mounts::DEVICES)
            })?;
            keep_only(Capabilities::Tool)
        })
    }

    fn start_thread(set_up: fn() -> Result<(), SandboxError>) -> Result<Self, SandboxError> {
        let (jobs, receiver) = mpsc::channel::<SpawnJob>();
        let (ready, setup_result) = mpsc::channel();
        std::thread::spawn(move || {
            let outcome = set_up();
            let is_set_up = outcome.is_ok();
            let _ = ready.send(outcome);
            while let (true, Ok(SpawnJob { mut command, answer })) = (is_set_up, receiver.recv()) {
                let _ = answer.send(command.spawn());
            }
        });
        setup_result.recv().map_err(|_| thread_ended())??;
        Ok(ToolSpawner { jobs })
    }

    /// Starts a program there. It is waited for as any other child.
    pub(super) fn spawn_in_thread(&self, command: Command) -> std::io::Result<Child> {
        let (answer, child) = mpsc::channel();
        self.jobs.send(SpawnJob { command, answer }).map_err(std::io::Error::other)?;
        child.recv().map_err(std::io::Error::other)?
    }
}

fn thread_ended() -> SandboxError {
    system("start a thread for tools")(rustix::io::Errno::SRCH)
}
