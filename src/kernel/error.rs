//! Why there is no laboratory kernel.

use std::path::PathBuf;

/// A kernel cannot be built, found or removed.
#[derive(Debug, thiserror::Error)]
pub enum KernelBuildError {
    /// Nothing to build from.
    #[error(
        "there are no kernel sources here: /usr/src has no linux-source-*.tar.*\nhint: install the package linux-source-6.12 (Debian), linux-source (Ubuntu) or kernel-devel's source package, or name a tarball or a tree: `fsverdict kernel build linux-6.12.tar.xz` (https://kernel.org)"
    )]
    NoSources,
    /// Something, but no sources.
    #[error("{} is not a tarball or a tree of kernel sources: {reason}\nhint: name a linux-*.tar.xz, or a folder with the kernel's Makefile and arch/um in it", path.display())]
    NotSources {
        /// What was named.
        path: PathBuf,
        /// What it lacks.
        reason: String,
    },
    /// Programs a build needs.
    #[error("not installed, and needed to build a kernel: {programs}\nhint: {hint}")]
    MissingPrograms {
        /// Which.
        programs: String,
        /// How to get them.
        hint: String,
    },
    /// Too little room for a build.
    #[error("a kernel build takes {wanted_gib} GiB, and {} has {free_gib} GiB left\nhint: make room, or set XDG_CACHE_HOME to a folder on another disk", folder.display())]
    NoRoom {
        /// Where.
        folder: PathBuf,
        /// What it takes.
        wanted_gib: u64,
        /// What there is.
        free_gib: u64,
    },
    /// Somebody else is at it.
    #[error(
        "another fsverdict is building this kernel just now\nhint: wait for it, and it is in `fsverdict kernel list`"
    )]
    Busy,
    /// A patch does not fit the sources.
    #[error("the patch {patch} does not apply to {release}: {said}\nhint: {hint}")]
    Patch {
        /// Which.
        patch: String,
        /// The sources.
        release: String,
        /// What patch(1) said.
        said: String,
        /// What to do.
        hint: &'static str,
    },
    /// Options without which no trial could run.
    #[error(
        "the sources {release} cannot be configured as a laboratory kernel; not taken: {options}\nhint: Linux 6.1 to 6.12 are known to do; `fsverdict kernel build` of such a tree"
    )]
    Options {
        /// The sources.
        release: String,
        /// Their names.
        options: String,
    },
    /// A step of the build failed.
    #[error("{step} failed; its last lines:\n{lines}\nhint: the whole log is {}; the same command carries on where this stopped", log.display())]
    Step {
        /// Which.
        step: &'static str,
        /// The end of its log.
        lines: String,
        /// All of it.
        log: PathBuf,
    },
    /// No such kernel.
    #[error("there is no kernel `{name}` in the cache\nhint: {hint}")]
    Unknown {
        /// The name asked for.
        name: String,
        /// What there is.
        hint: String,
    },
    /// Where the cache lies cannot be known.
    #[error(
        "there is nowhere to keep kernels: neither XDG_CACHE_HOME nor HOME is a folder\nhint: set XDG_CACHE_HOME"
    )]
    NoCache,
    /// A program could not be run.
    #[error(transparent)]
    Program(#[from] crate::host::program::ProgramError),
    /// A file could not be read or written.
    #[error("cannot {what} {}: {source}", path.display())]
    File {
        /// What was tried.
        what: &'static str,
        /// With which file.
        path: PathBuf,
        /// Why it failed.
        source: std::io::Error,
    },
}

/// For `map_err`: what was tried with which file.
pub(super) fn file<E: Into<std::io::Error>>(
    what: &'static str,
    path: &std::path::Path,
) -> impl FnOnce(E) -> KernelBuildError {
    let path = path.to_owned();
    move |source| KernelBuildError::File { what, path, source: source.into() }
}
