//! A kernel on its way into the cache: all of it lies there under a hidden name, is tried there, and then gets its own; or
//! nothing of it stays.

use std::fs::{File, Permissions};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::cache::{CONFIG, FACTS, KERNEL, KernelCache, KernelEntry, KernelFacts, PROGRAMS};
use super::error::{KernelBuildError, file_error};
use super::module_table::{BUILD, MODULES};
use super::scratch::Scratch;
use crate::packages::{LARGEST_PROGRAM, ProgramFolder, StagedFolder, library_triplet};
use fsverdict_folders::FolderHandle;

/// The programs of ZFS, and where packages have programs.
const ZFS_PROGRAMS: [&str; 2] = ["zpool", "zfs"];
const PROGRAM_FOLDERS: [&str; 2] = ["usr/sbin", "sbin"];

pub(super) struct StagedSources {
    staged: StagedFolder,
}

impl StagedSources {
    /// Creates the folder of a new kernel of this name, and removes the folders that killed processes left.
    pub(super) fn create_folder(cache: &KernelCache, name: &str) -> Result<Self, KernelBuildError> {
        Ok(StagedSources { staged: StagedFolder::create(&cache.own, name)? })
    }

    /// Where the kernel is until it is kept.
    pub(super) fn kernel_path(&self) -> PathBuf {
        self.staged.path().join(KERNEL)
    }

    pub(super) fn put_kernel(&self, kernel: &mut dyn Read) -> Result<(), KernelBuildError> {
        let path = self.kernel_path();
        let mut put = || -> std::io::Result<()> {
            let mut copy = File::create_new(&path)?;
            std::io::copy(kernel, &mut copy)?;
            copy.set_permissions(Permissions::from_mode(0o755))
        };
        put().map_err(file_error("put a kernel into", &path))
    }

    pub(super) fn put_config(&self, config: &[u8]) -> Result<(), KernelBuildError> {
        let path = self.staged.path().join(CONFIG);
        std::fs::write(&path, config).map_err(file_error("write", &path))
    }

    /// A folder beside the kernel for its modules.
    pub(super) fn create_module_folder(&self) -> Result<PathBuf, KernelBuildError> {
        let folder = self.staged.path().join(MODULES);
        std::fs::create_dir(&folder)
            .and_then(|()| std::fs::set_permissions(&folder, Permissions::from_mode(0o755)))
            .map_err(file_error("make", &folder))?;
        Ok(folder)
    }

    /// Moves the folder of a finished build beside the kernel, for modules that are compiled later.
    pub(super) fn keep_build(&self, scratch: &mut Scratch) -> Result<(), KernelBuildError> {
        scratch.prune()?;
        scratch.move_to(&self.staged.path().join(BUILD))
    }

    /// Puts ZFS's programs, and the libraries that they need, beside the kernel: those that were unpacked in this folder.
    ///
    /// Each program gets a script that starts it with these libraries, wherever the folder comes to lie.
    pub(super) fn put_programs(&self, unpacked: &Path) -> Result<(), KernelBuildError> {
        let folder = self.staged.path().join(PROGRAMS);
        let put = || -> std::io::Result<()> {
            let from = FolderHandle::open_untrusted(unpacked)?;
            let programs = ProgramFolder::create(folder.clone())?;
            for program in ZFS_PROGRAMS {
                let found = PROGRAM_FOLDERS.iter().map(|place| Path::new(place).join(program));
                let mut opened = found.map(|path| from.open_file(path, LARGEST_PROGRAM));
                let opened = opened.find_map(Result::ok).ok_or(std::io::ErrorKind::NotFound)?;
                programs.add_program(program, opened)?;
                programs.add_script(program)?;
            }
            for place in ["lib", "usr/lib"].map(|place| Path::new(place).join(library_triplet())) {
                for name in from.list_names_in(&place) {
                    // Links are not followed.
                    let Ok(library) = from.open_file(place.join(&name), LARGEST_PROGRAM) else { continue };
                    programs.add_library(&name, library)?;
                }
            }
            Ok(())
        };
        put().map_err(file_error("put the programs of ZFS into", &folder))
    }

    /// Gives it the name of its facts. One of that name that was there is gone then.
    pub(super) fn move_into_cache(
        self,
        cache: &KernelCache,
        facts: &KernelFacts,
    ) -> Result<KernelEntry, KernelBuildError> {
        let name = facts.entry_name();
        facts.write_json(&self.staged.path().join(FACTS))?;
        let folder = cache.own.join(&name);
        self.staged.move_to(&folder)?;
        KernelEntry::read_entry(&folder)
            .ok_or_else(|| KernelBuildError::Unknown { name, hint: "build it again".to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::StagedSources;
    use crate::kernel::cache::{KernelCache, programs_beside};

    #[test]
    fn programs_come_to_lie_beside_the_kernel_and_find_their_libraries_there() {
        let place = tempfile::tempdir().unwrap();
        let unpacked = place.path().join("unpacked");
        let libraries = unpacked.join(format!("lib/{}-linux-gnu", std::env::consts::ARCH));
        for folder in [&unpacked.join("sbin"), &libraries] {
            std::fs::create_dir_all(folder).unwrap();
        }
        for program in ["zpool", "zfs"] {
            let script = format!("#!/bin/sh\necho {program} \"$LD_LIBRARY_PATH\" \"$@\"\n");
            std::fs::write(unpacked.join("sbin").join(program), script).unwrap();
        }
        std::fs::write(libraries.join("libzfs.so.6.0.0"), "").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", libraries.join("libother.so.1.0")).unwrap();
        let cache = KernelCache::with_folder(&place.path().join("cache"));
        let staged = StagedSources::create_folder(&cache, "6.12-aa").unwrap();
        staged.put_programs(&unpacked).unwrap();
        let folder = programs_beside(&staged.kernel_path()).unwrap();
        let output =
            std::process::Command::new(folder.join("zpool")).args(["status", "a b"]).output().unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        let expected = format!("zpool {}/../lib status a b\n", folder.display());
        assert_eq!(printed, expected);
        let beside = folder.join("../lib");
        assert!(beside.join("libzfs.so.6").is_file() && !beside.join("libother.so.1.0").exists());
    }
}
