//! The few kinds of mounts fsverdict makes itself (everything a candidate needs goes
//! through mount(8), so that a reader can repeat it).

use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::mount::{MountFlags, MountPropagationFlags};

use super::procfs::{Mount, read_mounts};
use super::root::Root;
use super::syscall::{self, set_flags_of_all_mounts};
use fsverdict_folders::path_by_number;

/// A mount could not be made or changed.
#[derive(Debug, thiserror::Error)]
#[error("cannot {what} {}: {source}", path.display())]
pub struct MountError {
    what: &'static str,
    path: PathBuf,
    source: std::io::Error,
}

fn mount_error(what: &'static str, path: &Path) -> impl FnOnce(rustix::io::Errno) -> MountError {
    move |errno| MountError { what, path: path.to_owned(), source: errno.into() }
}

pub const DEVICES: &str = "/dev";

/// The uppermost mount at exactly this path.
pub fn mount_at(path: &Path) -> Option<Mount> {
    read_mounts(&Root::new("/")).ok()?.into_iter().rfind(|mount| mount.target == path)
}

/// The maximum share of memory for a tmpfs: staged data were accounted for beforehand, and fill most of a small guest's
/// memory.
const SHARE: &str = "size=95%";

/// Mounts a fresh tmpfs; nodes on it open devices only where they belong, at `/dev`.
pub fn mount_tmpfs(point: &Path, mode: &str) -> Result<(), MountError> {
    let data = CString::new(format!("mode={mode},{SHARE}")).unwrap_or_default();
    let mut flags = MountFlags::NOSUID;
    flags.set(MountFlags::NODEV, point != Path::new(DEVICES));
    rustix::mount::mount("fsverdict", point, "tmpfs", flags, Some(data.as_c_str()))
        .map_err(mount_error("mount a tmpfs on", point))
}

/// Mounts one of the kernel's own filesystems (`proc`, `sysfs`, `devtmpfs`).
pub fn mount_kernel_filesystem(kind: &str, point: &Path, read_only: bool) -> Result<(), MountError> {
    let mut flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    flags.set(MountFlags::RDONLY, read_only);
    flags.set(MountFlags::NODEV, point != Path::new(DEVICES));
    rustix::mount::mount(kind, point, kind, flags, None)
        .map_err(mount_error("mount the kernel's filesystem on", point))
}

pub const TERMINALS: &str = "/dev/pts";

/// Mounts pseudo-terminals of this namespace's own (Linux 4.7: each mount of devpts is), where the kernel has any.
pub fn mount_devpts() -> Result<(), MountError> {
    let point = Path::new(TERMINALS);
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    match rustix::mount::mount("devpts", point, "devpts", flags, Some(c"newinstance,ptmxmode=666,mode=620")) {
        Ok(()) | Err(rustix::io::Errno::NODEV) => Ok(()),
        Err(errno) => Err(mount_error("mount terminals on", point)(errno)),
    }
}

/// Unmounts the topmost filesystem there.
pub fn unmount(point: &Path) -> Result<(), MountError> {
    rustix::mount::unmount(point, rustix::mount::UnmountFlags::empty()).map_err(mount_error("unmount", point))
}

/// Shows `source` at `point`, too.
pub fn bind_mount(source: &Path, point: &Path) -> Result<(), MountError> {
    rustix::mount::mount_bind(source, point).map_err(mount_error("bind", point))
}

/// The same, with everything that is mounted below it.
pub fn bind_all(source: &Path, point: &Path) -> Result<(), MountError> {
    rustix::mount::mount_bind_recursive(source, point).map_err(mount_error("bind all of", point))
}

/// From now on, nothing mounted here is seen elsewhere, nor the other way round.
pub fn make_private() -> Result<(), MountError> {
    let root = Path::new("/");
    rustix::mount::mount_change(root, MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .map_err(mount_error("make private the mounts below", root))
}

/// Forbids user namespaces to this process and to all that it starts, for good if none of them has CAP_SYS_CHROOT or
/// CAP_SYS_ADMIN: the kernel makes none for a process whose root is not the root of its mount namespace
/// (create_user_ns() in kernel/user_namespace.c). The root of the namespace becomes an empty folder in memory, and the
/// root of this process stays the mount that it was, so that no path and no line of /proc/self/mountinfo changes.
///
/// Every process of this mount namespace with the same root is moved to the empty folder; only this one comes back.
pub fn forbid_user_namespaces() -> Result<(), MountError> {
    use rustix::fs::{Mode, OFlags, open};
    let (root, point) = (Path::new("/"), Path::new("/proc"));
    let failed = |errno| mount_error("put an empty folder under", root)(errno);
    // The working folder may be the root, which is moved; another one that cannot be opened stays as it is.
    let working_folder = open(".", OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
    mount_tmpfs(point, "755")?;
    rustix::fs::mkdir(point.join("root"), Mode::RWXU).map_err(failed)?;
    match rustix::process::pivot_root(point, point.join("root")) {
        Ok(()) => rustix::process::chroot("/root").map_err(failed)?,
        // This root is the kernel's first one, an initramfs, which cannot be exchanged (pivot_root(2)); what covers it has
        // the same effect, and is listed as a mount.
        Err(rustix::io::Errno::INVAL) => {
            unmount(point)?;
            mount_tmpfs(root, "755")?;
        }
        Err(errno) => return Err(failed(errno)),
    }
    match working_folder {
        Ok(folder) => rustix::process::fchdir(folder).map_err(failed),
        Err(_) => Ok(()),
    }
}

/// Every mount of this namespace.
pub fn list_mounts() -> Result<Vec<Mount>, MountError> {
    read_mounts(&Root::default()).map_err(|error| MountError {
        what: "read the mounts below",
        path: "/".into(),
        source: std::io::Error::other(error.to_string()),
    })
}

/// Makes each of these open folders a mount point where it lies, and lists all mounts of this namespace.
///
/// Reading the list is a large part of the time that a sandbox takes to start, so it is read only once if all folders
/// are mount points already.
pub fn all_with(folders: &[(OwnedFd, PathBuf)]) -> Result<Vec<Mount>, MountError> {
    let mounts = list_mounts()?;
    let is_point = |path: &Path| mounts.iter().any(|mount| mount.target == path);
    let lacking: Vec<_> = folders.iter().filter(|(_, path)| !is_point(path)).collect();
    for (folder, _) in &lacking {
        let by_number = path_by_number(folder);
        bind_mount(&by_number, &by_number)?;
    }
    if lacking.is_empty() { Ok(mounts) } else { list_mounts() }
}

/// Makes every mount of this namespace read-only except those at `spared`, which must be mount points; and takes from
/// all but those that `keep_nodes` that a node on them opens a device. `known` are all of them, or, if there are `others`,
/// all but some that are made since then, and are neither to be spared nor to keep nodes.
pub fn restrict_mounts(
    known: &[Mount],
    others: bool,
    spared: &[PathBuf],
    keep_nodes: impl Fn(&Path) -> bool,
) -> Result<(), MountError> {
    let changes: Vec<MountRestriction> = known
        .iter()
        .enumerate()
        // A mount hidden by another mount at the same place cannot be named.
        .filter(|(at, mount)| !known[at + 1..].iter().any(|later| later.target == mount.target))
        .map(|(_, mount)| {
            let had = kept_flags(&mount.options);
            let mut wanted = had;
            wanted
                .set(MountFlags::RDONLY, had.contains(MountFlags::RDONLY) || !spared.contains(&mount.target));
            wanted.set(MountFlags::NODEV, had.contains(MountFlags::NODEV) || !keep_nodes(&mount.target));
            MountRestriction { target: &mount.target, had, wanted }
        })
        .collect();
    // First the options for all mounts in one call, then the rest one by one.
    let count = |which: fn(&MountRestriction) -> bool| changes.iter().filter(|change| which(change)).count();
    let no_devices = others
        || count(|change| (change.wanted - change.had).contains(MountFlags::NODEV))
            > count(|change| !change.wanted.contains(MountFlags::NODEV));
    let mut stroke = MountFlags::RDONLY;
    stroke.set(MountFlags::NODEV, no_devices);
    if set_flags_of_all_mounts(true, no_devices).is_err() {
        if others {
            // One by one, then, and none may be left out.
            return restrict_mounts(&list_mounts()?, false, spared, keep_nodes);
        }
        stroke = MountFlags::empty();
    }
    for MountRestriction { target, had, wanted } in changes {
        if had | stroke == wanted {
            continue;
        }
        match rustix::mount::mount_remount(target, MountFlags::BIND | wanted, "") {
            // A mount that another mount hides, or below an inaccessible folder, cannot be written either.
            Ok(()) | Err(rustix::io::Errno::NOENT | rustix::io::Errno::ACCESS | rustix::io::Errno::INVAL) => {
            }
            Err(errno) => return Err(mount_error("make read-only", target)(errno)),
        }
    }
    Ok(())
}

/// The options that [`restrict_mounts`] sets on a mount.
struct MountRestriction<'a> {
    target: &'a Path,
    had: MountFlags,
    wanted: MountFlags,
}

/// From now on, no node on the mount at this point opens a device. A filesystem that a plan made may have nodes of any
/// device (`mkfs.xfs -p`, `mke2fs -d`), and this process may write to devices.
pub fn forbid_devices(point: &Path) -> Result<(), MountError> {
    let failed = || mount_error("forbid devices on", point);
    let path = CString::new(point.as_os_str().as_bytes()).map_err(|_| failed()(Errno::INVAL))?;
    match syscall::forbid_devices(&path) {
        // Before Linux 5.12 each mount is changed with all its options.
        Err(Errno::NOSYS) => {
            let mount = mount_at(point).ok_or_else(|| failed()(Errno::INVAL))?;
            let flags = MountFlags::BIND | MountFlags::NODEV | kept_flags(&mount.options);
            rustix::mount::mount_remount(point, flags, "").map_err(failed())
        }
        changed => changed.map_err(failed()),
    }
}

/// Makes set-user-ID bits below a read-only mount point mean nothing.
pub fn forbid_set_user_id(point: &Path) -> Result<(), MountError> {
    let flags = MountFlags::BIND | MountFlags::RDONLY | MountFlags::NOSUID;
    rustix::mount::mount_remount(point, flags, "")
        .map_err(mount_error("forbid set-user-ID programs below", point))
}

/// A remount clears options that are not named, and may not clear these in a user namespace.
fn kept_flags(options: &str) -> MountFlags {
    let kept_flags =
        MountFlags::SYNCHRONOUS | MountFlags::DIRSYNC | MountFlags::LAZYTIME | MountFlags::STRICTATIME;
    options.split(',').fold(MountFlags::empty(), |flags, option| flags | (mount_flag(option) - kept_flags))
}

/// Filesystem-independent mount options (mount(8), FILESYSTEM-INDEPENDENT MOUNT OPTIONS).
fn mount_flag(option: &str) -> MountFlags {
    match option {
        "ro" => MountFlags::RDONLY,
        "nosymfollow" => MountFlags::NOSYMFOLLOW,
        "nosuid" => MountFlags::NOSUID,
        "nodev" => MountFlags::NODEV,
        "noexec" => MountFlags::NOEXEC,
        "noatime" => MountFlags::NOATIME,
        "nodiratime" => MountFlags::NODIRATIME,
        "relatime" => MountFlags::RELATIME,
        "strictatime" => MountFlags::STRICTATIME,
        "lazytime" => MountFlags::LAZYTIME,
        "sync" => MountFlags::SYNCHRONOUS,
        "dirsync" => MountFlags::DIRSYNC,
        _ => MountFlags::empty(),
    }
}
