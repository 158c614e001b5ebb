//! System calls that rustix does not know or does not call safe, as safe functions. The one module of the program that may use `unsafe`.
//!
//! Numbers and layouts are those of the kernel's `linux/fs.h` and `linux/loop.h`; each structure's size is
//! checked when this is compiled.
#![allow(unsafe_code)]

mod extents;
pub mod files_reader;
pub mod ring;

use std::ffi::{CStr, c_void};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use rustix::io::Result;
use rustix::ioctl::{Getter, IntegerSetter, Ioctl, IoctlOutput, NoArg, Opcode, Setter, ioctl, opcode};
use rustix::thread::UnshareFlags;

pub use extents::{FileExtent, file_extents};

const BLKROGET: Opcode = opcode::none(0x12, 94);
const BLKFLSBUF: Opcode = opcode::none(0x12, 97);
const BLKGETSIZE64: Opcode = opcode::read::<usize>(0x12, 114);
const BLKDISCARD: Opcode = opcode::none(0x12, 119);
const LOOP_CLR_FD: Opcode = 0x4C01;
const LOOP_GET_STATUS64: Opcode = 0x4C05;
const LOOP_CONFIGURE: Opcode = 0x4C0A;
const LOOP_CTL_GET_FREE: Opcode = 0x4C82;
const FIFREEZE: Opcode = opcode::read_write::<i32>(b'X', 119);
const FITHAW: Opcode = opcode::read_write::<i32>(b'X', 120);
const SIOCSIFFLAGS: Opcode = 0x8914;
const IFF_UP: i16 = 1;

/// The loop device refuses writes.
pub const LO_FLAGS_READ_ONLY: u32 = 1;
/// The loop device is cleared when its last user closes it.
pub const LO_FLAGS_AUTOCLEAR: u32 = 4;
/// The loop device bypasses the page cache of the backing file.
pub const LO_FLAGS_DIRECT_IO: u32 = 16;

/// `struct loop_info64` of linux/loop.h.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct LoopInfo {
    /// Device number of the filesystem the backing file is on.
    pub device: u64,
    pub inode: u64,
    /// Device number of the backing file if that is itself a device.
    pub raw_device: u64,
    /// First byte of the backing file that is used.
    pub offset: u64,
    /// Bytes used; 0 means up to the end.
    pub size_limit: u64,
    pub number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    pub flags: u32,
    /// A name for people, ended by a zero byte.
    pub file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

/// `struct loop_config` of linux/loop.h.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct LoopConfig {
    fd: u32,
    block_size: u32,
    info: LoopInfo,
    reserved: [u64; 8],
}

const _: () = assert!(size_of::<LoopInfo>() == 232);
const _: () = assert!(size_of::<LoopConfig>() == 304);

/// The one ioctl here that answers with its return value.
struct GetFreeLoop;

// SAFETY: LOOP_CTL_GET_FREE takes no argument, writes no memory of ours and returns a non-negative number.
unsafe impl Ioctl for GetFreeLoop {
    type Output = u32;

    const IS_MUTATING: bool = false;

    fn opcode(&self) -> Opcode {
        LOOP_CTL_GET_FREE
    }

    fn as_ptr(&mut self) -> *mut c_void {
        std::ptr::null_mut()
    }

    unsafe fn output_from_ptr(out: IoctlOutput, _: *mut c_void) -> Result<u32> {
        u32::try_from(out).map_err(|_| rustix::io::Errno::RANGE)
    }
}

/// The size of an open block device in bytes.
///
/// # Errors
/// The kernel's error; `ENOTTY` if it is not a block device.
pub fn block_device_size(device: impl AsFd) -> Result<u64> {
    // SAFETY: BLKGETSIZE64 writes one u64 (its number encodes size_t for historical reasons).
    unsafe { ioctl(device, Getter::<BLKGETSIZE64, u64>::new()) }
}

/// Whether an open block device refuses writes.
///
/// # Errors
/// The kernel's error; `ENOTTY` if it is not a block device.
pub fn block_device_is_read_only(device: impl AsFd) -> Result<bool> {
    // SAFETY: BLKROGET writes one int.
    unsafe { ioctl(device, Getter::<BLKROGET, i32>::new()) }.map(|flag| flag != 0)
}

/// Tells an open block device that its first `length` bytes are no longer needed.
///
/// # Errors
/// `EOPNOTSUPP` when the device cannot discard; `EBADF` when it is not open for writing.
pub fn discard_range(device: impl AsFd, length: u64) -> Result<()> {
    // SAFETY: BLKDISCARD reads two u64.
    unsafe { ioctl(device, Setter::<BLKDISCARD, [u64; 2]>::new([0, length])) }
}

/// Writes back and drops the page cache of an open block device (blkdev_flushbuf() in block/ioctl.c).
///
/// # Errors
/// `EACCES` unless root; `ENOTTY` when it is not a block device.
pub fn forget_buffers(device: impl AsFd) -> Result<()> {
    // SAFETY: BLKFLSBUF takes no argument.
    unsafe { ioctl(device, NoArg::<BLKFLSBUF>::new()) }
}

/// The number of a loop device that is free just now; somebody else may take it first.
///
/// # Errors
/// The kernel's error; `EACCES` or `EPERM` without the right to set up loop devices.
pub fn free_loop_number(control: impl AsFd) -> Result<u32> {
    // SAFETY: see `GetFreeLoop`.
    unsafe { ioctl(control, GetFreeLoop) }
}

/// Attaches an open file to an open, free loop device in one step (Linux 5.8 and later).
///
/// `name` is kept with the device (63 bytes at most, the rest is cut off).
///
/// # Errors
/// `EBUSY` when somebody else took the device; `EINVAL` on kernels without this call or for options they refuse.
pub fn configure_loop(
    device: impl AsFd,
    file: BorrowedFd<'_>,
    block_size: u32,
    flags: u32,
    name: &str,
) -> Result<()> {
    let fd = u32::try_from(file.as_raw_fd()).map_err(|_| rustix::io::Errno::BADF)?;
    let mut file_name = [0u8; 64];
    for (slot, byte) in file_name.iter_mut().take(63).zip(name.bytes()) {
        *slot = byte;
    }
    let info = LoopInfo {
        device: 0,
        inode: 0,
        raw_device: 0,
        offset: 0,
        size_limit: 0,
        number: 0,
        encrypt_type: 0,
        encrypt_key_size: 0,
        flags,
        file_name,
        crypt_name: [0; 64],
        encrypt_key: [0; 32],
        init: [0; 2],
    };
    let config = LoopConfig { fd, block_size, info, reserved: [0; 8] };
    // SAFETY: LOOP_CONFIGURE reads one `struct loop_config`; `file` is open for as long as the call lasts.
    unsafe { ioctl(device, Setter::<LOOP_CONFIGURE, LoopConfig>::new(config)) }
}

/// The backing file of an open loop device.
///
/// # Errors
/// `ENXIO` when it is attached to nothing.
pub fn loop_status(device: impl AsFd) -> Result<LoopInfo> {
    // SAFETY: LOOP_GET_STATUS64 writes one `struct loop_info64`.
    unsafe { ioctl(device, Getter::<LOOP_GET_STATUS64, LoopInfo>::new()) }
}

/// Detaches an open loop device; one that is in use detaches itself when its last user closes it.
///
/// # Errors
/// `ENXIO` when it is attached to nothing.
pub fn clear_loop(device: impl AsFd) -> Result<()> {
    // SAFETY: LOOP_CLR_FD takes an unused integer argument.
    unsafe { ioctl(device, IntegerSetter::<LOOP_CLR_FD>::new_usize(0)) }
}

/// Brings a mounted filesystem to rest, its journal empty, and lets it go on: fsfreeze(8).
///
/// # Errors
/// `EOPNOTSUPP` if the filesystem cannot freeze, `EPERM` for users other than root, `EBUSY` while another process has
/// it frozen.
pub fn bring_to_rest(filesystem: impl AsFd) -> Result<()> {
    // SAFETY: FIFREEZE and FITHAW take an unused integer argument (fs/ioctl.c).
    unsafe {
        ioctl(&filesystem, IntegerSetter::<FIFREEZE>::new_usize(0))?;
        ioctl(&filesystem, IntegerSetter::<FITHAW>::new_usize(0))
    }
}

/// `struct ifreq` of linux/if.h, as far as flags go.
#[repr(C)]
struct InterfaceFlags {
    name: [u8; 16],
    flags: i16,
    rest: [u8; 22],
}

const _: () = assert!(size_of::<InterfaceFlags>() == 40);

/// Sets up the loopback interface of this process's network (netdevice(7)).
///
/// # Errors
/// `EPERM` without the right to; `EAFNOSUPPORT` where the kernel has no IPv4.
pub fn set_loopback_up() -> Result<()> {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    let mut name = [0; 16];
    name[..2].copy_from_slice(b"lo");
    let request = InterfaceFlags { name, flags: IFF_UP, rest: [0; 22] };
    // SAFETY: SIOCSIFFLAGS reads one `struct ifreq`.
    unsafe { ioctl(socket, Setter::<SIOCSIFFLAGS, InterfaceFlags>::new(request)) }
}

/// Sets mount flags of the mount at `/` of this process's namespace and of every mount below it, hidden ones included, in
/// one step; clears none.
///
/// # Errors
/// The kernel's error; then no mount is changed.
pub fn set_flags_of_all_mounts(read_only: bool, no_devices: bool) -> Result<()> {
    let flag = |wanted: bool, flag: u64| if wanted { flag } else { 0 };
    let flags = flag(read_only, libc::MOUNT_ATTR_RDONLY) | flag(no_devices, libc::MOUNT_ATTR_NODEV);
    set_mount_flags(c"/", libc::AT_RECURSIVE, flags)
}

/// From now on, no node on the mount at this point opens a device.
///
/// # Errors
/// The kernel's error; then the mount is not changed.
pub fn forbid_devices(point: &CStr) -> Result<()> {
    set_mount_flags(point, 0, libc::MOUNT_ATTR_NODEV)
}

/// mount_setattr(2), Linux 5.12.
fn set_mount_flags(point: &CStr, depth: i32, flags: u64) -> Result<()> {
    let attributes = libc::mount_attr { attr_set: flags, attr_clr: 0, propagation: 0, userns_fd: 0 };
    // SAFETY: mount_setattr reads one path that ends with zero, and one structure of the size it is told.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            point.as_ptr(),
            depth,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    if answer == 0 {
        return Ok(());
    }
    let errno = std::io::Error::last_os_error();
    Err(rustix::io::Errno::from_io_error(&errno).unwrap_or(rustix::io::Errno::NOSYS))
}

/// Takes over a descriptor that this process inherited by number, and that nothing else in it uses.
///
/// Standard streams are refused; a number that is not open is refused by the first system call on it.
pub fn own_descriptor(descriptor: RawFd) -> Option<OwnedFd> {
    // SAFETY: the number was told by the process that opened it for us, and each caller asks for its own once.
    (descriptor > 2).then(|| unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Makes the kernel keep zombies of ended children until they are waited for; a caller may have switched this off,
/// which is inherited (wait(2), `SIGCHLD` ignored).
pub fn keep_ended_children() {
    // SAFETY: no handler is set, and none was before in a program that has just begun.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
}

/// Gives this thread a table of open files of its own, a copy of the one that it shared (unshare(2), CLONE_FILES): threads that open
/// and close then do not wait for one another, no more than processes would.
///
/// Gives this thread its own descriptor table: files that it opens from here on must not be passed to another thread.
///
/// # Errors
/// ENOMEM.
pub fn own_table_of_files() -> Result<()> {
    // SAFETY: existing descriptors mean the same in the copied table; the restriction on new ones is stated above.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::FILES) }
}

/// Moves this process into namespaces of its own (unshare(2)).
///
/// # Errors
/// The kernel's error; `EPERM` without the right, `EINVAL` in a process with several threads.
pub fn unshare_namespaces(namespaces: UnshareFlags) -> Result<()> {
    // SAFETY: only unsharing the descriptor table is unsafe for other threads; that flag is removed.
    unsafe { rustix::thread::unshare_unsafe(namespaces.difference(UnshareFlags::FILES)) }
}
