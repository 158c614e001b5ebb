//! Recognises the messages by which a User-Mode Linux kernel reports that one of its stubs got a signal from outside.
//!
//! Each process of such a guest runs in a process of this machine, its stub, which the kernel traces. Traced processes
//! stop at every signal, and die of SIGKILL alone (ptrace(2)). The kernel kills a stub only when the guest's process is
//! gone, and then asks nothing more of it. If a stub is missing (ESRCH), or stopped at a signal that no instruction
//! raises, somebody else sent that signal: the user, or this machine's kernel for lack of memory. The guest's process
//! then ends with SIGSEGV, or the guest panics, or it waits or spins forever; none of that is its filesystem's doing.

/// SIGKILL: the only signal that ends a traced process.
const KILL: i32 = 9;
/// SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV and SIGSYS: instructions of a stub raise these.
const RAISED_BY_INSTRUCTIONS: [i32; 6] = [4, 5, 7, 8, 11, 31];
/// ESRCH and ECHILD: there is no such process.
const NO_PROCESS: [i64; 2] = [3, 10];

/// The meaning of the number in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Number {
    /// An error number, positive or negative.
    Error,
    /// The status of a process, as wait(2) returns it.
    Status,
    /// A signal.
    Signal,
    /// The number of a process, negative if it is dead.
    Process,
    /// There is none: the words say it all.
    Nothing,
}

/// A message: a part of its text, and the text before its number.
#[derive(Debug, Clone, Copy)]
struct StubMessage {
    words: &'static str,
    before: &'static str,
    number: Number,
}

const fn new_message(words: &'static str, before: &'static str, number: Number) -> StubMessage {
    StubMessage { words, before, number }
}

/// Every such message of Linux 6.1 to 6.18, in the order of the files. Those of `copy_context_skas0` and `handle_trap`
/// are gone since 6.11.
const MESSAGES: [StubMessage; 21] = [
    // arch/um/os-Linux/skas/process.c
    new_message(" : continue failed", "errno = ", Number::Error),
    new_message("Failed to get registers from stub", "errno = ", Number::Error),
    new_message(" : failed to wait for SIGTRAP", "status = ", Number::Status),
    new_message("save_fp_registers returned", "returned ", Number::Error),
    new_message("put_fp_registers returned", "returned ", Number::Error),
    new_message("Failed to continue stub", "errno = ", Number::Error),
    new_message(" - continuing to end of syscall failed", "errno = ", Number::Error),
    new_message(" - failed to wait at end of syscall", "status = ", Number::Status),
    new_message(" : wait failed", "errno = ", Number::Error),
    new_message(" : expected SIGSTOP, got status", "status = ", Number::Status),
    new_message(" : PTRACE_SETOPTIONS failed", "errno = ", Number::Error),
    new_message(" - ptrace set regs failed", "errno = ", Number::Error),
    new_message(" - ptrace set fp regs failed", "errno = ", Number::Error),
    new_message(" - ptrace continue failed", "errno = ", Number::Error),
    new_message(" - wait failed", "errno = ", Number::Error),
    new_message("PTRACE_GETREGS failed", "errno = ", Number::Error),
    new_message("get_fp_registers failed", "errno = ", Number::Error),
    new_message(" - child stopped with signal", "signal ", Number::Signal),
    // The same with seccomp, since 6.16.
    new_message(" : failed to wait for stub", "pid = ", Number::Process),
    // arch/um/os-Linux/skas/mem.c
    new_message("PTRACE_SETREGS failed", "errno = ", Number::Error),
    // arch/um/kernel/skas/mmu.c, since 6.16.
    new_message("Unexpectedly lost MM child", "", Number::Nothing),
];

/// The signal that a stub got from outside, if this line of a guest's console reports that.
pub(super) fn signal_from_outside(line: &str) -> Option<i32> {
    MESSAGES.iter().find_map(|message| message.read_signal(line))
}

impl StubMessage {
    fn read_signal(self, line: &str) -> Option<i32> {
        let at = line.find(self.words)?;
        if self.number == Number::Nothing {
            return Some(KILL);
        }
        // The words may end with a part of the text before the number.
        let (_, number) = line.get(at..)?.split_once(self.before)?;
        let number = leading_number(number)?;
        match self.number {
            Number::Error => NO_PROCESS.contains(&number.abs()).then_some(KILL),
            Number::Process => (number < 0).then_some(KILL),
            Number::Signal => foreign_signal(number),
            Number::Status => foreign_signal(if number & 0x7f == 0x7f { number >> 8 } else { number & 0x7f }),
            Number::Nothing => None,
        }
    }
}

/// The number of a signal, unless an instruction raises it.
fn foreign_signal(number: i64) -> Option<i32> {
    let signal = i32::try_from(number).ok().filter(|signal| (1..=64).contains(signal))?;
    (!RAISED_BY_INSTRUCTIONS.contains(&signal)).then_some(signal)
}

/// The number at the beginning of a text, in decimal, or in hexadecimal after `0x`.
fn leading_number(text: &str) -> Option<i64> {
    let (digits, radix) = text.strip_prefix("0x").map_or((text, 10), |digits| (digits, 16));
    let is_part =
        |(at, letter): &(usize, char)| letter.is_digit(radix) || *at == 0 && radix == 10 && *letter == '-';
    let length = digits.char_indices().take_while(is_part).count();
    i64::from_str_radix(digits.get(..length)?, radix).ok()
}

#[cfg(test)]
mod tests {
    use super::{MESSAGES, Number, signal_from_outside};

    /// Each message as the kernel prints it, with the numbers of a stub that SIGKILL or another signal from outside ended.
    const REPORTS: [(&str, i32); 28] = [
        ("wait_stub_done : continue failed, errno = 3", 9),
        ("Failed to get registers from stub, errno = 3", 9),
        ("wait_stub_done : failed to wait for SIGTRAP, pid = 71, n = 71, errno = 0, status = 0x9", 9),
        ("wait_stub_done : failed to wait for SIGTRAP, pid = 71, n = 71, errno = 0, status = 0xf7f", 15),
        ("save_fp_registers returned -3", 9),
        ("put_fp_registers returned -3", 9),
        ("Failed to continue stub, pid = 71, errno = 3", 9),
        ("Kernel panic - not syncing: Failed to continue stub, pid = 71, errno = 3", 9),
        ("handle_trap - continuing to end of syscall failed, errno = 3", 9),
        ("handle_trap - failed to wait at end of syscall, errno = 0, status = 9", 9),
        ("start_userspace : wait failed, errno = 10", 9),
        ("start_userspace : expected SIGSTOP, got status = 9", 9),
        ("start_userspace : expected SIGSTOP, got status = 3967", 15),
        ("start_userspace : PTRACE_SETOPTIONS failed, errno = 3", 9),
        ("userspace - ptrace set regs failed, errno = 3", 9),
        ("userspace - ptrace set fp regs failed, errno = 3", 9),
        ("userspace - ptrace continue failed, op = 31, errno = 3", 9),
        ("userspace - wait failed, errno = 10", 9),
        ("[   12.250000] userspace - PTRACE_GETREGS failed, errno = 3", 9),
        ("userspace -  get_fp_registers failed, errno = 3", 9),
        ("userspace - child stopped with signal 2", 2),
        ("userspace - child stopped with signal 15", 15),
        ("userspace - child stopped with signal 19", 19),
        ("wait_stub_done_seccomp : failed to wait for stub, pid = -1, errno = 4", 9),
        ("Kernel panic - not syncing: do_syscall_stub : PTRACE_SETREGS failed, errno = 3", 9),
        ("copy_context_skas0 : PTRACE_SETREGS failed, pid = 71, errno = 3", 9),
        ("Unexpectedly lost MM child! Affected tasks will segfault.", 9),
        ("Unexpectedly lost MM child; affected tasks will segfault", 9),
    ];

    #[test]
    fn every_message_about_a_stub_that_was_killed_is_recognised() {
        for (line, signal) in REPORTS {
            assert_eq!(signal_from_outside(line), Some(signal), "{line}");
        }
        for message in MESSAGES {
            let is_reported = REPORTS.iter().any(|(line, _)| message.read_signal(line).is_some());
            assert!(is_reported, "{message:?} has no example");
        }
    }

    /// Errors of another kind and crashes of a stub may be the guest's own doing.
    #[test]
    fn what_a_guest_may_have_done_itself_is_no_kill() {
        for (line, _) in REPORTS {
            // Another error, signal or process in its place.
            let other = line
                .replace("errno = 3", "errno = 14")
                .replace("errno = 10", "errno = 14")
                .replace("returned -3", "returned -14")
                .replace("status = 0x9", "status = 0xb7f")
                .replace("status = 0xf7f", "status = 0xb")
                .replace("status = 9", "status = 11")
                .replace("status = 3967", "status = 256")
                .replace("pid = -1", "pid = 71");
            let other = match other.split_once("signal ") {
                Some((words, _)) => format!("{words}signal 11"),
                None => other,
            };
            let has_number = MESSAGES
                .iter()
                .any(|message| line.contains(message.words) && message.number != Number::Nothing);
            assert_eq!(signal_from_outside(&other).is_none(), has_number, "{other}");
        }
        for line in [
            "",
            "userspace - PTRACE_GETREGS failed, errno = ",
            "userspace - child stopped with signal 0",
            "userspace - child stopped with signal 99999999999999999999",
            "Out of memory: Killed process 71 (mkfs.ext4)",
            "Kernel panic - not syncing: Attempted to kill init! exitcode=0x0000000b",
            "EXT4-fs error (device vda): errno = 3",
        ] {
            assert_eq!(signal_from_outside(line), None, "{line}");
        }
    }
}
