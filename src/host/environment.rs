//! The facts of a machine that a reader of results must know: kernel, processor, memory, device.
//!
//! Recording them must not stop a run: what cannot be read is recorded as such, with the reason.

use std::fmt::Display;

use crate::journal::Facts;

use super::procfs;
use super::root::{ReadError, Root};
use super::sysfs::{self, bottom_devices};

/// Kernel, distribution, processor, memory and write-back limits of this machine.
pub fn environment(root: &Root) -> Facts {
    let mut facts = Facts::new();
    put_text(&mut facts, "kernel.release", root.optional("proc/sys/kernel/osrelease"));
    put_text(&mut facts, "kernel.version", root.optional("proc/sys/kernel/version"));
    // The kernel's word (6.1 and later), else the one this program was built for.
    let machine = root.optional("proc/sys/kernel/arch");
    put_text(
        &mut facts,
        "kernel.machine",
        machine.map(|known| known.or_else(|| Some(std::env::consts::ARCH.into()))),
    );
    put_text(&mut facts, "distribution", distribution(root).map(Some));
    put_text(&mut facts, "cpu.model", procfs::cpu_model(root).map(|model| Some(model.name)));
    put_text(&mut facts, "cpu.count", procfs::cpu_count(root).map(|count| Some(count.to_string())));
    put_text(&mut facts, "cpu.governor", sysfs::cpu_governor(root));
    put_text(&mut facts, "memory.total", procfs::memory(root).map(|memory| Some(memory.total.to_string())));
    put_text(&mut facts, "virtualisation", virtualisation(root).map(|kind| Some(kind.to_owned())));
    match procfs::dirty_limits(root) {
        Ok(limits) => {
            // Either the share or the number of bytes counts; the other one is zero.
            let either = |ratio, bytes| if bytes > 0 { format!("{bytes} B") } else { format!("{ratio} %") };
            put(&mut facts, "memory.dirty_limit", either(limits.ratio, limits.bytes));
            put(
                &mut facts,
                "memory.dirty_background_limit",
                either(limits.background_ratio, limits.background_bytes),
            );
            put(&mut facts, "memory.dirty_expire", format!("{} cs", limits.expire_centiseconds));
            put(&mut facts, "memory.dirty_writeback", format!("{} cs", limits.writeback_centiseconds));
        }
        Err(error) => put(&mut facts, "memory.dirty_limit", unreadable(&error)),
    }
    facts
}

/// Identity and queue settings of a block device (kernel name), and of what it stands on.
pub fn device_facts(root: &Root, name: &str) -> Facts {
    let mut facts = Facts::new();
    describe(&mut facts, root, "device", name);
    match bottom_devices(root, name) {
        Ok(bottoms) => {
            for below in bottoms.iter().filter(|below| below.as_str() != name) {
                describe(&mut facts, root, &format!("device.below.{below}"), below);
            }
        }
        Err(error) => put(&mut facts, "device.below", unreadable(&error)),
    }
    facts
}

fn describe(facts: &mut Facts, root: &Root, prefix: &str, name: &str) {
    match sysfs::identity(root, name) {
        Ok(known) => {
            put(facts, &format!("{prefix}.name"), known.name);
            put(facts, &format!("{prefix}.size"), known.size.to_string());
            put(facts, &format!("{prefix}.read_only"), known.read_only.to_string());
            put_some(facts, &format!("{prefix}.removable"), known.removable.map(|flag| flag.to_string()));
            put_some(facts, &format!("{prefix}.vendor"), known.vendor);
            put_some(facts, &format!("{prefix}.model"), known.model);
            put_some(facts, &format!("{prefix}.revision"), known.revision);
            put_some(facts, &format!("{prefix}.serial"), known.serial);
            put_some(facts, &format!("{prefix}.wwid"), known.wwid);
        }
        Err(error) => {
            put(facts, &format!("{prefix}.name"), name.to_owned());
            put(facts, &format!("{prefix}.size"), unreadable(&error));
        }
    }
    match sysfs::queue_settings(root, name) {
        Ok(set) => {
            let mut queue = |setting: &str, value: Option<String>| {
                put_some(facts, &format!("{prefix}.queue.{setting}"), value);
            };
            queue("scheduler", set.scheduler.map(|scheduler| scheduler.current));
            queue("rotational", set.rotational.map(|flag| flag.to_string()));
            queue("write_cache", set.write_cache);
            queue("discard_max_bytes", set.discard_max_bytes.map(|bytes| bytes.to_string()));
            queue("logical_block_size", set.logical_block_size.map(|bytes| bytes.to_string()));
            queue("physical_block_size", set.physical_block_size.map(|bytes| bytes.to_string()));
            queue("requests", set.requests.map(|count| count.to_string()));
            queue("read_ahead_kibibytes", set.read_ahead_kibibytes.map(|count| count.to_string()));
        }
        Err(error) => put(facts, &format!("{prefix}.queue"), unreadable(&error)),
    }
    match sysfs::loop_settings(root, name) {
        Ok(Some(set)) => {
            put(facts, &format!("{prefix}.loop.backing_file"), set.backing_file);
            put(facts, &format!("{prefix}.loop.direct_io"), set.direct_io.to_string());
            put(facts, &format!("{prefix}.loop.auto_clear"), set.auto_clear.to_string());
        }
        Ok(None) => {}
        Err(error) => put(facts, &format!("{prefix}.loop"), unreadable(&error)),
    }
}

/// What os-release(5) calls the distribution.
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

/// What this kernel runs on, as far as it can be told without asking the hypervisor.
fn virtualisation(root: &Root) -> Result<&'static str, ReadError> {
    if procfs::cpu_model(root)?.user_mode_linux {
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

fn put(facts: &mut Facts, name: &str, value: String) {
    facts.insert(name.to_owned(), value);
}

fn put_some(facts: &mut Facts, name: &str, value: Option<String>) {
    if let Some(value) = value {
        put(facts, name, value);
    }
}

fn put_text(facts: &mut Facts, name: &str, value: Result<Option<String>, ReadError>) {
    match value {
        Ok(value) => put_some(facts, name, value),
        Err(error) => put(facts, name, unreadable(&error)),
    }
}

fn unreadable(error: &impl Display) -> String {
    format!("unknown: {error}")
}

#[cfg(test)]
mod tests {
    use super::{device_facts, environment};
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
        let facts = environment(&root);
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
            assert_eq!(environment(&root)["virtualisation"], expected);
        }
    }

    #[test]
    fn what_cannot_be_read_is_recorded_and_stops_nothing() {
        let mut files = files();
        files.retain(|(path, _)| *path != "proc/meminfo");
        let (_folder, root) = fake_root(&files);
        let facts = environment(&root);
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
        let facts = environment(&Root::default());
        for (name, value) in &facts {
            assert!(!value.starts_with("unknown: "), "{name}: {value}");
        }
        assert!(facts.contains_key("kernel.release"));
    }
}
