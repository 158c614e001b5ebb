//! The few kinds of mounts fsverdict makes itself (everything a candidate needs goes
//! through mount(8), so that a reader can repeat it).

use std::ffi::CString;
use std::path::{Path, PathBuf};

use rustix::mount::{MountFlags, MountPropagationFlags};

use super::procfs::{Mount, mounts};
use super::root::Root;

/// A mount could not be made or changed.
#[derive(Debug, thiserror::Error)]
#[error("cannot {what} {}: {source}", path.display())]
pub struct MountError {
    what: &'static str,
    path: PathBuf,
    source: std::io::Error,
}

fn failed(what: &'static str, path: &Path) -> impl FnOnce(rustix::io::Errno) -> MountError {
    move |errno| MountError { what, path: path.to_owned(), source: errno.into() }
}

/// The uppermost mount at exactly this path.
pub fn at(path: &Path) -> Option<Mount> {
    mounts(&Root::new("/")).ok()?.into_iter().rfind(|mount| mount.target == path)
}

/// Mounts a fresh tmpfs.
///
/// # Errors
/// When the kernel refuses.
pub fn memory(point: &Path, mode: &str) -> Result<(), MountError> {
    let data = CString::new(format!("mode={mode}")).unwrap_or_default();
    rustix::mount::mount("fsverdict", point, "tmpfs", MountFlags::NOSUID, Some(data.as_c_str()))
        .map_err(failed("mount a tmpfs on", point))
}

/// Mounts one of the kernel's own filesystems (`proc`, `sysfs`, `devtmpfs`).
///
/// # Errors
/// When the kernel refuses.
pub fn kernel(kind: &str, point: &Path) -> Result<(), MountError> {
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    rustix::mount::mount(kind, point, kind, flags, None)
        .map_err(failed("mount the kernel's filesystem on", point))
}

/// Where pseudo-terminals are.
pub const TERMINALS: &str = "/dev/pts";

/// Mounts pseudo-terminals of this namespace's own (Linux 4.7: each mount of devpts is), where the kernel has any.
///
/// # Errors
/// When the kernel refuses.
pub fn terminals() -> Result<(), MountError> {
    let point = Path::new(TERMINALS);
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    match rustix::mount::mount("devpts", point, "devpts", flags, Some(c"newinstance,ptmxmode=666,mode=620")) {
        Ok(()) | Err(rustix::io::Errno::NODEV) => Ok(()),
        Err(errno) => Err(failed("mount terminals on", point)(errno)),
    }
}

/// Shows `source` at `point`, too.
///
/// # Errors
/// When the kernel refuses.
pub fn bind(source: &Path, point: &Path) -> Result<(), MountError> {
    rustix::mount::mount_bind(source, point).map_err(failed("bind", point))
}

/// From now on, nothing mounted here is seen elsewhere, nor the other way round.
///
/// # Errors
/// When the kernel refuses.
pub fn make_private() -> Result<(), MountError> {
    let root = Path::new("/");
    rustix::mount::mount_change(root, MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .map_err(failed("make private the mounts below", root))
}

/// Makes every mount of this namespace read-only except those at `spared`, which must be mount points; and takes from
/// all but those below `/dev` that a node on them opens a device.
///
/// # Errors
/// When a mount that can be reached and written stays so.
pub fn restrict(spared: &[PathBuf]) -> Result<(), MountError> {
    let all = mounts(&Root::default()).map_err(|error| MountError {
        what: "read the mounts below",
        path: "/".into(),
        source: std::io::Error::other(error.to_string()),
    })?;
    for mount in all {
        let has = |wanted: &str| mount.options.split(',').any(|option| option == wanted);
        let mut more = MountFlags::empty();
        if !has("ro") && !spared.contains(&mount.target) {
            more |= MountFlags::RDONLY;
        }
        if !has("nodev") && !mount.target.starts_with("/dev") {
            more |= MountFlags::NODEV;
        }
        if more.is_empty() {
            continue;
        }
        let flags = MountFlags::BIND | more | kept_flags(&mount.options);
        match rustix::mount::mount_remount(&mount.target, flags, "") {
            // A mount hidden beneath another, or below a folder we may not enter, cannot be written either.
            Ok(()) | Err(rustix::io::Errno::NOENT | rustix::io::Errno::ACCESS | rustix::io::Errno::INVAL) => {
            }
            Err(errno) => return Err(failed("make read-only", &mount.target)(errno)),
        }
    }
    Ok(())
}

/// Makes set-user-ID bits below a read-only mount point mean nothing.
///
/// # Errors
/// When the kernel refuses.
pub fn forbid_set_user_id(point: &Path) -> Result<(), MountError> {
    let flags = MountFlags::BIND | MountFlags::RDONLY | MountFlags::NOSUID;
    rustix::mount::mount_remount(point, flags, "").map_err(failed("forbid set-user-ID programs below", point))
}

/// A remount forgets what is not named, and in a user namespace may not forget these.
fn kept_flags(options: &str) -> MountFlags {
    options.split(',').fold(MountFlags::empty(), |flags, option| {
        flags
            | match option {
                "ro" => MountFlags::RDONLY,
                "nosymfollow" => MountFlags::NOSYMFOLLOW,
                "nosuid" => MountFlags::NOSUID,
                "nodev" => MountFlags::NODEV,
                "noexec" => MountFlags::NOEXEC,
                "noatime" => MountFlags::NOATIME,
                "nodiratime" => MountFlags::NODIRATIME,
                "relatime" => MountFlags::RELATIME,
                _ => MountFlags::empty(),
            }
    })
}
