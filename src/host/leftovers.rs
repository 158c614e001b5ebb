//! What a crash may have left behind, and how it is undone: `fsverdict clean`.
//!
//! Cells, auto-clear loop devices and nameless images leave nothing where the kernel does its part; this is for
//! machines that forbid namespaces, and for the moments in between. Only what bears our mark and is used by no
//! living run is touched: a loop device named by us or over a file in our scratch folder, a dm device called
//! `fsverdict-…`, a mount of one of these, a scratch file whose maker is gone, a guest kernel or agent of ours
//! without a conductor above it.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::block_device::{DeviceNumber, number_of, read_trimmed};
use super::image::{SCRATCH_PREFIX, default_folders};
use super::loop_device;
use super::process_key::ProcessKey;
use super::procfs::mounts;
use super::program::{Program, ProgramError, succeeded};
use super::root::Root;
use super::syscall;

/// How the names of our dm devices begin.
const MAPPING_PREFIX: &str = "fsverdict-";
/// This program's name.
const PROGRAM: &str = "fsverdict";

/// One thing that was left behind.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Leftover {
    /// A guest kernel or an agent without a conductor.
    Process {
        /// Which.
        key: ProcessKey,
        /// What it is, for people.
        what: String,
    },
    /// A mount in this mount namespace.
    Mount {
        /// Where.
        point: PathBuf,
        /// Of what.
        source: PathBuf,
    },
    /// A device-mapper device.
    Mapping {
        /// Its name.
        name: String,
    },
    /// A loop device.
    Loop {
        /// Its path.
        path: PathBuf,
        /// The file behind it, as the kernel names it.
        backing: String,
    },
    /// A scratch file.
    File {
        /// Its path.
        path: PathBuf,
    },
}

impl fmt::Display for Leftover {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Leftover::Process { key, what } => write!(formatter, "process {} ({what})", key.pid),
            Leftover::Mount { point, source } => {
                write!(formatter, "mount {} (of {})", point.display(), source.display())
            }
            Leftover::Mapping { name } => write!(formatter, "device mapping {name}"),
            Leftover::Loop { path, backing } => {
                write!(formatter, "loop device {} (of {backing})", path.display())
            }
            Leftover::File { path } => write!(formatter, "scratch file {}", path.display()),
        }
    }
}

/// Why a leftover stayed.
#[derive(Debug, thiserror::Error)]
pub enum LeftoverError {
    /// The kernel refused.
    #[error(transparent)]
    System(#[from] io::Error),
    /// dmsetup failed.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// It is not what it was any more.
    #[error("it is something else by now; look again")]
    Changed,
}

/// What was left behind, in the order in which it can be undone. What cannot be looked at (other users' things,
/// when not root) is not reported.
pub fn find(root: &Root) -> Vec<Leftover> {
    let folders = default_folders(
        std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from),
        std::env::var_os("HOME").map(PathBuf::from),
    );
    find_in(root, &folders)
}

/// The same, with these scratch folders.
pub fn find_in(root: &Root, folders: &[PathBuf]) -> Vec<Leftover> {
    let mut found = stray_processes(root);
    let loops = our_loops(root, folders);
    let mappings = our_mappings(root);
    let ours: BTreeSet<DeviceNumber> =
        loops.iter().map(|(number, _)| *number).chain(mappings.iter().map(|(number, _)| *number)).collect();
    let (mounts, mounted) = our_mounts(root, &ours, folders);
    found.extend(mounts);
    let open = open_devices(root);
    for (number, leftover) in mappings.into_iter().chain(loops) {
        // A mount that is undone first does not keep it; an open descriptor does, and so does a mount elsewhere.
        let free = mounted.contains(&number) || has_holders(root, number) || can_be_claimed(root, number);
        if !open.contains(&number) && free {
            found.push(leftover);
        }
    }
    found.extend(folders.iter().flat_map(|folder| scratch_files(root, folder)));
    found
}

/// Undoes one leftover, having made sure that it still is what was found.
///
/// # Errors
/// When the kernel or a tool refuses, or it has become something else.
pub fn undo(leftover: &Leftover) -> Result<(), LeftoverError> {
    let root = Root::default();
    match leftover {
        Leftover::Process { key, .. } => end_process(&root, *key),
        Leftover::Mount { point, .. } => {
            let flags = rustix::mount::UnmountFlags::NOFOLLOW;
            Ok(rustix::mount::unmount(point, flags).map_err(io::Error::from)?)
        }
        Leftover::Mapping { name } => {
            succeeded(Program::new(["dmsetup", "remove", "--retry", name]).run("clean")?)?;
            Ok(())
        }
        Leftover::Loop { path, backing } => clear_loop(&root, path, backing),
        Leftover::File { path } => Ok(fs::remove_file(path)?),
    }
}

fn clear_loop(root: &Root, path: &Path, backing: &str) -> Result<(), LeftoverError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let now = || read_trimmed(&root.path(format!("sys/class/block/{name}/loop/backing_file")));
    let device = match rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) {
        Ok(device) => device,
        // Detached itself meanwhile, as the mount before it was undone.
        Err(_) if now().is_none() => return Ok(()),
        Err(error) => return Err(io::Error::from(error).into()),
    };
    // Looked at with the device open: from here on it stays attached to what it is attached to.
    match now() {
        None => Ok(()),
        Some(now) if now == backing => Ok(syscall::clear_loop(&device).map_err(io::Error::from)?),
        Some(_) => Err(LeftoverError::Changed),
    }
}

fn end_process(root: &Root, key: ProcessKey) -> Result<(), LeftoverError> {
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

/// What a command line tells of a process of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// A conductor, or another command a person gave.
    Conductor,
    /// What a conductor starts: an agent, or a cell around one.
    Agent,
    /// A guest kernel.
    Guest,
}

fn role(arguments: &[String]) -> Option<Role> {
    let name = |path: &str| Path::new(path).file_name().is_some_and(|name| name == PROGRAM);
    let init = arguments.iter().find_map(|argument| argument.strip_prefix("init="));
    if init.is_some_and(name) {
        return arguments.iter().any(|argument| argument.starts_with("ubd0=")).then_some(Role::Guest);
    }
    if !name(arguments.first()?) {
        return None;
    }
    let inner = arguments.get(1).is_some_and(|word| ["agent", "cell", "guest"].contains(&word.as_str()));
    Some(if inner { Role::Agent } else { Role::Conductor })
}

fn stray_processes(root: &Root) -> Vec<Leftover> {
    let mut processes: Vec<(u32, u32, Role)> = Vec::new();
    for name in names_in(&root.path("proc")) {
        let Ok(pid) = name.parse::<u32>() else { continue };
        let Ok(line) = root.text(format!("proc/{pid}/cmdline")) else { continue };
        let arguments: Vec<String> =
            line.split(['\0', ' ']).filter(|word| !word.is_empty()).map(str::to_owned).collect();
        let Some(role) = role(&arguments) else { continue };
        processes.push((pid, parent_of(root, pid).unwrap_or(0), role));
    }
    let is_conductor =
        |pid: u32| processes.iter().any(|(other, _, role)| *other == pid && *role == Role::Conductor);
    let mut strays = Vec::new();
    for (pid, _, role) in processes.iter().filter(|(_, _, role)| *role != Role::Conductor) {
        let mut above = *pid;
        let kept = std::iter::from_fn(|| {
            above = parent_of(root, above).filter(|parent| *parent > 0)?;
            Some(above)
        })
        .take(64)
        .any(is_conductor);
        if let (false, Some(key)) = (kept, ProcessKey::of(root, *pid)) {
            let what = if *role == Role::Guest {
                "a guest kernel without a conductor"
            } else {
                "an agent without a conductor"
            };
            strays.push(Leftover::Process { key, what: what.to_owned() });
        }
    }
    strays.sort();
    strays
}

fn parent_of(root: &Root, pid: u32) -> Option<u32> {
    let status = root.text(format!("proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse().ok()
}

fn our_loops(root: &Root, folders: &[PathBuf]) -> Vec<(DeviceNumber, Leftover)> {
    let mut loops = Vec::new();
    for name in names_in(&root.path("sys/class/block")) {
        let Some(backing) = read_trimmed(&root.path(format!("sys/class/block/{name}/loop/backing_file")))
        else {
            continue;
        };
        let path = root.path(format!("dev/{name}"));
        let in_folder = folders.iter().any(|folder| Path::new(&backing).starts_with(folder));
        let named = || File::open(&path).is_ok_and(|device| loop_device::is_ours(&device));
        if let (Some(number), true) = (number_by_name(root, &name), in_folder || named()) {
            loops.push((number, Leftover::Loop { path, backing }));
        }
    }
    loops
}

fn our_mappings(root: &Root) -> Vec<(DeviceNumber, Leftover)> {
    let mappings = names_in(&root.path("sys/class/block")).into_iter().filter_map(|device| {
        let name = read_trimmed(&root.path(format!("sys/class/block/{device}/dm/name")))?;
        let ours = name.starts_with(MAPPING_PREFIX);
        ours.then_some(())?;
        Some((number_by_name(root, &device)?, Leftover::Mapping { name }))
    });
    mappings.collect()
}

/// Mounts of our devices and below our folders, uppermost first; and the devices so mounted.
fn our_mounts(
    root: &Root,
    ours: &BTreeSet<DeviceNumber>,
    folders: &[PathBuf],
) -> (Vec<Leftover>, BTreeSet<DeviceNumber>) {
    let mut mounted = BTreeSet::new();
    let mut leftovers = Vec::new();
    // A table that cannot be read shows no leftovers; what else there is can still be undone.
    for mount in mounts(root).unwrap_or_default().into_iter().rev() {
        let by_source =
            mount.source.file_name().and_then(|name| number_by_name(root, &name.to_string_lossy()));
        let by_number = DeviceNumber { major: mount.device.0, minor: mount.device.1 };
        let of_ours = [Some(by_number), by_source].into_iter().flatten().find(|number| ours.contains(number));
        let within = folders.iter().any(|folder| mount.target.starts_with(folder) && mount.target != *folder);
        mounted.extend(of_ours);
        if of_ours.is_some() || within {
            leftovers.push(Leftover::Mount { point: mount.target, source: mount.source });
        }
    }
    (leftovers, mounted)
}

/// The block devices that some process has open.
fn open_devices(root: &Root) -> BTreeSet<DeviceNumber> {
    let ourselves = std::process::id().to_string();
    let mut open = BTreeSet::new();
    for pid in names_in(&root.path("proc")) {
        if pid == ourselves || !pid.bytes().all(|byte| byte.is_ascii_digit()) {
            continue;
        }
        let folder = root.path(format!("proc/{pid}/fd"));
        for descriptor in names_in(&folder) {
            let metadata = fs::metadata(folder.join(descriptor));
            if let Ok(metadata) = metadata
                && metadata.file_type().is_block_device()
            {
                open.insert(DeviceNumber::from_raw(metadata.rdev()));
            }
        }
    }
    open
}

fn has_holders(root: &Root, number: DeviceNumber) -> bool {
    let holders = names_in(&root.path(format!("sys/dev/block/{number}/holders")));
    // Held by a mapping of ours that is undone before it; by anybody else's, it stays.
    !holders.is_empty()
        && holders.iter().all(|holder| {
            read_trimmed(&root.path(format!("sys/class/block/{holder}/dm/name")))
                .is_some_and(|name| name.starts_with(MAPPING_PREFIX))
        })
}

/// Whether nobody, in whatever mount namespace, has it mounted or claimed.
fn can_be_claimed(root: &Root, number: DeviceNumber) -> bool {
    let folder = root.path(format!("sys/dev/block/{number}")).canonicalize().unwrap_or_default();
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    // Without udev, a mapping has its node only under its own name.
    let mapped = read_trimmed(&folder.join("dm/name")).map(|name| root.path(format!("dev/mapper/{name}")));
    let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let mut nodes = std::iter::once(root.path(format!("dev/{name}"))).chain(mapped);
    nodes.any(|node| {
        number_of(root, &node) == Some(number) && rustix::fs::open(&node, flags, Mode::empty()).is_ok()
    })
}

fn scratch_files(root: &Root, folder: &Path) -> Vec<Leftover> {
    let stale = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let key = name.strip_prefix(SCRATCH_PREFIX).and_then(|rest| rest.parse::<ProcessKey>().ok());
        key.is_some_and(|key| !key.is_alive(root))
            && fs::symlink_metadata(path).is_ok_and(|file| file.is_file())
    };
    let paths = names_in(folder).into_iter().map(|name| folder.join(name));
    paths.filter(stale).map(|path| Leftover::File { path }).collect()
}

fn number_by_name(root: &Root, name: &str) -> Option<DeviceNumber> {
    DeviceNumber::parse(&read_trimmed(&root.path(format!("sys/class/block/{name}/dev")))?)
}

fn names_in(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::{Leftover, Role, find_in, role, undo};
    use crate::host::guard::fake::FakeMachine;
    use crate::host::image::{self, SCRATCH_PREFIX};
    use crate::host::process_key::ProcessKey;
    use crate::host::root::Root;
    use std::os::fd::AsFd;
    use std::path::{Path, PathBuf};
    use std::process::{Command, Stdio};
    use std::time::Duration;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn processes_are_known_by_their_command_lines() {
        for (line, expected) in [
            ("/usr/bin/fsverdict run usb-backup", Some(Role::Conductor)),
            ("/usr/bin/fsverdict agent", Some(Role::Agent)),
            ("/usr/bin/fsverdict cell", Some(Role::Agent)),
            (
                "/usr/bin/linux.uml mem=1G init=/usr/bin/fsverdict ubd0=/proc/self/fd/3 -- guest",
                Some(Role::Guest),
            ),
            ("/usr/bin/linux.uml mem=1G init=/sbin/init ubd0=disk.img", None),
            ("vim /usr/bin/fsverdict", None),
            ("grep init=/usr/bin/fsverdict", None),
        ] {
            assert_eq!(role(&words(line)), expected, "{line}");
        }
    }

    fn process(machine: &FakeMachine, pid: u32, parent: u32, line: &str) {
        machine.write(&format!("proc/{pid}/cmdline"), &line.replace(' ', "\0"));
        machine.write(&format!("proc/{pid}/status"), &format!("Name:\tx\nPPid:\t{parent}\n"));
        let fields = "0 ".repeat(17);
        machine.write(&format!("proc/{pid}/stat"), &format!("{pid} (x) S {parent} {fields}{} 0", pid * 100));
    }

    #[test]
    fn guests_and_agents_are_strays_only_without_a_conductor_above_them() {
        let machine = FakeMachine::new();
        let guest = "/usr/bin/linux.uml init=/usr/bin/fsverdict ubd0=/proc/self/fd/3";
        process(&machine, 10, 1, "/usr/bin/fsverdict run usb-backup");
        process(&machine, 11, 10, "/usr/bin/fsverdict cell");
        process(&machine, 12, 11, guest);
        process(&machine, 20, 1, guest);
        process(&machine, 21, 20, guest);
        process(&machine, 30, 1, "/usr/bin/fsverdict agent");
        process(&machine, 31, 30, "rsync -a /a /b");
        let found = find_in(machine.root(), &[]);
        let pids: Vec<u32> = found
            .iter()
            .map(|leftover| match leftover {
                Leftover::Process { key, .. } => {
                    assert_eq!(key.start, u64::from(key.pid) * 100);
                    key.pid
                }
                other => panic!("{other}"),
            })
            .collect();
        assert_eq!(pids, [20, 21, 30]);
    }

    #[test]
    fn only_scratch_files_of_processes_that_are_gone_are_found() {
        let machine = FakeMachine::new();
        process(&machine, 10, 1, "/usr/bin/fsverdict run usb-backup");
        let folder = tempfile::tempdir().unwrap();
        let make = |name: &str| std::fs::write(folder.path().join(name), "").unwrap();
        for name in
            ["scratch-10-1000-0", "scratch-10-999-0", "scratch-77-5-1", "scratch-notes.txt", "thesis.tex"]
        {
            make(name);
        }
        let found = find_in(machine.root(), &[folder.path().to_owned()]);
        let expected = ["scratch-10-999-0", "scratch-77-5-1"];
        assert_eq!(found, expected.map(|name| Leftover::File { path: folder.path().join(name) }));
        for leftover in &found {
            undo(leftover).unwrap();
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3);
    }

    #[test]
    fn scratch_files_of_this_process_are_in_use() {
        let folder = tempfile::tempdir().unwrap();
        let own = ProcessKey::current(&Root::default()).unwrap();
        std::fs::write(folder.path().join(format!("{SCRATCH_PREFIX}{own}-0")), "").unwrap();
        let found = find_in(&Root::default(), &[folder.path().to_owned()]);
        assert!(!found.iter().any(|leftover| matches!(leftover, Leftover::File { .. })), "{found:?}");
    }

    #[test]
    fn a_stray_process_is_ended_and_its_successor_under_the_same_number_is_not() {
        let root = Root::default();
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let key = ProcessKey::of(&root, child.id()).unwrap();
        let earlier = ProcessKey { start: key.start - 1, ..key };
        assert!(undo(&Leftover::Process { key: earlier, what: String::new() }).is_err());
        assert!(key.is_alive(&root));
        undo(&Leftover::Process { key, what: String::new() }).unwrap();
        assert!(!child.wait().unwrap().success());
        undo(&Leftover::Process { key, what: String::new() }).unwrap();
    }

    fn attached(device: &Path) -> bool {
        let name = device.file_name().unwrap().to_string_lossy().into_owned();
        Path::new(&format!("/sys/class/block/{name}/loop/backing_file")).exists()
    }

    /// Attaches without auto-clear, as nothing of ours does: the state `clean` is for.
    fn leave_loop(image: &Path) -> PathBuf {
        let output = Command::new("losetup").args(["--find", "--show"]).arg(image).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        PathBuf::from(String::from_utf8(output.stdout).unwrap().trim())
    }

    #[test]
    fn loop_devices_and_mounts_left_over_our_folder_are_undone_and_others_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let scratch = folder.path().join("scratch");
        std::fs::create_dir(&scratch).unwrap();
        let [ours, other] = [scratch.join("image"), folder.path().join("image")];
        for image in [&ours, &other] {
            std::fs::File::create(image).unwrap().set_len(16 << 20).unwrap();
            let quiet =
                Command::new("mkfs.ext4").arg("-q").arg(image).stdout(Stdio::null()).status().unwrap();
            assert!(quiet.success());
        }
        let [ours, other] = [leave_loop(&ours), leave_loop(&other)];
        let point = folder.path().join("point");
        std::fs::create_dir(&point).unwrap();
        assert!(Command::new("mount").arg(&ours).arg(&point).status().unwrap().success());
        let about = |found: Vec<Leftover>| -> Vec<Leftover> {
            let relevant = |leftover: &Leftover| match leftover {
                Leftover::Mount { point, .. } => point.starts_with(folder.path()),
                Leftover::Loop { path, .. } => *path == ours || *path == other,
                _ => false,
            };
            found.into_iter().filter(relevant).collect()
        };
        let found = about(find_in(&Root::default(), std::slice::from_ref(&scratch)));
        let undone: Vec<bool> = found.iter().map(|leftover| undo(leftover).is_ok()).collect();
        // A device that anybody (another test's child before its exec) still has open goes when that closes it.
        let gone = (0..500).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            about(find_in(&Root::default(), std::slice::from_ref(&scratch))).is_empty() && !attached(&ours)
        });
        // Whatever came out, this test leaves nothing behind.
        let _ = Command::new("umount").arg(&point).stderr(Stdio::null()).status();
        for device in [&ours, &other] {
            let _ = Command::new("losetup").arg("-d").arg(device).stderr(Stdio::null()).status();
        }
        assert!(
            matches!(&found[..], [Leftover::Mount { .. }, Leftover::Loop { path, .. }] if *path == ours),
            "{found:?}"
        );
        assert_eq!(undone, [true, true]);
        assert!(gone, "{} is still attached", ours.display());
    }

    #[test]
    fn loop_device_of_a_living_run_is_no_leftover() {
        use crate::host::loop_device::{LoopDevice, LoopOptions};
        let folder = tempfile::tempdir().unwrap();
        let image = image::create(folder.path(), 1 << 20).unwrap();
        let device = LoopDevice::attach(image.as_fd(), &LoopOptions::default()).unwrap();
        // Another process of the run has it open; our own descriptors do not count for ourselves.
        let mut child =
            Command::new("sleep").arg("60").stdin(device.file().try_clone().unwrap()).spawn().unwrap();
        let found = find_in(&Root::default(), &[folder.path().to_owned()]);
        let path = device.path().to_owned();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(
            !found
                .iter()
                .any(|leftover| matches!(leftover, Leftover::Loop { path: found, .. } if *found == path)),
            "{found:?}"
        );
    }
}
