//! Lists and removes what others made, through descriptors.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, RenameFlags, ResolveFlags, chmodat, openat2, renameat_with, statat,
    unlinkat,
};
use rustix::io::Errno;
use rustix::path::Arg;

pub(super) const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Opens what is below a folder, across no link and no mount.
pub(super) fn look_up(above: BorrowedFd<'_>, name: impl Arg, flags: OFlags) -> Result<OwnedFd, Errno> {
    let own = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
    openat2(above, name, flags, Mode::empty(), own)
}

/// What a folder holds, by name and kind, read to its end before anything is changed.
pub(super) fn entries(folder: BorrowedFd<'_>) -> Result<Vec<(CString, FileType)>, Errno> {
    let mut found = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        if [c".", c".."].contains(&entry.file_name()) {
            continue;
        }
        let kind = match entry.file_type() {
            // Some filesystems do not say.
            FileType::Unknown => {
                let facts = statat(folder, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW)?;
                FileType::from_raw_mode(facts.st_mode)
            }
            kind => kind,
        };
        found.push((entry.file_name().to_owned(), kind));
    }
    Ok(found)
}

/// Removes a folder with all that is in it, across no link and no mount.
pub fn remove_tree(folder: &Path) -> io::Result<()> {
    let name = folder.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let above = folder.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let above = rustix::fs::open(above, FOLDER.difference(OFlags::NOFOLLOW), Mode::empty())?;
    let name = CString::new(name.as_encoded_bytes())?;
    Ok(remove_folder(above.as_fd(), &name)?)
}

/// However deep a stranger nests folders, two are open at once: each folder's folders are moved up to the first, and go from
/// there.
pub(super) fn remove_folder(above: BorrowedFd<'_>, name: &CStr) -> Result<(), Errno> {
    let first = enter(above, name)?;
    let mut moved = 0_u64;
    loop {
        let listed = entries(first.as_fd())?;
        if listed.is_empty() {
            return unlinkat(above, name, AtFlags::REMOVEDIR);
        }
        for (name, kind) in listed {
            if kind != FileType::Directory {
                unlinkat(&first, &name, AtFlags::empty())?;
                continue;
            }
            let folder = enter(first.as_fd(), &name)?;
            for (inner, kind) in entries(folder.as_fd())? {
                if kind != FileType::Directory {
                    unlinkat(&folder, &inner, AtFlags::empty())?;
                    continue;
                }
                // To give a folder another parent is to write to it.
                drop(enter(folder.as_fd(), &inner)?);
                moved = move_up(folder.as_fd(), &inner, first.as_fd(), moved)?;
            }
            unlinkat(&first, &name, AtFlags::REMOVEDIR)?;
        }
    }
}

/// Moves a folder to where no other of its new name is; the number of the next name.
fn move_up(from: BorrowedFd<'_>, name: &CStr, to: BorrowedFd<'_>, mut number: u64) -> Result<u64, Errno> {
    loop {
        let new = format!(".moved-{number}");
        number += 1;
        match renameat_with(from, name, to, &new, RenameFlags::NOREPLACE) {
            Err(Errno::EXIST) => {}
            other => return other.map(|()| number),
        }
    }
}

/// Opens a folder to empty it, after whoever made it took away the right to.
fn enter(above: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd, Errno> {
    let open = || look_up(above, name, FOLDER);
    let opened = open().or_else(|errno| match errno {
        Errno::ACCESS => {
            chmodat(above, name, Mode::RWXU, AtFlags::empty())?;
            open()
        }
        other => Err(other),
    })?;
    rustix::fs::fchmod(&opened, Mode::RWXU)?;
    Ok(opened)
}
