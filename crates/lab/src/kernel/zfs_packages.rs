//! Fetches ZFS as Debian and Ubuntu package it: the sources of the kernel's part (zfs-dkms), and the programs zpool and zfs
//! with their libraries. Nothing is installed, and the machine's own lists of packages stay as they are.

use std::path::{Path, PathBuf};

use fsverdict_linux::sandbox::Sandbox;

use super::build_step::run_step;
use super::error::KernelBuildError;
use super::scratch::Scratch;
use crate::packages::{PackageError, PackageLists, debian_codename, debian_suite, list_dependencies};

const SOURCES: &str = "zfs-dkms";
const PROGRAMS: &str = "zfsutils-linux";
/// How the libraries begin that the programs need; their numbers differ from release to release.
const LIBRARIES: [&str; 3] = ["libnvpair", "libuutil", "libzfs"];

/// Fetches the packages into a folder of the build; returns their files.
pub(super) fn download_packages(scratch: &Scratch) -> Result<Vec<PathBuf>, KernelBuildError> {
    let folder = scratch.empty_package_folder()?;
    let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    let files = download_into(&release, &folder).map_err(|error| match error {
        PackageError::Download(reason) => not_fetched(&reason),
        other => other.into(),
    })?;
    let has_sources = files
        .iter()
        .any(|file| file.file_name().is_some_and(|name| name.to_string_lossy().starts_with(SOURCES)));
    if has_sources { Ok(files) } else { Err(not_fetched(&format!("there is no package {SOURCES}"))) }
}

/// Debian has ZFS in its component contrib, which few machines ask for; newer releases of ZFS are among the backports.
fn download_into(release: &str, folder: &Path) -> Result<Vec<PathBuf>, PackageError> {
    let lists = match debian_codename(release) {
        Some(codename) => {
            let backports = format!("{codename}-backports");
            let sources = debian_suite(codename, "contrib") + &debian_suite(&backports, "contrib");
            let preferred = format!("APT::Default-Release={backports}");
            PackageLists::from_sources(folder, &sources, &[&preferred])?
        }
        None => PackageLists::of_machine(folder),
    };
    let libraries = list_libraries(&lists.show(&[PROGRAMS])?);
    let wanted: Vec<&str> =
        [SOURCES, PROGRAMS].into_iter().chain(libraries.iter().map(String::as_str)).collect();
    lists.download(&wanted)
}

/// Unpacks one package.
pub(super) fn unpack_package(
    package: &Path,
    folder: &Path,
    sandbox: &Sandbox,
    scratch: &Scratch,
) -> Result<(), KernelBuildError> {
    let words = ["dpkg-deb".to_owned(), "--extract".to_owned()].into_iter();
    let argv = words.chain([package, folder].map(|path| path.display().to_string())).collect();
    run_step("unpack a package of ZFS", argv, scratch, sandbox)
}

fn not_fetched(reason: &str) -> KernelBuildError {
    KernelBuildError::Zfs {
        what: format!("ZFS's packages could not be fetched: {}", reason.trim()),
        hint: "they are in Debian's component contrib and in Ubuntu's universe; `--zfs-source` takes a release's tarball or folder (github.com/openzfs/zfs/releases) instead".to_owned(),
    }
}

/// The packages of the libraries that the programs' package depends on.
fn list_libraries(shown: &str) -> Vec<String> {
    let is_library = |name: &String| LIBRARIES.iter().any(|library| name.starts_with(library));
    list_dependencies(shown).into_iter().filter(is_library).collect()
}

#[cfg(test)]
mod tests {
    use super::list_libraries;

    #[test]
    fn the_libraries_are_those_that_the_programs_need() {
        let shown = "Package: zfsutils-linux\nVersion: 2.3.2-2\nDepends: python3, libblkid1 (>= 2.16), libc6 (>= 2.34), libnvpair3linux (= 2.3.2-2), libuuid1 (>= 2.16), libuutil3linux (= 2.3.2-2), libzfs6linux (= 2.3.2-2)\n";
        assert_eq!(list_libraries(shown), ["libnvpair3linux", "libuutil3linux", "libzfs6linux"]);
        assert!(list_libraries("").is_empty());
    }
}
