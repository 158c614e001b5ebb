//! `fsverdict launch`: the last step before a guest kernel in simulated time. It runs in the guest's sandbox, puts the trial's
//! description where the guest finds it as a file of its root, and becomes the kernel.
//!
//! A disk or a line would do for the description in real time. In simulated time both answer when the machine gets round
//! to it, which is a different moment of the guest's clock every time; files of the host are read at once.

use std::fs::File;
use std::io::{Seek, copy};
use std::os::fd::{AsFd, IntoRawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use fsverdict_linux::host::limits::cannot_start;
use fsverdict_linux::host::syscall::own_descriptor;
use fsverdict_linux::host::talk::print_line;
use fsverdict_linux::sandbox::{OF_MACHINE, make_inheritable};

pub(super) const COMMAND: &str = "launch";

/// The number of the first descriptor the kernel is lent; the others follow. A guest's random numbers begin with its
/// command line, so that this may not be another one every time.
pub(super) const LENT: i32 = 100;

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
    copy(&mut description, &mut File::create(place)?)?;
    let mut command = Command::new(kernel);
    command.args(arguments);
    Ok(command)
}
