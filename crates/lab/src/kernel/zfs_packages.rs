//! Fetches ZFS as Debian and Ubuntu package it: the sources of the kernel's part (zfs-dkms), and the programs zpool and zfs
//! with their libraries. Nothing is installed, and the machine's own lists of packages stay as they are.

use std::path::{Path, PathBuf};

use fsverdict_linux::host::root::names_in;
use fsverdict_linux::sandbox::Sandbox;
use fsverdict_linux::sandbox::program::Program;

use super::build_step::run_step;
use super::error::{KernelBuildError, file_error};
use super::scratch::Scratch;

const SOURCES: &str = "zfs-dkms";
const PROGRAMS: &str = "zfsutils-linux";
/// How the libraries begin that the programs need; their numbers differ from release to release.
const LIBRARIES: [&str; 3] = ["libnvpair", "libuutil", "libzfs"];
/// Debian has ZFS in its component contrib, which few machines ask for; newer releases of ZFS are among the backports.
const DEBIAN: &str = "http://deb.debian.org/debian";
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// How apt-get is asked: with lists of packages of our own on Debian, with the machine's elsewhere.
struct PackageLists {
    options: Vec<String>,
    folder: PathBuf,
}

/// Fetches the packages into a folder of the build; returns their files.
pub(super) fn download_packages(scratch: &Scratch) -> Result<Vec<PathBuf>, KernelBuildError> {
    let folder = scratch.empty_package_folder()?;
    let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    let lists = PackageLists::for_release(&release, &folder)?;
    let depends = lists.ask(&["apt-cache", "show", "--no-all-versions", PROGRAMS])?;
    let libraries = list_libraries(&depends);
    let wanted = [SOURCES, PROGRAMS].into_iter().chain(libraries.iter().map(String::as_str));
    let argv: Vec<&str> = ["apt-get", "--quiet", "download"].into_iter().chain(wanted).collect();
    lists.ask(&argv)?;
    let files: Vec<PathBuf> = names_in(&folder)
        .iter()
        .filter(|name| name.ends_with(".deb"))
        .map(|name| folder.join(name))
        .collect();
    let has_sources = files
        .iter()
        .any(|file| file.file_name().is_some_and(|name| name.to_string_lossy().starts_with(SOURCES)));
    if has_sources { Ok(files) } else { Err(not_fetched(&format!("there is no package {SOURCES}"))) }
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

impl PackageLists {
    fn for_release(release: &str, folder: &Path) -> Result<Self, KernelBuildError> {
        let lists = PackageLists { options: Vec::new(), folder: folder.to_owned() };
        let Some(codename) = debian_codename(release) else { return Ok(lists) };
        let apt = folder.join("apt");
        for name in ["lists/partial", "cache/archives/partial"] {
            let path = apt.join(name);
            std::fs::create_dir_all(&path).map_err(file_error("make", &path))?;
        }
        let list = apt.join("sources.list");
        std::fs::write(&list, debian_sources(codename)).map_err(file_error("write", &list))?;
        let at = |option: &str, name: &str| format!("{option}={}", apt.join(name).display());
        let options = [
            at("Dir::Etc::sourcelist", "sources.list"),
            "Dir::Etc::sourceparts=/dev/null".to_owned(),
            at("Dir::State::lists", "lists"),
            at("Dir::Cache", "cache"),
            // The user _apt cannot write to the folder.
            "APT::Sandbox::User=".to_owned(),
            format!("APT::Default-Release={codename}-backports"),
        ];
        let options = options.into_iter().flat_map(|option| ["-o".to_owned(), option]).collect();
        let lists = PackageLists { options, ..lists };
        lists.ask(&["apt-get", "--quiet", "update"])?;
        Ok(lists)
    }

    /// Runs apt-get or apt-cache; returns what it prints.
    fn ask(&self, argv: &[&str]) -> Result<String, KernelBuildError> {
        let (program, words) = argv.split_first().unwrap_or((&"apt-get", &[]));
        let argv = [(*program).to_owned()].into_iter().chain(self.options.iter().cloned());
        let argv = argv.chain(words.iter().map(|word| (*word).to_owned()));
        let record = Program::new(argv).in_folder(&self.folder).run("fetch the packages of ZFS")?;
        if record.exit == Some(0) {
            return Ok(record.stdout);
        }
        Err(not_fetched(record.stderr.lines().next().unwrap_or("apt-get gave no reason")))
    }
}

fn not_fetched(reason: &str) -> KernelBuildError {
    KernelBuildError::Zfs {
        what: format!("ZFS's packages could not be fetched: {}", reason.trim()),
        hint: "they are in Debian's component contrib and in Ubuntu's universe; `--zfs-source` takes a release's tarball or folder (github.com/openzfs/zfs/releases) instead".to_owned(),
    }
}

/// The name of this release of Debian; none of another distribution.
fn debian_codename(release: &str) -> Option<&str> {
    let value = |key: &str| {
        let line = release.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        line.map(|value| value.trim().trim_matches('"'))
    };
    let plain = |name: &&str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase());
    value("VERSION_CODENAME").filter(plain).filter(|_| value("ID") == Some("debian"))
}

fn debian_sources(codename: &str) -> String {
    let line = |suite: &str| format!("deb [signed-by={KEYRING}] {DEBIAN} {suite} contrib\n");
    line(codename) + &line(&format!("{codename}-backports"))
}

/// The packages of the libraries that the programs' package depends on.
fn list_libraries(shown: &str) -> Vec<String> {
    let depends = shown.lines().find_map(|line| line.strip_prefix("Depends:")).unwrap_or_default();
    let names = depends.split(',').filter_map(|part| part.split_whitespace().next());
    let is_library = |name: &&str| LIBRARIES.iter().any(|library| name.starts_with(library));
    names.filter(is_library).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::{debian_codename, debian_sources, list_libraries};

    #[test]
    fn debian_is_asked_for_contrib_and_backports_and_others_as_they_are() {
        assert_eq!(debian_codename("ID=debian\nVERSION_CODENAME=bookworm\n"), Some("bookworm"));
        assert_eq!(debian_codename("ID=ubuntu\nVERSION_CODENAME=noble\nID_LIKE=debian\n"), None);
        assert_eq!(debian_codename("ID=debian\nVERSION_CODENAME=\"a b\"\n"), None);
        let list = debian_sources("bookworm");
        assert!(
            list.contains(" bookworm contrib\n") && list.contains(" bookworm-backports contrib\n"),
            "{list}"
        );
    }

    #[test]
    fn the_libraries_are_those_that_the_programs_need() {
        let shown = "Package: zfsutils-linux\nVersion: 2.3.2-2\nDepends: python3, libblkid1 (>= 2.16), libc6 (>= 2.34), libnvpair3linux (= 2.3.2-2), libuuid1 (>= 2.16), libuutil3linux (= 2.3.2-2), libzfs6linux (= 2.3.2-2)\n";
        assert_eq!(list_libraries(shown), ["libnvpair3linux", "libuutil3linux", "libzfs6linux"]);
        assert!(list_libraries("").is_empty());
    }
}
