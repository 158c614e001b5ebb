//! Loop devices that show the same bytes as another device.
//!
//! The kernel excludes neither two loop devices over one file, nor a loop device over a disk in use. The guard asks the
//! driver for the backing file (`LOOP_GET_STATUS64`: device and inode number), not sysfs for its path: files have
//! several names, or none any more.

use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::host::block_device::{
    BlockDevice, DeviceNumber, number_by_name, number_of, read_trimmed, whole_of,
};
use crate::host::root::{Root, names_in};
use crate::host::syscall;

/// How many devices may stand on one another; a cycle of them cannot be made, but a table may be nonsense.
const DEEPEST: u32 = 16;

/// The storage that bytes finally belong to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Base {
    /// A file: numbers of its filesystem and inode.
    File(u64, u64),
    /// A block device that stands on nothing.
    Device(DeviceNumber),
}

impl Base {
    pub(super) fn of_file(found: &fs::Metadata) -> Self {
        Base::File(found.dev(), found.ino())
    }
}

/// Some of those bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ByteRange {
    pub(super) base: Base,
    range: Range<u64>,
}

impl ByteRange {
    fn overlaps(&self, other: &ByteRange) -> bool {
        self.base == other.base && self.range.start < other.range.end && other.range.start < self.range.end
    }
}

#[derive(Debug)]
pub(super) struct Loop {
    pub(super) name: String,
    pub(super) number: DeviceNumber,
    /// The file, as the kernel names it.
    pub(super) backing: String,
    pub(super) base: Base,
    offset: u64,
    size: u64,
}

/// The path of a loop device's file, as the kernel names it.
pub(super) fn file_of(root: &Root, device: &BlockDevice) -> Option<PathBuf> {
    let file = root.path(format!("sys/dev/block/{}/loop/backing_file", device.number));
    read_trimmed(&file).map(PathBuf::from)
}

pub(super) fn attached_loops(root: &Root) -> io::Result<Vec<Loop>> {
    let mut loops = Vec::new();
    for name in names_in(&root.path("sys/class/block")) {
        let folder = root.path(format!("sys/class/block/{name}"));
        let Some(backing) = read_trimmed(&folder.join("loop/backing_file")) else { continue };
        let Some(number) = number_by_name(root, &name) else { continue };
        let number_in =
            |file: &str| read_trimmed(&folder.join(file)).and_then(|text| text.parse::<u64>().ok());
        let size = number_in("size").unwrap_or(0).saturating_mul(512);
        let (base, offset) = match ask_driver(root, &name, number) {
            Ok(Some(shown)) => shown,
            // Detached meanwhile.
            Ok(None) => continue,
            Err(error) => match by_path(root, &backing) {
                Some(base) => (base, number_in("loop/offset").unwrap_or(0)),
                None => {
                    let problem = format!("what {name} stands on ({backing}) cannot be learned: {error}");
                    return Err(io::Error::new(error.kind(), problem));
                }
            },
        };
        loops.push(Loop { name, number, backing, base, offset, size });
    }
    Ok(loops)
}

pub(super) fn backing_ranges(root: &Root, loops: &[Loop], number: DeviceNumber) -> Vec<ByteRange> {
    places_below(root, loops, number, DEEPEST)
}

/// A loop device that shows some of the bytes of a device that is none of those `known`.
pub(super) fn find_shared_use<'l>(
    root: &Root,
    loops: &'l [Loop],
    device: &BlockDevice,
    known: &[(String, DeviceNumber)],
) -> Option<&'l Loop> {
    let ours = backing_ranges(root, loops, device.number);
    loops.iter().filter(|other| known.iter().all(|(_, number)| *number != other.number)).find(|other| {
        let theirs = backing_ranges(root, loops, other.number);
        theirs.iter().any(|theirs| ours.iter().any(|ours| ours.overlaps(theirs)))
    })
}

fn places_below(root: &Root, loops: &[Loop], number: DeviceNumber, deepest: u32) -> Vec<ByteRange> {
    let everything = vec![ByteRange { base: Base::Device(number), range: 0..u64::MAX }];
    if deepest == 0 {
        return everything;
    }
    let below = |number| places_below(root, loops, number, deepest - 1);
    let folder = root.path(format!("sys/dev/block/{number}"));
    let sectors =
        |file: &str| Some(read_trimmed(&folder.join(file))?.parse::<u64>().ok()?.saturating_mul(512));
    if let Some(whole) = whole_of(root, number) {
        let ranges = below(whole);
        return match (sectors("start"), sectors("size")) {
            (Some(start), Some(size)) => sub_ranges(&ranges, start, size),
            _ => ranges,
        };
    }
    if let Some(found) = loops.iter().find(|found| found.number == number) {
        return match found.base {
            Base::Device(lower) => sub_ranges(&below(lower), found.offset, found.size),
            Base::File(..) => {
                let end = found.offset.saturating_add(found.size);
                vec![ByteRange { base: found.base.clone(), range: found.offset..end }]
            }
        };
    }
    // Where on them a mapping or an array has its bytes is not looked into: anywhere.
    let slaves = names_in(&folder.join("slaves"));
    let slaves: Vec<ByteRange> =
        slaves.iter().filter_map(|name| number_by_name(root, name)).flat_map(below).collect();
    if slaves.is_empty() { everything } else { slaves }
}

/// A range of storage that is in one piece; the whole of any other storage.
fn sub_ranges(all: &[ByteRange], offset: u64, size: u64) -> Vec<ByteRange> {
    let [one] = all else { return all.to_vec() };
    let start = one.range.start.saturating_add(offset);
    let end = start.saturating_add(size).min(one.range.end);
    vec![ByteRange { base: one.base.clone(), range: start..end }]
}

/// The driver's status; `None` if the device is no longer attached.
fn ask_driver(root: &Root, name: &str, number: DeviceNumber) -> io::Result<Option<(Base, u64)>> {
    let device = match open_loop(root, name, number) {
        Ok(device) => device,
        // It is being detached: it can no longer be used.
        Err(error) if error.raw_os_error() == Some(Errno::NXIO.raw_os_error()) => return Ok(None),
        Err(error) => return Err(error),
    };
    match syscall::loop_status(&device) {
        Ok(status) if status.raw_device != 0 => {
            Ok(Some((Base::Device(DeviceNumber::from_raw(status.raw_device)), status.offset)))
        }
        Ok(status) => Ok(Some((Base::File(status.device, status.inode), status.offset))),
        Err(Errno::NXIO) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Opens the device of a number: through the kernel's own node, or through a temporary one if that was removed or
/// replaced.
fn open_loop(root: &Root, name: &str, number: DeviceNumber) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let is_it = |path: &Path| {
        fs::symlink_metadata(path).is_ok_and(|node| {
            node.file_type().is_block_device() && DeviceNumber::from_raw(node.rdev()) == number
        })
    };
    let open = |path: &Path| Ok(File::from(rustix::fs::open(path, flags, Mode::empty())?));
    let node = root.path(format!("dev/{name}"));
    if is_it(&node) {
        return open(&node);
    }
    if *root != Root::default() {
        return Err(io::ErrorKind::NotFound.into()); // a made-up machine has no devices
    }
    let temporary = root.path(format!("dev/.fsverdict-{}-{name}", std::process::id()));
    let device = rustix::fs::makedev(number.major, number.minor);
    let kind = rustix::fs::FileType::BlockDevice;
    rustix::fs::mknodat(rustix::fs::CWD, &temporary, kind, Mode::RUSR, device)?;
    let opened = open(&temporary);
    fs::remove_file(&temporary)?;
    opened
}

/// The storage at a path that the kernel reported, for users without the right to ask the driver.
fn by_path(root: &Root, backing: &str) -> Option<Base> {
    let path: PathBuf = root.absolute(Path::new(backing));
    if let Some(number) = number_of(root, &path) {
        return Some(Base::Device(number));
    }
    fs::metadata(path).ok().map(|file| Base::of_file(&file))
}
