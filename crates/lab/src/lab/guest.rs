//! `fsverdict guest`: the first process of a guest kernel. It makes the guest habitable, runs the agent in a sandbox
//! as the native lab does, and powers off.

use std::fs::File;
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};

use crate::trial::{Assignment, EVENTS_VARIABLE, Modules, QueueLimits, TrialDevice, agent_sandbox};
use fsverdict_linux::host::messages::print_line;
use fsverdict_linux::host::mounts;
use fsverdict_linux::sandbox::make_inheritable;
use fsverdict_linux::sandbox::program::{Program, require_success};

use super::LABS;
use super::description::USUAL_FOLDERS;

/// Where the conductor put the trial's description: the guest's second disk, which ends in zeros.
const DESCRIPTION: &str = "/dev/ubdb";
/// How long a device may take to appear that the host promised.
const PATIENCE: Duration = Duration::from_secs(20);

/// How the first process of a lab's guests reaches its root, its assignment and its events.
pub(super) struct Arrival {
    /// The word on its command line that identifies the lab; one lab has none, and its guests are recognised by that.
    pub(super) word: Option<&'static str>,
    /// The file that the trial's description is in, where the command line names it.
    pub(super) description: &'static str,
    /// Where events leave the guest.
    pub(super) events: &'static str,
    /// Goes to the host's root, and says whether the nodes under /dev are the host's.
    pub(super) enter: fn() -> std::io::Result<bool>,
}

/// Runs the guest to its end; does not return where powering off works. Errors are printed on the console.
///
/// Its arguments say which lab's it is, and name the description's file where it is none of its disks; the kernel adds words
/// of its own to them.
pub fn main(arguments: impl Iterator<Item = String>) -> u8 {
    let words: Vec<String> = arguments.collect();
    if let Err(error) = run_guest(&words) {
        print_line(&format!("fsverdict guest: {error}"));
    }
    rustix::fs::sync();
    match rustix::system::reboot(rustix::system::RebootCommand::PowerOff) {
        Ok(()) => 0,
        Err(error) => {
            print_line(&format!("fsverdict guest: cannot power off: {error}"));
            1
        }
    }
}

fn run_guest(words: &[String]) -> Result<(), Box<dyn std::error::Error>> {
    let is_told = |told: &str| words.iter().any(|word| word == told);
    let arrivals = || LABS.iter().filter_map(|lab| lab.arrival.as_ref());
    let arrival = arrivals()
        .find(|arrival| arrival.word.is_some_and(is_told))
        .or_else(|| arrivals().find(|arrival| arrival.word.is_none()))
        .ok_or("no lab has such guests")?;
    // In the sandbox's memory, which this guest's own /dev is about to cover; or in an initramfs, which is about to be left.
    let from_file =
        is_told(arrival.description).then(|| read_description(arrival.description)).transpose()?;
    let early = from_file.as_deref().map(serde_json::from_str::<Assignment>).transpose()?;
    // They are shown in the sandbox's memory, too.
    load_laboratory_modules(early.as_ref())?;
    let is_dev_of_host = (arrival.enter)()?;
    mounts::mount_kernel_filesystem("proc", Path::new("/proc"), false)?;
    mounts::mount_kernel_filesystem("sysfs", Path::new("/sys"), false)?;
    // They have the names of the guest's, and numbers of their own.
    if is_dev_of_host {
        mounts::mount_kernel_filesystem("devtmpfs", Path::new("/dev"), false)?;
    }
    // The host's set-user-ID programs belong to the host's root, which in an ordinary user's guest is another user:
    // mount(8) would lose its privileges.
    mounts::forbid_set_user_id(Path::new("/"))?;
    mounts::mount_tmpfs(Path::new("/run"), "755")?;
    // A guest starts with an empty environment; tools look for their helpers along it.
    let usual = USUAL_FOLDERS.join(":");
    let description = from_file.map_or_else(|| read_description(DESCRIPTION), Ok)?;
    let is_late = early.is_none();
    let assignment: Assignment = early.map_or_else(|| serde_json::from_str(&description), Ok)?;
    if is_late {
        load_laboratory_modules(Some(&assignment))?;
    }
    let path = match &assignment.bench.programs {
        Some(first) => format!("{first}:{usual}"),
        None => usual,
    };
    // The driver of the disk may be among them.
    if let Some(modules) = &assignment.bench.modules {
        load_modules(modules)?;
    }
    for device in &assignment.bench.devices {
        if let TrialDevice::Guest { path, queue: Some(queue) } = device {
            limit_queue(path, *queue)?;
        }
    }
    let events = open_events(arrival.events)?;
    let (reader, writer) = std::io::pipe()?;
    let sandbox = agent_sandbox(&assignment);
    let mut agent = sandbox
        .command()?
        .env("PATH", path)
        .env(EVENTS_VARIABLE, make_inheritable(events.as_fd())?.to_string())
        .stdin(reader)
        .spawn()?;
    std::io::Write::write_all(&mut { writer }, description.as_bytes())?;
    let status = agent.wait()?;
    if !status.success() {
        print_line(&format!("fsverdict guest: the agent ended with {status}"));
    }
    Ok(())
}

/// Opens the channel for events unbuffered. In a virtual machine it appears once the host has announced it.
fn open_events(path: &str) -> std::io::Result<File> {
    let began = Instant::now();
    while !Path::new(path).exists() && began.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(5));
    }
    let events = File::options().write(true).open(path);
    let events = events.map_err(|error| std::io::Error::other(format!("cannot open {path}: {error}")))?;
    match tcgetattr(&events) {
        Ok(mut line) => {
            line.make_raw();
            tcsetattr(&events, OptionalActions::Now, &line)?;
        }
        Err(rustix::io::Errno::NOTTY) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(events)
}

/// Filesystems and schedulers decide by these when they are made and mounted.
fn limit_queue(disk: &Path, limits: QueueLimits) -> std::io::Result<()> {
    let name = disk.file_name().unwrap_or_default();
    let queue = Path::new("/sys/block").join(name).join("queue");
    std::fs::write(queue.join("rotational"), if limits.rotational { "1" } else { "0" })?;
    std::fs::write(queue.join("max_sectors_kb"), limits.max_sectors_kb.to_string())
}

fn read_description(file: &str) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    File::open(file)?.read_to_end(&mut bytes)?;
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    bytes.truncate(end);
    String::from_utf8(bytes).map_err(std::io::Error::other)
}

/// Loads the modules of a laboratory kernel, in the order of its list.
fn load_laboratory_modules(assignment: Option<&Assignment>) -> std::io::Result<()> {
    let Some(modules) = assignment.and_then(|known| known.bench.laboratory_modules.as_ref()) else {
        return Ok(());
    };
    for file in &modules.files {
        let path = modules.folder.join(file);
        let failed = |error: std::io::Error| {
            std::io::Error::other(format!("cannot load the module {}: {error}", path.display()))
        };
        let opened = File::open(&path).map_err(failed)?;
        rustix::system::finit_module(opened, c"", 0).map_err(|errno| failed(errno.into()))?;
    }
    Ok(())
}

/// Loads modules from a folder other than modprobe's default, and makes the kernel's own requests for modules
/// (ciphers, code pages) look there, too.
fn load_modules(modules: &Modules) -> Result<(), Box<dyn std::error::Error>> {
    let parent = Path::new("/run/modules/lib/modules");
    std::fs::create_dir_all(parent)?;
    if let Some(version) = modules.folder.file_name() {
        std::os::unix::fs::symlink(&modules.folder, parent.join(version))?;
    }
    let program = "/run/modules/modprobe";
    std::fs::write(program, "#!/bin/sh\nexec modprobe -d /run/modules \"$@\"\n")?;
    std::fs::set_permissions(program, std::fs::Permissions::from_mode(0o755))?;
    // Not where a kernel has all that built in.
    let _ = std::fs::write("/proc/sys/kernel/modprobe", program);
    for name in &modules.names {
        require_success(Program::new(["modprobe", "-d", "/run/modules", name]).run("load modules")?)?;
    }
    Ok(())
}
