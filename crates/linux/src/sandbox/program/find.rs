//! Finds the file of a program: in PATH, in the folders of system programs, and last among the programs that
//! `fsverdict tools` fetched.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use fsverdict_folders::own_users;

use crate::host::cache_folder::{SHARED_CACHE, user_cache};
use crate::host::root::names_in;

/// Folders searched after `$PATH`: an ordinary user's often lacks the ones mkfs and fsck lie in.
const SYSTEM_FOLDERS: [&str; 4] = ["/usr/sbin", "/sbin", "/usr/local/sbin", "/usr/bin"];
/// The folder of a cache that has a folder for each set of fetched tools, and the programs' folder of such a set.
pub const FETCHED_TOOLS: &str = "tools";
pub const FETCHED_PROGRAMS: &str = "bin";
/// Permissions of a group or of everybody to write.
const OTHERS_WRITE: u32 = 0o022;

/// The absolute path of a program: an installed one, or a fetched one where none is installed.
pub fn find_program(name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(|path| path.exists());
    }
    find_installed_program(name).or_else(|| find_fetched_program(name))
}

/// The absolute path of an installed program: `$PATH` first, then the system's folders.
pub fn find_installed_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(SYSTEM_FOLDERS.iter().map(PathBuf::from))
        .map(|folder| folder.join(name))
        .find(|candidate| is_executable(candidate))
}

/// The absolute path of a program that `fsverdict tools` fetched.
pub fn find_fetched_program(name: &str) -> Option<PathBuf> {
    fetched_program_folders().map(|folder| folder.join(name)).find(|candidate| is_executable(candidate))
}

/// The folders of fetched programs: the user's own first, then root's. A folder that another user owns or may write to
/// is not among them, because root starts programs from it.
pub fn fetched_program_folders() -> impl Iterator<Item = PathBuf> {
    let own = user_cache();
    let shared = Some(PathBuf::from(SHARED_CACHE)).filter(|shared| *shared != own);
    [own]
        .into_iter()
        .chain(shared)
        .flat_map(|cache| {
            let sets = cache.join(FETCHED_TOOLS);
            let names = names_in(&sets).into_iter().filter(|name| !name.starts_with('.'));
            names.map(move |name| sets.join(name)).filter(|set| {
                [set.clone(), set.join(FETCHED_PROGRAMS)].iter().all(|folder| is_trusted(folder))
            })
        })
        .map(|set| set.join(FETCHED_PROGRAMS))
}

fn is_trusted(folder: &Path) -> bool {
    folder.symlink_metadata().is_ok_and(|facts| {
        facts.is_dir() && own_users().contains(&facts.uid()) && facts.mode() & OTHERS_WRITE == 0
    })
}

fn is_executable(path: &Path) -> bool {
    path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}
