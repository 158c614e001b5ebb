//! `fsverdict launch`: the last step before a guest kernel in simulated time. It runs in the guest's sandbox, puts the trial's
//! description where the guest finds it as a file of its root, and becomes the kernel.
//!
//! A disk or a line would do for the description in real time. In simulated time both answer when the machine gets round
//! to it, which is a different moment of the guest's clock every time; files of the host are read at once.

use std::fs::{File, OpenOptions};
use std::io::{Seek, copy};
use std::os::fd::{AsFd, IntoRawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use fsverdict_linux::host::limits::cannot_start;
use fsverdict_linux::host::messages::print_line;
use fsverdict_linux::host::syscall::own_descriptor;
use fsverdict_linux::sandbox::{OF_MACHINE, make_inheritable};

pub(super) const COMMAND: &str = "launch";

/// The number of the first descriptor the kernel is lent; the others follow. A guest's random numbers begin with its
/// command line, so that this may not be another one every time.
pub(super) const LENT: i32 = 100;

/// The number of the descriptor that holds the lock on the description's file for as long as the kernel runs.
const LOCK: i32 = 200;

/// Arguments: descriptor of the description, where it goes, the kernel's descriptors with commas between, and then its
/// command line. Returns only if that fails.
pub fn main(mut arguments: impl Iterator<Item = String>) -> u8 {
    let error = match prepare_command(&mut arguments) {
        Ok(mut kernel) => kernel.exec(),
        Err(error) => error,
    };
    print_line(&format!("fsverdict launch: {error}"));
    if cannot_start(&error) { OF_MACHINE } else { 1 }
}

fn prepare_command(arguments: &mut impl Iterator<Item = String>) -> std::io::Result<Command> {
    let missing = || std::io::Error::other("it is an internal command that only fsverdict starts");
    let descriptor = arguments
        .next()
        .and_then(|number| number.parse().ok())
        .and_then(own_descriptor)
        .ok_or_else(missing)?;
    let place = arguments.next().ok_or_else(missing)?;
    let lent = arguments.next().ok_or_else(missing)?;
    for (number, descriptor) in (LENT..).zip(lent.split(',')) {
        let descriptor = descriptor.parse().ok().and_then(own_descriptor).ok_or_else(missing)?;
        let moved = rustix::io::fcntl_dupfd_cloexec(&descriptor, number)?;
        make_inheritable(moved.as_fd()).map_err(std::io::Error::other)?;
        if moved.into_raw_fd() != number {
            return Err(std::io::Error::other(format!("descriptor {number} is taken")));
        }
    }
    let kernel = arguments.next().ok_or_else(missing)?;
    let mut description = File::from(descriptor);
    description.rewind()?;
    copy(&mut description, &mut lock_place(Path::new(&place))?)?;
    let mut command = Command::new(kernel);
    command.args(arguments);
    Ok(command)
}

/// Empties the file in which the guest finds its trial's description, and locks it for as long as the kernel runs.
///
/// In a sandbox the file belongs to this guest alone. Where no sandbox can be made, every guest of this machine reads the
/// same one: a second guest waits here until the first has ended, and would otherwise do the first one's trial over.
fn lock_place(place: &Path) -> std::io::Result<File> {
    let told = |error: std::io::Error| {
        let (place, kind) = (place.display(), error.kind());
        std::io::Error::new(
            kind,
            format!("cannot write {place}: {error}; if a run of another user left it, remove it"),
        )
    };
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(0o600);
    let no_follow = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
    let file = options.custom_flags(no_follow).open(place).map_err(told)?;
    file.lock()?;
    file.set_len(0)?;
    let descriptor = rustix::io::fcntl_dupfd_cloexec(&file, LOCK)?;
    make_inheritable(descriptor.as_fd()).map_err(std::io::Error::other)?;
    // It stays open in the kernel that this process becomes.
    let _number = descriptor.into_raw_fd();
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::{File, lock_place};

    #[test]
    fn the_file_of_a_description_is_emptied_and_belongs_to_one_guest() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("trial");
        std::fs::write(&place, "of an earlier guest").unwrap();
        let first = lock_place(&place).unwrap();
        let mut text = String::new();
        File::open(&place).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "");
        // The lock is still held when the descriptor that wrote is closed, as it is when the kernel starts.
        drop(first);
        assert!(matches!(File::open(&place).unwrap().try_lock(), Err(std::fs::TryLockError::WouldBlock)));
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&place, &link).unwrap();
        assert!(lock_place(&link).unwrap_err().to_string().contains("cannot write"));
    }
}
