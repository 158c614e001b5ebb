//! Packs the initramfs of a virtual machine: the fsverdict binary, the modules that it needs to mount its root, and
//! the trial's description, in the format that the kernel unpacks
//! (Documentation/driver-api/early-userspace/buffer-format.rst: `newc`).

use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;

use rustix::fs::{MemfdFlags, memfd_create};

use crate::lab::LabError;
use crate::lab::kernel::Kernel;
use crate::trial::Assignment;

use super::enter::{DESCRIPTION, MODULES};
use super::modules::read_driver_modules;

/// The binary's name in the archive; the kernel's command line names it.
pub(super) const PROGRAM: &str = "fsverdict";

const FOLDER: u32 = 0o040_755;
const EXECUTABLE: u32 = 0o100_755;
const FILE: u32 = 0o100_644;
const CHARACTERS: u32 = 0o020_600;
/// The console's.
const CONSOLE: DeviceNumbers = DeviceNumbers { major: 5, minor: 1 };

/// Packs one, as an open file without a name.
pub(super) fn pack_initramfs(
    kernel: &Kernel,
    assignment: &Assignment,
    queue_depth: Option<u32>,
) -> Result<OwnedFd, LabError> {
    let mut archive = Vec::new();
    append_entry(&mut archive, "dev", FOLDER, DeviceNumbers::NONE, &[]);
    append_entry(&mut archive, "dev/console", CHARACTERS, CONSOLE, &[]);
    append_entry(
        &mut archive,
        PROGRAM,
        EXECUTABLE,
        DeviceNumbers::NONE,
        &without_sections(std::fs::read("/proc/self/exe")?),
    );
    let mut list = String::new();
    for (number, (path, content)) in read_driver_modules(kernel)?.iter().enumerate() {
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let name = format!("{number}-{file}");
        let parameters = queue_depth.filter(|_| file.starts_with("virtio_blk."));
        let parameters = parameters.map_or(String::new(), |depth| format!("queue_depth={depth}"));
        list += &format!("/{name} {parameters}\n");
        append_entry(&mut archive, &name, FILE, DeviceNumbers::NONE, content);
    }
    append_entry(&mut archive, MODULES.trim_start_matches('/'), FILE, DeviceNumbers::NONE, list.as_bytes());
    let description = serde_json::to_vec(assignment).map_err(std::io::Error::from)?;
    append_entry(&mut archive, DESCRIPTION.trim_start_matches('/'), FILE, DeviceNumbers::NONE, &description);
    append_entry(&mut archive, "TRAILER!!!", 0, DeviceNumbers::NONE, &[]);
    let file = memfd_create("fsverdict-initramfs", MemfdFlags::CLOEXEC).map_err(std::io::Error::from)?;
    let mut file = File::from(file);
    file.write_all(&archive)?;
    Ok(file.into())
}

/// Cuts a program down to the part that the kernel loads (elf(5)): everything up to the end of its last segment. A
/// debug build's symbols are three quarters of the file, and a booting guest would hold them twice.
fn without_sections(mut program: Vec<u8>) -> Vec<u8> {
    const LOAD: u32 = 1;
    const HEADER: usize = 64;
    let field = |at: usize, width: usize| {
        let mut bytes = [0; 8];
        let found = program.get(at..at + width)?;
        bytes[..width].copy_from_slice(found);
        Some(u64::from_le_bytes(bytes))
    };
    let end = || {
        let (table, width, count) = (field(32, 8)?, field(54, 2)?, field(56, 2)?);
        let ends = (0..count).map(|number| {
            let at = usize::try_from(table.checked_add(number * width)?).ok()?;
            let end = field(at + 8, 8)?.checked_add(field(at + 32, 8)?)?;
            Some(if field(at, 4)? == u64::from(LOAD) { end } else { 0 })
        });
        ends.collect::<Option<Vec<u64>>>()?.into_iter().max()
    };
    let end = end().and_then(|end| usize::try_from(end).ok()).unwrap_or(0);
    if (HEADER..program.len()).contains(&end) {
        program.truncate(end);
        // Where the sections were, of which width, how many, and the one with their names.
        program[40..48].fill(0);
        program[58..64].fill(0);
    }
    program
}

/// The numbers of a device file.
#[derive(Clone, Copy)]
struct DeviceNumbers {
    major: u32,
    minor: u32,
}

impl DeviceNumbers {
    const NONE: DeviceNumbers = DeviceNumbers { major: 0, minor: 0 };
}

fn append_entry(archive: &mut Vec<u8>, name: &str, mode: u32, node: DeviceNumbers, content: &[u8]) {
    let number = archive.len() as u32;
    let links = 1;
    let size = content.len() as u32;
    let fields = [number, mode, 0, 0, links, 0, size, 0, 0, node.major, node.minor, name.len() as u32 + 1, 0];
    archive.extend(b"070701");
    for field in fields {
        archive.extend(format!("{field:08x}").bytes());
    }
    archive.extend(name.bytes().chain([0]));
    archive.resize(archive.len().next_multiple_of(4), 0);
    archive.extend(content);
    archive.resize(archive.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::{CHARACTERS, CONSOLE, DeviceNumbers, EXECUTABLE, FOLDER, append_entry, without_sections};

    /// Read back by cpio(1)'s own rules, as busybox and bsdtar know them, with the kernel's rounding to four bytes.
    #[test]
    fn entries_are_as_the_kernel_reads_them() {
        let mut archive = Vec::new();
        append_entry(&mut archive, "dev", FOLDER, DeviceNumbers::NONE, &[]);
        append_entry(&mut archive, "dev/console", CHARACTERS, CONSOLE, &[]);
        append_entry(&mut archive, "init", EXECUTABLE, DeviceNumbers::NONE, b"12345");
        let mut rest = archive.as_slice();
        let mut seen = Vec::new();
        while !rest.is_empty() {
            assert_eq!(&rest[..6], b"070701");
            let field = |at: usize| {
                let text = std::str::from_utf8(&rest[6 + 8 * at..14 + 8 * at]).unwrap();
                usize::from_str_radix(text, 16).unwrap()
            };
            let (mode, size, major, minor, length) = (field(1), field(6), field(9), field(10), field(11));
            let name = String::from_utf8(rest[110..110 + length - 1].to_vec()).unwrap();
            let begins = (110 + length).next_multiple_of(4);
            let content = rest[begins..begins + size].to_vec();
            seen.push((name, mode, (major, minor), content));
            rest = &rest[(begins + size).next_multiple_of(4)..];
        }
        let expected = [
            ("dev", FOLDER, (0, 0), &b""[..]),
            ("dev/console", CHARACTERS, (5, 1), b""),
            ("init", EXECUTABLE, (0, 0), b"12345"),
        ];
        let expected = expected
            .map(|(name, mode, device, content)| (name.to_owned(), mode as usize, device, content.to_vec()));
        assert_eq!(seen, expected);
    }

    #[test]
    fn a_program_runs_without_what_is_not_loaded() {
        let whole = std::fs::read("/proc/self/exe").unwrap();
        let short = without_sections(whole.clone());
        assert!(short.len() < whole.len() * 9 / 10, "{} of {}", short.len(), whole.len());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        std::fs::write(&path, short).unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
        let seen = std::process::Command::new(&path).arg("--list").output().unwrap();
        assert!(seen.status.success() && seen.stdout.ends_with(b"benchmarks\n"), "{seen:?}");
        for other in [&b"#!/bin/sh\n"[..], b"\x7fELF"] {
            assert_eq!(without_sections(other.to_vec()), other);
        }
    }
}
