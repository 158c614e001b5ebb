//! Which files of a user's folder cannot be read: such are left out when it is staged, and a dry run says so beforehand.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD};

/// The result of checking a folder's permissions.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Readable {
    /// Files that cannot be read and directories that cannot be entered; the first of them by name.
    pub first: Vec<PathBuf>,
    /// How many there are.
    pub unreadable: usize,
    /// Whether there is more than was looked at.
    pub partly: bool,
}

/// So many are named.
const NAMED: usize = 3;

/// Looks at no more than `most` files and folders below this one, by the rights of this process. Symbolic links are not
/// followed: they are copied as such.
pub fn check_readable(folder: &Path, most: usize) -> Readable {
    check_with(folder, most, &|path, access| {
        rustix::fs::accessat(CWD, path, access, AtFlags::EACCESS).is_ok()
    })
}

fn check_with(folder: &Path, most: usize, may: &dyn Fn(&Path, Access) -> bool) -> Readable {
    let (mut found, mut looked) = (Readable::default(), 0);
    let mut folders = VecDeque::from([folder.to_owned()]);
    let deny = |found: &mut Readable, path: PathBuf| {
        found.unreadable += 1;
        if found.first.len() < NAMED {
            found.first.push(path);
        }
    };
    while let Some(folder) = folders.pop_front() {
        let listed =
            std::fs::read_dir(&folder).ok().filter(|_| may(&folder, Access::READ_OK | Access::EXEC_OK));
        let Some(listed) = listed else {
            deny(&mut found, folder);
            continue;
        };
        let mut entries: Vec<_> = listed.flatten().take(most.saturating_sub(looked) + 1).collect();
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            if looked == most {
                found.partly = true;
                return found;
            }
            looked += 1;
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push_back(entry.path()),
                Ok(kind) if kind.is_file() && !may(&entry.path(), Access::READ_OK) => {
                    deny(&mut found, entry.path());
                }
                _ => {}
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{Access, Readable, check_readable, check_with};

    #[test]
    fn what_cannot_be_read_is_named_and_what_was_not_looked_at_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(at("a/closed")).unwrap();
        for name in ["a/one", "b", "shadow", "a/closed/in"] {
            std::fs::write(at(name), "").unwrap();
        }
        std::os::unix::fs::symlink("/etc/shadow", at("link")).unwrap();
        // Root may read everything, so the test simulates a user who may not.
        let may = |path: &std::path::Path, _: Access| !path.ends_with("shadow") && !path.ends_with("closed");
        let first = vec![at("shadow"), at("a/closed")];
        assert_eq!(check_with(folder.path(), 100, &may), Readable { first, unreadable: 2, partly: false });
        let partly = check_with(folder.path(), 2, &may);
        assert!(partly.partly && partly.unreadable == 0, "{partly:?}");
        assert_eq!(check_readable(folder.path(), 100), Readable::default());
        assert_eq!(check_readable(&at("nosuch"), 100).unreadable, 1);
    }
}
