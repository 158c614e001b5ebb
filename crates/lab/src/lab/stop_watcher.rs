//! Learns from the sandbox of a trial whether the trial was stopped for a while.

use std::os::fd::{AsFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use fsverdict_linux::sandbox::{Capabilities, Sandbox, SandboxError, make_inheritable};

/// Learns from a sandbox whether its program was stopped.
pub(super) struct StopWatcher {
    pipe: OwnedFd,
    /// Whether the agent and its programs are processes of this kernel.
    pub(super) natively: bool,
}

impl StopWatcher {
    /// Must be called before the sandbox's command is built; the descriptor that the sandbox needs is added to
    /// `inherited`.
    pub(super) fn new(sandbox: &mut Sandbox, inherited: &mut Vec<OwnedFd>) -> Result<Self, SandboxError> {
        let failed =
            |source: rustix::io::Errno| SandboxError::System { what: "make a pipe", source: source.into() };
        let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(failed)?;
        sandbox.stops = Some(make_inheritable(writer.as_fd())?);
        inherited.push(writer);
        Ok(StopWatcher { pipe: reader, natively: sandbox.capabilities == Capabilities::Agent })
    }

    pub(super) fn was_stopped(&self) -> bool {
        let mut watched = [PollFd::new(&self.pipe, PollFlags::IN)];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut watched, Some(&at_once)).is_ok() && watched[0].revents().contains(PollFlags::IN)
    }
}
