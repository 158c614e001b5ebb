//! Digests kernel sources, by which a kernel that was built of them is found again: of a tarball its content, of a tree the
//! names, sizes and times of its files.

use std::io::{ErrorKind, Read};
use std::path::Path;
use std::time::UNIX_EPOCH;

use rustix::fs::{CWD, OFlags};
use xxhash_rust::xxh3::Xxh3Default;

use super::error::{KernelBuildError, file_error};
use fsverdict_folders::{Links, open_regular};
use fsverdict_text::Bytes;

/// Bytes of a tarball: that of Linux 7.2 has 1.7 GiB where it is not compressed.
const LARGEST_TARBALL: u64 = 4 << 30;
/// Refuses a tarball that is larger than one of kernel sources before it is read, and one that grows meanwhile.
pub(super) fn digest_tarball(path: &Path, digest: &mut Xxh3Default) -> Result<(), KernelBuildError> {
    let failed = || file_error("read", path);
    let too_large =
        || KernelBuildError::not_sources(path, format!("it is larger than {}", Bytes(LARGEST_TARBALL)));
    let mut tarball = open_regular(CWD, path, OFlags::RDONLY, Links::Follow).map_err(failed())?;
    if tarball.metadata().map_err(failed())?.len() > LARGEST_TARBALL {
        return Err(too_large());
    }
    let mut buffer = vec![0; 1 << 20];
    let mut bytes = 0;
    loop {
        match tarball.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => {
                bytes += count as u64;
                if bytes > LARGEST_TARBALL {
                    return Err(too_large());
                }
                digest.update(buffer.get(..count).unwrap_or_default());
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(failed()(error)),
        }
    }
}

/// Digests the names, sizes and times of a tree's files.
pub(super) fn digest_tree(root: &Path, digest: &mut Xxh3Default) -> Result<(), KernelBuildError> {
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let listing = std::fs::read_dir(&folder).map_err(file_error("read", &folder))?;
        let mut entries: Vec<_> = listing.filter_map(Result::ok).map(|entry| entry.path()).collect();
        entries.sort();
        for path in entries {
            let facts = std::fs::symlink_metadata(&path).map_err(file_error("look at", &path))?;
            if facts.is_dir() {
                // The data of a version control system are not sources.
                if path.file_name().is_none_or(|name| name != ".git") {
                    folders.push(path);
                }
                continue;
            }
            let changed = facts.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
            let name = path.strip_prefix(root).unwrap_or(&path);
            digest.update(name.as_os_str().as_encoded_bytes());
            digest.update(&facts.len().to_le_bytes());
            digest.update(&changed.unwrap_or_default().as_nanos().to_le_bytes());
        }
    }
    Ok(())
}
