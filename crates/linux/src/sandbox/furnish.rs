//! Arranges the mounts of a sandbox, and separates an untrusted program in it from other processes.

use std::os::fd::{AsFd, IntoRawFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::covers::Covers;
use super::devices::{SHARED_MEMORY, bare_devices};
use super::{Devices, Isolation, Sandbox, SandboxError, system};
use crate::host::mounts;
use crate::host::mounts::DEVICES;
use crate::host::syscall::own_descriptor;
use fsverdict_folders::{open_through_links_of, path_by_number, real_path};

/// Folders with sockets of services: the container runtime or the init system would execute root's requests. Read-only
/// mounts do not prevent connecting.
const SERVICES: &str = "/run";

/// Arranges the mounts of a sandbox in a mount namespace of its own.
pub(super) fn arrange_mounts(sandbox: &Sandbox) -> Result<(), SandboxError> {
    let stranger = sandbox.capabilities.of_a_stranger();
    mounts::make_private()?;
    let opened: Vec<(OwnedFd, PathBuf)> = sandbox
        .writable
        .iter()
        .map(|path| sandbox.open_where_it_lies(path))
        .collect::<Result<_, SandboxError>>()?;
    let known = mounts::all_with(&opened)?;
    let writable: Vec<PathBuf> = opened.into_iter().map(|(_, path)| path).collect();
    let covers = match sandbox.isolation {
        Isolation::Namespaces => Covers::cover_secrets(&sandbox.secrets)?,
        Isolation::None | Isolation::UserNamespaces => None,
    };
    // Opened before anything is covered, so that shown paths can lie below covers; writable paths stay as they are.
    let shown: Vec<(OwnedFd, &Path)> = sandbox
        .shown
        .iter()
        .map(|(source, point)| Ok((sandbox.open_path(source)?, point.as_path())))
        .collect::<Result<_, SandboxError>>()?;
    // Mounts made after this are ours and keep their options; bind mounts keep those of their source.
    mounts::restrict_mounts(&known, covers.is_some(), &writable, |point| match sandbox.devices {
        Devices::Closed => point.starts_with(DEVICES) && point != Path::new(DEVICES),
        Devices::Shared | Devices::Bare | Devices::BareAndKvm => point.starts_with(DEVICES),
    })?;
    for folder in &sandbox.memory {
        mounts::mount_tmpfs(folder, "1777")?;
    }
    match sandbox.devices {
        Devices::Shared => {}
        Devices::Bare => bare_devices(&[])?,
        Devices::BareAndKvm => bare_devices(&["kvm"])?,
        Devices::Closed => mounts::mount_tmpfs(Path::new(SHARED_MEMORY), "1777")?,
    }
    if stranger && Path::new(SERVICES).is_dir() {
        hide_services()?;
    }
    for (source, point) in &shown {
        make_place(source, point).map_err(system("make a place to show something in"))?;
        mounts::bind_mount(&path_by_number(source), point)?;
    }
    if let Some(covers) = covers {
        sandbox.shown.iter().try_for_each(|(source, point)| covers.lay_within(source, point))?;
    }
    if stranger {
        // In a user namespace of its own a program has every capability, and mounts control groups, for example.
        mounts::forbid_user_namespaces()?;
    }
    // The old /proc shows the processes outside; it is covered last because binding by descriptor needs it.
    Ok(mounts::mount_kernel_filesystem("proc", Path::new("/proc"), stranger)?)
}

impl Sandbox {
    /// Opens a path that is to be writable or shown, through no link of an untrusted user.
    fn open_path(&self, path: &Path) -> Result<OwnedFd, SandboxError> {
        open_through_links_of(self.link_owners.as_deref(), path)
            .map_err(|source| SandboxError::Path { path: path.to_owned(), source })
    }

    fn open_where_it_lies(&self, path: &Path) -> Result<(OwnedFd, PathBuf), SandboxError> {
        let opened = self.open_path(path)?;
        let real = real_path(&opened).map_err(system("look where a folder lies"))?;
        Ok((opened, real))
    }

    /// Replaces the writable and shown paths by those of the files that they lead to now, which have no links: in a user
    /// namespace the owners of links cannot be told apart.
    pub(super) fn resolve_paths(&mut self) -> Result<(), SandboxError> {
        let resolve = |path: &Path| self.open_where_it_lies(path).map(|(_, real)| real);
        let writable = self.writable.iter().map(|path| resolve(path)).collect::<Result<_, _>>()?;
        let shown = self.shown.iter().map(|(source, point)| Ok((resolve(source)?, point.clone())));
        let shown = shown.collect::<Result<_, SandboxError>>()?;
        (self.writable, self.shown) = (writable, shown);
        self.link_owners = Some(Vec::new());
        Ok(())
    }
}

/// A mount covers a folder with a folder, and a file with a file.
fn make_place(source: &OwnedFd, point: &Path) -> std::io::Result<()> {
    use rustix::fs::{FileType, fstat};
    let file = FileType::from_raw_mode(fstat(source)?.st_mode) == FileType::RegularFile;
    match (file, point.parent()) {
        (true, Some(folder)) => {
            std::fs::create_dir_all(folder)?;
            std::fs::File::create(point).map(drop)
        }
        _ => std::fs::create_dir_all(point),
    }
}

/// Covers [`SERVICES`] with memory. Links at its top level stay: NixOS has its programs behind one.
fn hide_services() -> Result<(), SandboxError> {
    let folder = Path::new(SERVICES);
    let entries = std::fs::read_dir(folder).map_err(system("look at the services' folder"))?;
    let links: Vec<(PathBuf, PathBuf)> = entries
        .flatten()
        .filter_map(|entry| Some((entry.path(), std::fs::read_link(entry.path()).ok()?)))
        .collect();
    mounts::mount_tmpfs(folder, "755")?;
    for (link, target) in links {
        std::os::unix::fs::symlink(target, link).map_err(system("keep a link"))?;
    }
    Ok(())
}

/// Replaces standard streams that are outside files by the sandbox's null device: through such a descriptor the program
/// could change owner and mode of this machine's files despite read-only mounts.
pub(super) fn reopen_null_streams(command: &mut Command) -> std::io::Result<()> {
    let null = || -> std::io::Result<Stdio> {
        Ok(std::fs::File::options().read(true).write(true).open("/dev/null")?.into())
    };
    if is_null(std::io::stdin())? {
        command.stdin(null()?);
    }
    if is_null(std::io::stdout())? {
        command.stdout(null()?);
    }
    if is_null(std::io::stderr())? {
        command.stderr(null()?);
    }
    Ok(())
}

fn is_null(stream: impl AsFd) -> std::io::Result<bool> {
    use rustix::fs::{FileType, fstat, major, minor};
    let status = fstat(stream)?;
    let is_device = FileType::from_raw_mode(status.st_mode) == FileType::CharacterDevice;
    Ok(is_device && (major(status.st_rdev), minor(status.st_rdev)) == (1, 3))
}

/// Closes every descriptor but the standard streams and these: the caller may have left some open, and an open
/// descriptor can be written despite read-only mounts.
pub(super) fn close_all_but(keeps: &[RawFd]) -> Result<(), SandboxError> {
    let failed = system("look at the open descriptors");
    let names = std::fs::read_dir("/proc/self/fd").and_then(Iterator::collect::<std::io::Result<Vec<_>>>);
    // The entries keep the folder open; once they are dropped, its own number is in the list and not open any more.
    let numbers: Vec<RawFd> = names
        .map_err(failed)?
        .into_iter()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect();
    for descriptor in numbers.into_iter().filter(|number| !keeps.contains(number)).filter_map(own_descriptor)
    {
        if rustix::io::fcntl_getfd(&descriptor).is_err() {
            let _ = descriptor.into_raw_fd();
        }
    }
    Ok(())
}
