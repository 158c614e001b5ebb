//! Attaches a loop device to a scratch image. It detaches itself when its last user ends for any reason.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use fsverdict_text::Hinted;

use super::block_device::read_trimmed;
use super::process_key::ProcessKey;
use super::root::Root;
use super::syscall;

/// How often a free device is asked for when others take the one we were offered.
const ATTEMPTS: u32 = 64;
/// How the name begins that the kernel keeps with our loop devices; the key of the run's process follows.
const NAME: &str = "fsverdict";

/// How an image is attached.
#[derive(Debug, Clone, Copy)]
pub struct LoopOptions {
    /// Bypass the page cache of the file below, so that data are not cached twice and a flush reaches the disk.
    pub direct_io: bool,
    /// The logical block size in bytes. 512, the default, is that of disks and SSDs unless reformatted, and leaves
    /// every mkfs its choice; 4096 imitates a 4Kn drive, and files on 4Kn disks need it for direct I/O.
    pub block_size: u32,
    pub read_only: bool,
    /// The process of the run it belongs to: while that lives, it is nothing left behind.
    pub owner: Option<ProcessKey>,
}

impl Default for LoopOptions {
    fn default() -> Self {
        LoopOptions { direct_io: true, block_size: 512, read_only: false, owner: None }
    }
}

/// An attached loop device; dropping it detaches it as soon as nothing else (a mount) uses it.
#[derive(Debug)]
pub struct LoopDevice {
    path: PathBuf,
    file: File,
    direct_io: bool,
    caution: Option<String>,
}

/// Why no loop device could be set up.
#[derive(Debug, thiserror::Error)]
pub enum LoopError {
    #[error("cannot get a free loop device: /dev/loop-control: {0}")]
    Control(#[source] io::Error),
    #[error("the kernel offers {}, but this device node does not exist", .0.display())]
    NoNode(PathBuf),
    #[error("cannot open {}: {source}", path.display())]
    Open { path: PathBuf, source: io::Error },
    #[error("cannot attach an image to {}: {source}", path.display())]
    Configure { path: PathBuf, source: io::Error },
    #[error("got no loop device in {ATTEMPTS} attempts: other programs took each one first")]
    Contended,
}

impl Hinted for LoopError {
    fn hint(&self) -> Option<String> {
        match self {
            LoopError::Control(error) | LoopError::Open { source: error, .. }
                if error.kind() == io::ErrorKind::PermissionDenied =>
            {
                Some("loop devices need root: sudo fsverdict …, or --lab uml, which needs none".to_owned())
            }
            LoopError::Control(_) => {
                Some("load the driver: modprobe loop; or --lab uml, which needs none".to_owned())
            }
            LoopError::NoNode(path) => {
                let number = path.to_string_lossy().trim_start_matches("/dev/loop").to_owned();
                Some(format!(
                    "make it: mknod {} b 7 {number} (in a container, start that with --device or --privileged)",
                    path.display()
                ))
            }
            LoopError::Configure { source, .. }
                if source.raw_os_error() == Some(Errno::INVAL.raw_os_error()) =>
            {
                Some("this needs Linux 5.8 or later; or --lab uml, which needs no loop device".to_owned())
            }
            LoopError::Configure { .. } | LoopError::Open { .. } => None,
            LoopError::Contended => Some("`losetup --list` shows who uses them".to_owned()),
        }
    }
}

impl LoopDevice {
    /// Attaches an image that is open for reading (and writing). The image may be closed afterwards.
    pub fn attach_image(image: BorrowedFd<'_>, options: &LoopOptions) -> Result<Self, LoopError> {
        let control = rustix::fs::open("/dev/loop-control", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
            .map_err(|error| LoopError::Control(error.into()))?;
        for _ in 0..ATTEMPTS {
            let number =
                syscall::free_loop_number(&control).map_err(|error| LoopError::Control(error.into()))?;
            if let Some(device) = Self::try_attach(number, image, options)? {
                return Ok(device);
            }
        }
        Err(LoopError::Contended)
    }

    /// `None` when somebody else took the device since it was free.
    fn try_attach(
        number: u32,
        image: BorrowedFd<'_>,
        options: &LoopOptions,
    ) -> Result<Option<Self>, LoopError> {
        let path = PathBuf::from(format!("/dev/loop{number}"));
        let access = if options.read_only { OFlags::RDONLY } else { OFlags::RDWR };
        let file = match rustix::fs::open(&path, access | OFlags::CLOEXEC, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT) => return Err(LoopError::NoNode(path)),
            Err(Errno::BUSY) => return Ok(None),
            Err(error) => return Err(LoopError::Open { path, source: error.into() }),
        };
        let read_only = if options.read_only { syscall::LO_FLAGS_READ_ONLY } else { 0 };
        let flags = syscall::LO_FLAGS_AUTOCLEAR | read_only;
        let direct = if options.direct_io { syscall::LO_FLAGS_DIRECT_IO } else { 0 };
        let name = options.owner.map_or(NAME.to_owned(), |owner| format!("{NAME} {owner}"));
        let mut outcome = syscall::configure_loop(&file, image, options.block_size, flags | direct, &name);
        if direct != 0 && outcome == Err(Errno::INVAL) {
            // Newer kernels refuse where older ones silently left direct I/O away.
            outcome = syscall::configure_loop(&file, image, options.block_size, flags, &name);
        }
        match outcome {
            Ok(()) => {}
            Err(Errno::BUSY) => return Ok(None),
            Err(error) => return Err(LoopError::Configure { path, source: error.into() }),
        }
        let direct_io = direct_io_of(&Root::default(), &path);
        let caution = (options.direct_io && !direct_io).then(|| {
            format!(
                "the kernel declined direct I/O for {}: data are cached twice, so the times may be too good",
                path.display()
            )
        });
        Ok(Some(LoopDevice { path, file, direct_io, caution }))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The device itself, open for as long as this lives (read-write unless it was attached read-only).
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Whether it bypasses the page cache of the file below, as the kernel says.
    pub fn direct_io(&self) -> bool {
        self.direct_io
    }

    /// A caution for the reader of the results, if the kernel declined a setting.
    pub fn caution(&self) -> Option<&str> {
        self.caution.as_deref()
    }
}

/// The process of the run that attached an open loop device, if known; `None` for free loop devices and those of other
/// programs.
pub(crate) fn owner_of(device: impl AsFd) -> Option<Option<ProcessKey>> {
    let status = syscall::loop_status(device).ok()?;
    let name = status.file_name.split(|byte| *byte == 0).next()?;
    let rest = name.strip_prefix(NAME.as_bytes())?;
    Some(std::str::from_utf8(rest).ok().and_then(|rest| rest.trim_start().parse().ok()))
}

fn direct_io_of(root: &Root, path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    read_trimmed(&root.path(format!("sys/block/{name}/loop/dio"))).is_some_and(|text| text == "1")
}

#[cfg(test)]
mod tests {
    use super::{LoopDevice, LoopOptions, owner_of};
    use crate::host::image;
    use crate::host::process_key::ProcessKey;
    use crate::host::syscall;
    use std::os::fd::AsFd;
    use std::os::unix::fs::FileExt;
    use std::path::Path;
    use std::process::{Command, Stdio};
    use std::time::Duration;

    fn attached(path: &Path) -> bool {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        Path::new(&format!("/sys/block/{name}/loop/backing_file")).exists()
    }

    fn gone_soon(path: &Path) -> bool {
        (0..500).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            !attached(path)
        })
    }

    #[test]
    fn loop_attaches_with_what_was_asked_for_and_clears_itself() {
        let folder = tempfile::tempdir().unwrap();
        let file = image::create_image(folder.path(), 16 << 20, 16 << 20).unwrap();
        let process = ProcessKey { pid: 12, start: 345 };
        for (block_size, owner) in [(512, None), (4096, Some(process))] {
            let options = LoopOptions { block_size, owner, ..LoopOptions::default() };
            let device = LoopDevice::attach_image(file.as_fd(), &options).unwrap();
            assert_eq!(syscall::block_device_size(device.file()).unwrap(), 16 << 20);
            assert_eq!(rustix::fs::ioctl_blksszget(device.file()).unwrap(), block_size);
            let status = syscall::loop_status(device.file()).unwrap();
            assert_ne!(status.flags & syscall::LO_FLAGS_AUTOCLEAR, 0);
            assert_eq!(status.flags & syscall::LO_FLAGS_DIRECT_IO != 0, device.direct_io());
            assert_eq!(device.direct_io(), device.caution().is_none());
            assert_eq!(owner_of(device.file()), Some(owner));
            device.file().write_all_at(&[1; 4096], 4096).unwrap();
            let path = device.path().to_owned();
            assert!(attached(&path));
            drop(device);
            assert!(gone_soon(&path));
        }
    }

    #[test]
    fn loop_read_only_is_read_only() {
        let folder = tempfile::tempdir().unwrap();
        let file = image::create_image(folder.path(), 1 << 20, 1 << 20).unwrap();
        let options = LoopOptions { read_only: true, ..LoopOptions::default() };
        let device = LoopDevice::attach_image(file.as_fd(), &options).unwrap();
        assert!(syscall::block_device_is_read_only(device.file()).unwrap());
        assert!(device.file().write_all_at(&[1; 512], 0).is_err());
    }

    #[test]
    fn loop_many_at_once_each_get_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let attach = |size: u64| {
            let file = image::create_image(folder.path(), size, size).unwrap();
            LoopDevice::attach_image(file.as_fd(), &LoopOptions::default()).unwrap()
        };
        let devices: Vec<LoopDevice> = std::thread::scope(|scope| {
            let threads: Vec<_> = (1..=3).map(|count| scope.spawn(move || attach(count << 20))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        for (device, count) in devices.iter().zip(1..) {
            assert_eq!(syscall::block_device_size(device.file()).unwrap(), count << 20);
        }
    }

    /// The child of the test below: attaches, says where, and waits to be killed.
    #[test]
    fn loop_child_that_waits_to_be_killed() {
        let Some(folder) = std::env::var_os("FSVERDICT_TEST_LOOP_FOLDER") else { return };
        let file = image::create_image(Path::new(&folder), 64 << 20, 64 << 20).unwrap();
        let device = LoopDevice::attach_image(file.as_fd(), &LoopOptions::default()).unwrap();
        std::fs::write(Path::new(&folder).join("path.part"), device.path().to_str().unwrap()).unwrap();
        std::fs::rename(Path::new(&folder).join("path.part"), Path::new(&folder).join("path")).unwrap();
        std::thread::sleep(Duration::from_secs(60));
    }

    #[test]
    fn loop_is_gone_when_its_process_is_killed() {
        let folder = tempfile::tempdir().unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "host::loop_device::tests::loop_child_that_waits_to_be_killed", "--nocapture"])
            .env("FSVERDICT_TEST_LOOP_FOLDER", folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let shown = folder.path().join("path");
        for _ in 0..3000 {
            if shown.exists() {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let path = std::fs::read_to_string(&shown).unwrap();
        assert!(attached(Path::new(&path)), "{path}");
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(gone_soon(Path::new(&path)), "{path} outlived its process");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "only the message is there");
    }
}
