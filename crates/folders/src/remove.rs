//! Removes folders with their content, through descriptors.

use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags, chmod, renameat_with, unlinkat};
use rustix::io::Errno;

use super::lookup::{LISTED_FOLDER, list_folder, open_below};

/// Removes a folder with its content, without following links or crossing mounts.
pub fn remove_tree(folder: &Path) -> io::Result<()> {
    let name = folder.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let above = folder.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let above = rustix::fs::open(above, LISTED_FOLDER.difference(OFlags::NOFOLLOW), Mode::empty())?;
    let name = CString::new(name.as_encoded_bytes())?;
    Ok(remove_folder(above.as_fd(), &name)?)
}

/// Removes the folder of this name with its content, without following links or crossing mounts.
///
/// # Errors
/// Fails if a part of the content cannot be removed.
pub fn remove_folder(above: BorrowedFd<'_>, name: &CStr) -> Result<(), Errno> {
    empty_folder(open_to_empty(above, name)?.as_fd())?;
    unlinkat(above, name, AtFlags::REMOVEDIR)
}

/// Removes the content of a folder, without following links or crossing mounts. At most two folders are open at once,
/// independently of the depth of the tree: subfolders are moved up to the first folder, and removed from there.
///
/// # Errors
/// Fails if a part of the content cannot be removed.
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
            let folder = open_to_empty(first, &name)?;
            for (inner, kind) in list_folder(folder.as_fd())? {
                if kind != FileType::Directory {
                    unlinkat(&folder, &inner, AtFlags::empty())?;
                    continue;
                }
                // Moving a folder to another parent needs permission to write to it.
                drop(open_to_empty(folder.as_fd(), &inner)?);
                moved = move_up(folder.as_fd(), &inner, first, moved)?;
            }
            unlinkat(first, &name, AtFlags::REMOVEDIR)?;
        }
    }
}

/// Moves a folder to a new, free name. Returns the number of the next name.
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

/// Opens a folder to empty it, even if its mode does not permit that.
fn open_to_empty(above: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd, Errno> {
    let name = Path::new(OsStr::from_bytes(name.to_bytes()));
    let open = |flags| open_below(above, name, flags, Mode::empty());
    let opened = open(LISTED_FOLDER).or_else(|errno| match errno {
        Errno::ACCESS => {
            // The mode is changed through the descriptor: by name, a link that replaced the folder would be followed.
            let folder = open(OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW)?;
            chmod(format!("/proc/self/fd/{}", folder.as_raw_fd()), Mode::RWXU)?;
            open(LISTED_FOLDER)
        }
        other => Err(other),
    })?;
    rustix::fs::fchmod(&opened, Mode::RWXU)?;
    Ok(opened)
}
