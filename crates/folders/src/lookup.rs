//! Opens names below an open folder, without following symbolic links or crossing mounts, and lists the entries of a folder.

use std::ffi::CString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, fstat, openat, openat2, statat};
use rustix::io::Errno;

/// The flags for opening a folder to list or empty it.
pub const LISTED_FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Opens `name` below `folder`. A symbolic link, a mount point or `..` in the path is an error, as is an absolute path.
/// `mode` is used only if the file is created.
///
/// # Errors
/// As openat2(2) with `RESOLVE_BENEATH`, `RESOLVE_NO_SYMLINKS` and `RESOLVE_NO_XDEV`.
pub fn open_below(folder: impl AsFd, name: &Path, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
    let flags = flags | OFlags::CLOEXEC;
    match openat2(&folder, name, flags, mode, resolve) {
        // Kernels before 5.6 do not have the call; filters of system calls that do not know it return EPERM.
        Err(Errno::NOSYS | Errno::PERM) => open_by_components(folder.as_fd(), name, flags, mode),
        opened => opened,
    }
}

/// Does the same with one openat(2) for each component; none of these calls follows a link.
fn open_by_components(
    folder: BorrowedFd<'_>,
    name: &Path,
    flags: OFlags,
    mode: Mode,
) -> Result<OwnedFd, Errno> {
    let device = fstat(folder)?.st_dev;
    let way = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut components: Vec<&std::ffi::OsStr> = Vec::new();
    for component in name.components() {
        match component {
            Component::Normal(name) => components.push(name),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return Err(Errno::XDEV),
        }
    }
    let Some((last, above)) = components.split_last() else {
        return openat(folder, c".", flags | OFlags::NOFOLLOW, mode);
    };
    let check = |opened: OwnedFd| {
        if fstat(&opened)?.st_dev == device { Ok(opened) } else { Err(Errno::XDEV) }
    };
    let mut at: Option<OwnedFd> = None;
    for component in above {
        let from = at.as_ref().map_or(folder, AsFd::as_fd);
        at = Some(check(openat(from, *component, way, Mode::empty())?)?);
    }
    let from = at.as_ref().map_or(folder, AsFd::as_fd);
    let opened = openat(from, *last, flags | OFlags::NOFOLLOW, mode)?;
    // A file of an overlay may have another device number than its folder although it is no mount.
    if FileType::from_raw_mode(fstat(&opened)?.st_mode) == FileType::Directory {
        check(opened)
    } else {
        Ok(opened)
    }
}

/// Lists the names and kinds of all entries of a folder that is open for reading. The folder is read to its end before the
/// caller can change it.
///
/// # Errors
/// As getdents64(2).
pub fn list_folder(folder: impl AsFd) -> Result<Vec<(CString, FileType)>, Errno> {
    let mut listed = Vec::new();
    for entry in Dir::read_from(&folder)? {
        let entry = entry?;
        if [c".", c".."].contains(&entry.file_name()) {
            continue;
        }
        let kind = match entry.file_type() {
            // Some filesystems do not report the kind.
            FileType::Unknown => {
                let stat = statat(&folder, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW)?;
                FileType::from_raw_mode(stat.st_mode)
            }
            kind => kind,
        };
        listed.push((entry.file_name().to_owned(), kind));
    }
    Ok(listed)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::fd::AsFd;
    use std::path::Path;

    use rustix::fs::{Mode, OFlags};

    use super::{open_below, open_by_components};

    #[test]
    fn both_ways_of_opening_refuse_links_and_what_lies_outside() {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir_all(place.path().join("run/inner")).unwrap();
        fs::write(place.path().join("victim"), "victim").unwrap();
        fs::write(place.path().join("run/inner/file"), "own").unwrap();
        std::os::unix::fs::symlink("../victim", place.path().join("run/link")).unwrap();
        std::os::unix::fs::symlink("inner", place.path().join("run/way")).unwrap();
        let folder = fs::File::open(place.path().join("run")).unwrap();
        let victim = place.path().join("victim");
        for (name, opens) in [
            ("inner/file", true),
            ("./inner/file", true),
            ("inner/none", false),
            ("link", false),
            ("way/file", false),
            ("../victim", false),
            ("inner/../inner/../../victim", false),
            (victim.to_str().unwrap(), false),
        ] {
            let name = Path::new(name);
            let by_call = open_below(&folder, name, OFlags::RDONLY, Mode::empty());
            let by_components = open_by_components(folder.as_fd(), name, OFlags::RDONLY, Mode::empty());
            assert_eq!((by_call.is_ok(), by_components.is_ok()), (opens, opens), "{name:?}");
        }
        // A device of another filesystem is another mount, too.
        let root = fs::File::open("/").unwrap();
        let process = Path::new("proc/self/status");
        assert!(open_below(&root, process, OFlags::RDONLY, Mode::empty()).is_err());
        assert!(open_by_components(root.as_fd(), process, OFlags::RDONLY, Mode::empty()).is_err());
    }
}
