//! Mounts as this process sees them, and the few kinds fsverdict makes itself (everything a candidate needs goes
//! through mount(8), so that a reader can repeat it).

use std::ffi::CString;
use std::path::{Path, PathBuf};

use rustix::mount::{MountFlags, MountPropagationFlags};

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

/// One line of `/proc/self/mountinfo` (proc_pid_mountinfo(5)).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// Device number as `major:minor`.
    pub device: String,
    /// Where it is mounted.
    pub point: PathBuf,
    /// Per-mount options (`rw`, `nosuid`, …).
    pub options: Vec<String>,
    /// Filesystem type.
    pub kind: String,
    /// What was mounted, as the filesystem tells it.
    pub source: String,
    /// Per-superblock options, as the kernel resolved them.
    pub super_options: String,
}

/// Parses the text of a `mountinfo` file; a line that does not parse is left out.
pub fn parse(text: &str) -> Vec<Mount> {
    text.lines().filter_map(parse_line).collect()
}

fn parse_line(line: &str) -> Option<Mount> {
    let (mount, filesystem) = line.split_once(" - ")?;
    let mut fields = mount.split(' ');
    let device = fields.nth(2)?.to_owned();
    let point = PathBuf::from(unescape(fields.nth(1)?));
    let options = fields.next()?.split(',').map(str::to_owned).collect();
    let mut fields = filesystem.split(' ');
    let kind = fields.next()?.to_owned();
    let source = unescape(fields.next()?);
    let super_options = fields.next().unwrap_or_default().to_owned();
    Some(Mount { device, point, options, kind, source, super_options })
}

/// Undoes the kernel's octal escapes of blank, tab, newline and backslash.
fn unescape(field: &str) -> String {
    let bytes = field.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let octal = field.get(at + 1..at + 4).and_then(|digits| u8::from_str_radix(digits, 8).ok());
        if let (b'\\', Some(byte)) = (bytes[at], octal) {
            plain.push(byte);
            at += 4;
        } else {
            plain.push(bytes[at]);
            at += 1;
        }
    }
    String::from_utf8_lossy(&plain).into_owned()
}

/// The mounts this process sees, in the order they were made.
///
/// # Errors
/// When `/proc` is not mounted.
pub fn current() -> std::io::Result<Vec<Mount>> {
    Ok(parse(&std::fs::read_to_string("/proc/self/mountinfo")?))
}

/// The uppermost mount at exactly this path.
pub fn at(path: &Path) -> Option<Mount> {
    current().ok()?.into_iter().rfind(|mount| mount.point == path)
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

/// Makes every mount of this namespace read-only except those at `spared`, which must be mount points.
///
/// # Errors
/// When a mount that can be reached and written stays so.
pub fn make_read_only(spared: &[PathBuf]) -> Result<(), MountError> {
    let mounts =
        current().map_err(|source| MountError { what: "read the mounts of", path: "/".into(), source })?;
    for mount in mounts {
        if spared.contains(&mount.point) || mount.options.iter().any(|option| option == "ro") {
            continue;
        }
        let flags = MountFlags::BIND | MountFlags::RDONLY | kept_flags(&mount.options);
        match rustix::mount::mount_remount(&mount.point, flags, "") {
            // A mount hidden beneath another, or below a folder we may not enter, cannot be written either.
            Ok(()) | Err(rustix::io::Errno::NOENT | rustix::io::Errno::ACCESS | rustix::io::Errno::INVAL) => {
            }
            Err(errno) => return Err(failed("make read-only", &mount.point)(errno)),
        }
    }
    Ok(())
}

/// A remount forgets what is not named, and in a user namespace may not forget these.
fn kept_flags(options: &[String]) -> MountFlags {
    options.iter().fold(MountFlags::empty(), |flags, option| {
        flags
            | match option.as_str() {
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::parse;

    #[test]
    fn mountinfo_lines_with_and_without_optional_fields() {
        let text = "36 35 98:0 / /mnt/a\\040b rw,noatime shared:1 master:2 - ext3 /dev/root rw,errors=continue\n\
                    22 1 0:21 / /proc rw - proc proc rw\nnonsense\n";
        let mounts = parse(text);
        assert_eq!(mounts.len(), 2);
        assert_eq!((mounts[0].point.as_path(), mounts[0].device.as_str()), (Path::new("/mnt/a b"), "98:0"));
        assert_eq!(
            (mounts[0].kind.as_str(), mounts[0].super_options.as_str()),
            ("ext3", "rw,errors=continue")
        );
        assert_eq!(mounts[0].options, ["rw", "noatime"]);
    }
}
