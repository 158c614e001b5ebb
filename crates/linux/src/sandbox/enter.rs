//! Inside a sandbox: the supervisor makes the namespaces and waits, the inmate arranges the mounts and becomes the program.

use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use rustix::io::FdFlags;
use rustix::process::{
    DumpableBehavior, Pid, Signal, WaitOptions, WaitStatus, getppid, set_dumpable_behavior,
    set_parent_process_death_signal, waitpid,
};
use rustix::thread::UnshareFlags;

use super::capabilities::keep_only;
use super::furnish::{arrange_mounts, close_all_but, reopen_null_streams};
use super::{
    Capabilities, Isolation, SPEC, STOPS_VARIABLE, Sandbox, SandboxError, make_inheritable, process_count,
    system,
};
use crate::host::mounts;
use crate::host::syscall::{own_descriptor, set_loopback_up, unshare_namespaces};

/// The events to wait for besides the end of a process. A stopped process that continues before it is waited for is no
/// longer reported as stopped, but its continuation is reported.
const STOPS: WaitOptions = WaitOptions::UNTRACED.union(WaitOptions::CONTINUED);

/// `fsverdict sandbox`: the supervisor. Returns the exit status to pass on.
pub fn enter_sandbox(inmate: bool) -> Result<u8, SandboxError> {
    let text = std::env::var(SPEC).map_err(|_| SandboxError::NotForPeople)?;
    let sandbox: Sandbox = serde_json::from_str(&text).map_err(|_| SandboxError::NotForPeople)?;
    die_with_parent()?;
    if inmate { sandbox.run_program() } else { sandbox.run_supervisor() }
}

fn die_with_parent() -> Result<(), SandboxError> {
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(system("ask to die with the parent"))
}

impl Sandbox {
    fn run_supervisor(mut self) -> Result<u8, SandboxError> {
        if self.capabilities.of_a_stranger() {
            // Another thread of the conductor may have let descriptors through to a sandbox of its own just then: held here,
            // its pipes would not end with it.
            let gate = self.gate.map(|(ready, go)| [ready, go]);
            let open_descriptors = gate.into_iter().flatten().chain(self.stops).chain(self.joins);
            close_all_but(&open_descriptors.chain(self.keeps.iter().copied()).collect::<Vec<_>>())?;
        }
        let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        match self.isolation {
            Isolation::None => {}
            Isolation::Namespaces => {
                let joined = self
                    .joins
                    .take()
                    .and_then(own_descriptor)
                    .map(|namespace| join_mounts(&namespace))
                    .transpose()?;
                unshare_namespaces(UnshareFlags::NEWNS | UnshareFlags::NEWPID | self.namespaces())
                    .map_err(system("make namespaces"))?;
                if joined.is_some() {
                    // The /proc there is that of processes that are no more; this one starts the inmate through it.
                    mounts::make_private()?;
                    mounts::mount_kernel_filesystem("proc", Path::new("/proc"), false)?;
                }
            }
            Isolation::UserNamespaces => {
                if self.link_owners.is_some() {
                    self.resolve_paths()?;
                }
                let user_namespaces = UnshareFlags::NEWUSER | UnshareFlags::NEWNS | UnshareFlags::NEWPID;
                unshare_namespaces(user_namespaces | self.namespaces())
                    .map_err(system("make user namespaces"))?;
                let write = |path: &str, text: String| {
                    std::fs::write(path, text).map_err(system("map the user into the namespace"))
                };
                write("/proc/self/setgroups", "deny".to_owned())?;
                write("/proc/self/uid_map", format!("0 {user} 1"))?;
                write("/proc/self/gid_map", format!("0 {group} 1"))?;
            }
        }
        if self.isolation != Isolation::None && self.namespaces().contains(UnshareFlags::NEWNET) {
            match set_loopback_up() {
                // A kernel without IPv4 has none.
                Ok(()) | Err(rustix::io::Errno::AFNOSUPPORT) => {}
                Err(errno) => return Err(system("set up the loopback of a network")(errno)),
            }
        }
        // A new user namespace changes credentials, which clears the parent-death signal. If the parent died before the
        // signal was set again, this process already has another parent.
        die_with_parent()?;
        self.check_parent()?;
        let (end, kept_open) =
            rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(system("make a pipe"))?;
        self.lifeline = Some(make_inheritable(end.as_fd())?);
        // The inmate has it, too: a stranger's program is its child, not ours.
        let stops = self.stops.and_then(own_descriptor);
        let child = self.command()?.arg("--inmate").spawn().map_err(system("start the inmate"))?;
        drop(end);
        let status = loop {
            let event = waitpid(Some(Pid::from_child(&child)), STOPS);
            match event.map_err(system("wait for the inmate"))? {
                Some((_, status)) if status.stopped() || status.continued() => tell_of_stop(stops.as_ref()),
                Some((_, status)) => break status,
                None => {}
            }
        };
        drop(kept_open);
        Ok(as_a_shell_tells(status))
    }

    /// The namespaces that keep a stranger from talking to anybody outside: abstract sockets, 127.0.0.1, and System V
    /// segments that would survive it (network_namespaces(7), ipc_namespaces(7)).
    fn namespaces(&self) -> UnshareFlags {
        let wanted = [("net", UnshareFlags::NEWNET, !self.network), ("ipc", UnshareFlags::NEWIPC, true)];
        wanted
            .into_iter()
            // A guest's kernel may have been built without.
            .filter(|(name, _, own)| {
                *own && self.capabilities.of_a_stranger() && Path::new("/proc/self/ns").join(name).exists()
            })
            .fold(UnshareFlags::empty(), |flags, (_, flag, _)| flags | flag)
    }

    /// Becomes the program. A stranger's is started beside this process instead: PID 1 of a namespace ignores every signal
    /// that it has no handler for, its own included (pid_namespaces(7)), and a kernel that panics would abort for ever.
    fn run_program(&self) -> Result<u8, SandboxError> {
        self.check_lifeline()?;
        let stops = self.stops.and_then(own_descriptor);
        // The agent passes it on to the sandboxes of its programs.
        let is_agent = self.capabilities == Capabilities::Agent;
        if let Some(stops) = stops.as_ref().filter(|_| !is_agent) {
            rustix::io::fcntl_setfd(stops, FdFlags::CLOEXEC)
                .map_err(system("keep a pipe from the program"))?;
        }
        self.prepare_mounts()?;
        let Some((program, arguments)) = self.argv.split_first() else {
            return Err(SandboxError::NotForPeople);
        };
        let mut command = Command::new(program);
        command.args(arguments).env_remove(SPEC);
        if self.capabilities.of_a_stranger() {
            let names = self.variables.iter().map(String::as_str).chain(["PATH"]);
            command.env_clear().envs(names.filter_map(|name| Some((name, std::env::var_os(name)?))));
        }
        if let Some(stops) = stops.as_ref().filter(|_| is_agent) {
            command.env(STOPS_VARIABLE, stops.as_raw_fd().to_string());
        }
        let failed = system("start the program");
        if self.capabilities.of_a_stranger() && self.isolation != Isolation::None {
            // Both were opened through writable mounts of this machine: the running program (/proc/1/exe) and the null
            // device.
            set_dumpable_behavior(DumpableBehavior::NotDumpable)
                .map_err(system("keep the program from looking into the first process"))?;
            reopen_null_streams(&mut command).map_err(system("open the null device of the sandbox"))?;
            let child = command.spawn().map_err(failed)?;
            self.process_limit.into_iter().for_each(process_count::end_above);
            // Inherited descriptors end with it.
            self.keeps.iter().copied().for_each(|lent| drop(own_descriptor(lent)));
            reap_children(Pid::from_child(&child), stops.as_ref())
        } else {
            Err(failed(command.exec()))
        }
    }

    /// The supervisor may have died before our parent-death signal was set: its end of the pipe is then closed.
    fn check_parent(&self) -> Result<(), SandboxError> {
        let parent = getppid().map(|parent| parent.as_raw_nonzero().get().unsigned_abs());
        match self.parent {
            Some(_) if parent != self.parent => {
                Err(system("go on: who started it is gone")(rustix::io::Errno::SRCH))
            }
            _ => Ok(()),
        }
    }

    fn check_lifeline(&self) -> Result<(), SandboxError> {
        let Some(descriptor) = self.lifeline.and_then(own_descriptor) else { return Ok(()) };
        let mut watched = [rustix::event::PollFd::new(&descriptor, rustix::event::PollFlags::IN)];
        let at_once = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
        let hung_up =
            rustix::event::poll(&mut watched, Some(&at_once)).map_err(system("look after the supervisor"))?;
        if hung_up > 0 {
            Err(system("go on: the supervisor is gone")(rustix::io::Errno::SRCH))
        } else {
            Ok(())
        }
    }

    fn prepare_mounts(&self) -> Result<(), SandboxError> {
        if self.isolation != Isolation::None {
            arrange_mounts(self)?;
        }
        keep_only(self.capabilities)?;
        let gate = self.gate.and_then(|(ready, go)| Some((own_descriptor(ready)?, own_descriptor(go)?)));
        if let Some((ready, go)) = gate {
            std::fs::File::from(ready).write_all(b"r").map_err(system("say that the sandbox is ready"))?;
            // The other end may be closed: then there is nothing to start.
            std::fs::File::from(go).read_exact(&mut [0]).map_err(system("be told to start"))?;
        }
        if self.capabilities.of_a_stranger() {
            let keeps: Vec<_> = self.keeps.iter().copied().chain(self.stops).collect();
            close_all_but(&keeps)?;
            // Without a terminal: on one, a program may type commands for the shell there (ioctl_tty(2), TIOCSTI).
            rustix::process::setsid().map_err(system("leave the terminal"))?;
        }
        Ok(())
    }
}

/// Reports that the program was stopped. If the reader is gone, this process ends in a moment.
fn tell_of_stop(stops: Option<&OwnedFd>) {
    let _ = stops.map(|stops| rustix::io::write(stops, b"s"));
}

/// As a shell tells how a program ended: its status, or 128 + the signal.
fn as_a_shell_tells(status: WaitStatus) -> u8 {
    let code = status.exit_status().or(status.terminating_signal().map(|signal| 128 + signal));
    code.map_or(255, |code| (code & 0xff) as u8)
}

/// The duty of PID 1 in a PID namespace: waits for every ended process until the program itself ends.
fn reap_children(program: Pid, stops: Option<&OwnedFd>) -> Result<u8, SandboxError> {
    loop {
        match rustix::process::wait(STOPS) {
            Ok(Some((process, status))) if process == program && (status.stopped() || status.continued()) => {
                tell_of_stop(stops);
            }
            Ok(Some((process, status))) if process == program => return Ok(as_a_shell_tells(status)),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(system("wait for the program")(errno)),
        }
    }
}

/// From here on this process sees the mounts of `namespace` (setns(2)).
fn join_mounts(namespace: &OwnedFd) -> Result<(), SandboxError> {
    use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
    move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Mount))
        .map_err(system("join the mounts of the staged datasets"))
}
