//! Fetches packages with apt-get into a folder of ours. The machine's own lists of packages stay as they are, nothing is
//! installed, and no right of root's is needed.

use std::path::{Path, PathBuf};
use std::time::Duration;

use fsverdict_linux::host::root::names_in;
use fsverdict_linux::sandbox::program::Program;
use fsverdict_linux::sandbox::{Isolation, Sandbox};

use super::error::{PackageError, file_error};

const DEBIAN: &str = "http://deb.debian.org/debian";
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
/// How long one call of apt-get or apt-cache may take.
const TIME_LIMIT: Duration = Duration::from_secs(900);
/// Bytes of output that are kept: apt-cache shows some 2 KiB for each package.
const OUTPUT_LIMIT: usize = 1 << 20;

/// How apt-get is asked: with lists of packages of our own, or with the machine's.
pub(crate) struct PackageLists {
    options: Vec<String>,
    folder: PathBuf,
}

impl PackageLists {
    /// The lists that this machine has. Packages are fetched into the folder.
    pub(crate) fn of_machine(folder: &Path) -> Self {
        PackageLists { options: Vec::new(), folder: folder.to_owned() }
    }

    /// Lists of our own below the folder, of these lines of a `sources.list`, fetched now. Their signatures are checked.
    pub(crate) fn from_sources(folder: &Path, sources: &str, options: &[&str]) -> Result<Self, PackageError> {
        let apt = folder.join("apt");
        for name in ["lists/partial", "cache/archives/partial"] {
            let path = apt.join(name);
            std::fs::create_dir_all(&path).map_err(file_error("make", &path))?;
        }
        let list = apt.join("sources.list");
        std::fs::write(&list, sources).map_err(file_error("write", &list))?;
        let at = |option: &str, name: &str| format!("{option}={}", apt.join(name).display());
        let own = [
            at("Dir::Etc::sourcelist", "sources.list"),
            "Dir::Etc::sourceparts=/dev/null".to_owned(),
            at("Dir::State::lists", "lists"),
            at("Dir::Cache", "cache"),
            // The user _apt cannot write to the folder.
            "APT::Sandbox::User=".to_owned(),
            // Otherwise it ends well where no list could be fetched.
            "APT::Update::Error-Mode=any".to_owned(),
        ];
        let all = own.into_iter().chain(options.iter().map(|option| (*option).to_owned()));
        let options = all.flat_map(|option| ["-o".to_owned(), option]).collect();
        let lists = PackageLists { options, folder: folder.to_owned() };
        lists.ask(&["apt-get", "--quiet", "update"], &[])?;
        Ok(lists)
    }

    /// The descriptions of these packages, as apt-cache shows them.
    pub(crate) fn show(&self, packages: &[&str]) -> Result<String, PackageError> {
        self.ask(&["apt-cache", "show", "--no-all-versions"], packages)
    }

    /// Fetches these packages; returns the packages in the folder.
    pub(crate) fn download(&self, packages: &[&str]) -> Result<Vec<PathBuf>, PackageError> {
        self.ask(&["apt-get", "--quiet", "download"], packages)?;
        let names = names_in(&self.folder).into_iter().filter(|name| name.ends_with(".deb"));
        Ok(names.map(|name| self.folder.join(name)).collect())
    }

    /// Runs apt-get or apt-cache, which ends with this process; returns its output.
    fn ask(&self, command: &[&str], packages: &[&str]) -> Result<String, PackageError> {
        let (program, words) = command.split_first().unwrap_or((&"apt-get", &[]));
        let argv = [(*program).to_owned()].into_iter().chain(self.options.iter().cloned());
        let argv = argv.chain(words.iter().chain(packages).map(|word| (*word).to_owned()));
        let program = Program::new(argv).inside(Sandbox::new(Isolation::None, [""; 0]));
        let program =
            program.in_folder(&self.folder).with_time_limit(TIME_LIMIT).with_output_limit(OUTPUT_LIMIT);
        let record = program.run("fetch packages")?;
        if record.exit == Some(0) {
            return Ok(record.stdout);
        }
        let mut lines = record.stderr.lines().filter(|line| !line.is_empty());
        let error = record.stderr.lines().find_map(|line| line.strip_prefix("E: "));
        let reason = error.or_else(|| lines.next()).unwrap_or("apt-get gave no reason");
        Err(PackageError::Download(reason.trim().to_owned()))
    }
}

/// The value of a key of `/etc/os-release`.
fn release_value<'a>(release: &'a str, key: &str) -> Option<&'a str> {
    let line = release.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    line.map(|value| value.trim().trim_matches('"'))
}

/// The name of this release of Debian; none of another distribution.
pub(crate) fn debian_codename(release: &str) -> Option<&str> {
    let plain = |name: &&str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase());
    release_value(release, "VERSION_CODENAME").filter(plain).filter(|_| is_debian(release))
}

pub(super) fn is_debian(release: &str) -> bool {
    release_value(release, "ID") == Some("debian")
}

/// The line of a `sources.list` for a suite of Debian's.
pub(crate) fn debian_suite(suite: &str, component: &str) -> String {
    format!("deb [signed-by={KEYRING}] {DEBIAN} {suite} {component}\n")
}

/// The packages that shown packages depend on; of alternatives the first.
pub(crate) fn list_dependencies(shown: &str) -> Vec<String> {
    let depends = shown.lines().filter_map(|line| line.strip_prefix("Depends:"));
    let names = depends.flat_map(|line| line.split(',')).filter_map(|part| part.split_whitespace().next());
    names.map(|name| name.split(':').next().unwrap_or(name).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::{debian_codename, debian_suite, is_debian, list_dependencies};

    #[test]
    fn releases_of_debian_are_told_from_those_of_others() {
        assert_eq!(debian_codename("ID=debian\nVERSION_CODENAME=bookworm\n"), Some("bookworm"));
        assert_eq!(debian_codename("ID=ubuntu\nVERSION_CODENAME=noble\nID_LIKE=debian\n"), None);
        assert_eq!(debian_codename("ID=debian\nVERSION_CODENAME=\"a b\"\n"), None);
        assert!(is_debian("NAME=x\nID=\"debian\"\n") && !is_debian("ID_LIKE=debian\n"));
        assert!(debian_suite("bookworm", "contrib").ends_with(" bookworm contrib\n"));
    }

    #[test]
    fn dependencies_are_listed_without_versions_and_alternatives() {
        let shown = "Package: a\nDepends: libaio1t64 (>= 0.3), python3:any, x | y\n\nPackage: b\nPre-Depends: no\nDepends: libc6\n";
        assert_eq!(list_dependencies(shown), ["libaio1t64", "python3", "x", "libc6"]);
    }
}
