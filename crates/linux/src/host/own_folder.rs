//! Creates a private folder of fsverdict in a folder of the user: made for one trial, and removed with it. No other
//! entry there is ever opened, written or removed.
//!
//! Before it is made, a note of it lies in the scratch folder, and a process of ours stands by that removes both when the
//! conductor has ended, however that was. Where that process was ended, too, `fsverdict clean` does it by the note.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::Duration;

use rustix::fs::{Access, AtFlags, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use super::block_device::DeviceNumber;
use super::image::{ImageError, scratch_folder};
use super::process_key::ProcessKey;
use super::procfs::{THIS_PROGRAM, read_mounts};
use super::root::Root;
use fsverdict_folders::empty_folder;
use fsverdict_text::{Bytes, Hinted};

/// How the names of notes begin; the owner's process key and a number follow.
pub const NOTE_PREFIX: &str = "folder-";
/// The prefix of the folders' own names; the rest is the same.
const PREFIX: &str = ".fsverdict-";
/// The hidden subcommand of the process that stands by.
pub const STAND_BY: &str = "stand-by";
/// The number of attempts to remove a folder that ending processes may still write to, and the pause between.
const TRIES: u32 = 50;
const PAUSE: Duration = Duration::from_millis(100);

#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    #[error("cannot work in {}: {source}", folder.display())]
    Folder { folder: PathBuf, source: io::Error },
    #[error("the work needs at least {}, and {} has {} free", Bytes(*room), folder.display(), Bytes(*free))]
    NoSpace { room: u64, free: u64, folder: PathBuf },
    #[error(transparent)]
    Note(#[from] ImageError),
}

impl Hinted for FolderError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            FolderError::Folder { .. } => "name an existing folder that you may write to".to_owned(),
            FolderError::NoSpace { .. } => "make room there, or use less data (--scale 0.1)".to_owned(),
            FolderError::Note(error) => return error.hint(),
        })
    }
}

/// Makes sure that `room` bytes could be written below `folder`; nothing is.
pub fn check_usable(folder: &Path, room: u64) -> Result<(), FolderError> {
    let failed = |errno: Errno| FolderError::Folder { folder: folder.to_owned(), source: errno.into() };
    let opened = open_folder(folder).map_err(failed)?;
    rustix::fs::access(folder, Access::WRITE_OK | Access::EXEC_OK).map_err(failed)?;
    let volume = rustix::fs::fstatvfs(&opened).map_err(failed)?;
    let free = volume.f_bavail.saturating_mul(volume.f_frsize);
    // Some network filesystems do not say.
    if volume.f_blocks > 0 && free < room {
        return Err(FolderError::NoSpace { room, free, folder: folder.to_owned() });
    }
    Ok(())
}

/// The filesystem below a folder for display: `nfs4 (server:/export)`.
pub fn lies_on(folder: &Path) -> Option<String> {
    let number = DeviceNumber::from_raw(fs::metadata(folder).ok()?.dev());
    let mounts = read_mounts(&Root::default()).ok()?;
    let mount = mounts.iter().rfind(|mount| mount.device == (number.major, number.minor))?;
    Some(format!("{} ({})", mount.filesystem, mount.source.display()))
}

fn open_folder(folder: &Path) -> Result<OwnedFd, Errno> {
    rustix::fs::open(folder, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

/// The folder of a trial. It is removed when this value is dropped.
#[derive(Debug)]
pub struct OwnFolder {
    path: PathBuf,
    note: PathBuf,
    /// While it is open, the process that stands by waits.
    line: Option<ChildStdin>,
    stands_by: Child,
}

impl OwnFolder {
    /// Makes it in `folder`, where no other of this name can be.
    pub fn create_folder(folder: &Path) -> Result<Self, FolderError> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let failed = |source: io::Error| FolderError::Folder { folder: folder.to_owned(), source };
        // Where it really is: a link may lead elsewhere later.
        let folder = folder.canonicalize().map_err(failed)?;
        let key = ProcessKey::current(&Root::default()).ok_or_else(|| {
            failed(io::Error::new(io::ErrorKind::NotFound, "/proc/self/stat cannot be read"))
        })?;
        let name = format!("{key}-{}", COUNT.fetch_add(1, Ordering::Relaxed));
        let note = scratch_folder(None)?.join(format!("{NOTE_PREFIX}{name}"));
        let above = open_folder(&folder).map_err(|errno| failed(errno.into()))?;
        let inode = File::from(above.try_clone().map_err(failed)?).metadata().map_err(failed)?.ino();
        let mut file =
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(&note).map_err(failed)?;
        let path = folder.join(format!("{PREFIX}{name}"));
        let begin = || -> io::Result<(Child, ChildStdin)> {
            let text = serde_json::to_string(&(&path, inode))?;
            writeln!(file, "{text}")?;
            file.sync_all()?;
            let folder_name = path.file_name().unwrap_or_default();
            rustix::fs::mkdirat(&above, folder_name, Mode::RWXU)?;
            let made = rustix::fs::statat(&above, folder_name, AtFlags::SYMLINK_NOFOLLOW)?;
            writeln!(file, "{}", made.st_ino)?;
            file.sync_all()?;
            let mut child = Command::new(THIS_PROGRAM)
                .arg(STAND_BY)
                .arg(&note)
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                // Signals from the terminal that end the conductor must not end this process.
                .process_group(0)
                .spawn()?;
            let line = child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
            Ok((child, line))
        };
        match { begin }() {
            Ok((stands_by, line)) => Ok(OwnFolder { path, note, line: Some(line), stands_by }),
            Err(error) => {
                let _ = remove_noted(&note);
                Err(failed(error))
            }
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes it with all that is in it.
    ///
    /// # Errors
    /// When something in it stays; `clean` then finds it.
    pub fn remove(mut self) -> io::Result<()> {
        self.take_away()
    }

    fn take_away(&mut self) -> io::Result<()> {
        let removed = if self.note.exists() { remove_noted(&self.note) } else { Ok(()) };
        // It finds no note, and ends.
        drop(self.line.take());
        let _ = self.stands_by.wait();
        removed
    }
}

impl Drop for OwnFolder {
    fn drop(&mut self) {
        if self.line.is_some() {
            let _ = self.take_away();
        }
    }
}

/// `fsverdict stand-by NOTE`: waits until the conductor has ended, and removes the remaining folder. Returns the exit
/// status.
pub fn stand_by(note: Option<OsString>) -> u8 {
    let Some(note) = note.map(PathBuf::from) else { return 2 };
    // The pipe ends when the conductor has finished or died.
    let _ = io::stdin().lock().read_to_end(&mut Vec::new());
    for _ in 0..TRIES {
        if !note.exists() || remove_noted(&note).is_ok() {
            return 0;
        }
        sleep(PAUSE);
    }
    1
}

pub fn noted_folder(note: &Path) -> Option<PathBuf> {
    Some(FolderNote::read_note(note).ok()?.path)
}

/// Removes the folder that a note is about, and then the note.
///
/// # Errors
/// When it cannot be reached, or another folder is there.
pub fn remove_noted(note: &Path) -> io::Result<()> {
    let FolderNote { path, above, own } = FolderNote::read_note(note)?;
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    if !name.to_string_lossy().starts_with(PREFIX) {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let parent = File::from(open_folder(parent)?);
    if parent.metadata()?.ino() != above {
        return Err(io::Error::other("another folder is there by now; is everything mounted?"));
    }
    match open_directory(parent.as_fd(), name) {
        Ok(folder) => {
            let folder = File::from(folder);
            match own {
                Some(inode) if folder.metadata()?.ino() != inode => {
                    return Err(io::Error::other("another folder of that name is there by now"));
                }
                Some(_) => {
                    // A command may have taken away the right to.
                    rustix::fs::fchmod(&folder, Mode::RWXU)?;
                    empty_folder(folder.as_fd())?;
                }
                // Ended before it was used: there is nothing of ours in it.
                None => {}
            }
            rustix::fs::unlinkat(&parent, name, AtFlags::REMOVEDIR)?;
        }
        Err(Errno::NOENT) => {}
        Err(errno) => return Err(errno.into()),
    }
    fs::remove_file(note)
}

struct FolderNote {
    path: PathBuf,
    /// The inode of the folder it lies in.
    above: u64,
    /// Its own, once it was made.
    own: Option<u64>,
}

impl FolderNote {
    fn read_note(note: &Path) -> io::Result<Self> {
        let text = fs::read_to_string(note)?;
        let mut lines = text.lines();
        let (path, above) = serde_json::from_str(lines.next().unwrap_or_default())?;
        Ok(FolderNote { path, above, own: lines.next().and_then(|line| line.parse().ok()) })
    }
}

/// Opens a folder for its content: neither a link nor a mount point.
fn open_directory(above: BorrowedFd<'_>, name: impl rustix::path::Arg + Copy) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolution = ResolveFlags::NO_XDEV | ResolveFlags::NO_SYMLINKS | ResolveFlags::BENEATH;
    rustix::fs::openat2(above, name, flags, Mode::empty(), resolution)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::{Path, PathBuf};

    use super::{NOTE_PREFIX, check_usable, lies_on, noted_folder, remove_noted};

    /// A note in one folder about another folder, with what a trial may leave in it; and what is the user's beside it.
    fn left(place: &Path, known: bool) -> (PathBuf, PathBuf) {
        use std::os::unix::fs::MetadataExt;
        let own = place.join("share/.fsverdict-1-2-0");
        fs::create_dir_all(own.join("a/b")).unwrap();
        fs::create_dir(place.join("mine")).unwrap();
        fs::write(place.join("mine/thesis"), "x").unwrap();
        fs::write(place.join("share/thesis"), "x").unwrap();
        symlink(place.join("mine"), own.join("a/link")).unwrap();
        fs::write(own.join("a/b/file"), "x").unwrap();
        fs::set_permissions(own.join("a/b"), fs::Permissions::from_mode(0o000)).unwrap();
        let inode = |path: &Path| fs::metadata(path).unwrap().ino();
        let note = place.join(format!("{NOTE_PREFIX}1-2-0"));
        let first = serde_json::to_string(&(&own, inode(&place.join("share")))).unwrap();
        let second = if known { inode(&own).to_string() } else { String::new() };
        fs::write(&note, format!("{first}\n{second}\n")).unwrap();
        (note, own)
    }

    fn users_files_are_there(place: &Path) {
        for file in ["mine/thesis", "share/thesis"] {
            assert_eq!(fs::read_to_string(place.join(file)).unwrap(), "x", "{file}");
        }
    }

    #[test]
    fn what_was_noted_is_removed_and_nothing_beside_it_or_behind_a_link() {
        let place = tempfile::tempdir().unwrap();
        let (note, own) = left(place.path(), true);
        assert_eq!(noted_folder(&note), Some(own.clone()));
        remove_noted(&note).unwrap();
        assert!(!own.exists() && !note.exists());
        users_files_are_there(place.path());
    }

    #[test]
    fn however_deep_a_phase_nests_folders_they_are_removed() {
        use rustix::fs::{CWD, mkdirat, openat};
        let place = tempfile::tempdir().unwrap();
        let (note, own) = left(place.path(), true);
        let flags = rustix::fs::OFlags::PATH | rustix::fs::OFlags::CLOEXEC;
        let mut folder = openat(CWD, &own, flags, rustix::fs::Mode::empty()).unwrap();
        for _ in 0..5000 {
            mkdirat(&folder, "d", rustix::fs::Mode::RWXU).unwrap();
            folder = openat(&folder, "d", flags, rustix::fs::Mode::empty()).unwrap();
        }
        remove_noted(&note).unwrap();
        assert!(!own.exists() && !note.exists());
        users_files_are_there(place.path());
    }

    #[test]
    fn what_is_not_surely_ours_stays() {
        type Change = fn(&Path, &Path);
        let cases: [(&str, bool, Change); 4] = [
            ("Directory not empty", false, |_, _| {}),
            ("another folder of that name", true, |_, own| {
                fs::rename(own, own.with_extension("away")).unwrap();
                fs::create_dir(own).unwrap();
            }),
            ("Not a directory", true, |place, own| {
                fs::rename(own, own.with_extension("away")).unwrap();
                symlink(place.join("mine"), own).unwrap();
            }),
            ("is everything mounted", true, |place, _| {
                fs::rename(place.join("share"), place.join("mounted")).unwrap();
                fs::create_dir(place.join("share")).unwrap();
            }),
        ];
        for (wanted, known, change) in cases {
            let place = tempfile::tempdir().unwrap();
            let (note, own) = left(place.path(), known);
            change(place.path(), &own);
            let error = remove_noted(&note).unwrap_err().to_string();
            assert!(error.contains(wanted), "{wanted}: {error}");
            assert!(note.exists(), "{wanted}: found again");
            if !wanted.contains("mounted") {
                users_files_are_there(place.path());
            }
        }
    }

    #[test]
    fn a_folder_is_asked_before_it_is_used() {
        let place = tempfile::tempdir().unwrap();
        check_usable(place.path(), 1).unwrap();
        assert!(lies_on(place.path()).is_some());
        let shown = |folder: &Path, room| check_usable(folder, room).unwrap_err().to_string();
        assert!(shown(place.path(), 1 << 60).contains("1048576 TiB"), "{}", shown(place.path(), 1 << 60));
        assert!(shown(&place.path().join("none"), 1).contains("No such file"));
        assert!(shown(Path::new("/proc/self/stat"), 1).contains("Not a directory"));
    }
}
