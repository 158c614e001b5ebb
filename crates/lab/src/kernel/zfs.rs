//! ZFS for a laboratory kernel: its sources, from a folder, a tarball or the distribution's packages, are joined to the
//! kernel's, and its programs come to lie beside the kernel.
//!
//! ZFS is under the CDDL 1.0 and Linux under the GPL 2.0. Whether a kernel with both may be given to others is disputed, so
//! each machine builds its own: fsverdict contains nothing of ZFS, and does not export such a kernel.

use std::path::{Path, PathBuf};

use rustix::fs::FileType;
use xxhash_rust::xxh3::Xxh3Default;

use fsverdict_folders::{FolderHandle, open_own, remove_tree};
use fsverdict_linux::host::root::names_in;
use fsverdict_linux::sandbox::Sandbox;
use fsverdict_linux::sandbox::program::find_program;

use super::build_step::{run_in, run_step};
use super::cache::parse_release_numbers;
use super::error::{KernelBuildError, file_error};
use super::fragment::ZFS_FRAGMENT;
use super::patch::{apply_zfs_patches, list_zfs_patches};
use super::scratch::Scratch;
use super::source::{KernelSource, file_type};
use super::zfs_packages::{download_packages, unpack_package};
use fsverdict_folders::name_file_type;

/// Where the package zfs-dkms puts ZFS's sources.
const PACKAGED: &str = "/usr/src";
/// The file in which the sources of ZFS name themselves.
const META: &str = "META";
const LARGEST_META: u64 = 1 << 16;
/// The revision, which a release has and a package lacks.
const REVISION: &str = "include/zfs/zfs_gitrev.h";
/// What `copy-builtin` does last.
const JOINED: &str = "obj-$(CONFIG_ZFS) += zfs/";
const LARGEST_MAKEFILE: u64 = 1 << 20;
const HINT_SOURCES: &str = "name OpenZFS's sources: `--zfs-source` takes a release's tarball (zfs-2.3.2.tar.gz, from github.com/openzfs/zfs/releases) or its folder";

/// Where the sources of ZFS come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ZfsSource {
    Tarball(PathBuf),
    Folder(PathBuf),
    /// Debian's and Ubuntu's packages, which apt-get fetches.
    Packages,
}

/// What `META` says of ZFS's sources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ZfsRelease {
    pub(super) version: String,
    /// The newest Linux that it was made for.
    linux_maximum: Vec<u64>,
    linux_maximum_text: String,
}

fn not_zfs_sources(path: &Path, reason: &str) -> KernelBuildError {
    KernelBuildError::Zfs {
        what: format!("{} is no tarball or folder of OpenZFS's sources: {reason}", path.display()),
        hint: HINT_SOURCES.to_owned(),
    }
}

impl ZfsSource {
    /// The sources that the user named, or those that an installed package has, or the packages themselves.
    pub(super) fn find_sources(named: Option<&Path>) -> Result<Self, KernelBuildError> {
        let Some(path) = named else {
            let installed = names_in(Path::new(PACKAGED));
            let newest = installed
                .iter()
                .filter(|name| name.starts_with("zfs-"))
                .map(|name| Path::new(PACKAGED).join(name))
                .filter(|folder| folder.join(META).is_file() && folder.join("copy-builtin").is_file())
                .max_by_key(|folder| parse_release_numbers(&folder.to_string_lossy()));
            if let Some(folder) = newest {
                return Ok(ZfsSource::Folder(folder));
            }
            return match ["apt-get", "dpkg-deb"].iter().all(|program| find_program(program).is_some()) {
                true => Ok(ZfsSource::Packages),
                false => Err(KernelBuildError::Zfs {
                    what: "this distribution has no package of ZFS's sources that fsverdict knows".to_owned(),
                    hint: HINT_SOURCES.to_owned(),
                }),
            };
        };
        let path = path.canonicalize().map_err(file_error("find the sources of ZFS", path))?;
        match file_type(&path)? {
            FileType::RegularFile => Ok(ZfsSource::Tarball(path)),
            FileType::Directory => Ok(ZfsSource::Folder(path)),
            other => Err(not_zfs_sources(&path, &format!("it is {}", name_file_type(other)))),
        }
    }

    /// A path that the programs of a build must be able to read, besides the build's own folder.
    pub(super) fn path(&self) -> Option<&Path> {
        match self {
            ZfsSource::Tarball(path) | ZfsSource::Folder(path) => Some(path),
            ZfsSource::Packages => None,
        }
    }

    /// Adds the identity of the sources, of our options and of our patches to the digest of a kernel.
    pub(super) fn update_digest(&self, digest: &mut Xxh3Default) -> Result<(), KernelBuildError> {
        digest.update(ZFS_FRAGMENT.as_bytes());
        list_zfs_patches(true).for_each(|(_, text)| digest.update(text.as_bytes()));
        match self {
            ZfsSource::Tarball(path) => {
                KernelSource::Tarball(path.clone()).update_digest(digest).map_err(|error| match error {
                    KernelBuildError::NotSources { reason, .. } => not_zfs_sources(path, &reason),
                    other => other,
                })
            }
            ZfsSource::Folder(path) => KernelSource::Tree(path.clone()).update_digest(digest),
            // Which version apt-get finds is no input that is known beforehand; the kernel's facts name it.
            ZfsSource::Packages => {
                digest.update(b"packages of ZFS");
                Ok(())
            }
        }
    }

    /// Unpacks and patches the sources into their folder; those of packages come with ZFS's programs.
    pub(super) fn prepare_sources(
        &self,
        counting: bool,
        scratch: &Scratch,
        release: &str,
        sandbox: &Sandbox,
    ) -> Result<ZfsRelease, KernelBuildError> {
        let folder = scratch.zfs_folder();
        remove_tree(&folder).map_err(file_error("remove", &folder))?;
        std::fs::create_dir(&folder).map_err(file_error("make", &folder))?;
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let (argv, of) = match self {
            ZfsSource::Tarball(path) => {
                let words =
                    ["tar", "--extract", "--strip-components=1", "--no-same-owner", "--no-same-permissions"];
                let files = [format!("--directory={}", text(&folder)), format!("--file={}", text(path))];
                (words.map(str::to_owned).into_iter().chain(files).collect::<Vec<_>>(), path.clone())
            }
            ZfsSource::Folder(path) => {
                let words = ["cp", "--archive", "--no-preserve=ownership"].map(str::to_owned);
                (
                    words.into_iter().chain([format!("{}/.", text(path)), text(&folder)]).collect(),
                    path.clone(),
                )
            }
            ZfsSource::Packages => {
                let packages = download_packages(scratch)?;
                for package in &packages {
                    unpack_package(package, &scratch.package_folder(), sandbox, scratch)?;
                }
                let unpacked = scratch.package_folder().join("usr/src");
                let name = names_in(&unpacked).into_iter().find(|name| name.starts_with("zfs-"));
                let from = unpacked.join(name.unwrap_or_default());
                (
                    vec![
                        "cp".to_owned(),
                        "--archive".to_owned(),
                        format!("{}/.", text(&from)),
                        text(&folder),
                    ],
                    from,
                )
            }
        };
        run_step("unpack the sources of ZFS", argv, scratch, sandbox)?;
        let known = read_zfs_release(&folder).filter(|_| folder.join("copy-builtin").is_file());
        let known = known.ok_or_else(|| KernelBuildError::Zfs {
            what: format!("{} holds no sources of ZFS: no META, or no copy-builtin", of.display()),
            hint: HINT_SOURCES.to_owned(),
        })?;
        if !folder.join("configure").is_file() {
            return Err(KernelBuildError::Zfs {
                what: format!("{} has no configure", of.display()),
                hint: "take a release's tarball, or run ./autogen.sh in a copy of it".to_owned(),
            });
        }
        known.require_fit(release)?;
        apply_zfs_patches(&known.version, counting, scratch, sandbox)?;
        Ok(known)
    }

    /// Where ZFS's programs and libraries were unpacked, if they came with the sources.
    pub(super) fn unpacked_programs(&self, scratch: &Scratch) -> Option<PathBuf> {
        (*self == ZfsSource::Packages).then(|| scratch.package_folder())
    }
}

impl ZfsRelease {
    /// Refuses kernel sources that are newer than this ZFS supports.
    fn require_fit(&self, release: &str) -> Result<(), KernelBuildError> {
        let version = parse_release_numbers(release);
        if version.get(..2).unwrap_or_default() <= self.linux_maximum.as_slice() {
            return Ok(());
        }
        Err(KernelBuildError::Zfs {
            what: format!(
                "ZFS {} is for Linux up to {}, and the kernel's sources are {release}",
                self.version, self.linux_maximum_text
            ),
            hint: format!("take older kernel sources, or a newer ZFS; {HINT_SOURCES}"),
        })
    }
}

/// Joins ZFS's sources to the kernel's tree, which is configured and prepared for that, unless they are joined.
pub(super) fn join_sources(
    scratch: &Scratch,
    known: &ZfsRelease,
    sandbox: &Sandbox,
) -> Result<(), KernelBuildError> {
    let (tree, objects, folder) = (scratch.source_folder(), scratch.object_folder(), scratch.zfs_folder());
    if is_joined(&tree) {
        return Ok(());
    }
    let at = |option: &str, path: &Path| format!("{option}={}", path.display());
    let configure = [
        "./configure".to_owned(),
        "--with-config=kernel".to_owned(),
        "--enable-linux-builtin".to_owned(),
        at("--with-linux", &tree),
        at("--with-linux-obj", &objects),
        // Else it compiles its probes with the headers of this machine's processor.
        "KERNEL_ARCH=um".to_owned(),
    ];
    run_in(&folder, "configure ZFS", &configure, scratch, sandbox)?;
    let copy = ["./copy-builtin".to_owned(), tree.display().to_string()];
    run_in(&folder, "join the sources of ZFS to the kernel's", &copy, scratch, sandbox)?;
    let revision = tree.join(REVISION);
    if !revision.is_file() {
        let text = format!("#define ZFS_META_GITREV \"zfs-{}\"\n", known.version);
        let write = |mut file: std::fs::File| std::io::Write::write_all(&mut file, text.as_bytes());
        open_own(&revision, rustix::fs::OFlags::TRUNC)
            .and_then(write)
            .map_err(file_error("write", &revision))?;
    }
    Ok(())
}

/// Whether the makefile of the filesystems knows ZFS already.
fn is_joined(tree: &Path) -> bool {
    let makefile =
        FolderHandle::open_untrusted(tree).and_then(|tree| tree.read_file("fs/Makefile", LARGEST_MAKEFILE));
    makefile.is_ok_and(|text| String::from_utf8_lossy(&text).lines().any(|line| line == JOINED))
}

/// What the sources in this folder say they are.
pub(super) fn read_zfs_release(folder: &Path) -> Option<ZfsRelease> {
    let meta =
        FolderHandle::open_untrusted(folder).and_then(|folder| folder.read_file(META, LARGEST_META)).ok()?;
    let meta = String::from_utf8_lossy(&meta).into_owned();
    let value = |key: &str| {
        let line = meta.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
        line.map(|value| value.trim().to_owned())
    };
    let plain = |text: &String| super::source::is_release(text);
    (value("Name")? == "zfs").then_some(())?;
    let linux_maximum_text = value("Linux-Maximum").filter(plain)?;
    Some(ZfsRelease {
        version: value("Version").filter(plain)?,
        linux_maximum: parse_release_numbers(&linux_maximum_text),
        linux_maximum_text,
    })
}

#[cfg(test)]
mod tests {
    use super::{ZfsSource, is_joined, read_zfs_release};

    const META: &str = "Meta:          1\nName:          zfs\nVersion:       2.3.2\nLinux-Maximum: 6.14\nLinux-Minimum: 4.18\n";

    #[test]
    fn sources_say_for_which_kernels_they_are() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(read_zfs_release(folder.path()), None);
        std::fs::write(folder.path().join("META"), META).unwrap();
        let known = read_zfs_release(folder.path()).unwrap();
        assert_eq!(known.version, "2.3.2");
        for release in ["6.12.117", "6.14", "6.1.176", "5.10"] {
            known.require_fit(release).unwrap();
        }
        let error = known.require_fit("6.15.1").unwrap_err().to_string();
        assert!(error.contains("up to 6.14") && error.contains("6.15.1"), "{error}");
        std::fs::write(folder.path().join("META"), META.replace("2.3.2", "../x")).unwrap();
        assert_eq!(read_zfs_release(folder.path()), None);
    }

    #[test]
    fn a_tree_is_joined_once_the_last_line_of_the_makefile_is_there() {
        let tree = tempfile::tempdir().unwrap();
        std::fs::create_dir(tree.path().join("fs")).unwrap();
        std::fs::write(tree.path().join("fs/Makefile"), "obj-y += ext4/\n").unwrap();
        assert!(!is_joined(tree.path()));
        std::fs::write(tree.path().join("fs/Makefile"), "obj-y += ext4/\nobj-$(CONFIG_ZFS) += zfs/\n")
            .unwrap();
        assert!(is_joined(tree.path()));
    }

    #[test]
    fn other_sources_of_zfs_make_another_kernel() {
        let folder = tempfile::tempdir().unwrap();
        let digest = |source: ZfsSource| {
            let mut digest = xxhash_rust::xxh3::Xxh3Default::new();
            source.update_digest(&mut digest).unwrap();
            digest.digest()
        };
        let [one, other] = ["one.tar", "other.tar"].map(|name| {
            let path = folder.path().join(name);
            std::fs::write(&path, name).unwrap();
            digest(ZfsSource::Tarball(path))
        });
        assert!(one != other && one != digest(ZfsSource::Packages));
    }
}
