//! Reads the files that a benchmark program writes beside its output: a log of every transaction, a trace of itself.
//! They lie in a folder of the agent's tmpfs that is empty before each phase, and are read after the phase, off its
//! clocks.

use std::io;
use std::path::{Path, PathBuf};

use fsverdict_folders::FolderHandle;

/// The most bytes of it that are read: a million transactions of pgbench are 30 MB.
const MOST: u64 = 256 << 20;

/// An empty folder for it in the phases' own.
pub(super) fn empty_logs(scratch: &Path) -> io::Result<PathBuf> {
    let folder = scratch.join(".adapter-log");
    // Of a link the link alone goes.
    match std::fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => std::fs::create_dir(&folder)?,
    }
    Ok(folder)
}

/// All that lies in it, one file after the other in the order of their names.
///
/// # Errors
/// When it is more than can be read, or no regular file.
pub(super) fn read_logs(folder: &Path) -> io::Result<String> {
    let beneath = FolderHandle::open_untrusted(folder)?;
    let mut all = Vec::new();
    for name in beneath.list_names_in(".") {
        all.extend(beneath.read_file(&name, MOST.saturating_sub(all.len() as u64))?);
    }
    Ok(String::from_utf8_lossy(&all).into_owned())
}

#[cfg(test)]
mod tests {
    use super::read_logs;

    #[test]
    fn files_follow_one_another_and_links_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [("log.2", "two\n"), ("log.1", "one\n")] {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        assert_eq!(read_logs(folder.path()).unwrap(), "one\ntwo\n");
        std::os::unix::fs::symlink("/etc/passwd", folder.path().join("log.3")).unwrap();
        assert!(read_logs(folder.path()).is_err());
    }
}
