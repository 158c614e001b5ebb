//! The garbage collector beside a mounted filesystem: whether it runs, and its end.

use std::time::Duration;

use fsverdict_linux::host::procfs::processes_named;
use fsverdict_linux::host::root::Root;

use super::Stack;

impl Stack<'_> {
    /// Reports, once, a cleaner that ended by itself (without a writable /dev/shm it claims to run, and exits), and
    /// one that another program started, which is also stopped.
    pub(super) fn watch_cleaner(&mut self) {
        let Some(known) = self.filesystem.cleaner else { return };
        let runs = self.cleaner_runs();
        if runs == self.cleaner {
            return;
        }
        let text = if runs {
            "was running although the plan does not ask for it"
        } else {
            "was asked for and started, but had ended by itself"
        };
        self.cleaner = runs;
        if !std::mem::replace(&mut self.cleaner_told, true) {
            self.sink.send_caution("", format!("the garbage collector {} {text}", known.tool.program));
        }
    }

    /// Ends the cleaner, which keeps the filesystem busy, and waits for its end.
    pub(super) fn stop_cleaner(&mut self) {
        let name = self.filesystem.cleaner.map_or("", |cleaner| cleaner.tool.program);
        for _ in 0..100 {
            let cleaners = processes_named(&Root::new("/"), name);
            if cleaners.is_empty() {
                break;
            }
            for process in cleaners {
                let _ = rustix::process::kill_process(process, rustix::process::Signal::TERM);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        self.cleaner = false;
    }

    /// Whether the filesystem's cleaner is among this sandbox's processes; the started one may have ended.
    pub(in crate::trial) fn cleaner_runs(&self) -> bool {
        let known = self.filesystem.cleaner;
        known.is_some_and(|known| !processes_named(&Root::new("/"), known.tool.program).is_empty())
    }
}
