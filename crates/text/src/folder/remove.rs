//! Removes folders with all that is in them, through descriptors.

use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags, chmod, renameat_with, unlinkat};
use rustix::io::Errno;

use super::lookup::{LISTED_FOLDER, list_folder, open_below};

/// Removes a folder with all that is in it, across no link and no mount.
pub fn remove_tree(folder: &Path) -> io::Result<()> {
    let name = folder.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let above = folder.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let above = rustix::fs::open(above, LISTED_FOLDER.difference(OFlags::NOFOLLOW), Mode::empty())?;
    let name = CString::new(name.as_encoded_bytes())?;
    Ok(remove_folder(above.as_fd(), &name)?)
}

/// Removes the folder of this name with all that is in it, across no link and no mount.
///
/// # Errors
/// When something in it cannot be removed.
pub fn remove_folder(above: BorrowedFd<'_>, name: &CStr) -> Result<(), Errno> {
    empty_folder(enter(above, name)?.as_fd())?;
    unlinkat(above, name, AtFlags::REMOVEDIR)
}

/// Removes all that is in a folder, across no link and no mount. However deep a stranger nests folders, two are open at once: each
/// folder's folders are moved up to the first, and go from there.
///
/// # Errors
/// When something in it cannot be removed.
pub fn empty_folder(first: BorrowedFd<'_>) -> Result<(), Errno> {
    let mut moved = 0_u64;
    loop {
        let listed = list_folder(first)?;
        if listed.is_empty() {
            return Ok(());
        }
        for (name, kind) in listed {
            if kind != FileType::Directory {
                unlinkat(first, &name, AtFlags::empty())?;
                continue;
            }
            let folder = enter(first, &name)?;
            for (inner, kind) in list_folder(folder.as_fd())? {
                if kind != FileType::Directory {
                    unlinkat(&folder, &inner, AtFlags::empty())?;
                    continue;
                }
                // To give a folder another parent is to write to it.
                drop(enter(folder.as_fd(), &inner)?);
                moved = move_up(folder.as_fd(), &inner, first, moved)?;
            }
            unlinkat(first, &name, AtFlags::REMOVEDIR)?;
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

/// Opens a folder to empty it, also where its maker took away the right to.
fn enter(above: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd, Errno> {
    let name = Path::new(OsStr::from_bytes(name.to_bytes()));
    let open = |flags| open_below(above, name, flags, Mode::empty());
    let opened = open(LISTED_FOLDER).or_else(|errno| match errno {
        Errno::ACCESS => {
            // By its descriptor: by its name, a link that was put there meanwhile would be followed.
            let folder = open(OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW)?;
            chmod(format!("/proc/self/fd/{}", folder.as_raw_fd()), Mode::RWXU)?;
            open(LISTED_FOLDER)
        }
        other => Err(other),
    })?;
    rustix::fs::fchmod(&opened, Mode::RWXU)?;
    Ok(opened)
}
