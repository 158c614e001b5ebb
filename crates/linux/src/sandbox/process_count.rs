//! Ends a sandbox whose program starts processes without end (a fork bomb).
//!
//! RLIMIT_NPROC does not bind user 0 (setrlimit(2)), a control group would outlive a run that is killed, and
//! `kernel.pid_max` is a namespace's own only since Linux 6.14. So the first process of the sandbox counts.

use std::os::linux::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use crate::host::messages::print_line;

/// A fork bomb starts a few thousand processes in this time, of which each costs the kernel some 20 KiB.
const INTERVAL: Duration = Duration::from_millis(250);

/// Watches the number of processes from a thread of the first process, whose end ends all of them
/// (pid_namespaces(7)). The program is told on its standard error, and has exit status 1.
pub(super) fn end_above(limit: u32) {
    std::thread::spawn(move || {
        let mut reached = false;
        loop {
            std::thread::sleep(INTERVAL);
            // As long as no number is higher than the limit, there cannot be more processes; after that, numbers may
            // have begun anew.
            reached |= last_process_number() > limit;
            if reached && count_tasks(Path::new("/proc")) > u64::from(limit) {
                print_line(&format!(
                    "fsverdict: ended, because it had more than {limit} processes and threads at a time"
                ));
                std::process::exit(1);
            }
        }
    });
}

/// The number that this PID namespace gave last (proc_loadavg(5)); 0 if it cannot be read.
fn last_process_number() -> u32 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().last().and_then(|word| word.parse().ok()).unwrap_or(0)
}

/// Processes and threads that are shown in `/proc` here: a process' folder `task` has a link for each thread, and two more
/// (proc_task_getattr() in fs/proc/base.c).
fn count_tasks(proc: &Path) -> u64 {
    let is_process = |name: &std::ffi::OsStr| name.as_encoded_bytes().iter().all(u8::is_ascii_digit);
    std::fs::read_dir(proc)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| is_process(&entry.file_name()))
        .map(|entry| {
            std::fs::metadata(entry.path().join("task")).map_or(0, |task| task.st_nlink().saturating_sub(2))
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{count_tasks, last_process_number};

    #[test]
    fn processes_and_threads_are_counted() {
        assert!(last_process_number() > 0);
        let before = count_tasks(Path::new("/proc"));
        let (sender, receiver) = std::sync::mpsc::channel::<()>();
        let receiver = std::sync::Arc::new(std::sync::Mutex::new(receiver));
        let threads: Vec<_> = (0..400)
            .map(|_| {
                let receiver = std::sync::Arc::clone(&receiver);
                std::thread::spawn(move || receiver.lock().map(|receiver| receiver.recv().is_ok()).is_ok())
            })
            .collect();
        // Others start and end processes meanwhile.
        assert!(count_tasks(Path::new("/proc")) > before + 200);
        drop(sender);
        assert!(threads.into_iter().all(|thread| thread.join().unwrap()));
    }
}
