//! Opens paths that a plan or a user named, and follows on the way only links of trusted users.
//!
//! A folder may lie where another user can put a link in its place, or in the place of a folder above it: after the
//! plan was shown, and before each trial. Such a link must lead a run of root's nowhere (compare
//! `fs.protected_symlinks` in proc(5), which covers sticky folders only).

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat, readlinkat};

/// Links that are followed in one path, as many as the kernel follows (path_resolution(7)).
const MOST_LINKS: usize = 40;

/// The path to an open file by its number, which no other file can come to have.
pub fn path_by_number(file: impl AsFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_fd().as_raw_fd()))
}

/// Where an open file lies.
///
/// # Errors
/// As readlink(2), where `/proc` is not mounted.
pub fn real_path(file: &OwnedFd) -> io::Result<PathBuf> {
    std::fs::read_link(path_by_number(file))
}

/// Opens a path (`O_PATH`), and follows links that belong to these users; all links if none are given.
///
/// # Errors
/// As open(2); and if a link on the way belongs to another user, with the link and the user.
pub fn open_through_links_of(owners: Option<&[u32]>, path: &Path) -> io::Result<OwnedFd> {
    let way = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let open_folder = |name: &Path| openat(CWD, name, way | OFlags::DIRECTORY, Mode::empty());
    let mut at = open_folder(Path::new("."))?;
    let mut rest: VecDeque<PathBuf> = parts_of(path).collect();
    let mut links = 0;
    while let Some(part) = rest.pop_front() {
        if part.is_absolute() {
            at = open_folder(&part)?;
            continue;
        }
        let next = openat(&at, &part, way, Mode::empty())?;
        let stat = fstat(&next)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::Symlink {
            at = next;
            continue;
        }
        if owners.is_some_and(|owners| !owners.contains(&stat.st_uid)) {
            let link = real_path(&at).unwrap_or_default().join(&part);
            let message =
                format!("{} is a link of user {}, which is not followed", link.display(), stat.st_uid);
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
        }
        links += 1;
        if links > MOST_LINKS {
            return Err(rustix::io::Errno::LOOP.into());
        }
        let target = OsString::from_vec(readlinkat(&next, "", Vec::new())?.into_bytes());
        for part in parts_of(Path::new(&target)).collect::<Vec<_>>().into_iter().rev() {
            rest.push_front(part);
        }
    }
    Ok(at)
}

/// The parts of a path, of which the root is one.
fn parts_of(path: &Path) -> impl Iterator<Item = PathBuf> {
    let parts = path.components().filter(|part| *part != Component::CurDir);
    parts.map(|part| PathBuf::from(part.as_os_str()))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::{open_through_links_of, real_path};
    use crate::own_users;

    #[test]
    fn links_of_others_are_followed_nowhere_in_a_path() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::create_dir_all(at("real/inner")).unwrap();
        fs::write(at("real/inner/file"), "x").unwrap();
        symlink("real", at("link")).unwrap();
        symlink(at("link/inner"), at("far")).unwrap();
        symlink("../real/inner/file", at("real/up")).unwrap();
        symlink("circle", at("circle")).unwrap();
        let opened = |owners: Option<&[u32]>, name: &str| {
            open_through_links_of(owners, &at(name)).and_then(|file| real_path(&file))
        };
        let own = own_users();
        let real = |name: &str| at(name).canonicalize().unwrap();
        for owners in [None, Some(own.as_slice())] {
            for name in ["real/inner/file", "link/inner/file", "far/file", "real/up", "link/../real", "link"]
            {
                assert_eq!(opened(owners, name).unwrap(), real(name), "{name}");
            }
            assert!(opened(owners, "circle").is_err() && opened(owners, "none").is_err());
        }
        // No user's links, here.
        assert_eq!(opened(Some(&[]), "real/inner").unwrap(), real("real/inner"));
        for (name, link) in [("link", "link"), ("far/file", "far"), ("real/up", "up"), ("circle", "circle")] {
            let error = opened(Some(&[]), name).unwrap_err().to_string();
            assert!(error.contains(&format!("/{link} is a link of user ")), "{name}: {error}");
        }
    }
}
