//! Patches: our own, which are part of the program, and the user's.

use std::path::{Path, PathBuf};

use fsverdict_folders::read_regular;
use fsverdict_linux::sandbox::Sandbox;
use fsverdict_linux::sandbox::program::Program;

use super::error::{KernelBuildError, file_error};
use super::scratch::{Scratch, says_full};

/// The first and the last release of each series that a patch is for.
type Releases = &'static [[[u32; 2]; 2]];

/// Bytes of a patch: from one release to the next it has some 80 MB.
const LARGEST: u64 = 512 << 20;

const NEWEST: [u32; 2] = [u32::MAX, 0];
const ALL: Releases = &[[[0, 0], NEWEST]];
const LINUX_6_12: Releases = &[[[6, 12], [6, 12]]];
const LINUX_7_2: Releases = &[[[7, 2], [7, 3]]];
/// The releases to which the patches that count computation apply; on 7.2 they were not compiled.
const COUNTED: Releases = &[LINUX_6_12[0], LINUX_7_2[0]];

/// A built-in patch with the releases that it is for.
macro_rules! own_patch {
    ($name:literal, $releases:expr) => {
        ($name, include_str!(concat!("../../kernel/patches/", $name)), $releases)
    };
}

/// The built-in patches, by name. Together they cover every tree from Linux 6.1 on.
const OWN: [(&str, &str, Releases); 30] = [
    own_patch!("0001-um-seed.patch", ALL),
    own_patch!("0002-um-xstate.patch", &[[[0, 0], [6, 12]]]),
    own_patch!("0003-um-yield.patch", &[[[0, 0], [6, 10]]]),
    own_patch!("0004-um-yield-6.11.patch", &[[[6, 11], NEWEST]]),
    own_patch!("0005-blk-flush-restart.patch", ALL),
    own_patch!("0006-um-seed-alone.patch", ALL),
    own_patch!("0007-um-zero-page.patch", &[[[7, 1], NEWEST]]),
    own_patch!("0008-um-live-registers.patch", LINUX_6_12),
    own_patch!("0009-um-names.patch", LINUX_6_12),
    own_patch!("0010-blk-submitter.patch", COUNTED),
    own_patch!("0011-um-aes.patch", &[[[6, 1], [6, 12]]]),
    own_patch!("0012-um-crc32c.patch", &[[[6, 1], [6, 12]]]),
    own_patch!("0013-crc32c-fast.patch", &[[[6, 14], NEWEST]]),
    own_patch!("0014-um-cpu-price.patch", COUNTED),
    own_patch!("0015-um-spin.patch", LINUX_6_12),
    own_patch!("0016-um-price-time.patch", COUNTED),
    own_patch!("0017-um-price-clock.patch", LINUX_6_12),
    own_patch!("0018-um-price-clock-7.2.patch", LINUX_7_2),
    own_patch!("0019-um-price-entries.patch", COUNTED),
    own_patch!("0020-price-threads.patch", COUNTED),
    own_patch!("0021-price-processors.patch", COUNTED),
    own_patch!("0022-price-crypto.patch", COUNTED),
    own_patch!("0023-price-digests-7.2.patch", LINUX_7_2),
    own_patch!("0024-price-compression.patch", COUNTED),
    own_patch!("0025-price-parity.patch", LINUX_6_12),
    own_patch!("0026-price-parity-7.2.patch", LINUX_7_2),
    own_patch!("0027-um-large-folios.patch", COUNTED),
    own_patch!("0028-um-large-folios-6.12.patch", LINUX_6_12),
    own_patch!("0030-um-modules.patch", LINUX_6_12),
    own_patch!("0031-hostfs-inodes.patch", LINUX_6_12),
];

/// The first of the patches that make a kernel count its computation.
const COUNTING: &str = "0014-um-cpu-price.patch";
/// Lets a kernel load modules, and builds in the libraries that they share.
const MODULES: &str = "0030-um-modules.patch";

/// Keeps ZFS from measuring its own speed while the kernel starts; it is applied to the sources of ZFS.
const ZFS: (&str, &str) = ("zfs/no-benchmarks.patch", include_str!("../../kernel/zfs/no-benchmarks.patch"));
/// Gives ZFS's computation its price, in a kernel that counts.
const COUNTING_ZFS: (&str, &str) = ("zfs/cpu-price.patch", include_str!("../../kernel/zfs/cpu-price.patch"));

/// The number of patches, counted from the first, that are part of every kernel's digest, whether they apply or not. A
/// patch for particular releases is added behind them: it changes the digests of those releases only, so that no other
/// kernel has to be rebuilt.
const IN_EVERY_DIGEST: usize = 6;

#[derive(Debug, Clone)]
pub(super) struct Patch {
    pub(super) name: String,
    pub(super) text: Vec<u8>,
    own: bool,
    /// Part of the digest of those kernels alone that it is applied to.
    pub(super) later: bool,
    releases: Releases,
}

/// Whether a kernel of this release can have modules.
pub(super) fn can_have_modules(patches: &[Patch], release: &str) -> bool {
    patches.iter().any(|patch| patch.own && patch.name == MODULES && patch.is_for(release))
}

/// Our own patches and the user's, in the order they are applied.
pub(super) fn collect_patches(users: &[PathBuf]) -> Result<Vec<Patch>, KernelBuildError> {
    let own = OWN.into_iter().enumerate().map(|(at, (name, text, releases))| {
        let later = at >= IN_EVERY_DIGEST;
        Ok(Patch { name: name.to_owned(), text: text.into(), own: true, later, releases })
    });
    let users = users.iter().map(|path| {
        let text = read_regular(path, LARGEST).map_err(file_error("read the patch", path))?;
        Ok(Patch { name: path.display().to_string(), text, own: false, later: false, releases: ALL })
    });
    own.chain(users).collect()
}

/// Whether these patches make a kernel of this release count its computation.
pub(super) fn makes_counting(patches: &[Patch], release: &str) -> bool {
    patches.iter().any(|patch| patch.name == COUNTING && patch.is_for(release))
}

impl Patch {
    /// Whether this release needs the patch.
    pub(super) fn is_for(&self, release: &str) -> bool {
        let mut numbers = release.split('.').map_while(|number| number.parse().ok());
        let version = [numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)];
        self.releases.iter().any(|[first, last]| *first <= version && version <= *last)
    }

    /// Applies it to the sources.
    pub(super) fn apply_to(
        &self,
        scratch: &Scratch,
        release: &str,
        sandbox: &Sandbox,
    ) -> Result<(), KernelBuildError> {
        let Some(said) = apply_text(&self.text, &scratch.source_folder(), scratch, sandbox)? else {
            return Ok(());
        };
        Err(KernelBuildError::Patch {
            patch: self.name.clone(),
            release: release.to_owned(),
            said,
            hint: if self.own {
                "trees of Linux 6.1, 6.12, 7.2 and 7.3 are known to do"
            } else {
                "the patch must be made for this release, with paths that `patch -p1` takes"
            },
        })
    }
}

/// Our patches for ZFS, each with its name, in the order they are applied; one more if the kernel counts.
pub(super) fn list_zfs_patches(counting: bool) -> impl Iterator<Item = (&'static str, &'static str)> {
    [ZFS].into_iter().chain(counting.then_some(COUNTING_ZFS))
}

/// Applies our patches for ZFS to the sources in a folder.
pub(super) fn apply_zfs_patches(
    version: &str,
    counting: bool,
    scratch: &Scratch,
    sandbox: &Sandbox,
) -> Result<(), KernelBuildError> {
    for (name, text) in list_zfs_patches(counting) {
        if let Some(said) = apply_text(text.as_bytes(), &scratch.zfs_folder(), scratch, sandbox)? {
            return Err(KernelBuildError::Patch {
                patch: name.to_owned(),
                release: format!("ZFS {version}"),
                said,
                hint: "ZFS 2.3.2 is known to do",
            });
        }
    }
    Ok(())
}

/// Applies a patch in a folder; returns the output of patch(1) if it does not apply.
fn apply_text(
    text: &[u8],
    folder: &Path,
    scratch: &Scratch,
    sandbox: &Sandbox,
) -> Result<Option<String>, KernelBuildError> {
    // By its path: a folder that was entered before the sandbox's mounts were made is read-only.
    let folder = format!("--directory={}", folder.display());
    let patch = Program::new(["patch", "-p1", "--forward", "--batch", "--no-backup-if-mismatch", &folder]);
    let patch =
        patch.inside(sandbox.clone()).with_variable("TMPDIR", scratch.temporary_folder()).with_input(text);
    let record = patch.run("patch the sources")?;
    if record.exit == Some(0) {
        return Ok(None);
    }
    let said = format!("{}{}", record.stdout, record.stderr);
    if let Some(full) = scratch.disk_full_error("patch the sources", says_full(&said)) {
        return Err(full);
    }
    Ok(Some(said.trim().lines().take(4).collect::<Vec<_>>().join("; ")))
}

#[cfg(test)]
mod tests {
    use super::{OWN, collect_patches, makes_counting};

    /// One that lay there and was not applied cost a kernel that did not start.
    #[test]
    fn every_patch_in_the_folder_is_applied_in_order() {
        let mut there: Vec<String> =
            std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernel/patches"))
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
        there.sort();
        assert!(OWN.is_sorted_by_key(|(name, ..)| *name));
        let own: Vec<&str> = OWN.iter().map(|(name, ..)| *name).collect();
        assert_eq!(own, there);
    }

    #[test]
    fn a_release_that_has_what_a_patch_does_is_not_patched() {
        for (release, expected) in [
            ("6.1.192", 7),
            ("6.12.117", 24),
            ("6.13.0-rc3", 4),
            ("7.0", 5),
            ("7.2.13", 18),
            ("7.3.4", 18),
            ("7.4", 6),
        ] {
            let own = collect_patches(&[]).unwrap();
            assert_eq!(makes_counting(&own, release), ["6.12.117", "7.2.13", "7.3.4"].contains(&release));
            assert_eq!(own.iter().filter(|patch| patch.is_for(release)).count(), expected, "{release}");
        }
    }
}
