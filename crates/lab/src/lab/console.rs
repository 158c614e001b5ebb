//! Keeps the part of a console's output that matters: a kernel's last messages, and the output since the current step
//! began.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use fsverdict_linux::host::foreign::neutralise;

use super::stub_messages::signal_from_outside;

/// How many of the last lines go into the reason of a failed trial.
const LAST_LINES: usize = 12;
/// Marks the line in which a kernel states why it panics.
const PANIC: &str = "Kernel panic";
/// Linux prints this every two minutes when its boot is stuck (hung_task.c).
const STUCK: &str = "INFO: task swapper";
/// Linux prints one of these when it kills a program or panics because memory ran out (mm/oom_kill.c).
const OUT_OF_MEMORY: [&str; 3] =
    ["Out of memory: Kill", "Out of memory and no killable", "System is deadlocked on memory"];
/// How a line of a guest's first process begins, which says how its agent ended, or why there was none.
const FIRST_PROCESS: &str = "fsverdict guest: ";
/// A longer line, in bytes, counts as several.
const LONGEST_LINE: u64 = 1000;
/// How long to wait for the end of the console after its program has ended.
const PATIENCE: Duration = Duration::from_secs(2);

pub(super) struct Console {
    kept: Arc<Mutex<ConsoleTail>>,
    ended: mpsc::Receiver<()>,
}

#[derive(Default)]
struct ConsoleTail {
    /// The reason of a panic; a long call trace follows it.
    panic: Option<String>,
    /// Whether it killed a program, or panicked, because memory ran out, in any step.
    out_of_memory: bool,
    /// Whether the guest's first process reported why it ended without a result.
    explained: bool,
    /// The signal that a process of the guest's kernel got from outside, in any step.
    stub_signal: Option<i32>,
    last: VecDeque<String>,
}

impl Console {
    /// Reads a console to its end, in the background.
    pub(super) fn read_in_background(console: impl Read + Send + 'static) -> Self {
        let (send, ended) = mpsc::channel();
        let kept = Arc::new(Mutex::new(ConsoleTail::default()));
        let shared = Arc::clone(&kept);
        std::thread::spawn(move || {
            let mut console = BufReader::new(console);
            let mut line = Vec::new();
            // Without an end of line a console would fill the memory.
            while matches!(console.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line), Ok(1..)) {
                let text = neutralise(String::from_utf8_lossy(&line).trim_end());
                line.clear();
                let Ok(mut kept) = shared.lock() else { break };
                if kept.panic.is_none() && text.contains(PANIC) {
                    kept.panic = Some(text.clone());
                }
                kept.explained |= text.contains(FIRST_PROCESS);
                kept.stub_signal = kept.stub_signal.or_else(|| signal_from_outside(&text));
                kept.out_of_memory |= OUT_OF_MEMORY.iter().any(|words| text.contains(words));
                if kept.last.len() == LAST_LINES {
                    kept.last.pop_front();
                }
                kept.last.push_back(text);
            }
            let _ = send.send(());
        });
        Console { kept, ended }
    }

    /// Clears the output at the start of a step: messages from the boot and from earlier steps do not explain this
    /// one.
    pub(super) fn clear_for_step(&self) {
        if let Ok(mut kept) = self.kept.lock() {
            kept.last.clear();
        }
    }

    /// The signal that a process of the guest's kernel got from outside, as far as the kernel has reported one by now.
    pub(super) fn stub_signal_so_far(&self) -> Option<i32> {
        self.kept.lock().ok().and_then(|kept| kept.stub_signal)
    }

    /// The same; complete once the console has ended.
    pub(super) fn stub_signal(&self) -> Option<i32> {
        let _ = self.ended.recv_timeout(PATIENCE);
        self.stub_signal_so_far()
    }

    /// Whether the kernel panicked; complete once the console has ended.
    pub(super) fn has_panic(&self) -> bool {
        let _ = self.ended.recv_timeout(PATIENCE);
        self.kept.lock().is_ok_and(|kept| kept.panic.is_some())
    }

    /// Whether the kernel ran out of memory in any step; complete once the console has ended.
    pub(super) fn ran_out_of_memory(&self) -> bool {
        let _ = self.ended.recv_timeout(PATIENCE);
        self.kept.lock().is_ok_and(|kept| kept.out_of_memory)
    }

    /// Whether the guest's first process reported how its agent ended, or why there was none; complete once the
    /// console has ended.
    pub(super) fn is_explained(&self) -> bool {
        let _ = self.ended.recv_timeout(PATIENCE);
        self.kept.lock().is_ok_and(|kept| kept.explained)
    }

    /// Whether a kernel that did not reach its first program lacked memory: it said so, it waits forever with a half
    /// unpacked initramfs (Linux 6.1.192 does at 96 MiB), or it could print nothing.
    pub(super) fn lacks_memory(&self) -> bool {
        let _ = self.ended.recv_timeout(PATIENCE);
        self.kept.lock().is_ok_and(|kept| match &kept.panic {
            Some(panic) => panic.contains("memory"),
            None => kept.last.is_empty() || kept.last.iter().any(|line| line.contains(STUCK)),
        })
    }

    /// Whether the kernel reported that the host gave it no memory at the start (`setup_physmem` in arch/um).
    pub(super) fn was_refused_memory(&self) -> bool {
        let _ = self.ended.recv_timeout(PATIENCE);
        let refused = |line: &String| line.contains("setup_physmem") && line.contains("failed");
        self.kept.lock().is_ok_and(|kept| kept.last.iter().any(refused))
    }

    /// Appends the relevant output to a reason.
    pub(super) fn append_to_reason(&self, reason: &str) -> String {
        let _ = self.ended.recv_timeout(PATIENCE);
        let Ok(kept) = self.kept.lock() else { return reason.to_owned() };
        let panic = kept.panic.as_ref().map_or(String::new(), |line| format!(": {line}"));
        if kept.last.is_empty() {
            return format!("{reason}{panic}");
        }
        let said: Vec<&str> = kept.last.iter().map(String::as_str).collect();
        format!("{reason}{panic}; its console's last lines:\n{}", said.join("\n"))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::Console;

    #[test]
    fn a_stub_that_was_killed_is_known_at_once_and_in_every_later_step() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let console = Console::read_in_background(reader);
        assert_eq!(console.stub_signal_so_far(), None);
        writer.write_all(b"userspace - PTRACE_GETREGS failed, errno = 3\n").unwrap();
        while console.stub_signal_so_far().is_none() {
            std::thread::yield_now();
        }
        console.clear_for_step();
        drop(writer);
        assert_eq!(console.stub_signal(), Some(9));
    }

    #[test]
    fn what_was_said_before_the_step_is_no_cause_and_a_panic_is() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let console = Console::read_in_background(reader);
        writer.write_all(b"Booting\nKernel panic - not syncing: a\n").unwrap();
        while console.kept.lock().unwrap().last.len() < 2 {
            std::thread::yield_now();
        }
        console.clear_for_step();
        writer.write_all(b"\x1b[31mred\nand more").unwrap();
        drop(writer);
        let text = console.append_to_reason("ended");
        assert!(
            text.starts_with("ended: Kernel panic - not syncing: a; its console's last lines:\n"),
            "{text}"
        );
        assert!(
            text.ends_with("red\nand more") && !text.contains("Booting") && !text.contains('\x1b'),
            "{text}"
        );
    }
}
