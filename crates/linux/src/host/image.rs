//! Scratch images: sparse files without a name, so that nothing of them can be left behind.

use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use fsverdict_text::{Bytes, Hinted};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::process_key::ProcessKey;
use super::root::Root;

/// Free space below which the folder's filesystem is never filled up, in bytes.
const MARGIN: u64 = 64 << 20;
const TMPFS: i64 = 0x0102_1994;
const RAMFS: i64 = 0x8584_58f6_u32 as i64;

/// Why there is no scratch folder or image.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    #[error("cannot use {} for scratch images: {source}", folder.display())]
    Folder { folder: PathBuf, source: io::Error },
    #[error("{} is not safe for scratch images: {reason}", folder.display())]
    Unsafe { folder: PathBuf, reason: String },
    #[error(
        "a scratch image of {}, of which {} may be written, does not fit into {}: {} is free there",
        Bytes(*wanted), Bytes(*room), folder.display(), Bytes(*free)
    )]
    NoSpace { wanted: u64, room: u64, free: u64, folder: PathBuf },
    #[error(
        "the data written to a modelled device do not fit into {}: {} is free there, and {} must stay free",
        folder.display(), Bytes(*free), Bytes(MARGIN)
    )]
    NoSpaceForStore { free: u64, folder: PathBuf },
    #[error("cannot make a scratch image of {} in {}: {source}", Bytes(*wanted), folder.display())]
    Create { wanted: u64, folder: PathBuf, source: io::Error },
}

impl Hinted for ImageError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            ImageError::NoSpace { .. } => {
                "make room, choose a smaller image (--device image:SIZE), or name another folder in the plan: [device] folder = \"…\"".to_owned()
            }
            ImageError::NoSpaceForStore { .. } => {
                "make room, or name a folder on another disk, with room for what a trial writes: [device] folder = \"…\" in the plan, or XDG_CACHE_HOME, by which a run is resumed elsewhere, too".to_owned()
            }
            ImageError::Folder { .. } | ImageError::Create { .. } => {
                "name a folder of yours in the plan: [device] folder = \"…\"".to_owned()
            }
            ImageError::Unsafe { folder, .. } => {
                format!("look at it, and remove it if it is not needed: ls -ld {}", folder.display())
            }
        })
    }
}

/// The folder for scratch images: the user's choice, else `$XDG_CACHE_HOME/fsverdict` or `~/.cache/fsverdict`, else
/// `/var/tmp/fsverdict-UID`. A missing folder is created with access for its owner only.
///
/// # Errors
/// When it cannot be made, or is a symbolic link or another user's (except one the user chose).
pub fn scratch_folder(choice: Option<&Path>) -> Result<PathBuf, ImageError> {
    if let Some(folder) = choice {
        return private_folder(folder, true);
    }
    let mut last = None;
    for folder in default_folders() {
        match private_folder(&folder, false) {
            Ok(folder) => return Ok(folder),
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or(ImageError::Folder { folder: PathBuf::new(), source: io::ErrorKind::NotFound.into() }))
}

/// The folders that are tried when the user chose none, best first. `clean` looks into all of them.
pub fn default_folders() -> Vec<PathBuf> {
    let [cache, home] = ["XDG_CACHE_HOME", "HOME"].map(|name| std::env::var_os(name).map(PathBuf::from));
    folders_in(cache, home)
}

fn folders_in(cache: Option<PathBuf>, home: Option<PathBuf>) -> Vec<PathBuf> {
    let cache = cache.filter(|folder| folder.is_absolute());
    let home = home.filter(|folder| folder.is_absolute() && folder.is_dir());
    let cache = cache.or_else(|| home.map(|home| home.join(".cache")));
    let uid = rustix::process::getuid().as_raw();
    cache
        .map(|cache| cache.join("fsverdict"))
        .into_iter()
        .chain([PathBuf::from(format!("/var/tmp/fsverdict-{uid}"))])
        .collect()
}

/// Whether [`create_image`] could make an image in the [`scratch_folder`], without making the folder either.
pub fn check_space(choice: Option<&Path>, size: u64, room: u64) -> Result<(), ImageError> {
    let folders = choice.map_or_else(default_folders, |folder| vec![folder.to_owned()]);
    let mut last = Ok(());
    for folder in folders {
        // Missing folders are created below the existing ones.
        let there = folder.ancestors().find(|above| above.exists()).unwrap_or(Path::new("/"));
        let failed =
            |errno: rustix::io::Errno| ImageError::Folder { folder: folder.clone(), source: errno.into() };
        last = rustix::fs::access(there, rustix::fs::Access::WRITE_OK)
            .map_err(failed)
            .and_then(|()| check_free_space(there, size, room));
        if last.is_ok() {
            break;
        }
    }
    last
}

/// Makes sure that so much may be written below a folder.
fn check_free_space(folder: &Path, size: u64, room: u64) -> Result<(), ImageError> {
    let free = free_bytes(folder).map_err(|error| ImageError::Create {
        wanted: size,
        folder: folder.to_owned(),
        source: error.into(),
    })?;
    if free < room.saturating_add(MARGIN) {
        return Err(ImageError::NoSpace { wanted: size, room, free, folder: folder.to_owned() });
    }
    Ok(())
}

fn private_folder(folder: &Path, chosen: bool) -> Result<PathBuf, ImageError> {
    let failed = |source| ImageError::Folder { folder: folder.to_owned(), source };
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true).mode(0o700).create(folder).map_err(failed)?;
    if !chosen {
        check_private(folder)?;
    }
    rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).map_err(|error| failed(error.into()))?;
    folder.canonicalize().map_err(failed)
}

/// Whether the content of a scratch folder can be trusted: the folder belongs to this user and is not writable by
/// others. In /var/tmp anyone may have created it earlier, as a folder or a link.
pub(crate) fn check_private(folder: &Path) -> Result<(), ImageError> {
    let failed = |source| ImageError::Folder { folder: folder.to_owned(), source };
    let metadata = fs::symlink_metadata(folder).map_err(failed)?;
    let unsafe_because = |reason: String| Err(ImageError::Unsafe { folder: folder.to_owned(), reason });
    if !metadata.is_dir() {
        return unsafe_because("it is a symbolic link".to_owned());
    }
    if metadata.uid() != rustix::process::getuid().as_raw() {
        return unsafe_because(format!("it belongs to user {}", metadata.uid()));
    }
    if metadata.mode() & 0o022 != 0 {
        return unsafe_because("others may write into it".to_owned());
    }
    Ok(())
}

/// Image sizes are rounded down to a multiple of this, in bytes: QEMU refuses an image that is not a whole number of
/// the disk's blocks.
const ALIGNMENT: u64 = 4096;

/// Makes a sparse image of `size` bytes, cut down to whole blocks of 4096, without a name, open for reading and writing,
/// into which `room` bytes at most will be written.
pub fn create_image(folder: &Path, size: u64, room: u64) -> Result<OwnedFd, ImageError> {
    let failed = |source| ImageError::Create { wanted: size, folder: folder.to_owned(), source };
    check_free_space(folder, size, room)?;
    let file = File::from(open_unnamed(folder).map_err(failed)?);
    file.set_len(size - size % ALIGNMENT).map_err(failed)?;
    Ok(file.into())
}

/// Creates an unnamed file of size zero for a modelled device's data. Their extent is not known in advance.
pub fn create_store(folder: &Path) -> Result<OwnedFd, ImageError> {
    create_image(folder, 0, 0).map_err(of_store)
}

fn of_store(error: ImageError) -> ImageError {
    match error {
        ImageError::NoSpace { free, folder, .. } => ImageError::NoSpaceForStore { free, folder },
        other => other,
    }
}

fn open_unnamed(folder: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    let mode = Mode::RUSR | Mode::WUSR;
    match rustix::fs::open(folder, flags | OFlags::TMPFILE, mode) {
        Ok(descriptor) => return Ok(descriptor),
        // Filesystems without O_TMPFILE answer one of these.
        Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::ISDIR | rustix::io::Errno::NOENT) => {}
        Err(error) => return Err(error.into()),
    }
    create_and_unlink(folder)
}

/// Named for an instant; the name tells `clean` the owner if the process is killed in that instant.
fn create_and_unlink(folder: &Path) -> io::Result<OwnedFd> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let key = ProcessKey::current(&Root::default())
        .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "/proc/self/stat cannot be read"))?;
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let path = folder.join(format!("{SCRATCH_PREFIX}{key}-{count}"));
    let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
    let descriptor = rustix::fs::open(&path, flags, Mode::RUSR | Mode::WUSR)?;
    fs::remove_file(&path)?;
    Ok(descriptor)
}

/// How the names of scratch files begin; the owner's process key and a number follow.
pub const SCRATCH_PREFIX: &str = "scratch-";

/// A sentence for the reader of the numbers when the folder lies in memory.
pub fn tmpfs_caution(folder: &Path) -> io::Result<Option<String>> {
    let kind = rustix::fs::statfs(folder)?.f_type as i64;
    Ok(matches!(kind, TMPFS | RAMFS).then(|| {
        format!(
            "the scratch image lies in memory ({} is on tmpfs): the times are those of a RAM disk, and it takes its size of memory",
            folder.display()
        )
    }))
}

/// Bytes that an ordinary user can still write to the filesystem at this path.
pub fn free_bytes(path: &Path) -> Result<u64, Errno> {
    let volume = rustix::fs::statvfs(path)?;
    Ok(volume.f_bavail.saturating_mul(volume.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::{
        ImageError, create_and_unlink, create_image, create_store, folders_in, of_store, private_folder,
        scratch_folder, tmpfs_caution,
    };
    use fsverdict_text::Hinted;
    use std::fs::{self, File};
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    use std::path::{Path, PathBuf};

    #[test]
    fn an_image_is_sparse_and_leaves_no_name() {
        let folder = tempfile::tempdir().unwrap();
        for descriptor in [
            create_image(folder.path(), 1 << 30, 1 << 30).unwrap(),
            create_and_unlink(folder.path()).unwrap(),
        ] {
            let metadata = File::from(descriptor).metadata().unwrap();
            assert!(metadata.blocks() < 64, "{} blocks", metadata.blocks());
            assert_eq!(metadata.nlink(), 0);
            assert_eq!(metadata.mode() & 0o777, 0o600);
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        }
    }

    #[test]
    fn an_image_larger_than_the_free_space_says_how_much_there_is() {
        let folder = tempfile::tempdir().unwrap();
        let error = create_image(folder.path(), 1 << 60, 1 << 60).unwrap_err();
        assert!(matches!(error, ImageError::NoSpace { wanted, .. } if wanted == 1 << 60), "{error}");
        assert!(error.to_string().contains("1048576 TiB") && error.hint().is_some(), "{error}");
    }

    #[test]
    fn a_full_disk_below_a_modelled_device_says_what_is_needed_and_where_it_may_be() {
        let folder = tempfile::tempdir().unwrap();
        let error = of_store(create_image(folder.path(), 0, 1 << 60).unwrap_err());
        let told = error.to_string();
        assert!(told.contains("modelled device") && told.contains("64 MiB must stay free"), "{told}");
        assert!(!told.contains(" 0 B"), "{told}");
        let hint = error.hint().unwrap();
        assert!(hint.contains("[device] folder") && hint.contains("XDG_CACHE_HOME"), "{hint}");
        assert!(create_store(folder.path()).is_ok());
    }

    #[test]
    fn a_scratch_folder_is_made_private_and_links_and_open_folders_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let own = private_folder(&folder.path().join("a/b"), false).unwrap();
        assert_eq!(fs::metadata(&own).unwrap().mode() & 0o777, 0o700);
        let link = folder.path().join("link");
        symlink(&own, &link).unwrap();
        let error = private_folder(&link, false).unwrap_err();
        assert!(error.to_string().contains("symbolic link"), "{error}");
        fs::set_permissions(&own, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(matches!(private_folder(&own, false), Err(ImageError::Unsafe { .. })));
        assert_eq!(scratch_folder(Some(&own)).unwrap(), own.canonicalize().unwrap());
    }

    #[test]
    fn the_cache_comes_before_var_tmp_and_relative_settings_count_for_nothing() {
        let folders = folders_in(Some(PathBuf::from("/c")), Some(PathBuf::from("/")));
        assert_eq!(folders[0], Path::new("/c/fsverdict"));
        let folders = folders_in(Some(PathBuf::from("c")), Some(PathBuf::from("/")));
        assert_eq!(folders[0], Path::new("/.cache/fsverdict"));
        assert_eq!(folders_in(None, None).len(), 1);
    }

    #[test]
    fn memory_is_told_from_disk() {
        assert!(tmpfs_caution(Path::new("/dev/shm")).unwrap().is_some());
        assert_eq!(tmpfs_caution(Path::new("/proc")).unwrap(), None);
    }
}
