//! Where paths lead: below the folder that is meant, or elsewhere, also through symbolic links that the recording shows.

use std::borrow::Cow;
use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// Links that are known at once, and how many lead from one to the next.
const MOST_LINKS: usize = 10_000;
const LONGEST_CHAIN: usize = 8;

/// Where a path leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PathPlace {
    /// A path below the folder, relative to it.
    Inside(PathBuf),
    /// The folder itself.
    Folder,
    Outside,
}

/// The folder that is meant, and the links that lead to it and in it.
#[derive(Debug)]
pub(super) struct FolderPaths {
    folder: PathBuf,
    /// The folder behind all links that are known.
    real_folder: PathBuf,
    links: HashMap<PathBuf, PathBuf>,
    /// How many links have a path of so many bytes: no other part of a path can be one.
    lengths: HashMap<usize, usize>,
}

impl FolderPaths {
    pub(super) fn new(folder: &Path) -> Self {
        let folder = without_dots(folder);
        Self { real_folder: folder.clone(), folder, links: HashMap::new(), lengths: HashMap::new() }
    }

    pub(super) fn place_of_path(&self, path: &Path) -> PathPlace {
        let real = self.resolve(path);
        let folders =
            [Some(&self.real_folder), Some(&self.folder).filter(|folder| **folder != self.real_folder)];
        for folder in folders.into_iter().flatten() {
            // Most paths are elsewhere, which their bytes tell sooner than their components.
            if !real.as_os_str().as_bytes().starts_with(folder.as_os_str().as_bytes()) {
                continue;
            }
            if let Ok(rest) = real.strip_prefix(folder) {
                return match rest.as_os_str().is_empty() {
                    true => PathPlace::Folder,
                    false => PathPlace::Inside(rest.to_path_buf()),
                };
            }
        }
        PathPlace::Outside
    }

    /// Resolves every symbolic link in the path that the recording has shown so far.
    pub(super) fn resolve<'a>(&self, path: &'a Path) -> Cow<'a, Path> {
        if self.links.is_empty() {
            return Cow::Borrowed(path);
        }
        let mut path = path.to_path_buf();
        for _ in 0..LONGEST_CHAIN {
            let known_link = path
                .ancestors()
                .filter(|above| self.lengths.contains_key(&above.as_os_str().len()))
                .find_map(|above| self.links.get_key_value(above));
            let Some((link, target)) = known_link else { break };
            let Ok(rest) = path.strip_prefix(link) else { break };
            path = match rest.as_os_str().is_empty() {
                true => target.clone(),
                false => target.join(rest),
            };
        }
        Cow::Owned(path)
    }

    /// A link is known to lead somewhere.
    pub(super) fn add_link(&mut self, link: PathBuf, target: PathBuf) {
        // A link that leads below itself has no end.
        if link != target && !target.starts_with(&link) && self.links.len() < MOST_LINKS {
            let length = link.as_os_str().len();
            if self.links.insert(link, target).is_none() {
                *self.lengths.entry(length).or_default() += 1;
            }
            self.real_folder = self.resolve(&self.folder).into_owned();
        }
    }

    /// Whether a path is that of a link by itself.
    pub(super) fn is_link(&self, path: &Path) -> bool {
        self.links.contains_key(path)
    }

    pub(super) fn remove_link(&mut self, link: &Path) {
        if self.links.remove(link).is_some() {
            if let Some(count) = self.lengths.get_mut(&link.as_os_str().len()) {
                *count -= 1;
                if *count == 0 {
                    self.lengths.remove(&link.as_os_str().len());
                }
            }
            self.real_folder = self.resolve(&self.folder).into_owned();
        }
    }

    /// A file was opened by one path, and strace shows another: the directories differ by a link.
    pub(super) fn learn_link(&mut self, asked: &Path, shown: &Path) {
        let resolved = self.resolve(asked);
        if *resolved == *shown {
            return;
        }
        let (mut link, mut target) = (&*resolved, shown);
        while let (Some(name), Some(other)) = (link.file_name(), target.file_name()) {
            let (Some(above), Some(other_above)) = (link.parent(), target.parent()) else { break };
            if name != other {
                break;
            }
            (link, target) = (above, other_above);
        }
        let (link, target) = (link.to_path_buf(), target.to_path_buf());
        self.add_link(link, target);
    }
}

/// Makes a path absolute and removes `.` and `..`.
pub(super) fn without_dots(path: &Path) -> PathBuf {
    let bytes = path.as_os_str().as_bytes();
    if !bytes.ends_with(b"/") && !bytes.windows(2).any(|pair| pair == b"/." || pair == b"//") {
        return path.to_path_buf();
    }
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}

/// The number of the descriptor that a path in /proc or /dev names.
pub(super) fn named_descriptor(path: &Path) -> Option<i32> {
    let text = path.to_str()?;
    let rest = text.strip_prefix("/dev/fd/").or_else(|| {
        let rest = text.strip_prefix("/proc/")?;
        let (process, rest) = rest.split_once("/fd/")?;
        let is_self = process == "self"
            || process == "thread-self"
            || process.bytes().all(|byte| byte.is_ascii_digit());
        is_self.then_some(rest)
    })?;
    rest.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::{FolderPaths, PathPlace, named_descriptor, without_dots};

    #[test]
    fn a_folder_is_reached_through_links_in_both_directions() {
        let inside = |path: &str| PathPlace::Inside(PathBuf::from(path));
        let mut paths = FolderPaths::new(Path::new("/srv/db/../db/link"));
        assert_eq!(paths.place_of_path(Path::new("/srv/db/link/a")), inside("a"));
        assert_eq!(paths.place_of_path(Path::new("/srv/db/real/a")), PathPlace::Outside);
        paths.learn_link(Path::new("/srv/db/link/a"), Path::new("/srv/db/real/a"));
        for path in ["/srv/db/link/x/a", "/srv/db/real/x/a"] {
            assert_eq!(paths.place_of_path(Path::new(path)), inside("x/a"), "{path}");
        }
        assert_eq!(paths.place_of_path(Path::new("/srv/db/real")), PathPlace::Folder);
        assert_eq!(paths.place_of_path(Path::new("/srv/db/really")), PathPlace::Outside);
        let mut paths = FolderPaths::new(Path::new("/srv/real"));
        paths.learn_link(Path::new("/srv/link/a"), Path::new("/srv/real/a"));
        assert_eq!(paths.place_of_path(Path::new("/srv/link/b")), inside("b"));
        // Links in a circle come to an end.
        paths.add_link("/srv/real/one".into(), "/srv/real/two".into());
        paths.add_link("/srv/real/two".into(), "/srv/real/one".into());
        assert!(matches!(paths.place_of_path(Path::new("/srv/real/one/x")), PathPlace::Inside(_)));
        paths.remove_link(Path::new("/srv/link"));
        assert_eq!(paths.place_of_path(Path::new("/srv/link/b")), PathPlace::Outside);
        assert_eq!(without_dots(Path::new("/a/./b/../../c")), Path::new("/c"));
        assert_eq!(named_descriptor(Path::new("/proc/self/fd/7")), Some(7));
        assert_eq!(named_descriptor(Path::new("/proc/812/fd/7")), Some(7));
        assert_eq!(named_descriptor(Path::new("/proc/self/fdinfo/7")), None);
    }
}
