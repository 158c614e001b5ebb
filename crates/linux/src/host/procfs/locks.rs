//! `/proc/locks`: which process holds the lock of a file.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;

use crate::host::root::{ReadError, Root};

/// The process that holds an exclusive lock (flock(2)) on this open file. Asking takes no lock, so that no other
/// process is refused one. A holder in another PID namespace, or on another machine, is not seen.
///
/// # Errors
/// If `/proc` cannot be read.
pub fn lock_holder(root: &Root, file: &File) -> Result<Option<u32>, ReadError> {
    let known =
        file.metadata().map_err(|source| ReadError::Io { file: root.path("proc/self/fd"), source })?;
    // Of btrfs and overlays, stat(2) shows another device number than the kernel uses here.
    let device = match device_of_filesystem(root, file.as_raw_fd())? {
        Some(device) => device,
        None => (rustix::fs::major(known.dev()), rustix::fs::minor(known.dev())),
    };
    let locks = root.text("proc/locks")?;
    Ok(locks.lines().find_map(|line| holder_of(line, device, known.ino())))
}

/// The device number of the filesystem that holds an open file, by the identity of its mount.
fn device_of_filesystem(root: &Root, descriptor: i32) -> Result<Option<(u32, u32)>, ReadError> {
    let facts = root.text(format!("proc/self/fdinfo/{descriptor}"))?;
    let Some(mount) = facts.lines().find_map(|line| line.strip_prefix("mnt_id:")) else { return Ok(None) };
    let mounts = root.text("proc/self/mountinfo")?;
    Ok(mounts.lines().find_map(|line| {
        let mut words = line.split_ascii_whitespace();
        let number = words.next().filter(|identity| *identity == mount.trim()).and_then(|_| words.nth(1))?;
        let (major, minor) = number.split_once(':')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    }))
}

/// The holder in a line such as `3: FLOCK  ADVISORY  WRITE 4711 fd:00:1234 0 EOF` (proc_locks(5)). A process that waits
/// for a lock has an arrow behind the number.
fn holder_of(line: &str, device: (u32, u32), inode: u64) -> Option<u32> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let [_, "FLOCK", _, "WRITE", process, place, ..] = words[..] else { return None };
    let mut place = place.split(':');
    let mut number = || u32::from_str_radix(place.next()?, 16).ok();
    let of_file = (number()?, number()?) == device && place.next()?.parse() == Ok(inode);
    process.parse().ok().filter(|_| of_file)
}

#[cfg(test)]
mod tests {
    use rustix::fs::{FlockOperation, flock};

    use super::{device_of_filesystem, holder_of, lock_holder};
    use crate::host::root::{Root, fake_root};

    #[test]
    fn the_holder_of_a_lock_is_found_and_who_waits_is_none() {
        let line = "3: FLOCK  ADVISORY  WRITE 4711 fd:01:1234 0 EOF";
        assert_eq!(holder_of(line, (0xfd, 1), 1234), Some(4711));
        for (line, device, inode) in [
            (line, (0xfd, 1), 1235),
            (line, (8, 1), 1234),
            ("3: -> FLOCK  ADVISORY  WRITE 4711 fd:01:1234 0 EOF", (0xfd, 1), 1234),
            ("3: FLOCK  ADVISORY  READ 4711 fd:01:1234 0 EOF", (0xfd, 1), 1234),
            ("3: POSIX  ADVISORY  WRITE 4711 fd:01:1234 0 EOF", (0xfd, 1), 1234),
            ("", (0xfd, 1), 1234),
        ] {
            assert_eq!(holder_of(line, device, inode), None, "{line}");
        }
    }

    #[test]
    fn the_device_number_is_that_of_the_mount() {
        let (_folder, root) = fake_root(&[
            ("proc/self/fdinfo/5", "pos:\t0\nflags:\t0100000\nmnt_id:\t42\nino:\t7\n"),
            (
                "proc/self/mountinfo",
                "41 1 8:1 / / rw - ext4 /dev/sda1 rw\n42 41 0:35 /sub /home rw - btrfs /dev/sdb rw\n",
            ),
        ]);
        assert_eq!(device_of_filesystem(&root, 5).unwrap(), Some((0, 35)));
    }

    #[test]
    fn this_kernel_tells_who_holds_a_lock() {
        let file = tempfile::tempfile().unwrap();
        let holder = || lock_holder(&Root::default(), &file).unwrap();
        assert_eq!(holder(), None);
        flock(&file, FlockOperation::NonBlockingLockExclusive).unwrap();
        assert_eq!(holder(), Some(std::process::id()));
        flock(&file, FlockOperation::Unlock).unwrap();
        assert_eq!(holder(), None);
    }
}
