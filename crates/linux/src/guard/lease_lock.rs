//! One run at a time on a device: the run that has it owns a name, which the kernel takes back with the process.
//!
//! The lock is an abstract socket's name (unix(7)): it leaves nothing behind, and the owner of a taken name can be
//! asked for. It does not protect data, which exclusive opens do: it prevents two runs from failing each other's
//! trials.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, sockopt};

use super::refusal::Refusal;
use crate::host::block_device::{BlockDevice, DeviceNumber};
use crate::host::root::Root;

/// The device of a run; dropping it gives it up.
#[derive(Debug)]
pub(super) struct LeaseLock {
    _name: OwnedFd,
}

impl LeaseLock {
    /// Takes the device, of which `parts` are the other numbers (its disk, its partitions).
    pub(super) fn take_lock(
        root: &Root,
        device: &BlockDevice,
        parts: &[(String, DeviceNumber)],
    ) -> Result<Self, Refusal> {
        let failed =
            |error: Errno| Refusal::CannotOpen { device: device.describe_for_people(), source: error.into() };
        let taken = |process: Option<i32>| Refusal::Taken {
            device: device.describe_for_people(),
            holder: describe_owner(root, process),
        };
        let address = lock_address(device.number).map_err(failed)?;
        let name = new_socket().map_err(failed)?;
        match rustix::net::bind(&name, &address) {
            Ok(()) => rustix::net::listen(&name, 1).map_err(failed)?,
            Err(Errno::ADDRINUSE) => return Err(taken(owner_of(&address).map_err(failed)?.flatten())),
            Err(error) => return Err(failed(error)),
        }
        for (_, number) in parts.iter().filter(|(_, number)| *number != device.number) {
            if let Some(process) = owner_of(&lock_address(*number).map_err(failed)?).map_err(failed)? {
                return Err(taken(process));
            }
        }
        Ok(LeaseLock { _name: name })
    }
}

fn lock_address(number: DeviceNumber) -> rustix::io::Result<SocketAddrUnix> {
    SocketAddrUnix::new_abstract_name(format!("fsverdict device {number}").as_bytes())
}

fn new_socket() -> rustix::io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)
}

/// The owner of a name, if there is one; its process if the kernel reports it.
fn owner_of(name: &SocketAddrUnix) -> rustix::io::Result<Option<Option<i32>>> {
    let socket = new_socket()?;
    match rustix::net::connect(&socket, name) {
        Ok(()) => {
            let owner = sockopt::socket_peercred(&socket).ok();
            Ok(Some(owner.map(|owner| owner.pid.as_raw_nonzero().get())))
        }
        Err(Errno::CONNREFUSED) => Ok(None),
        // So many have asked that it takes no more questions.
        Err(Errno::AGAIN) => Ok(Some(None)),
        Err(error) => Err(error),
    }
}

fn describe_owner(root: &Root, process: Option<i32>) -> String {
    let Some(process) = process else { return "a process that does not say which".to_owned() };
    let read = |file: &str| -> io::Result<Vec<u8>> { fs::read(root.path(format!("proc/{process}/{file}"))) };
    let line = read("cmdline").unwrap_or_default();
    let line = String::from_utf8_lossy(&line).replace('\0', " ");
    let folder = fs::read_link(root.path(format!("proc/{process}/cwd")));
    let folder = folder.map(|folder| format!(", in {}", folder.display())).unwrap_or_default();
    format!("process {process} ({}{folder})", line.trim())
}
