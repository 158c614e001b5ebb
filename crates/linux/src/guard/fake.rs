//! Made-up machines for the tests: trees of /proc, /sys and /dev without any real device.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, symlink};
use std::path::PathBuf;

use crate::host::block_device::{BlockDevice, number_of};
use crate::host::root::Root;

/// A fake tree in a temporary folder. Device nodes are plain files with the kernel's names.
pub(crate) struct FakeMachine {
    folder: tempfile::TempDir,
    root: Root,
}

impl FakeMachine {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::new(folder.path().canonicalize().unwrap());
        let machine = FakeMachine { folder, root };
        machine.write("proc/self/mountinfo", "1 0 0:21 / /proc rw - proc proc rw\n");
        machine.write("proc/swaps", "Filename\tType\tSize\tUsed\tPriority\n");
        machine
    }

    pub(crate) fn root(&self) -> &Root {
        &self.root
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn append(&self, path: &str, line: &str) {
        let old = fs::read_to_string(self.folder.path().join(path)).unwrap();
        self.write(path, &format!("{old}{line}\n"));
    }

    fn symlink(&self, path: &str, target: PathBuf) {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, path).unwrap();
    }

    fn device(&self, place: &str, name: &str, number: &str, sectors: u64) {
        self.write(&format!("{place}/dev"), number);
        self.write(&format!("{place}/size"), &format!("{sectors}\n"));
        self.write(&format!("{place}/ro"), "0\n");
        self.write(&format!("dev/{name}"), "");
        let place = self.root.path(place);
        self.symlink(&format!("sys/dev/block/{number}"), place.clone());
        self.symlink(&format!("sys/class/block/{name}"), place);
    }

    pub(crate) fn disk(&self, name: &str, number: &str, sectors: u64) {
        self.device(&format!("sys/devices/{name}"), name, number, sectors);
    }

    pub(crate) fn partition(&self, disk: &str, name: &str, number: &str, sectors: u64) {
        let place = format!("sys/devices/{disk}/{name}");
        self.device(&place, name, number, sectors);
        self.write(&format!("{place}/partition"), "1\n");
    }

    pub(crate) fn attribute(&self, name: &str, attribute: &str, text: &str) {
        let folder = self.root.path(format!("sys/class/block/{name}"));
        let path = folder.canonicalize().unwrap().join(attribute);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn stands_on(&self, upper: &str, lower: &str) {
        self.attribute(upper, &format!("slaves/{lower}"), "");
        self.attribute(lower, &format!("holders/{upper}"), "");
    }

    pub(crate) fn link(&self, link: &str, name: &str) {
        self.symlink(&format!("dev/{link}"), self.root.path(format!("dev/{name}")));
    }

    pub(crate) fn mount(&self, number: &str, point: &str, filesystem: &str, source: &str) {
        let line = format!("30 1 {number} / {point} rw,relatime shared:1 - {filesystem} {source} rw");
        self.append("proc/self/mountinfo", &line);
    }

    pub(crate) fn swap(&self, path: &str) {
        self.append("proc/swaps", &format!("{path} partition 1000 0 -2"));
    }

    pub(crate) fn btrfs(&self, uuid: &str, members: &[&str]) {
        for member in members {
            self.write(&format!("sys/fs/btrfs/{uuid}/devices/{member}"), "");
        }
    }

    pub(crate) fn describe(&self, name: &str) -> BlockDevice {
        let path = self.root.path(format!("dev/{name}"));
        let number = number_of(&self.root, &path).unwrap();
        BlockDevice::describe(&self.root, &path, path.clone(), number).unwrap()
    }
}

/// Writes a DOS partition table with one Linux partition (start and length in sectors of 512 bytes).
pub(crate) fn write_partition_table(device: &File, identity: u32, start: u32, length: u32) {
    let mut sector = [0u8; 512];
    sector[440..444].copy_from_slice(&identity.to_le_bytes());
    sector[450] = 0x83;
    sector[454..458].copy_from_slice(&start.to_le_bytes());
    sector[458..462].copy_from_slice(&length.to_le_bytes());
    sector[510..512].copy_from_slice(&[0x55, 0xaa]);
    device.write_all_at(&sector, 0).unwrap();
}
