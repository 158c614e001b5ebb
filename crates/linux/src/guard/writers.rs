//! Programs that write to a device, or to the file behind it, without claiming it: virtual machines, databases.
//!
//! Looked for among the open descriptors of every thread (each may have a table of its own) and among the shared
//! mappings, which stay when the descriptor they were made with is closed.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::time::Duration;

use super::loops::Base;
use super::refusal::Refusal;
use crate::host::block_device::{BlockDevice, DeviceNumber, read_trimmed};
use crate::host::root::{Root, names_in};

/// Devices and files that must not be written by others, with their names.
pub(super) type Guarded = Vec<(String, Base)>;

/// Processes that could not be examined.
#[derive(Debug, Default)]
struct Hidden {
    files: usize,
    /// The number of processes with mappings that could not be examined: a security module hides some even from root.
    mappings: usize,
}

/// Refuses a device that a program writes to, or if this cannot be determined. Returns a caution about the search, if
/// any.
///
/// A program that lets go within a moment is none of these: a child of any program, ours included, holds copies of
/// all its parent's descriptors between its fork and its exec.
pub(super) fn check_writers(
    root: &Root,
    device: &BlockDevice,
    guarded: &Guarded,
) -> Result<Option<String>, Refusal> {
    let hidden = retry_briefly(|| find_users(root, guarded)).map_err(|(part, holder)| Refusal::Held {
        device: device.describe_for_people(),
        part,
        holder,
    })?;
    if hidden.files > 0 {
        return Err(Refusal::Hidden { device: device.describe_for_people(), processes: hidden.files });
    }
    Ok((hidden.mappings > 0).then(|| {
        format!(
            "what {} processes have mapped into their memory cannot be looked at, not even by root here: that none of them writes to {} that way is not known",
            hidden.mappings,
            device.path.display()
        )
    }))
}

/// Tries again for half a second before it gives up.
pub(super) fn retry_briefly<T, E>(mut attempt: impl FnMut() -> Result<T, E>) -> Result<T, E> {
    for _ in 0..10 {
        if let Ok(value) = attempt() {
            return Ok(value);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    attempt()
}

/// The processes that could not be examined; or a written file and the program that writes to it.
fn find_users(root: &Root, guarded: &Guarded) -> Result<Hidden, (String, String)> {
    let ours = std::process::id().to_string();
    let mut hidden = Hidden::default();
    for pid in names_in(&root.path("proc")) {
        if pid == ours || !pid.bytes().all(|byte| byte.is_ascii_digit()) {
            continue;
        }
        let process = root.path(format!("proc/{pid}"));
        let mut users = None;
        for (look, how, hidden) in [
            (open_by as WriterSearch, "open for writing", &mut hidden.files),
            (mapped_by, "mapped for writing", &mut hidden.mappings),
        ] {
            match in_any_thread(&process, guarded, look) {
                Ok(part) => users = users.or(part.map(|part| (part, how))),
                Err(error) if has_ended(&error) => {}
                Err(_) => *hidden += 1,
            }
        }
        if let Some((part, how)) = users {
            let program = read_trimmed(&process.join("comm")).unwrap_or_default();
            return Err((part, format!("the program {program} (process {pid}), which has it {how}")));
        }
    }
    Ok(hidden)
}

/// Finds the files that a thread writes to in one way.
type WriterSearch = fn(&Path, &Guarded) -> io::Result<Option<String>>;

fn in_any_thread(process: &Path, guarded: &Guarded, look: WriterSearch) -> io::Result<Option<String>> {
    for thread in fs::read_dir(process.join("task"))? {
        // The first thread may have ended and the others live on: then these answer, and it does not.
        match look(&process.with_file_name(thread?.file_name()), guarded) {
            Ok(None) => {}
            Err(error) if has_ended(&error) => {}
            found => return found,
        }
    }
    Ok(None)
}

fn has_ended(error: &io::Error) -> bool {
    use rustix::io::Errno;
    matches!(Errno::from_io_error(error), Some(Errno::NOENT | Errno::SRCH))
}

fn open_by(thread: &Path, guarded: &Guarded) -> io::Result<Option<String>> {
    for descriptor in fs::read_dir(thread.join("fd"))? {
        let descriptor = descriptor?;
        // One that was closed meanwhile writes no more.
        let Ok(target) = fs::metadata(descriptor.path()) else { continue };
        if let Some(part) = part_of(guarded, &target)
            && is_open_for_writing(thread, &descriptor.file_name().to_string_lossy())
        {
            return Ok(Some(part.to_owned()));
        }
    }
    Ok(None)
}

fn is_open_for_writing(thread: &Path, descriptor: &str) -> bool {
    let information = fs::read_to_string(thread.join("fdinfo").join(descriptor)).unwrap_or_default();
    let flags = information.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok());
    // The two lowest bits are the access mode: 1 write, 2 both. Unknown counts as writing.
    flags.is_none_or(|flags| flags & 3 != 0)
}

fn mapped_by(thread: &Path, guarded: &Guarded) -> io::Result<Option<String>> {
    let table = fs::read(thread.join("maps"))?;
    for line in table.split(|byte| *byte == b'\n') {
        let mut words = line.split(|byte| *byte == b' ');
        let (Some(range), Some(rights)) = (words.next(), words.next()) else { continue };
        if rights.last() != Some(&b's') {
            continue;
        }
        // proc_pid_map_files(5): the link's own mode shows how the file was opened, so that a read-only mapping that
        // may be made writable counts, too. A vanished process no longer writes.
        let link = thread.join("map_files").join(String::from_utf8_lossy(range).as_ref());
        let writable = match fs::symlink_metadata(&link) {
            Ok(link) => link.mode() & 0o200 != 0,
            Err(error) if has_ended(&error) => continue,
            Err(error) => return Err(error),
        };
        if !writable {
            continue;
        }
        match fs::metadata(&link) {
            Ok(target) => {
                if let Some(part) = part_of(guarded, &target) {
                    return Ok(Some(part.to_owned()));
                }
            }
            Err(error) if has_ended(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

fn part_of<'g>(guarded: &'g Guarded, target: &fs::Metadata) -> Option<&'g str> {
    let base = if target.file_type().is_block_device() {
        Base::Device(DeviceNumber::from_raw(target.rdev()))
    } else {
        Base::of_file(target)
    };
    guarded.iter().find(|(_, known)| *known == base).map(|(name, _)| name.as_str())
}
