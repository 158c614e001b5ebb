//! Inside a cell: the warden makes the namespaces and waits, the inmate arranges the mounts and becomes the program.

use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd, IntoRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::io::FdFlags;
use rustix::process::{Pid, Signal, WaitOptions, set_parent_process_death_signal, waitpid};
use rustix::thread::{CapabilitySet, UnshareFlags};

use super::{Cell, CellError, SPEC, Walls, inherit, system};
use crate::host::mounts;
use crate::host::syscall::{own, unshare};

/// What an inmate that is not trusted keeps: changing owners and modes, as `rsync -a` does, and no more. Without
/// SYS_ADMIN it cannot mount, without MKNOD it cannot reach a device, without DAC_READ_SEARCH it cannot open files
/// by handle behind the mounts' back (capabilities(7)).
const KEPT_CAPABILITIES: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID);

/// Where services have their sockets: containers' and the init system's would do as root whatever they are asked to.
/// Read-only mounts do not keep anybody from connecting.
const SERVICES: &str = "/run";

/// Devices that hold nothing.
const BARE_DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

/// `fsverdict cell`: the warden. Returns the exit status to pass on.
///
/// # Errors
/// When the namespaces cannot be made.
pub fn enter(inmate: bool) -> Result<u8, CellError> {
    let text = std::env::var(SPEC).map_err(|_| CellError::NotForPeople)?;
    let cell: Cell = serde_json::from_str(&text).map_err(|_| CellError::NotForPeople)?;
    die_with_parent()?;
    if inmate { Err(cell.become_program()) } else { cell.watch() }
}

fn die_with_parent() -> Result<(), CellError> {
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(system("ask to die with the parent"))
}

impl Cell {
    fn watch(mut self) -> Result<u8, CellError> {
        let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        match self.walls {
            Walls::None => {}
            Walls::Namespaces => {
                let joined =
                    self.joins.take().and_then(own).map(|namespace| join_mounts(&namespace)).transpose()?;
                unshare(UnshareFlags::NEWNS | UnshareFlags::NEWPID).map_err(system("make namespaces"))?;
                if joined.is_some() {
                    // The /proc there is that of processes that are no more; this one starts the inmate through it.
                    mounts::make_private()?;
                    mounts::kernel("proc", Path::new("/proc"))?;
                }
            }
            Walls::UserNamespaces => {
                unshare(UnshareFlags::NEWUSER | UnshareFlags::NEWNS | UnshareFlags::NEWPID)
                    .map_err(system("make user namespaces"))?;
                let write = |path: &str, text: String| {
                    std::fs::write(path, text).map_err(system("map the user into the namespace"))
                };
                write("/proc/self/setgroups", "deny".to_owned())?;
                write("/proc/self/uid_map", format!("0 {user} 1"))?;
                write("/proc/self/gid_map", format!("0 {group} 1"))?;
            }
        }
        // A new user namespace means new credentials, and those clear the parent-death signal.
        die_with_parent()?;
        let (end, kept_open) =
            rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(system("make a pipe"))?;
        self.lifeline = Some(inherit(end.as_fd())?);
        let stops = self.stops.take().and_then(own);
        if let Some(stops) = &stops {
            rustix::io::fcntl_setfd(stops, FdFlags::CLOEXEC)
                .map_err(system("keep a pipe from the inmate"))?;
        }
        let child = self.command()?.arg("--inmate").spawn().map_err(system("start the inmate"))?;
        drop(end);
        let status = loop {
            let found = waitpid(Some(Pid::from_child(&child)), WaitOptions::UNTRACED);
            match found.map_err(system("wait for the inmate"))? {
                Some((_, status)) if status.stopped() => {
                    // Who would hear it may be gone; then so are we in a moment.
                    let _ = stops.as_ref().map(|stops| rustix::io::write(stops, b"s"));
                }
                Some((_, status)) => break status,
                None => {}
            }
        };
        drop(kept_open);
        // As a shell tells it: 128 + the signal.
        let code = status.exit_status().or(status.terminating_signal().map(|signal| 128 + signal));
        Ok(code.map_or(255, |code| (code & 0xff) as u8))
    }

    /// Becomes the program; returns only if it cannot.
    fn become_program(&self) -> CellError {
        if let Err(error) = self.check_lifeline().and_then(|()| self.furnish()) {
            return error;
        }
        let Some((program, arguments)) = self.argv.split_first() else { return CellError::NotForPeople };
        let mut command = Command::new(program);
        command.args(arguments).env_remove(SPEC);
        system("start the program")(command.exec())
    }

    /// The warden may have died before our parent-death signal was set: its end of the pipe is then closed.
    fn check_lifeline(&self) -> Result<(), CellError> {
        let Some(descriptor) = self.lifeline.and_then(own) else { return Ok(()) };
        let mut watched = [rustix::event::PollFd::new(&descriptor, rustix::event::PollFlags::IN)];
        let at_once = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
        let hung_up =
            rustix::event::poll(&mut watched, Some(&at_once)).map_err(system("look after the warden"))?;
        if hung_up > 0 { Err(system("go on: the warden is gone")(rustix::io::Errno::SRCH)) } else { Ok(()) }
    }

    fn furnish(&self) -> Result<(), CellError> {
        if self.walls != Walls::None {
            self.arrange_mounts()?;
        }
        if self.powerless {
            give_up_capabilities()?;
        }
        let gate = self.gate.and_then(|(ready, go)| Some((own(ready)?, own(go)?)));
        if let Some((ready, go)) = gate {
            std::fs::File::from(ready).write_all(b"r").map_err(system("say that the cell is ready"))?;
            // Whoever holds the other end may be gone: then there is nothing to start.
            std::fs::File::from(go).read_exact(&mut [0]).map_err(system("be told to start"))?;
        }
        if self.powerless {
            keep_standard_streams_only()?;
            // Without a terminal: on one, a program may type commands for the shell there (ioctl_tty(2), TIOCSTI).
            rustix::process::setsid().map_err(system("leave the terminal"))?;
        }
        Ok(())
    }

    fn arrange_mounts(&self) -> Result<(), CellError> {
        mounts::make_private()?;
        // Opened first, so that what is shown can lie below what is covered.
        let shown: Vec<(OwnedFd, &Path)> = self
            .shown
            .iter()
            .map(|(source, point)| Ok((open_folder(source)?, point.as_path())))
            .collect::<Result<_, CellError>>()?;
        for folder in &self.memory {
            mounts::memory(folder, "1777")?;
        }
        for (source, point) in &shown {
            std::fs::create_dir_all(point).map_err(system("make a folder to show another in"))?;
            mounts::bind(Path::new(&format!("/proc/self/fd/{}", source.as_raw_fd())), point)?;
        }
        for folder in self.writable.iter().filter(|folder| mounts::at(folder).is_none()) {
            mounts::bind(folder, folder)?;
        }
        let mut spared: Vec<PathBuf> = self.writable.iter().chain(&self.memory).cloned().collect();
        if self.bare_devices {
            spared.push(bare_devices()?);
        }
        if self.powerless && Path::new(SERVICES).is_dir() {
            hide_services()?;
            spared.push(SERVICES.into());
        }
        // The old /proc shows the processes outside; it is covered last because binding by descriptor needs it.
        mounts::make_read_only(&spared)?;
        mounts::kernel("proc", Path::new("/proc"))?;
        if self.powerless {
            mounts::make_read_only(&spared)?;
        }
        Ok(())
    }
}

/// From here on this process sees the mounts of `namespace` (setns(2)).
fn join_mounts(namespace: &OwnedFd) -> Result<(), CellError> {
    use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
    move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Mount))
        .map_err(system("join the mounts of the staged datasets"))
}

fn open_folder(path: &Path) -> Result<OwnedFd, CellError> {
    use rustix::fs::{Mode, OFlags, open};
    open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .map_err(system("open a folder to show"))
}

/// Covers `/dev`; returns the one folder in it that stays writable, for shared memory.
fn bare_devices() -> Result<PathBuf, CellError> {
    let devices = Path::new("/dev");
    let opened: Vec<(OwnedFd, &str)> = BARE_DEVICES
        .iter()
        .filter_map(|name| {
            let flags = rustix::fs::OFlags::PATH | rustix::fs::OFlags::CLOEXEC;
            Some((rustix::fs::open(devices.join(name), flags, rustix::fs::Mode::empty()).ok()?, *name))
        })
        .collect();
    mounts::memory(devices, "755")?;
    for (source, name) in &opened {
        let point = devices.join(name);
        std::fs::write(&point, "").map_err(system("make a device's place"))?;
        mounts::bind(Path::new(&format!("/proc/self/fd/{}", source.as_raw_fd())), &point)?;
    }
    for (name, target) in [("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")]
    {
        std::os::unix::fs::symlink(target, devices.join(name)).map_err(system("link a standard stream"))?;
    }
    let shared = devices.join("shm");
    std::fs::create_dir(&shared).map_err(system("make a folder for shared memory"))?;
    mounts::memory(&shared, "1777")?;
    Ok(shared)
}

/// Covers [`SERVICES`] with memory. Links at its top level stay: NixOS has its programs behind one.
fn hide_services() -> Result<(), CellError> {
    let folder = Path::new(SERVICES);
    let entries = std::fs::read_dir(folder).map_err(system("look at the services' folder"))?;
    let links: Vec<(PathBuf, PathBuf)> = entries
        .flatten()
        .filter_map(|entry| Some((entry.path(), std::fs::read_link(entry.path()).ok()?)))
        .collect();
    mounts::memory(folder, "755")?;
    for (link, target) in links {
        std::os::unix::fs::symlink(target, link).map_err(system("keep a link"))?;
    }
    Ok(())
}

/// Lets no descriptor but the standard streams through to the program: whoever called us may have left some open, and
/// what is open for writing can be written whatever the mounts say.
fn keep_standard_streams_only() -> Result<(), CellError> {
    let failed = system("look at the open descriptors");
    let names = std::fs::read_dir("/proc/self/fd").and_then(Iterator::collect::<std::io::Result<Vec<_>>>);
    let numbers =
        names.map_err(failed)?.into_iter().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    for descriptor in numbers.filter_map(own) {
        match rustix::io::fcntl_setfd(&descriptor, rustix::io::FdFlags::CLOEXEC) {
            // The folder listed was open itself, and is not any more.
            Ok(()) | Err(rustix::io::Errno::BADF) => {}
            Err(errno) => return Err(system("keep a descriptor from the program")(errno)),
        }
        // Closed by becoming the program, not here: it may be in use.
        let _ = descriptor.into_raw_fd();
    }
    Ok(())
}

fn give_up_capabilities() -> Result<(), CellError> {
    use rustix::thread::{
        CapabilitySets, remove_capability_from_bounding_set, set_capabilities, set_no_new_privs,
    };
    for capability in CapabilitySet::all().difference(KEPT_CAPABILITIES).iter() {
        match remove_capability_from_bounding_set(capability) {
            // A kernel that does not know a capability cannot grant it.
            Ok(()) | Err(rustix::io::Errno::INVAL) => {}
            Err(errno) => return Err(system("give up a capability")(errno)),
        }
    }
    let kept = CapabilitySets {
        effective: KEPT_CAPABILITIES,
        permitted: KEPT_CAPABILITIES,
        inheritable: CapabilitySet::empty(),
    };
    set_capabilities(None, kept).map_err(system("give up capabilities"))?;
    set_no_new_privs(true).map_err(system("give up gaining privileges"))
}
