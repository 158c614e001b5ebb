//! Guest kernels and agents that lost their conductor.

use std::fs;
use std::io;
use std::path::Path;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::{Leftover, LeftoverError, names_in};
use crate::host::process_key::ProcessKey;
use crate::host::procfs::ProcessStat;
use crate::host::root::Root;

const PROGRAM: &str = "fsverdict";

/// The role of a fsverdict process by its command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProcessRole {
    /// A conductor, or another command that a user started.
    Conductor,
    /// A process that a conductor started: an agent, or a sandbox around one.
    Agent,
    Guest,
}

fn role_of(arguments: &[String], executable: Option<&Path>) -> Option<ProcessRole> {
    let name = |path: &str| Path::new(path).file_name().is_some_and(|name| name == PROGRAM);
    let word = |key: &str| arguments.iter().find_map(|argument| argument.strip_prefix(key));
    if word("rdinit=").is_some_and(name) {
        return arguments.iter().any(|argument| argument == "guest").then_some(ProcessRole::Guest);
    }
    if word("init=").is_some_and(name) {
        return arguments.iter().any(|argument| argument.starts_with("ubd0=")).then_some(ProcessRole::Guest);
    }
    // A conductor may be called by another name (a symbolic link); its guests and agents go by that of the file.
    let file = executable.map(|path| path.to_string_lossy().trim_end_matches(" (deleted)").to_owned());
    if !name(arguments.first()?) && !file.is_some_and(|file| name(&file)) {
        return None;
    }
    let inner = arguments.get(1).is_some_and(|word| ["agent", "sandbox", "guest"].contains(&word.as_str()));
    Some(if inner { ProcessRole::Agent } else { ProcessRole::Conductor })
}

/// Guests and agents of ours that stand under no conductor.
pub(super) fn stray_processes(root: &Root) -> Vec<Leftover> {
    let mut processes: Vec<(u32, u32, ProcessRole)> = Vec::new();
    for name in names_in(&root.path("proc")) {
        let Ok(pid) = name.parse::<u32>() else { continue };
        let Ok(line) = root.text(format!("proc/{pid}/cmdline")) else { continue };
        let arguments: Vec<String> =
            line.split(['\0', ' ']).filter(|word| !word.is_empty()).map(str::to_owned).collect();
        let executable = fs::read_link(root.path(format!("proc/{pid}/exe"))).ok();
        let Some(role) = role_of(&arguments, executable.as_deref()) else { continue };
        processes.push((pid, parent_of(root, pid).unwrap_or(0), role));
    }
    let is_conductor =
        |pid: u32| processes.iter().any(|(other, _, role)| *other == pid && *role == ProcessRole::Conductor);
    let mut strays = Vec::new();
    for (pid, _, role) in processes.iter().filter(|(_, _, role)| *role != ProcessRole::Conductor) {
        let mut above = *pid;
        let ancestors = std::iter::from_fn(|| {
            above = parent_of(root, above).filter(|parent| *parent > 0)?;
            Some(above)
        })
        .take(64)
        .any(is_conductor);
        if let (false, Some(key)) = (ancestors, ProcessKey::of(root, *pid)) {
            let description = if *role == ProcessRole::Guest {
                "a guest kernel without a conductor"
            } else {
                "an agent without a conductor"
            };
            strays.push(Leftover::Process { key, what: description.to_owned() });
        }
    }
    strays.sort();
    strays
}

fn parent_of(root: &Root, pid: u32) -> Option<u32> {
    ProcessStat::read(root, pid).ok().map(|process| process.parent)
}

/// Kills one process, if it is that one.
pub(super) fn end_process(root: &Root, key: ProcessKey) -> Result<(), LeftoverError> {
    let pid = i32::try_from(key.pid).ok().and_then(Pid::from_raw).ok_or(LeftoverError::Changed)?;
    // The descriptor is of that one process: its number cannot come to mean another between look and kill.
    let descriptor = match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(descriptor) => descriptor,
        Err(rustix::io::Errno::SRCH) => return Ok(()),
        Err(error) => return Err(io::Error::from(error).into()),
    };
    match ProcessKey::of(root, key.pid) {
        None => Ok(()),
        Some(now) if now == key => Ok(pidfd_send_signal(&descriptor, Signal::KILL).map_err(io::Error::from)?),
        Some(_) => Err(LeftoverError::Changed),
    }
}

#[cfg(test)]
mod tests {
    use super::{ProcessRole, role_of};
    use std::path::Path;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn processes_are_known_by_their_command_lines() {
        for (line, expected) in [
            ("/usr/bin/fsverdict run usb-backup", Some(ProcessRole::Conductor)),
            ("/usr/bin/fsverdict agent", Some(ProcessRole::Agent)),
            ("/usr/bin/fsverdict sandbox", Some(ProcessRole::Agent)),
            (
                "/usr/bin/linux.uml mem=1G init=/usr/bin/fsverdict ubd0=/proc/self/fd/3 -- guest",
                Some(ProcessRole::Guest),
            ),
            ("/usr/bin/linux.uml mem=1G init=/sbin/init ubd0=disk.img", None),
            (
                "qemu-system-x86_64 -append panic=-1 rdinit=/fsverdict -- guest /trial",
                Some(ProcessRole::Guest),
            ),
            ("qemu-system-x86_64 -append rdinit=/bin/sh -- guest", None),
            ("vim /usr/bin/fsverdict", None),
            ("grep init=/usr/bin/fsverdict", None),
        ] {
            assert_eq!(role_of(&words(line), None), expected, "{line}");
        }
        let by_link = role_of(&words("fv run usb-backup"), Some(Path::new("/usr/bin/fsverdict (deleted)")));
        assert_eq!(by_link, Some(ProcessRole::Conductor));
        assert_eq!(role_of(&words("sh run"), Some(Path::new("/bin/dash"))), None);
    }
}
