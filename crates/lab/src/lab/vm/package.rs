//! Unpacks kernel packages, and installs the modules of built trees, into the cache: programs run in a sandbox, and
//! the result is cleaned up through its descriptor. Nothing is unpacked when only looking.

use std::fs::Permissions;
use std::hash::{Hash, Hasher};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use rustix::fs::{CWD, OFlags};
use xxhash_rust::xxh3::Xxh3Default;

use crate::kernel::{KernelCache, is_release};
use crate::lab::{Intent, LabError};
use fsverdict_folders::{FolderHandle, remove_tree};
use fsverdict_folders::{Links, open_regular};
use fsverdict_linux::sandbox::program::{Program, ProgramError, require_success};
use fsverdict_linux::sandbox::{Capabilities, Devices, Isolation, Sandbox};
use fsverdict_text::{Hinted, Reason};

use super::error::KernelFileError;

/// Four fifths of a distribution's modules drive hardware that a guest does not have.
const NOT_KEPT: [&str; 9] = ["gpu", "net", "media", "infiniband", "staging", "usb", "iio", "scsi", "hwmon"];
/// Unpacking takes a minute where it takes long.
const PATIENCE: Duration = Duration::from_secs(1800);
/// Members of a package that are looked at for its data: there are three, and at times a signature.
const MEMBERS: usize = 16;
/// Length of a member's header in ar(5).
const HEAD: usize = 60;

/// The folder a kernel's package is unpacked in; none where it is only looked at and was not before.
pub(super) fn unpack_package(
    path: &Path,
    isolation: Isolation,
    intent: Intent,
) -> Result<Option<PathBuf>, LabError> {
    let failed = |source| KernelFileError::Read { path: path.to_owned(), source };
    if !is_kernel_package(path).map_err(failed)? {
        let reason = Reason::plain("it is no Debian package");
        return Err(KernelFileError::Unpack { path: path.to_owned(), reason }.into());
    }
    let folder = kept_at(path, &[path])?;
    if folder.is_dir() {
        return Ok(Some(folder));
    }
    if intent == Intent::Look {
        return Ok(None);
    }
    fill_cache_folder(path, &folder, |new| {
        run_unpacker(isolation, path, new, &["dpkg-deb", "--extract", &path_text(path), &path_text(new)])?;
        remove_unwanted(path, new)?;
        let inside = FolderHandle::open_untrusted(new).map_err(failed)?;
        for base in ["", "usr"] {
            for release in inside.list_names_in(Path::new(base).join("lib/modules")) {
                run_unpacker(isolation, path, new, &["depmod", "-b", &path_text(&new.join(base)), &release])?;
            }
        }
        Ok(())
    })?;
    Ok(Some(folder))
}

/// The folder that the modules of a tree are installed in, or would be where it is only looked at.
pub(super) fn install_modules(
    tree: &Path,
    of: &[&Path],
    isolation: Isolation,
    intent: Intent,
) -> Result<PathBuf, LabError> {
    let folder = kept_at(tree, of)?;
    if !folder.is_dir() && intent == Intent::Run {
        fill_cache_folder(tree, &folder, |new| {
            let to = format!("INSTALL_MOD_PATH={}", path_text(new));
            let argv = ["make", "-C", &path_text(tree), &to, "INSTALL_MOD_STRIP=1", "modules_install"];
            run_unpacker(isolation, tree, new, &argv)?;
            remove_unwanted(tree, new)
        })?;
    }
    Ok(folder)
}

fn path_text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Whether a file begins as a Debian package does (deb(5)) and has data; nothing of them is unpacked.
pub fn is_kernel_package(path: &Path) -> std::io::Result<bool> {
    if !path.metadata()?.is_file() {
        return Ok(false);
    }
    let mut file = open_regular(CWD, path, OFlags::RDONLY, Links::Follow)?;
    let mut start = [0; 8];
    if file.read_exact(&mut start).is_err() || &start != b"!<arch>\n" {
        return Ok(false);
    }
    for number in 0..MEMBERS {
        let mut head = [0; HEAD];
        if file.read_exact(&mut head).is_err() {
            return Ok(false);
        }
        let field = |range: std::ops::Range<usize>| String::from_utf8_lossy(&head[range]).trim().to_owned();
        let (name, size) = (field(0..16), field(48..58).parse::<u32>());
        match (number, name.as_str(), size) {
            (0, name, _) if !name.starts_with("debian-binary") => return Ok(false),
            (1.., name, _) if name.starts_with("data.tar") => return Ok(true),
            (.., Ok(size)) => file.seek(SeekFrom::Current(i64::from(size.next_multiple_of(2))))?,
            (.., Err(_)) => return Ok(false),
        };
    }
    Ok(false)
}

/// Whether a file is kept: kernels, and modules that a guest can use.
fn is_wanted(path: &Path) -> bool {
    let names = path.components().map(|part| match part {
        Component::Normal(name) => name.to_str().unwrap_or(""),
        _ => "",
    });
    let names: Vec<&str> = names.collect();
    let (below, usr) = match names.as_slice() {
        ["usr", rest @ ..] => (rest, true),
        all => (all, false),
    };
    match below {
        ["boot", ..] => !usr,
        [] | ["lib"] | ["lib", "modules"] => true,
        ["lib", "modules", release, rest @ ..] => {
            let needless = match rest {
                ["kernel", "sound", ..] => true,
                ["kernel", "drivers", of, ..] => NOT_KEPT.contains(of),
                _ => false,
            };
            is_release(release) && !needless
        }
        _ => false,
    }
}

fn remove_unwanted(path: &Path, folder: &Path) -> Result<(), KernelFileError> {
    let tidied = FolderHandle::open_untrusted(folder).and_then(|inside| inside.remove_unwanted(is_wanted));
    tidied.map_err(|error| KernelFileError::Unpack { path: path.to_owned(), reason: Reason::plain(error) })
}

/// The folder of the cache for files that are unpacked from the packages `of`.
fn kept_at(path: &Path, of: &[&Path]) -> Result<PathBuf, KernelFileError> {
    let failed = |source| KernelFileError::Read { path: path.to_owned(), source };
    Ok(KernelCache::of_user().unpacked_folder(digest_files(of).map_err(failed)?))
}

/// The version of the unpacking procedure: files that an earlier version unpacked are not used.
const MANNER: u8 = 2;

/// Another number when one of these files is another one.
pub(super) fn digest_files(of: &[&Path]) -> std::io::Result<u64> {
    let mut digest = Xxh3Default::new();
    MANNER.hash(&mut digest);
    for path in of {
        let facts = path.metadata()?;
        (path, facts.len(), facts.mtime(), facts.mtime_nsec(), facts.ino()).hash(&mut digest);
    }
    Ok(digest.finish())
}

/// Fills a folder of the cache completely, or leaves none.
fn fill_cache_folder(
    path: &Path,
    folder: &Path,
    make: impl FnOnce(&Path) -> Result<(), KernelFileError>,
) -> Result<(), KernelFileError> {
    let failed = |source| KernelFileError::Read { path: path.to_owned(), source };
    let above = folder.parent().unwrap_or(folder);
    std::fs::create_dir_all(above).map_err(failed)?;
    // No other user can read it before the cleanup.
    let new = tempfile::Builder::new().prefix(".new-").tempdir_in(above).map_err(failed)?.keep();
    let made = make(&new).and_then(|()| {
        // Everybody's, like the kernels beside it.
        std::fs::set_permissions(&new, Permissions::from_mode(0o755)).map_err(failed)?;
        match std::fs::rename(&new, folder) {
            Err(error) if !folder.is_dir() => Err(failed(error)),
            _ => Ok(()),
        }
    });
    if new.is_dir() {
        let removed = remove_tree(&new).map_err(failed);
        return made.and(removed);
    }
    made
}

/// Runs a program that may write into `folder` alone.
fn run_unpacker(
    isolation: Isolation,
    path: &Path,
    folder: &Path,
    argv: &[&str],
) -> Result<(), KernelFileError> {
    let failed =
        |error: ProgramError| KernelFileError::Unpack { path: path.to_owned(), reason: error.reason() };
    let mut sandbox = Sandbox::new(isolation, [""; 0]);
    sandbox.writable = vec![folder.to_owned()];
    // The plan chose the archive, and a tree's makefile is a program.
    sandbox.capabilities = Capabilities::Phase;
    sandbox.devices = Devices::Bare;
    let program = Program::new(argv.iter().copied())
        .inside(sandbox)
        .with_variable("TMPDIR", folder)
        .with_time_limit(PATIENCE);
    let record = program.run("unpack the kernel").map_err(failed)?;
    require_success(record).map(drop).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::is_wanted;

    #[test]
    fn kernels_and_the_modules_of_a_guest_are_wanted() {
        for (path, wanted) in [
            ("boot/vmlinuz-6.1.0-56-amd64", true),
            ("lib/modules/6.1.0-56-amd64/kernel/drivers/block/virtio_blk.ko", true),
            ("usr/lib/modules/6.12.3/modules.builtin", true),
            ("lib/modules/6.1.0/kernel/drivers/gpu", false),
            ("lib/modules/6.1.0/kernel/sound/core", false),
            ("lib/modules/--help", false),
            ("lib/systemd/system", false),
            ("usr/bin/program", false),
            ("usr/boot", false),
            ("etc/shadow", false),
        ] {
            assert_eq!(is_wanted(path.as_ref()), wanted, "{path}");
        }
    }
}
