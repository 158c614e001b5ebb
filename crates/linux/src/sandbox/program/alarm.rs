//! A program's time limit.

use std::sync::mpsc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

/// Ends a process group when its time is up, unless cancelled before.
pub(super) struct Alarm {
    cancel: mpsc::Sender<()>,
    thread: std::thread::JoinHandle<bool>,
}

impl Alarm {
    pub(super) fn kill_after(group: Pid, limit: Duration) -> Self {
        let (cancel, cancelled) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let rang = cancelled.recv_timeout(limit) == Err(mpsc::RecvTimeoutError::Timeout);
            if rang {
                let _ = kill_process_group(group, Signal::KILL);
            }
            rang
        });
        Alarm { cancel, thread }
    }

    pub(super) fn cancel(self) -> bool {
        let _ = self.cancel.send(());
        self.thread.join().unwrap_or(false)
    }
}
