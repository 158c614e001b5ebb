//! The device of an opened layer, as sysfs shows it.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;

use fsverdict_stack::layer::LayerKind;

/// Whether something goes in time.
pub(super) fn gone_within(is_there: impl Fn() -> bool, limit: Duration) -> bool {
    let deadline = Instant::now() + limit;
    while is_there() {
        if Instant::now() > deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    true
}

/// Waits until no part of the kernel has claimed this block device. Returns whether that was so in time.
pub(super) fn wait_until_unclaimed(node: &Path, limit: Duration) -> bool {
    // For a block device, O_EXCL without O_CREAT fails with EBUSY while it is in use by the system (open(2)).
    let claim = || open(node, OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC, Mode::empty());
    let is_claimed = || matches!(claim(), Err(Errno::BUSY));
    // A reading of the clock takes simulated time.
    !is_claimed() || gone_within(is_claimed, limit)
}

/// Whether the software RAID of this node runs: one that is stopped keeps its node for a while.
pub(super) fn is_running(node: &Path) -> bool {
    let folder = Path::new("/sys/block").join(node.file_name().unwrap_or_default());
    std::fs::read_to_string(folder.join("md/array_state")).is_ok_and(|state| state.trim() != "clear")
}

/// The kernel's node (`/dev/dm-N`) of the mapping of this name.
pub(super) fn mapping_node(mapping: &str) -> Option<PathBuf> {
    let devices = std::fs::read_dir("/sys/block").ok()?.flatten();
    let named = |device: &std::fs::DirEntry| {
        std::fs::read_to_string(device.path().join("dm/name")).is_ok_and(|name| name.trim() == mapping)
    };
    devices.into_iter().find(named).map(|device| Path::new("/dev").join(device.file_name()))
}

/// Whether this node is still of the mapping of this name. While a mapping is taken down, and may still be writing, it has no
/// name any more.
pub(super) fn is_mapped(node: &Path, mapping: &str) -> bool {
    let folder = Path::new("/sys/block").join(node.file_name().unwrap_or_default());
    match std::fs::read_to_string(folder.join("dm/name")) {
        Ok(name) => name.trim() == mapping,
        Err(_) => folder.exists(),
    }
}

/// The device mapper's name of the opened layer of this name: hyphens in a volume group's name are doubled, because a
/// single one separates it from the volume's.
pub(super) fn mapped_name(kind: LayerKind, name: &str) -> String {
    match kind {
        LayerKind::Volume => format!("{}-{}", name.replace('-', "--"), LayerKind::VOLUME),
        LayerKind::Mapping | LayerKind::Array | LayerKind::Above | LayerKind::Served => name.to_owned(),
    }
}

/// Bytes of a block device, as sysfs has them.
pub(super) fn device_size(node: &Path) -> Option<u64> {
    let text = std::fs::read_to_string(Path::new("/sys/class/block").join(node.file_name()?).join("size"));
    // sysfs counts in sectors of 512 bytes, independent of the device's own sector size.
    text.ok()?.trim().parse::<u64>().ok()?.checked_mul(512)
}

/// The number of a block device, as sysfs has it.
pub(super) fn device_number(node: &Path) -> Option<u64> {
    let text = std::fs::read_to_string(Path::new("/sys/class/block").join(node.file_name()?).join("dev"));
    let (major, minor) = text.as_deref().ok()?.trim().split_once(':')?;
    Some(rustix::fs::makedev(major.parse().ok()?, minor.parse().ok()?))
}
