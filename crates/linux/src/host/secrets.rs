//! Finds files that only the administrator may read, and hides them from a plan's commands: if root starts fsverdict,
//! these run as root, too.
//!
//! No list of names would be complete. Files in folders of settings and state are judged by their mode: an unreadable
//! file is meant to be secret. Home directories and logs are hidden as a whole.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::root::{Root, names_in};
use fsverdict_folders::{open_through_links_of, real_path};

/// Folders that are somebody's, or tell of everybody.
const WHOLE: [&str; 7] = ["/root", "/home", "/var/log", "/var/spool", "/var/mail", "/var/backups", "/var/db"];
/// Folders of which only some is secret, and how deep that is looked for.
const IN_PART: [(&str, usize); 3] = [("/etc", 8), ("/var/lib", 2), ("/var/cache", 2)];

/// The paths that a sandbox hides.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Secrets {
    /// Files and folders that look empty, none within another.
    pub hidden: Vec<PathBuf>,
    /// Paths that stay visible within hidden folders.
    pub shown: Vec<PathBuf>,
    /// The owners of links that are followed in those paths.
    #[serde(default)]
    pub link_owners: Vec<u32>,
}

impl Secrets {
    /// The secrets of the machine at `root`, except for `named` paths, and for `opened` paths with everything below
    /// them.
    ///
    /// Naming a folder does not name the secrets in it: a copy of `/etc` need not include its passwords. A path that
    /// leads through a link of somebody else's (not of `link_owners`) names nothing.
    pub fn find_secrets(
        root: &Root,
        named: &[PathBuf],
        opened: &[PathBuf],
        link_owners: Vec<u32>,
    ) -> Secrets {
        let known = |path: &PathBuf| {
            let real = open_through_links_of(Some(&link_owners), &root.absolute(path))
                .and_then(|file| real_path(&file));
            let Ok(real) = real else { return [None, None] };
            let below = real.strip_prefix(root.path("")).ok().map(|real| Path::new("/").join(real));
            [Some(path.clone()), below]
        };
        let mut named: Vec<PathBuf> = named.iter().chain(opened).flat_map(known).flatten().collect();
        named.sort();
        named.dedup();
        let opened: Vec<PathBuf> = opened.iter().flat_map(known).flatten().collect();
        let mut hidden = Vec::new();
        for folder in WHOLE {
            if root.absolute(Path::new(folder)).symlink_metadata().is_ok_and(|found| found.is_dir()) {
                hidden.push(PathBuf::from(folder));
            }
        }
        for (folder, depth) in IN_PART {
            find_unreadable(root, Path::new(folder), depth, &mut hidden);
        }
        hidden
            .retain(|secret| !named.contains(secret) && !opened.iter().any(|open| secret.starts_with(open)));
        named.retain(|path| hidden.iter().any(|secret| path.starts_with(secret)));
        Secrets { hidden, shown: named, link_owners }
    }

    /// How many of them lie within this folder.
    pub fn secrets_in<'a>(&'a self, folder: &'a Path) -> impl Iterator<Item = &'a Path> {
        let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        self.hidden.iter().map(PathBuf::as_path).filter(move |secret| secret.starts_with(&real))
    }
}

/// Files below this folder that not everyone may read. Empty files are no secrets.
fn find_unreadable(root: &Root, folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    const FILE: u32 = 0o004;
    const FOLDER: u32 = 0o005;
    if depth == 0 {
        return;
    }
    for name in names_in(&root.absolute(folder)) {
        let path = folder.join(name);
        let Ok(entry) = root.absolute(&path).symlink_metadata() else { continue };
        if entry.is_dir() && entry.mode() & FOLDER == FOLDER {
            find_unreadable(root, &path, depth - 1, found);
        } else if entry.is_dir() || entry.is_file() && entry.mode() & FILE == 0 && entry.size() > 0 {
            found.push(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::{Path, PathBuf};

    use super::{Root, Secrets};
    use fsverdict_folders::own_users;

    /// A machine with some of everything: each file or folder with its mode.
    fn machine() -> (tempfile::TempDir, Root) {
        let place = tempfile::tempdir().unwrap();
        for (path, mode) in [
            ("etc/passwd", 0o644),
            ("etc/shadow", 0o640),
            ("etc/.pwd.lock", 0o600),
            ("etc/ssh/ssh_host_rsa_key", 0o600),
            ("etc/ssh/ssh_host_rsa_key.pub", 0o644),
            ("etc/ssl/private/key.pem", 0o644),
            ("home/me/photos/beach.jpg", 0o644),
            ("home/me/.ssh/id_rsa", 0o600),
            ("root/.bashrc", 0o644),
            ("var/lib/mysql/users", 0o660),
            ("srv/mine/private", 0o600),
        ] {
            let file = place.path().join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, if path.ends_with("lock") { "" } else { "x" }).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        }
        let private = place.path().join("etc/ssl/private");
        fs::set_permissions(private, fs::Permissions::from_mode(0o710)).unwrap();
        std::os::unix::fs::symlink("me/photos", place.path().join("home/photos")).unwrap();
        let root = Root::new(place.path());
        (place, root)
    }

    fn hidden(named: &[&str], opened: &[&str]) -> (Vec<String>, Vec<String>) {
        let (_place, root) = machine();
        let paths = |of: &[&str]| of.iter().map(PathBuf::from).collect::<Vec<_>>();
        let found = Secrets::find_secrets(&root, &paths(named), &paths(opened), own_users());
        let text = |of: Vec<PathBuf>| {
            let mut of: Vec<String> = of.into_iter().map(|path| path.display().to_string()).collect();
            of.sort();
            of
        };
        (text(found.hidden), text(found.shown))
    }

    const ALL: [&str; 6] = [
        "/etc/shadow",
        "/etc/ssh/ssh_host_rsa_key",
        "/etc/ssl/private",
        "/home",
        "/root",
        "/var/lib/mysql/users",
    ];

    #[test]
    fn what_not_everybody_may_read_is_a_secret_and_homes_are() {
        assert_eq!(hidden(&[], &[]), (ALL.map(str::to_owned).to_vec(), Vec::new()));
    }

    #[test]
    fn a_folder_that_is_named_is_seen_and_the_secrets_in_it_are_not() {
        assert_eq!(hidden(&["/etc", "/srv/mine"], &[]).0, ALL);
        let (covered, shown) = hidden(&["/home/me/photos", "/root", "/etc/shadow"], &[]);
        assert!(!covered.contains(&"/root".to_owned()) && !covered.contains(&"/etc/shadow".to_owned()));
        assert!(covered.contains(&"/home".to_owned()));
        assert_eq!(shown, ["/home/me/photos"]);
        // By any path that reaches it.
        assert_eq!(hidden(&["/home/photos"], &[]).1, ["/home/me/photos", "/home/photos"]);
    }

    #[test]
    fn a_link_of_somebody_elses_names_no_secret() {
        let (_place, root) = machine();
        let named = [PathBuf::from("/home/photos"), PathBuf::from("/home/me/photos")];
        let found = |link_owners| Secrets::find_secrets(&root, &named, &named[..1], link_owners).shown;
        assert_eq!(found(own_users()).len(), 2);
        // The link is ours, and no user's are followed.
        assert_eq!(found(Vec::new()), [Path::new("/home/me/photos")]);
    }

    #[test]
    fn what_is_opened_is_seen_with_all_that_is_in_it() {
        let (covered, shown) = hidden(&[], &["/etc", "/home/me/.ssh"]);
        assert_eq!(covered, ["/home", "/root", "/var/lib/mysql/users"]);
        assert_eq!(shown, ["/home/me/.ssh"]);
    }

    #[test]
    fn those_within_a_folder_are_known() {
        let (_place, root) = machine();
        let found = Secrets::find_secrets(&root, &[], &[], own_users());
        assert_eq!(found.secrets_in(Path::new("/etc/ssh")).count(), 1);
        assert_eq!(found.secrets_in(Path::new("/srv")).count(), 0);
    }
}
