//! Reads and tidies a folder that a sandboxed program filled: an unpacked package, a tree built by a makefile of unknown
//! origin.
//!
//! Paths of several components are resolved as those of a run's folder ([`open_below`]); only regular files of a bounded
//! size are read, of any owner, and opening never blocks, as it would on a FIFO.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, chmodat, chownat, fstat, statat};
use rustix::io::Errno;
use rustix::process::{getegid, geteuid};

use super::handle::FolderHandle;
use super::lookup::{LISTED_FOLDER, list_folder, open_below};
use super::regular::{check_size, must_be_regular, read_whole};
use super::remove::remove_folder;

/// Files and folders that a kernel's package or sources may have, all told.
const MOST_ENTRIES: usize = 300_000;
/// The most bytes that one file of it may have.
const LARGEST: u64 = 1 << 30;

const READ: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

impl FolderHandle {
    /// Opens a regular file of at most `most` bytes by its path below the folder.
    ///
    /// # Errors
    /// As open(2); also fails if it is no regular file, or longer.
    pub fn open_file(&self, path: impl AsRef<Path>, most: u64) -> io::Result<File> {
        let file = File::from(open_below(self, path.as_ref(), READ, Mode::empty())?);
        must_be_regular(fstat(&file)?.st_mode)?;
        check_size(&file, most)?;
        Ok(file)
    }

    /// Reads such a file.
    ///
    /// # Errors
    /// As [`FolderHandle::open_file`].
    pub fn read_file(&self, path: impl AsRef<Path>, most: u64) -> io::Result<Vec<u8>> {
        read_whole(self.open_file(path, most)?, most)
    }

    /// Whether a folder has this path.
    pub fn is_folder(&self, path: impl AsRef<Path>) -> bool {
        open_below(self, path.as_ref(), LISTED_FOLDER, Mode::empty()).is_ok()
    }

    /// The names in the folder of this path, sorted; none where there is no such folder.
    pub fn list_names_in(&self, path: impl AsRef<Path>) -> Vec<String> {
        let opened = open_below(self, path.as_ref(), LISTED_FOLDER, Mode::empty());
        let listed = opened.and_then(list_folder);
        let text = |(name, _): (CString, FileType)| name.into_string().ok();
        let mut names: Vec<String> = listed.unwrap_or_default().into_iter().filter_map(text).collect();
        names.sort();
        names
    }

    /// Removes a file; a link is removed itself.
    ///
    /// # Errors
    /// As unlink(2).
    pub fn remove_file(&self, path: &Path) -> io::Result<()> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let opened = open_below(self, folder, LISTED_FOLDER, Mode::empty())?;
        let name = path.file_name().unwrap_or_default();
        Ok(rustix::fs::unlinkat(&opened, name, AtFlags::empty())?)
    }

    /// Reduces it to folders and regular files that only the owner can change and everyone can read; removes everything
    /// else, links first, and files that `wanted` rejects.
    ///
    /// # Errors
    /// When there is more than any kernel has, or something cannot be changed.
    pub fn remove_unwanted(&self, wanted: impl Fn(&Path) -> bool) -> io::Result<()> {
        let mut folders = vec![PathBuf::from(".")];
        let mut count = 0;
        while let Some(folder) = folders.pop() {
            let opened = open_below(self, &folder, LISTED_FOLDER, Mode::empty())?;
            for (name, kind) in list_folder(&opened)? {
                count += 1;
                if count > MOST_ENTRIES {
                    return Err(io::Error::other(format!("it has more than {MOST_ENTRIES} files")));
                }
                let path = folder.join(name.to_string_lossy().as_ref());
                let path = path.strip_prefix(".").unwrap_or(&path).to_owned();
                let shown = name.to_bytes().iter().all(u8::is_ascii_graphic);
                let keep = shown && wanted(&path);
                match kind {
                    FileType::Directory if keep => {
                        make_ours(opened.as_fd(), &name, Mode::from_raw_mode(0o755))?;
                        folders.push(path);
                    }
                    FileType::Directory => remove_folder(opened.as_fd(), &name)?,
                    FileType::RegularFile if keep => {
                        let facts = statat(&opened, &name, AtFlags::SYMLINK_NOFOLLOW)?;
                        if u64::try_from(facts.st_size).unwrap_or(u64::MAX) > LARGEST {
                            return Err(io::Error::other(format!("{} is too large", path.display())));
                        }
                        // A file with another name may belong to someone else, and chown would affect it there, too.
                        if facts.st_nlink > 1 {
                            rustix::fs::unlinkat(&opened, &name, AtFlags::empty())?;
                        } else {
                            make_ours(opened.as_fd(), &name, Mode::from_raw_mode(0o644))?;
                        }
                    }
                    _ => rustix::fs::unlinkat(&opened, &name, AtFlags::empty())?,
                }
            }
        }
        Ok(())
    }
}

/// Opens a regular file of our own in a folder of our own, or creates it. A link or a FIFO in its place is refused.
///
/// # Errors
/// As open(2); also fails if it is no regular file.
pub fn open_own(path: &Path, more: OFlags) -> io::Result<File> {
    let flags = READ | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CREATE | more;
    let file = File::from(rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)?);
    must_be_regular(fstat(&file)?.st_mode)?;
    Ok(file)
}

fn make_ours(folder: BorrowedFd<'_>, name: &CStr, mode: Mode) -> Result<(), Errno> {
    chownat(folder, name, Some(geteuid()), Some(getegid()), AtFlags::SYMLINK_NOFOLLOW)?;
    // The caller has checked that it is no link, and no process works there any more.
    chmodat(folder, name, mode, AtFlags::empty())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::open_own;
    use crate::{FolderHandle, remove_tree};

    fn mkfifo(path: &std::path::Path) {
        rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    }

    #[test]
    fn only_regular_files_of_a_bounded_size_are_read_and_through_no_link() {
        let place = tempfile::tempdir().unwrap();
        let (folder, mine) = (place.path().join("folder"), place.path().join("mine"));
        fs::create_dir_all(folder.join("inner")).unwrap();
        fs::write(&mine, "mine").unwrap();
        fs::write(folder.join("inner/file"), "1234").unwrap();
        symlink(&mine, folder.join("link")).unwrap();
        symlink("inner", folder.join("way")).unwrap();
        symlink(place.path(), folder.join("out")).unwrap();
        mkfifo(&folder.join("fifo"));
        let inside = FolderHandle::open_untrusted(&folder).unwrap();
        assert_eq!(inside.read_file("inner/file", 4).unwrap(), b"1234");
        assert!(inside.read_file("inner/file", 3).is_err());
        for name in ["link", "way/file", "out/mine", "../mine", "fifo", "inner", "none"] {
            assert!(inside.read_file(name, 100).is_err(), "{name}");
        }
        assert!(FolderHandle::open_untrusted(&folder.join("way")).is_err());
        assert_eq!(inside.list_names_in("inner"), ["file"]);
        assert!(inside.list_names_in("way").is_empty());
        for name in ["link", "fifo"] {
            assert!(open_own(&folder.join(name), rustix::fs::OFlags::TRUNC).is_err(), "{name}");
        }
        assert_eq!(fs::read_to_string(mine).unwrap(), "mine");
    }

    #[test]
    fn what_is_tidied_is_folders_and_files_that_are_ours() {
        let place = tempfile::tempdir().unwrap();
        let (folder, mine) = (place.path().join("folder"), place.path().join("mine"));
        fs::create_dir_all(&mine).unwrap();
        fs::write(mine.join("thesis"), "x").unwrap();
        fs::create_dir_all(folder.join("keep/shut")).unwrap();
        fs::create_dir_all(folder.join("drop/inner")).unwrap();
        fs::write(folder.join("keep/shut/file"), "x").unwrap();
        fs::write(folder.join("keep/one"), "x").unwrap();
        fs::hard_link(mine.join("thesis"), folder.join("keep/two")).unwrap();
        symlink(&mine, folder.join("keep/link")).unwrap();
        symlink(&mine, folder.join("drop/inner/link")).unwrap();
        mkfifo(&folder.join("keep/fifo"));
        fs::set_permissions(folder.join("keep/one"), fs::Permissions::from_mode(0o4777)).unwrap();
        fs::set_permissions(folder.join("keep/shut"), fs::Permissions::from_mode(0o000)).unwrap();
        FolderHandle::open_untrusted(&folder)
            .unwrap()
            .remove_unwanted(|path| path.starts_with("keep"))
            .unwrap();
        let inside = FolderHandle::open_untrusted(&folder).unwrap();
        assert_eq!(inside.list_names_in("."), ["keep"]);
        assert_eq!(inside.list_names_in("keep"), ["one", "shut"]);
        assert_eq!(fs::metadata(folder.join("keep/one")).unwrap().permissions().mode() & 0o7777, 0o644);
        assert_eq!(fs::read_to_string(mine.join("thesis")).unwrap(), "x");
    }

    #[test]
    fn however_deep_a_tree_is_it_can_be_removed_and_nothing_behind_its_links() {
        let place = tempfile::tempdir().unwrap();
        let (folder, mine) = (place.path().join("folder"), place.path().join("mine"));
        fs::create_dir(&mine).unwrap();
        fs::write(mine.join("thesis"), "x").unwrap();
        // More than a process may have files open.
        fs::create_dir_all(folder.join("d/".repeat(1900))).unwrap();
        fs::create_dir_all(folder.join("d/.moved-0/e/f")).unwrap();
        symlink(&mine, folder.join("d/d/link")).unwrap();
        fs::set_permissions(folder.join("d/.moved-0/e"), fs::Permissions::from_mode(0o000)).unwrap();
        remove_tree(&folder).unwrap();
        assert!(!folder.exists());
        symlink(&mine, &folder).unwrap();
        assert!(remove_tree(&folder).is_err());
        assert_eq!(fs::read_to_string(mine.join("thesis")).unwrap(), "x");
    }
}
