//! The first steps of the fsverdict binary in a virtual machine: from the initramfs it loads the modules for the
//! host's root, mounts it, and switches to it.

use std::ffi::CString;
use std::fs::File;
use std::path::Path;

use rustix::io::Errno;
use rustix::mount::{MountFlags, mount, mount_move};
use rustix::system::finit_module;

use crate::lab::guest::Arrival;

/// The word that says to a guest that it is a virtual machine.
pub(super) const MACHINE: &str = "vm";
/// The trial's description in the initramfs; the guest is given this name.
pub(super) const DESCRIPTION: &str = "/trial";
/// From the initramfs to the host's root; the nodes under its /dev are the host's.
pub(super) const ARRIVAL: Arrival = Arrival {
    word: Some(MACHINE),
    description: DESCRIPTION,
    events: "/dev/vport0p1",
    enter: || enter_root().map(|()| true),
};
/// The list of modules to load: in each line a file and its parameters.
pub(super) const MODULES: &str = "/modules";
/// The tag under which the host exports its root.
pub(super) const ROOT: &str = "root";

/// `MODULE_INIT_COMPRESSED_FILE` (include/uapi/linux/module.h).
const COMPRESSED: i32 = 4;
/// The host's root does not change while a guest lives, so a file that was read once stays cached.
const OPTIONS: &std::ffi::CStr = c"trans=virtio,version=9p2000.L,cache=loose,msize=262144";

/// From here on this process's root is the host's.
fn enter_root() -> std::io::Result<()> {
    for line in std::fs::read_to_string(MODULES)?.lines() {
        let (file, parameters) = line.split_once(' ').unwrap_or((line, ""));
        let packed = Path::new(file).extension().is_none_or(|extension| extension != "ko");
        let flags = if packed { COMPRESSED } else { 0 };
        match finit_module(File::open(file)?, &CString::new(parameters)?, flags) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => {
                return Err(std::io::Error::other(format!("cannot load the module {file}: {errno}")));
            }
        }
    }
    let point = "/host";
    std::fs::create_dir(point)?;
    let failed = |errno: Errno| std::io::Error::other(format!("cannot mount the host's root: {errno}"));
    mount(ROOT, point, "9p", MountFlags::RDONLY, Some(OPTIONS)).map_err(failed)?;
    // As switch_root(8) does it; the initramfs cannot be left by pivot_root(2).
    rustix::process::chdir(point)?;
    mount_move(".", "/")?;
    rustix::process::chroot(".")?;
    Ok(rustix::process::chdir("/")?)
}
