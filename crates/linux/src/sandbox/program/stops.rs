//! Detects that a program was stopped (SIGSTOP) and continued, and reports it to the process that started this one:
//! times measured meanwhile include the pause. The kernel reports stops only to a process's parent (waitid(2)), so each
//! parent passes them on.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, ExitStatus};
use std::sync::OnceLock;

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

/// Where one byte is written for each stop.
static REPORT: OnceLock<OwnedFd> = OnceLock::new();

/// Has all stops of programs that this process starts from now on reported to `pipe`.
pub fn report_stops_to(pipe: OwnedFd) {
    let _ = REPORT.set(pipe);
}

/// A copy of the pipe for the supervisor of a sandbox, if stops are reported.
pub(super) fn pipe_for_supervisor() -> Option<OwnedFd> {
    REPORT.get()?.try_clone().ok()
}

fn report_stop() {
    if let Some(pipe) = REPORT.get() {
        // If the reader is gone, this process ends in a moment.
        let _ = rustix::io::write(pipe.as_fd(), b"s");
    }
}

/// Waits for the end of a child, and reports its stops meanwhile.
pub(super) fn wait_for_end(child: &mut Child) -> io::Result<ExitStatus> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::STOPPED | WaitIdOptions::CONTINUED;
    loop {
        match waitid(WaitId::Pid(Pid::from_child(child)), options | WaitIdOptions::NOWAIT) {
            Ok(Some(status)) if status.stopped() || status.continued() => report_stops(child),
            Err(rustix::io::Errno::INTR) => {}
            // It has ended, or cannot be waited for in this way.
            _ => return child.wait(),
        }
    }
}

/// Reports the stops of a child that were not yet reported. A process that continued at once is noticed, too: its
/// continuation is kept until its parent asks.
pub(super) fn report_stops(child: &Child) {
    let options = WaitIdOptions::STOPPED | WaitIdOptions::CONTINUED | WaitIdOptions::NOHANG;
    while let Ok(Some(status)) = waitid(WaitId::Pid(Pid::from_child(child)), options) {
        if !status.stopped() && !status.continued() {
            break;
        }
        report_stop();
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::process::Command;

    use super::{report_stops_to, wait_for_end};
    use rustix::process::{Pid, Signal, kill_process};

    #[test]
    fn a_program_that_is_stopped_for_a_moment_is_reported_and_one_that_is_not_is_not() {
        let (mut reader, writer) = std::io::pipe().unwrap();
        report_stops_to(writer.into());
        let flags = rustix::fs::fcntl_getfl(&reader).unwrap();
        rustix::fs::fcntl_setfl(&reader, flags | rustix::fs::OFlags::NONBLOCK).unwrap();
        let mut bytes = [0; 100];
        let mut quiet = Command::new("true").spawn().unwrap();
        assert!(wait_for_end(&mut quiet).unwrap().success());
        assert!(reader.read(&mut bytes).is_err());
        let mut stopped = Command::new("sleep").arg("0.3").spawn().unwrap();
        let process = Pid::from_child(&stopped);
        kill_process(process, Signal::STOP).unwrap();
        // One that goes on before it has stopped was never stopped (signal(7)).
        let state = || std::fs::read_to_string(format!("/proc/{}/stat", stopped.id())).unwrap();
        while !state().contains(") T ") {
            std::thread::yield_now();
        }
        kill_process(process, Signal::CONT).unwrap();
        assert!(wait_for_end(&mut stopped).unwrap().success());
        assert!(reader.read(&mut bytes).unwrap() > 0);
    }
}
