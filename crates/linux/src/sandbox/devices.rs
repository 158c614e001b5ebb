//! Builds a private `/dev` for a sandbox: devices without content, its own terminals and shared memory, and only the
//! given disks.

use std::os::fd::OwnedFd;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat, open, stat};

use super::{SandboxError, system};
use crate::host::mounts;
use crate::host::mounts::DEVICES;
use crate::host::root::names_in;
use fsverdict_folders::path_by_number;

/// Where programs share memory. Without it nilfs_cleanerd says that it runs, and dies.
pub(super) const SHARED_MEMORY: &str = "/dev/shm";
/// Devices that hold nothing.
const BARE: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];
/// Where udev keeps further names of disks.
const NAMES: &str = "/dev/disk";
/// … and the device mapper those of its own.
const MAPPED: &str = "/dev/mapper";

/// Covers `/dev` for every process with this mount namespace: of all disks, only the named paths exist.
pub fn private_devices(kept: &[&Path]) -> Result<(), SandboxError> {
    let nodes = kept
        .iter()
        .map(|path| stat(*path).map(|node| (*path, node)).map_err(system("look at a device")))
        .collect::<Result<Vec<_>, SandboxError>>()?;
    let names = names_of(kept);
    bare_devices(&[])?;
    for (path, node) in nodes {
        make_node(path, FileType::from_raw_mode(node.st_mode), node.st_rdev)?;
    }
    for (name, target) in names {
        make_parent(&name)?;
        symlink(target, name).map_err(system("keep a device's other name"))?;
    }
    Ok(())
}

/// Makes a node of a device that came to be later.
///
/// # Errors
/// When the kernel refuses; not when it is there already.
pub fn make_node(path: &Path, kind: FileType, number: u64) -> Result<(), SandboxError> {
    make_parent(path)?;
    match mknodat(CWD, path, kind, Mode::RUSR | Mode::WUSR, number) {
        Ok(()) | Err(rustix::io::Errno::EXIST) => Ok(()),
        Err(errno) => Err(system("make a device's node")(errno)),
    }
}

fn make_parent(path: &Path) -> Result<(), SandboxError> {
    let parent = path.parent().unwrap_or(Path::new(DEVICES));
    std::fs::create_dir_all(parent).map_err(system("make a folder for a device"))
}

/// The links below [`NAMES`] and [`MAPPED`] that lead to one of these devices, with their targets.
fn names_of(kept: &[&Path]) -> Vec<(PathBuf, PathBuf)> {
    let folders = names_in(Path::new(NAMES)).into_iter().map(|folder| Path::new(NAMES).join(folder));
    let folders = folders.chain([PathBuf::from(MAPPED)]);
    let links = folders.flat_map(|folder| names_in(&folder).into_iter().map(move |name| folder.join(name)));
    let leads = |link: &PathBuf| link.canonicalize().is_ok_and(|real| kept.contains(&real.as_path()));
    links.filter(leads).filter_map(|link| Some((link.clone(), std::fs::read_link(&link).ok()?))).collect()
}

/// Covers `/dev` by one without disks, but with these nodes.
pub(super) fn bare_devices(more: &[&'static str]) -> Result<(), SandboxError> {
    let devices = Path::new(DEVICES);
    let opened: Vec<(OwnedFd, &str)> = BARE
        .iter()
        .chain(more)
        .filter_map(|name| {
            let opened = open(devices.join(name), OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
            Some((opened.ok()?, *name))
        })
        .collect();
    mounts::mount_tmpfs(devices, "755")?;
    for (source, name) in &opened {
        let point = devices.join(name);
        std::fs::write(&point, "").map_err(system("make a device's place"))?;
        mounts::bind_mount(&path_by_number(source), &point)?;
    }
    let links = [("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")];
    for (name, target) in links.into_iter().chain([("ptmx", "pts/ptmx")]) {
        symlink(target, devices.join(name)).map_err(system("link a standard stream"))?;
    }
    for folder in [SHARED_MEMORY, mounts::TERMINALS] {
        std::fs::create_dir(folder).map_err(system("make a folder for shared memory and terminals"))?;
    }
    mounts::mount_tmpfs(Path::new(SHARED_MEMORY), "1777")?;
    Ok(mounts::mount_devpts()?)
}
