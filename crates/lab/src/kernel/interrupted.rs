//! Removes what keeps an interrupted build from being continued: command files of kbuild (`.inode.o.cmd`) that end in the
//! middle. make(1) reads all of them, and stops at the first half line with "missing separator".

use std::path::{Path, PathBuf};

use fsverdict_folders::FolderHandle;

/// Largest command file; it names all headers of a source file. Linux 6.12 has some of 100 KiB.
const LARGEST: u64 = 16 << 20;
/// How deep folders lie; links are not followed.
const DEEPEST: usize = 16;

/// Removes the command files that were cut short, so that what they describe is compiled again; returns how many there were.
pub(super) fn remove_cut_command_files(objects: &Path) -> std::io::Result<usize> {
    let opened = FolderHandle::open_untrusted(objects)?;
    let mut removed = 0;
    let mut folders = vec![PathBuf::from(".")];
    while let Some(folder) = folders.pop() {
        for name in opened.list_names_in(&folder) {
            let path = folder.join(&name);
            if name.starts_with('.') && name.ends_with(".cmd") {
                if !is_whole(&opened, &path) {
                    opened.remove_file(&path)?;
                    removed += 1;
                }
            } else if !name.contains('.') && path.components().count() <= DEEPEST && opened.is_folder(&path) {
                folders.push(path);
            }
        }
    }
    Ok(removed)
}

/// Whether the file ends with a line's end, as each that was written completely.
fn is_whole(opened: &FolderHandle, path: &Path) -> bool {
    opened.read_file(path, LARGEST).is_ok_and(|bytes| bytes.last() == Some(&b'\n'))
}

#[cfg(test)]
mod tests {
    use super::remove_cut_command_files;

    /// A killed build left one, and the same command failed ever after.
    #[test]
    fn a_command_file_that_ends_in_the_middle_is_removed_and_no_other_file() {
        let objects = tempfile::tempdir().unwrap();
        let folder = objects.path().join("fs/zfs");
        std::fs::create_dir_all(&folder).unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
        write(".whole.o.cmd", "savedcmd_fs/zfs/whole.o := gcc -c\n\n$(deps_fs/zfs/whole.o):\n");
        write(".cut.o.cmd", "savedcmd_fs/zfs/cut.o := gcc -c\n\ndeps_fs/zfs/cut.o := \\\n  include/lin");
        write(".empty.o.cmd", "");
        write("cut.o", "no line");
        std::os::unix::fs::symlink("/etc/hostname", folder.join(".link.o.cmd")).unwrap();
        assert_eq!(remove_cut_command_files(objects.path()).unwrap(), 3);
        let mut left: Vec<_> =
            std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, [".whole.o.cmd", "cut.o"]);
        assert!(std::path::Path::new("/etc/hostname").exists());
    }
}
