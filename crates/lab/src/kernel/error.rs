//! Errors of finding, building, importing and exporting laboratory kernels.

use std::path::{Path, PathBuf};

use crate::packages::PackageError;
use fsverdict_text::{Bytes, Hinted};

/// Bytes a build takes up: sources 1.7 GiB where all are unpacked, objects 0.2 GiB.
pub(super) const ROOM: u64 = 2 << 30;

/// A kernel cannot be built, found or removed.
#[derive(Debug, thiserror::Error)]
pub enum KernelBuildError {
    #[error("there are no kernel sources here: /usr/src has no linux-source-*.tar.*")]
    NoSources,
    #[error("{} is not a tarball or a tree of kernel sources: {reason}", path.display())]
    NotSources { path: PathBuf, reason: String },
    #[error("not installed, and needed to build a kernel: {programs}")]
    MissingPrograms { programs: String, hint: String },
    #[error("a kernel build takes {wanted_gib} GiB, and {} has {free_gib} GiB left", folder.display())]
    NoRoom { folder: PathBuf, wanted_gib: u64, free_gib: u64 },
    #[error("{step}: the disk of {} is full, with {} left: a kernel build takes up to {}", folder.display(), Bytes(*free), Bytes(ROOM))]
    Full { step: &'static str, folder: PathBuf, free: u64 },
    #[error("another fsverdict is building this kernel just now")]
    Busy,
    #[error("the patch {patch} does not apply to {release}: {said}")]
    Patch { patch: String, release: String, said: String, hint: &'static str },
    #[error("{what}")]
    Zfs { what: String, hint: String },
    #[error(
        "the kernel {name} has ZFS in it, and is not exported: ZFS is under the CDDL 1.0, Linux under the GPL 2.0, and whether both may be given away in one program is disputed"
    )]
    NotExported { name: String },
    #[error("the sources {release} cannot be configured as a laboratory kernel; not taken: {options}")]
    Options { release: String, options: String },
    #[error("{step} failed; its last lines:\n{lines}")]
    Step { step: &'static str, lines: String, log: PathBuf },
    #[error("the kernel {failed}")]
    Trial { failed: String, log: PathBuf, way_on: &'static str },
    #[error("the kernel {failed}; the last lines of its trial:\n{lines}")]
    ImportTrial { failed: String, lines: String },
    #[error("there is a kernel {name} in the cache already")]
    There { name: String },
    #[error("{} is no kernel that `fsverdict kernel export` wrote, or it is damaged: {fault}", path.display())]
    NotAPackage { path: PathBuf, fault: PackageFault },
    #[error("there is no kernel `{name}` in the cache")]
    Unknown { name: String, hint: String },
    #[error(transparent)]
    Program(#[from] fsverdict_linux::sandbox::program::ProgramError),
    #[error("cannot {what} {}: {source}", path.display())]
    File { what: &'static str, path: PathBuf, source: std::io::Error },
}

/// Why a file is no exported kernel.
#[derive(Debug, thiserror::Error)]
pub enum PackageFault {
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error("it ends before its {0}")]
    Truncated(String),
    #[error("its {0}: {1}")]
    Label(&'static str, serde_json::Error),
    #[error("it is of schema {0}, and this fsverdict knows {1}")]
    Schema(u32, u32),
    #[error("its release or digest is none")]
    Identity,
    #[error("it has ZFS in it, and such kernels are not handed on")]
    Zfs,
    #[error("it says that it is {0}, and its folder has another name")]
    OtherFolder(String),
    #[error("it has the module `{0}`, which is none that fsverdict knows")]
    UnknownModule(String),
    #[error("it holds a folder beside {0}")]
    SecondFolder(String),
    #[error("it holds `{shown}` where `FOLDER/{expected}` is to be")]
    Misplaced { shown: String, expected: String },
    #[error("`{0}` in it is not a file")]
    NotFile(String),
    #[error("`{shown}` in it is larger than {} MiB", longest >> 20)]
    TooLarge { shown: String, longest: u64 },
    #[error("its {0} is not what was exported (digest)")]
    Digest(&'static str),
    #[error("it holds more than {}, {}, {} and the modules that it names", .0[0], .0[1], .0[2])]
    TooManyFiles([&'static str; 3]),
    #[error("it goes on where its files end, or its end is missing")]
    EndsLate,
    #[error("something follows its end")]
    Trailing,
}

/// A hint for an error of input and output, where one is known.
fn advise_on_io(error: &std::io::Error) -> Option<&'static str> {
    Some(match error.kind() {
        _ if error.raw_os_error() == Some(rustix::io::Errno::PERM.raw_os_error()) => {
            "`lsattr -d` shows whether it is append-only or immutable (chattr(1)); a mount or a container may forbid it, too"
        }
        std::io::ErrorKind::PermissionDenied => {
            "`ls -ld` shows whose it is: XDG_CACHE_HOME and HOME say which cache is used"
        }
        std::io::ErrorKind::NotFound => {
            "name a linux-*.tar.xz, or a folder with the kernel's Makefile and arch/um in it, that is there"
        }
        // Without a number it is an error of our own, of a file that is to be read; else of one that is written.
        std::io::ErrorKind::InvalidInput | std::io::ErrorKind::FileTooLarge
            if error.raw_os_error().is_none() =>
        {
            "name a regular file; what is something else, or larger than such a file is, is not read"
        }
        std::io::ErrorKind::ReadOnlyFilesystem => "set XDG_CACHE_HOME to a folder that can be written",
        _ => return None,
    })
}

impl Hinted for KernelBuildError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            KernelBuildError::NoSources => "install the package linux-source-6.12 (Debian), linux-source (Ubuntu) or kernel-devel's source package, or name a tarball or a tree: `fsverdict kernel build linux-6.12.tar.xz` (https://kernel.org)".to_owned(),
            KernelBuildError::NotSources { .. } => "name a linux-*.tar.xz, or a folder with the kernel's Makefile and arch/um in it".to_owned(),
            KernelBuildError::MissingPrograms { hint, .. } => hint.clone(),
            KernelBuildError::NoRoom { .. } => "make room, or set XDG_CACHE_HOME to a folder on another disk".to_owned(),
            KernelBuildError::Full { .. } => "make room there, or set XDG_CACHE_HOME to a folder on another disk; the same command carries on where this stopped".to_owned(),
            KernelBuildError::Busy => "wait for it, and it is in `fsverdict kernel list`".to_owned(),
            KernelBuildError::Patch { hint, .. } => (*hint).to_owned(),
            KernelBuildError::Zfs { hint, .. } => hint.clone(),
            KernelBuildError::NotExported { .. } => "build it on the other machine: `fsverdict kernel build --with zfs`, with the other words that it was built with".to_owned(),
            KernelBuildError::Options { .. } => "Linux 6.1, 6.12 and 7.2 are known to do; `fsverdict kernel build` of such a tree".to_owned(),
            KernelBuildError::Step { log, .. } => format!("the whole log is {}; the same command carries on where this stopped, and `fsverdict kernel list` says how to remove what it left", log.display()),
            KernelBuildError::Trial { log, way_on, .. } => format!("the whole record is {}; {way_on}", log.display()),
            KernelBuildError::ImportTrial { .. } => "nothing of it is in the cache; have it sent again, or build it here: `fsverdict kernel build`".to_owned(),
            KernelBuildError::There { name } => format!("`fsverdict kernel remove {name}` removes it, if the other one is to take its place"),
            KernelBuildError::NotAPackage { .. } => "have it sent again, or exported again; what is in it was not used".to_owned(),
            KernelBuildError::Unknown { hint, .. } => hint.clone(),
            KernelBuildError::Program(error) => return error.hint(),
            KernelBuildError::File { source, .. } => {
                return advise_on_io(source).map(str::to_owned).or_else(|| source.hint());
            }
        })
    }
}

/// Bytes that are free where a folder is.
pub(super) fn read_free_bytes(folder: &Path) -> std::io::Result<u64> {
    Ok(fsverdict_linux::host::image::free_bytes(folder)?)
}

impl From<PackageError> for KernelBuildError {
    fn from(error: PackageError) -> Self {
        match error {
            PackageError::Busy(_) => KernelBuildError::Busy,
            PackageError::File { what, path, source } => file_error(what, &path)(source),
            PackageError::Program(error) => KernelBuildError::Program(error),
            other => {
                let hint = other.hint().unwrap_or_default();
                KernelBuildError::Zfs { what: other.to_string(), hint }
            }
        }
    }
}

impl KernelBuildError {
    pub(super) fn not_sources(path: &Path, reason: String) -> Self {
        KernelBuildError::NotSources { path: path.to_owned(), reason }
    }

    pub(super) fn disk_full(step: &'static str, folder: &Path) -> Self {
        KernelBuildError::Full { step, folder: folder.to_owned(), free: read_free_bytes(folder).unwrap_or(0) }
    }
}

/// For `map_err`: names the operation that failed and its file.
pub(super) fn file_error<E: Into<std::io::Error>>(
    what: &'static str,
    path: &Path,
) -> impl FnOnce(E) -> KernelBuildError {
    use std::io::ErrorKind::{QuotaExceeded, StorageFull};
    let path = path.to_owned();
    move |source| match source.into() {
        source if [StorageFull, QuotaExceeded].contains(&source.kind()) => {
            KernelBuildError::disk_full(what, path.parent().unwrap_or(&path))
        }
        source => KernelBuildError::File { what, path, source },
    }
}
