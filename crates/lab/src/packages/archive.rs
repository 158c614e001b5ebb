//! Reads the files of a package one after the other, as a stream: nothing is unpacked, so that no link of it is followed
//! and no path of it is used.
//!
//! A package is untrusted, although apt-get has checked its signature: dpkg-deb reads it in a sandbox that can write
//! nothing, and its output is bounded.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Component, Path};
use std::sync::Arc;
use std::time::Duration;

use tar::{Archive, EntryType};

use fsverdict_linux::sandbox::Sandbox;
use fsverdict_linux::sandbox::program::Program;

use super::error::PackageError;

/// The most bytes that a package may have when it is unpacked: that of libc has 13 MiB.
const LARGEST_PACKAGE: u64 = 512 << 20;
/// The most bytes of one file that is taken.
const LARGEST_FILE: u64 = 64 << 20;
/// How long dpkg-deb may take to end after its last byte.
const END: Duration = Duration::from_secs(10);

/// Hands each regular file of a package to `take`, with its path without `./` before it.
pub(super) fn read_package(
    package: &Path,
    sandbox: &Sandbox,
    take: &mut dyn FnMut(&Path, &mut dyn Read) -> io::Result<()>,
) -> Result<(), PackageError> {
    let name = package.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let failed = |reason: String| PackageError::Unpack { package: name.clone(), reason };
    let of_io = |error: io::Error| failed(error.to_string());
    let (reader, writer) = io::pipe().map_err(of_io)?;
    let argv = ["dpkg-deb".to_owned(), "--fsys-tarfile".to_owned(), package.display().to_string()];
    // The pipe ends when no descriptor of its other end is left, here or there.
    let output = Arc::new(File::from(OwnedFd::from(writer)));
    let program = Program::new(argv).inside(sandbox.clone()).with_output_file(&output);
    let running = program.prepare_start()?.start();
    drop((program, output));
    let taken = take_files(reader.take(LARGEST_PACKAGE), take);
    let record = running.stop_within("unpack a package", END)?;
    taken.map_err(of_io)?;
    match record.exit {
        Some(0) => Ok(()),
        _ => Err(failed(record.stderr.lines().next().unwrap_or("dpkg-deb failed").to_owned())),
    }
}

fn take_files(
    stream: io::Take<impl Read>,
    take: &mut dyn FnMut(&Path, &mut dyn Read) -> io::Result<()>,
) -> io::Result<()> {
    let mut archive = Archive::new(stream);
    // Raw: the archive's reader would keep names of any length in memory. Paths that are taken are short.
    for entry in archive.entries()?.raw(true) {
        let mut entry = entry.map_err(|_| {
            io::Error::other(format!("its archive is damaged, or longer than {} MiB", LARGEST_PACKAGE >> 20))
        })?;
        if entry.header().entry_type() != EntryType::Regular {
            continue;
        }
        let path = entry.path()?.into_owned();
        let path = path.strip_prefix(".").unwrap_or(&path);
        if path.components().any(|part| !matches!(part, Component::Normal(_))) {
            return Err(io::Error::other(format!("the path of its file `{}` leads out", path.display())));
        }
        let mut taken = entry.by_ref().take(LARGEST_FILE + 1);
        take(path, &mut taken)?;
        if taken.limit() == 0 {
            let text = format!("its file `{}` is larger than {} MiB", path.display(), LARGEST_FILE >> 20);
            return Err(io::Error::other(text));
        }
    }
    Ok(())
}
