//! Collects the facts of a machine that readers of results need: kernel, processor, memory, device.
//!
//! Collecting them must not stop a run: unreadable facts are recorded as such, with the reason.

use std::path::Path;

use fsverdict_judgement::journal::Facts;

use super::procfs;
use super::root::{ParserPosition, ReadError, Root};
use super::sysfs::{SECTOR, Schedulers, bottom_devices, device_folder, disk_folder};

/// Kernel, distribution, processor, memory and write-back limits of this machine.
pub fn collect_environment(root: &Root) -> Facts {
    let mut facts = Facts::new();
    let mut put = |name: &str, value| insert_fact(&mut facts, name, value);
    put("kernel.release", root.optional("proc/sys/kernel/osrelease"));
    put("kernel.version", root.optional("proc/sys/kernel/version"));
    // The kernel's word (6.1 and later), else the one this program was built for.
    let machine = root.optional("proc/sys/kernel/arch");
    put("kernel.machine", machine.map(|known| known.or_else(|| Some(std::env::consts::ARCH.into()))));
    put("distribution", distribution(root).map(Some));
    put("cpu.model", cpu_model(root).map(Some));
    put("cpu.count", procfs::cpu_count(root).map(|count| Some(count.to_string())));
    // None where frequencies are not ours to set (most guests).
    put("cpu.governor", root.optional("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"));
    put("memory.total", procfs::read_memory(root).map(|memory| Some(memory.total.to_string())));
    put("virtualisation", virtualisation(root).map(|kind| Some(kind.to_owned())));
    // Thresholds for background write-back and for throttling of writers: Documentation/admin-guide/sysctl/vm.rst.
    // Either the share of memory or the number of bytes applies; the other one is zero.
    let setting = |name: &str| root.text(format!("proc/sys/vm/{name}")).map(|text| text.trim().to_owned());
    let either = |ratio: &str, bytes: &str| match setting(bytes)?.as_str() {
        "0" => Ok(Some(format!("{} %", setting(ratio)?))),
        bytes => Ok(Some(format!("{bytes} B"))),
    };
    put("memory.dirty_limit", either("dirty_ratio", "dirty_bytes"));
    put("memory.dirty_background_limit", either("dirty_background_ratio", "dirty_background_bytes"));
    put("memory.dirty_expire", setting("dirty_expire_centisecs").map(|text| Some(format!("{text} cs"))));
    put(
        "memory.dirty_writeback",
        setting("dirty_writeback_centisecs").map(|text| Some(format!("{text} cs"))),
    );
    facts
}

/// Identity and queue settings of a block device (kernel name) and of the devices below it.
pub fn device_facts(root: &Root, name: &str) -> Facts {
    let mut facts = Facts::new();
    describe_disk(&mut facts, root, "device", name);
    match bottom_devices(root, name) {
        Ok(bottoms) => {
            for below in bottoms.iter().filter(|below| below.as_str() != name) {
                describe_disk(&mut facts, root, &format!("device.below.{below}"), below);
            }
        }
        Err(error) => insert_fact(&mut facts, "device.below", Err(error)),
    }
    facts
}

/// Textual attributes of a device in sysfs: the fact and its file, or the first existing one. A partition has maker,
/// model and queue of its disk. SCSI disks and NVMe controllers keep their serial number below `device`, virtio disks
/// beside it.
const TEXTS_OF_DISK: [(&str, &[&str]); 11] = [
    ("vendor", &["device/vendor"]),
    ("model", &["device/model"]),
    ("revision", &["device/rev", "device/firmware_rev"]),
    ("serial", &["device/serial", "serial"]),
    ("wwid", &["wwid", "device/wwid"]),
    ("queue.write_cache", &["queue/write_cache"]),
    ("queue.discard_max_bytes", &["queue/discard_max_bytes"]),
    ("queue.logical_block_size", &["queue/logical_block_size"]),
    ("queue.physical_block_size", &["queue/physical_block_size"]),
    ("queue.requests", &["queue/nr_requests"]),
    ("queue.read_ahead_kibibytes", &["queue/read_ahead_kb"]),
];
/// Attributes with the values 0 or 1, of the disk and of the device.
const FLAGS_OF_DISK: [(&str, &str); 2] =
    [("removable", "removable"), ("queue.rotational", "queue/rotational")];
const FLAGS: [(&str, &str); 3] =
    [("read_only", "ro"), ("loop.direct_io", "loop/dio"), ("loop.auto_clear", "loop/autoclear")];

fn describe_disk(facts: &mut Facts, root: &Root, prefix: &str, name: &str) {
    let (own, disk) = (device_folder(name), disk_folder(root, name));
    let mut put = |fact: &str, value| insert_fact(facts, &format!("{prefix}.{fact}"), value);
    put("name", Ok(Some(name.to_owned())));
    put("size", read_size(root, &own.join("size")).map(|size| Some(size.to_string())));
    for (fact, files) in TEXTS_OF_DISK {
        let text = |file| root.optional(disk.join(file)).map(|text| text.filter(|text| !text.is_empty()));
        let value = files.iter().map(text).find(|found| !matches!(found, Ok(None)));
        put(fact, value.unwrap_or(Ok(None)));
    }
    let in_folder =
        |folder| move |(fact, file): (&'static str, &'static str)| (fact, Path::join(folder, file));
    for (fact, file) in
        FLAGS_OF_DISK.into_iter().map(in_folder(&disk)).chain(FLAGS.into_iter().map(in_folder(&own)))
    {
        put(fact, root.optional(file).map(|text| text.map(|text| (text == "1").to_string())));
    }
    put(
        "queue.scheduler",
        Schedulers::read_schedulers(root, name).map(|found| found.map(|scheduler| scheduler.current)),
    );
    put("loop.backing_file", root.optional(own.join("loop/backing_file")));
}

fn read_size(root: &Root, file: &Path) -> Result<u64, ReadError> {
    let sectors: u64 = ParserPosition { file: &root.path(file), line: 1 }
        .number("the size in sectors", root.text(file)?.trim())?;
    Ok(sectors * SECTOR)
}

/// The processor's name; `unknown` if the architecture reports none.
fn cpu_model(root: &Root) -> Result<String, ReadError> {
    // x86 and UML, then s390 and POWER, then ARM boards.
    for key in ["model name", "cpu", "Model", "Hardware"] {
        if let Some(name) = procfs::cpu_info(root, key)? {
            return Ok(name);
        }
    }
    Ok("unknown".to_owned())
}

/// The distribution's name from os-release(5).
fn distribution(root: &Root) -> Result<String, ReadError> {
    let text = match root.optional("etc/os-release")? {
        Some(text) => text,
        None => root.optional("usr/lib/os-release")?.unwrap_or_default(),
    };
    let value = |key: &str| {
        let line = text.lines().find_map(|line| line.trim().strip_prefix(key)?.strip_prefix('='))?;
        Some(line.trim_matches(['"', '\'']).to_owned())
    };
    Ok(value("PRETTY_NAME").or_else(|| value("NAME")).unwrap_or_else(|| "unknown".to_owned()))
}

/// The virtualisation of this kernel, as far as it can be detected without asking the hypervisor.
fn virtualisation(root: &Root) -> Result<&'static str, ReadError> {
    if procfs::cpu_info(root, "vendor_id")?.as_deref() == Some("User Mode Linux") {
        return Ok("user-mode linux");
    }
    let markers = ["run/.containerenv", ".dockerenv", "run/systemd/container"];
    let container = markers.iter().any(|file| root.path(file).exists());
    Ok(match (container, procfs::has_cpu_flag(root, "hypervisor")?) {
        (true, true) => "container in a virtual machine",
        (true, false) => "container",
        (false, true) => "virtual machine",
        (false, false) => "none seen",
    })
}

fn insert_fact(facts: &mut Facts, name: &str, value: Result<Option<String>, ReadError>) {
    if let Some(value) = value.unwrap_or_else(|error| Some(format!("unknown: {error}"))) {
        facts.insert(name.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use super::{collect_environment, device_facts};
    use crate::host::root::{Root, fake_root};

    fn files() -> Vec<(&'static str, &'static str)> {
        vec![
            ("proc/sys/kernel/osrelease", "6.1.176\n"),
            ("proc/sys/kernel/version", "#1 SMP\n"),
            ("proc/sys/kernel/arch", "riscv64\n"),
            ("etc/os-release", "NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n"),
            ("proc/cpuinfo", "vendor_id\t: User Mode Linux\nmodel name\t: UML\n"),
            ("proc/stat", "cpu 0 0 0 0 0 0 0 0\ncpu0 0 0\n"),
            ("proc/meminfo", "MemTotal: 1024 kB\nMemAvailable: 5 kB\nDirty: 0 kB\nWriteback: 0 kB\n"),
            ("proc/sys/vm/dirty_ratio", "0\n"),
            ("proc/sys/vm/dirty_bytes", "4096\n"),
            ("proc/sys/vm/dirty_background_ratio", "10\n"),
            ("proc/sys/vm/dirty_background_bytes", "0\n"),
            ("proc/sys/vm/dirty_expire_centisecs", "3000\n"),
            ("proc/sys/vm/dirty_writeback_centisecs", "500\n"),
        ]
    }

    #[test]
    fn gathers_the_machine() {
        let (_folder, root) = fake_root(&files());
        let facts = collect_environment(&root);
        let expected = [
            ("cpu.count", "1"),
            ("cpu.model", "UML"),
            ("distribution", "Debian GNU/Linux 12 (bookworm)"),
            ("kernel.machine", "riscv64"),
            ("kernel.release", "6.1.176"),
            ("kernel.version", "#1 SMP"),
            ("memory.dirty_background_limit", "10 %"),
            ("memory.dirty_expire", "3000 cs"),
            ("memory.dirty_limit", "4096 B"),
            ("memory.dirty_writeback", "500 cs"),
            ("memory.total", "1048576"),
            ("virtualisation", "user-mode linux"),
        ];
        let found: Vec<_> = facts.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn tells_containers_and_guests() {
        let guest = ("proc/cpuinfo", "flags\t: fpu hypervisor\n");
        let bare = ("proc/cpuinfo", "flags\t: fpu\n");
        let marker = (".dockerenv", "");
        for (given, expected) in [
            (vec![bare], "none seen"),
            (vec![guest], "virtual machine"),
            (vec![bare, marker], "container"),
            (vec![guest, marker], "container in a virtual machine"),
        ] {
            let (_folder, root) = fake_root(&given);
            assert_eq!(collect_environment(&root)["virtualisation"], expected);
        }
    }

    #[test]
    fn what_cannot_be_read_is_recorded_and_stops_nothing() {
        let mut files = files();
        files.retain(|(path, _)| *path != "proc/meminfo");
        let (_folder, root) = fake_root(&files);
        let facts = collect_environment(&root);
        assert!(facts["memory.total"].starts_with("unknown: cannot read "), "{}", facts["memory.total"]);
        assert_eq!(facts["kernel.release"], "6.1.176");
        let facts = device_facts(&root, "sdz");
        assert_eq!(facts["device.name"], "sdz");
        assert!(facts["device.size"].starts_with("unknown: "));
    }

    #[test]
    fn describes_the_device_and_what_is_below() {
        let (_folder, root) = fake_root(&[
            ("sys/class/block/dm-0/size", "100"),
            ("sys/class/block/dm-0/slaves/loop3", ""),
            ("sys/class/block/loop3/size", "200"),
            ("sys/class/block/loop3/ro", "0"),
            ("sys/class/block/loop3/queue/scheduler", "none [mq-deadline]"),
            ("sys/class/block/loop3/queue/rotational", "0"),
            ("sys/class/block/loop3/loop/backing_file", "/tmp/image"),
            ("sys/class/block/loop3/loop/dio", "1"),
            ("sys/class/block/loop3/loop/autoclear", "1"),
        ]);
        let facts = device_facts(&root, "dm-0");
        assert_eq!(facts["device.size"], "51200");
        assert_eq!(facts["device.below.loop3.size"], "102400");
        assert_eq!(facts["device.below.loop3.queue.scheduler"], "mq-deadline");
        assert_eq!(facts["device.below.loop3.queue.rotational"], "false");
        assert_eq!(facts["device.below.loop3.loop.direct_io"], "true");
        assert!(!facts.contains_key("device.queue.scheduler"));
    }

    #[test]
    fn this_machine_is_understood() {
        let facts = collect_environment(&Root::default());
        for (name, value) in &facts {
            assert!(!value.starts_with("unknown: "), "{name}: {value}");
        }
        assert!(facts.contains_key("kernel.release"));
    }
}
