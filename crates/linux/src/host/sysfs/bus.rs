//! Reads the bus speed of a disk from sysfs: the PCI link of an NVMe disk, the SATA link, the USB port. It limits the
//! disk's speed.

use std::path::Path;

use crate::host::root::Root;

use super::disk_folder;

/// Bytes per second that the bus of a disk carries at most; `None` where sysfs does not tell.
pub fn bus_rate(root: &Root, name: &str) -> Option<u64> {
    let folder = root.path(disk_folder(root, name)).canonicalize().ok()?;
    pci_rate(&folder).or_else(|| sata_rate(root, &folder)).or_else(|| usb_rate(&folder))
}

fn read_trimmed(file: &Path) -> Option<String> {
    Some(std::fs::read_to_string(file).ok()?.trim().to_owned())
}

fn first_number(text: &str) -> Option<f64> {
    text.split_whitespace().next()?.parse().ok().filter(|number: &f64| *number > 0.0)
}

/// Of `16.0 GT/s PCIe` and `4` lanes; the first two generations send ten bits for a byte, the others 130 for sixteen.
fn pci_rate(disk: &Path) -> Option<u64> {
    // The disk's controller is a device of the PCI bus: nvme0n1/device/device.
    let controller = disk.join("device/device");
    let transfers = first_number(&read_trimmed(&controller.join("current_link_speed"))?)?;
    let lanes = first_number(&read_trimmed(&controller.join("current_link_width"))?)?;
    let share = if transfers <= 5.0 { 0.8 } else { 128.0 / 130.0 };
    Some((transfers * 1e9 * lanes * share / 8.0) as u64)
}

/// From `6.0 Gbps`, with ten bits per byte. The link has the number of the port: …/ata3/host2/target2:0:0/….
fn sata_rate(root: &Root, disk: &Path) -> Option<u64> {
    let port = disk
        .components()
        .find_map(|part| part.as_os_str().to_str()?.strip_prefix("ata")?.parse::<u32>().ok())?;
    let speed = read_trimmed(&root.path(format!("sys/class/ata_link/link{port}/sata_spd")))?;
    Some((first_number(&speed)? * 1e9 / 10.0) as u64)
}

/// Of `5000`, in megabits: the nearest folder above that is a USB device has the speed of its port.
fn usb_rate(disk: &Path) -> Option<u64> {
    let device =
        disk.ancestors().find(|folder| folder.join("busnum").exists() && folder.join("speed").exists())?;
    Some((first_number(&read_trimmed(&device.join("speed"))?)? * 1e6 / 8.0) as u64)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::bus_rate;
    use crate::host::root::fake_root;

    #[test]
    fn each_bus_tells_its_rate() {
        let (_folder, root) = fake_root(&[
            ("sys/devices/pci0/nvme/nvme0/nvme0n1/size", "8\n"),
            ("sys/devices/pci0/nvme/current_link_speed", "8.0 GT/s PCIe\n"),
            ("sys/devices/pci0/nvme/current_link_width", "4\n"),
            ("sys/devices/pci0/ahci/ata3/host2/target2:0:0/2:0:0:0/block/sda/size", "8\n"),
            ("sys/devices/pci0/ahci/ata3/host2/target2:0:0/2:0:0:0/block/sda/sda1/partition", "1\n"),
            ("sys/class/ata_link/link3/sata_spd", "6.0 Gbps\n"),
            ("sys/devices/pci0/usb2/2-1/speed", "480\n"),
            ("sys/devices/pci0/usb2/2-1/busnum", "2\n"),
            ("sys/devices/pci0/usb2/2-1/2-1:1.0/host4/target4:0:0/4:0:0:0/block/sdb/size", "8\n"),
            ("sys/devices/virtual/block/loop0/size", "8\n"),
            ("sys/class/block/.keep", ""),
        ]);
        let class = root.path("sys/class/block");
        for (name, target) in [
            ("nvme0n1", "pci0/nvme/nvme0/nvme0n1"),
            ("sda", "pci0/ahci/ata3/host2/target2:0:0/2:0:0:0/block/sda"),
            ("sda1", "pci0/ahci/ata3/host2/target2:0:0/2:0:0:0/block/sda/sda1"),
            ("sdb", "pci0/usb2/2-1/2-1:1.0/host4/target4:0:0/4:0:0:0/block/sdb"),
            ("loop0", "virtual/block/loop0"),
        ] {
            symlink(format!("../../devices/{target}"), class.join(name)).unwrap();
        }
        // As the kernel links them: the disk's device is its controller, whose device is that of the bus.
        let nvme = root.path("sys/devices/pci0/nvme");
        symlink(nvme.join("nvme0"), nvme.join("nvme0/nvme0n1/device")).unwrap();
        symlink(&nvme, nvme.join("nvme0/device")).unwrap();
        for (name, rate) in [
            ("nvme0n1", Some(3_938_461_538)),
            ("sda", Some(600_000_000)),
            ("sda1", Some(600_000_000)),
            ("sdb", Some(60_000_000)),
            ("loop0", None),
            ("sdz", None),
        ] {
            assert_eq!(bus_rate(&root, name), rate, "{name}");
        }
    }
}
