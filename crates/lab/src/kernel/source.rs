//! Finds and unpacks kernel sources: the distribution's package, a tarball, or a tree.

use std::path::{Path, PathBuf};

use rustix::fs::FileType;
use xxhash_rust::xxh3::Xxh3Default;

use fsverdict_folders::FolderHandle;
use fsverdict_linux::sandbox::Sandbox;
use fsverdict_linux::sandbox::program::{Program, require_success};

use super::error::{KernelBuildError, file_error};
use super::scratch::{Scratch, says_full};
use super::source_digest::{digest_tarball, digest_tree};
use fsverdict_folders::name_file_type;

/// Bytes of a makefile or a Kconfig file of a kernel's.
const LARGEST: u64 = 4 << 20;
/// Where distributions put the sources of their kernels.
const PACKAGED: &str = "/usr/src";

/// Most of a kernel's sources are drivers for devices and processors that User-Mode Linux lacks. Their source files
/// stay packed, 1.3 of 1.7 GiB; Kconfig files and makefiles are unpacked, because others include them.
const LEFT_PACKED: [&str; 21] = [
    "*/Documentation/*.rst",
    "*/Documentation/*.txt",
    "*/Documentation/*.yaml",
    "*/arch/[!ux]*/*.[chS]",
    "*/arch/*.dts*",
    "*/drivers/accel/*.[ch]",
    "*/drivers/clk/*.[ch]",
    "*/drivers/crypto/*.[ch]",
    "*/drivers/gpu/*.[ch]",
    "*/drivers/iio/*.[ch]",
    "*/drivers/infiniband/*.[ch]",
    "*/drivers/media/*.[ch]",
    "*/drivers/net/*/*.[ch]",
    "*/drivers/pinctrl/*.[ch]",
    "*/drivers/scsi/*.[ch]",
    "*/drivers/staging/*.[ch]",
    "*/drivers/usb/*.[ch]",
    "*/drivers/video/*.[ch]",
    "*/sound/*.[ch]",
    "*/tools/perf/*",
    "*/tools/testing/*",
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum KernelSource {
    /// A file tar(1) can read.
    Tarball(PathBuf),
    /// A folder; it is copied, and not written to.
    Tree(PathBuf),
}

impl KernelSource {
    /// Finds the sources that the user named, or the distribution's newest.
    pub(super) fn find_sources(named: Option<&Path>) -> Result<Self, KernelBuildError> {
        let Some(path) = named else {
            return newest_tarball(Path::new(PACKAGED))
                .map(KernelSource::Tarball)
                .ok_or(KernelBuildError::NoSources);
        };
        let path = path.canonicalize().map_err(file_error("find the sources", path))?;
        match file_type(&path)? {
            FileType::RegularFile => Ok(KernelSource::Tarball(path)),
            FileType::Directory => {
                require_kernel_sources(&path)?;
                Ok(KernelSource::Tree(path))
            }
            other => Err(KernelBuildError::not_sources(&path, format!("it is {}", name_file_type(other)))),
        }
    }

    pub(super) fn path(&self) -> &Path {
        match self {
            KernelSource::Tarball(path) | KernelSource::Tree(path) => path,
        }
    }

    /// Adds the identity of the sources to a digest: the content of a tarball; the names, sizes and times of a tree's
    /// files.
    pub(super) fn update_digest(&self, digest: &mut Xxh3Default) -> Result<(), KernelBuildError> {
        match self {
            KernelSource::Tarball(path) => digest_tarball(path, digest),
            KernelSource::Tree(path) => digest_tree(path, digest),
        }
    }

    /// Copies the sources into their empty folder: a tree completely; of a tarball the files that a build needs, or all
    /// of it if the user has patches.
    pub(super) fn unpack_into(
        &self,
        scratch: &Scratch,
        whole: bool,
        sandbox: &Sandbox,
    ) -> Result<(), KernelBuildError> {
        let folder = &*scratch.source_folder();
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let mut argv: Vec<String> = Vec::new();
        match self {
            KernelSource::Tarball(path) => {
                argv.extend(["tar", "--extract", "--strip-components=1"].map(str::to_owned));
                argv.extend(["--no-same-owner", "--no-same-permissions"].map(str::to_owned));
                argv.extend([format!("--directory={}", text(folder)), format!("--file={}", text(path))]);
                let left = LEFT_PACKED.iter().filter(|_| !whole);
                argv.extend(left.map(|pattern| format!("--exclude={pattern}")));
            }
            KernelSource::Tree(path) => {
                argv.extend(["cp", "--archive", "--reflink=auto"].map(str::to_owned));
                argv.extend([format!("{}/.", text(path)), text(folder)]);
            }
        }
        let program = Program::new(argv).inside(sandbox.clone());
        let record = program.run("unpack the sources")?;
        let full = || scratch.disk_full_error("unpack the sources", says_full(&record.stderr));
        if record.exit != Some(0)
            && let Some(full) = full()
        {
            return Err(full);
        }
        if matches!(self, KernelSource::Tarball(_)) && record.exit != Some(0) {
            let reason = record.stderr.lines().next().unwrap_or("tar cannot read it").to_owned();
            return Err(KernelBuildError::not_sources(self.path(), reason));
        }
        require_success(record)?;
        require_kernel_sources(folder).map_err(|error| match error {
            KernelBuildError::NotSources { reason, .. } => KernelBuildError::not_sources(self.path(), reason),
            other => other,
        })
    }
}

/// The type of the file at a path that the user named.
pub(super) fn file_type(path: &Path) -> Result<FileType, KernelBuildError> {
    let status = rustix::fs::stat(path).map_err(file_error("look at", path))?;
    Ok(FileType::from_raw_mode(status.st_mode))
}

/// Whether a folder holds kernel sources that know User-Mode Linux.
fn require_kernel_sources(folder: &Path) -> Result<(), KernelBuildError> {
    let lacks = |reason: &str| Err(KernelBuildError::not_sources(folder, reason.to_owned()));
    if read_release(folder).is_none() {
        return lacks("its Makefile names no version");
    }
    if FolderHandle::open_untrusted(folder)
        .and_then(|folder| folder.open_file("arch/um/Kconfig", LARGEST))
        .is_err()
    {
        return lacks("it has no arch/um, which is User-Mode Linux");
    }
    Ok(())
}

/// The release a tree's Makefile names, e.g. `6.12.117`.
pub(super) fn read_release(tree: &Path) -> Option<String> {
    let makefile =
        FolderHandle::open_untrusted(tree).and_then(|tree| tree.read_file("Makefile", LARGEST)).ok()?;
    let makefile = String::from_utf8_lossy(&makefile);
    let value = |key: &str| {
        makefile.lines().take(20).find_map(|line| {
            let (name, value) = line.split_once('=')?;
            (name.trim() == key).then(|| value.trim().to_owned())
        })
    };
    let (version, patch) = (value("VERSION")?, value("PATCHLEVEL")?);
    let sub = value("SUBLEVEL").filter(|sub| !sub.is_empty()).map_or(String::new(), |sub| format!(".{sub}"));
    let release = format!("{version}.{patch}{sub}{}", value("EXTRAVERSION").unwrap_or_default());
    is_release(&release).then_some(release)
}

/// Whether a text can be a kernel release: it becomes part of paths and of messages.
#[must_use]
pub fn is_release(text: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || ".-+_~".contains(letter);
    text.len() <= 64 && text.starts_with(|letter: char| letter.is_ascii_digit()) && text.chars().all(plain)
}

fn newest_tarball(folder: &Path) -> Option<PathBuf> {
    let version = |path: &PathBuf| -> Option<Vec<u32>> {
        let name = path.file_name()?.to_str()?.strip_prefix("linux-source-")?;
        let (version, _) = name.split_once(".tar")?;
        version.split('.').map(|part| part.parse().ok()).collect()
    };
    let entries = std::fs::read_dir(folder).ok()?;
    entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter_map(|path| Some((version(&path)?, path)))
        .max()
        .map(|(_, path)| path)
}

#[cfg(test)]
mod tests {
    use super::{KernelSource, newest_tarball, read_release, require_kernel_sources};

    fn tree(makefile: &str, um: bool) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("Makefile"), makefile).unwrap();
        if um {
            std::fs::create_dir_all(folder.path().join("arch/um")).unwrap();
            std::fs::write(folder.path().join("arch/um/Kconfig"), "").unwrap();
        }
        folder
    }

    #[test]
    fn a_tree_says_its_release() {
        for (makefile, expected) in [
            (
                "# SPDX\nVERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 117\nEXTRAVERSION =\nNAME = x\n",
                Some("6.12.117"),
            ),
            ("VERSION = 6\nPATCHLEVEL = 13\nSUBLEVEL = 0\nEXTRAVERSION = -rc3\n", Some("6.13.0-rc3")),
            ("all:\n\tcc x.c\n", None),
            ("VERSION = /etc\nPATCHLEVEL = 1\n", None),
            ("VERSION = 6\nPATCHLEVEL = 1\nEXTRAVERSION = /../../etc\n", None),
            ("VERSION = 6\nPATCHLEVEL = 1\nEXTRAVERSION = \x1b[2J\n", None),
        ] {
            assert_eq!(read_release(tree(makefile, true).path()).as_deref(), expected);
        }
    }

    #[test]
    fn what_is_no_kernel_is_refused_with_the_reason() {
        let said =
            |makefile: &str, um| require_kernel_sources(tree(makefile, um).path()).unwrap_err().to_string();
        assert!(said("all:\n", true).contains("names no version"));
        assert!(said("VERSION = 6\nPATCHLEVEL = 1\n", false).contains("arch/um"));
        assert!(
            KernelSource::find_sources(Some("/no/such/tree".as_ref()))
                .unwrap_err()
                .to_string()
                .contains("/no/such/tree")
        );
    }

    #[test]
    fn the_newest_package_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        for name in [
            "linux-source-6.1.tar.xz",
            "linux-source-6.12.tar.xz",
            "linux-source-6.9.tar.xz",
            "linux-6.99.tar",
        ] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        assert_eq!(newest_tarball(folder.path()).unwrap(), folder.path().join("linux-source-6.12.tar.xz"));
        assert_eq!(newest_tarball(&folder.path().join("none")), None);
    }
}
