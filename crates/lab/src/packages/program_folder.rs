//! A folder with programs of packages and the libraries that they need, which works wherever it lies: `bin` has a script
//! for each program, `sbin` the programs themselves, `lib` the libraries.

use std::fs::{File, Permissions};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The most bytes that a program or library may have.
pub(crate) const LARGEST_PROGRAM: u64 = 64 << 20;
const SCRIPTS: &str = "bin";
const PROGRAMS: &str = "sbin";
const LIBRARIES: &str = "lib";
/// Starts the program of its own name with the libraries beside it and this machine's libc.
const WITH_SYSTEM_LIBC: &str =
    "#!/bin/sh\nhere=${0%/*}/..\nLD_LIBRARY_PATH=$here/lib exec \"$here/sbin/${0##*/}\" \"$@\"\n";

pub(crate) struct ProgramFolder {
    folder: PathBuf,
}

impl ProgramFolder {
    pub(crate) fn create(folder: PathBuf) -> io::Result<Self> {
        for name in [SCRIPTS, PROGRAMS, LIBRARIES] {
            std::fs::create_dir_all(folder.join(name))?;
        }
        Ok(ProgramFolder { folder })
    }

    /// Adds a program, which is started by a script.
    pub(crate) fn add_program(&self, name: &str, content: impl Read) -> io::Result<()> {
        copy_executable(content, &self.folder.join(PROGRAMS).join(name))
    }

    /// Adds a library or the loader, and the name that programs ask for it by. Any other file is left out.
    pub(crate) fn add_library(&self, file: &str, content: impl Read) -> io::Result<()> {
        let Some(asked) = library_name(file) else { return Ok(()) };
        let libraries = self.folder.join(LIBRARIES);
        copy_executable(content, &libraries.join(file))?;
        // Links of packages are not taken over: `libzfs.so.6` becomes a link to `libzfs.so.6.0.0` again.
        if asked == file { Ok(()) } else { std::os::unix::fs::symlink(file, libraries.join(asked)) }
    }

    /// Makes the script of a program that runs with this machine's libc.
    pub(crate) fn add_script(&self, name: &str) -> io::Result<()> {
        copy_executable(WITH_SYSTEM_LIBC.as_bytes(), &self.folder.join(SCRIPTS).join(name))
    }

    /// Makes a script that runs `program` under this name with the loader, and so the libc, of the packages. Returns
    /// false if they had no loader.
    pub(super) fn add_script_with_loader(&self, name: &str, program: &str) -> io::Result<bool> {
        let libraries = self.folder.join(LIBRARIES);
        let Some(loader) =
            fsverdict_linux::host::root::names_in(&libraries).into_iter().find(|name| is_loader(name))
        else {
            return Ok(false);
        };
        let script = format!(
            "#!/bin/sh\nhere=${{0%/*}}/..\nexec \"$here/lib/{loader}\" --argv0 {name} --library-path \"$here/lib\" \"$here/sbin/{program}\" \"$@\"\n"
        );
        copy_executable(script.as_bytes(), &self.folder.join(SCRIPTS).join(name))?;
        Ok(true)
    }

    pub(super) fn has_program(&self, name: &str) -> bool {
        self.folder.join(PROGRAMS).join(name).is_file()
    }
}

/// The folders below which packages have programs and libraries on this machine's processor.
pub(super) fn is_place_of_programs(folder: &Path) -> bool {
    let folder = folder.strip_prefix("usr").unwrap_or(folder);
    folder == Path::new("sbin") || folder == Path::new("bin")
}

pub(super) fn is_place_of_libraries(folder: &Path) -> bool {
    let folder = folder.strip_prefix("usr").unwrap_or(folder);
    folder == Path::new("lib").join(library_triplet())
}

pub(crate) fn library_triplet() -> String {
    format!("{}-linux-gnu", std::env::consts::ARCH)
}

fn is_loader(file: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    file.starts_with("ld-linux") && file.bytes().all(plain)
}

/// The name that programs ask for a library by: `libzfs.so.6` of `libzfs.so.6.0.0`, and `libc.so.6` of itself.
fn library_name(file: &str) -> Option<&str> {
    let (stem, numbers) = file.split_once(".so.")?;
    let first = numbers.split('.').next().filter(|first| !first.is_empty())?;
    file.get(..stem.len() + ".so.".len() + first.len())
}

fn copy_executable(mut content: impl Read, to: &Path) -> io::Result<()> {
    let mut copy = File::create_new(to)?;
    io::copy(&mut content, &mut copy)?;
    copy.set_permissions(Permissions::from_mode(0o755))
}

#[cfg(test)]
mod tests {
    use super::library_name;

    #[test]
    fn libraries_are_asked_for_by_their_first_number() {
        assert_eq!(library_name("libzfs_core.so.3.0.0"), Some("libzfs_core.so.3"));
        assert_eq!(library_name("libaio.so.1t64.0.2"), Some("libaio.so.1t64"));
        assert_eq!(library_name("libc.so.6"), Some("libc.so.6"));
        assert_eq!(library_name("ld-linux-x86-64.so.2"), Some("ld-linux-x86-64.so.2"));
        assert_eq!(library_name("README"), None);
    }
}
