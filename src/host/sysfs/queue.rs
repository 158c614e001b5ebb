//! `/sys/class/block/NAME/queue`: the settings that change what is measured; and the CPU's frequency governor.

use std::path::{Path, PathBuf};

use crate::host::root::{Place, ReadError, Root};

use super::{device_folder, partition_parent};

/// The I/O schedulers of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scheduler {
    /// The one in use (the kernel puts it in brackets).
    pub current: String,
    /// All that could be chosen now.
    pub available: Vec<String>,
}

impl Scheduler {
    /// Reads the content of a `scheduler` file, e.g. `none [mq-deadline] kyber`; `file` is named in errors.
    ///
    /// # Errors
    /// [`ReadError::Malformed`] when none is marked as the one in use.
    pub fn parse(text: &str, file: &Path) -> Result<Scheduler, ReadError> {
        let plain = |word: &str| word.trim_matches(['[', ']']).to_owned();
        let available: Vec<String> = text.split_ascii_whitespace().map(plain).collect();
        let marked = text.split_ascii_whitespace().find(|word| word.starts_with('[') && word.ends_with(']'));
        let current = match (marked, available.as_slice()) {
            (Some(word), _) => plain(word),
            // Devices without a queue of requests (zram, dm on bios) say a bare `none`.
            (None, [only]) if only == "none" => only.clone(),
            (None, _) => {
                let place = Place { file, line: 1 };
                return Err(place.malformed("the I/O scheduler", "one name in brackets", text.trim_end()));
            }
        };
        Ok(Scheduler { current, available })
    }
}

/// How a device's queue is set. `None` where this kernel or this device has no such setting.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct QueueSettings {
    /// The I/O schedulers.
    pub scheduler: Option<Scheduler>,
    /// Whether the device says that it is a spinning disk.
    pub rotational: Option<bool>,
    /// `write back` (flushes matter) or `write through`.
    pub write_cache: Option<String>,
    /// Largest discard in bytes; 0 where the device cannot.
    pub discard_max_bytes: Option<u64>,
    /// Smallest addressable unit in bytes.
    pub logical_block_size: Option<u64>,
    /// Smallest unit the device writes at once, in bytes.
    pub physical_block_size: Option<u64>,
    pub requests: Option<u64>,
    /// Read-ahead in KiB.
    pub read_ahead_kibibytes: Option<u64>,
    /// Whether the kernel keeps counters for this device; without, the device's numbers are all zero.
    pub counted: Option<bool>,
}

/// The queue settings of a device; a partition has those of its disk.
///
/// # Errors
/// When a setting is there but cannot be read or understood.
pub fn queue_settings(root: &Root, name: &str) -> Result<QueueSettings, ReadError> {
    let disk = partition_parent(root, name).unwrap_or_else(|| name.to_owned());
    let folder = device_folder(&disk).join("queue");
    let number = |setting: &str| -> Result<Option<u64>, ReadError> {
        let relative = folder.join(setting);
        let text = root.optional(&relative)?;
        text.map(|text| Place { file: &root.path(&relative), line: 1 }.number(setting, &text)).transpose()
    };
    let flag = |setting: &str| Ok::<_, ReadError>(number(setting)?.map(|value| value != 0));
    let scheduler_file: PathBuf = folder.join("scheduler");
    let scheduler = root.optional(&scheduler_file)?.filter(|text| !text.is_empty());
    Ok(QueueSettings {
        scheduler: scheduler.map(|text| Scheduler::parse(&text, &root.path(&scheduler_file))).transpose()?,
        rotational: flag("rotational")?,
        write_cache: root.optional(folder.join("write_cache"))?,
        discard_max_bytes: number("discard_max_bytes")?,
        logical_block_size: number("logical_block_size")?,
        physical_block_size: number("physical_block_size")?,
        requests: number("nr_requests")?,
        read_ahead_kibibytes: number("read_ahead_kb")?,
        counted: flag("iostats")?,
    })
}

/// The frequency governor of the first processor; `None` where frequencies are not ours to set (most guests).
///
/// # Errors
/// When it is there but cannot be read.
pub fn cpu_governor(root: &Root) -> Result<Option<String>, ReadError> {
    root.optional("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{QueueSettings, Scheduler, cpu_governor, queue_settings};
    use crate::host::root::{Root, fake_root};

    #[test]
    fn the_bracketed_scheduler_is_the_one_in_use() {
        let file = Path::new("scheduler");
        let some = Scheduler::parse("none [mq-deadline] kyber bfq\n", file).unwrap();
        assert_eq!(some.current, "mq-deadline");
        assert_eq!(some.available, ["none", "mq-deadline", "kyber", "bfq"]);
        assert_eq!(Scheduler::parse("none\n", file).unwrap().current, "none");
        let told = Scheduler::parse("mq-deadline kyber\n", file).unwrap_err().to_string();
        assert!(told.contains("the I/O scheduler should be one name in brackets"), "{told}");
    }

    #[test]
    fn reads_what_is_there() {
        let (_folder, root) = fake_root(&[
            ("sys/class/block/sda/queue/scheduler", "[none] bfq\n"),
            ("sys/class/block/sda/queue/rotational", "1\n"),
            ("sys/class/block/sda/queue/write_cache", "write back\n"),
            ("sys/class/block/sda/queue/discard_max_bytes", "0\n"),
            ("sys/class/block/sda/queue/logical_block_size", "512\n"),
            ("sys/class/block/sda/queue/physical_block_size", "4096\n"),
            ("sys/class/block/sda/queue/nr_requests", "64\n"),
            ("sys/class/block/sda/queue/read_ahead_kb", "128\n"),
            ("sys/class/block/sdb/queue/rotational", "perhaps\n"),
            ("sys/class/block/sdc/stat", ""),
        ]);
        let set = queue_settings(&root, "sda").unwrap();
        assert_eq!(set.scheduler.map(|scheduler| scheduler.current).as_deref(), Some("none"));
        assert_eq!(set.rotational, Some(true));
        assert_eq!(set.write_cache.as_deref(), Some("write back"));
        assert_eq!(set.discard_max_bytes, Some(0));
        assert_eq!((set.logical_block_size, set.physical_block_size), (Some(512), Some(4096)));
        assert_eq!((set.requests, set.read_ahead_kibibytes), (Some(64), Some(128)));
        assert_eq!(set.counted, None);
        let told = queue_settings(&root, "sdb").unwrap_err().to_string();
        assert!(
            told.ends_with("line 1: rotational should be a whole number, but it is \"perhaps\""),
            "{told}"
        );
        assert_eq!(queue_settings(&root, "sdc").unwrap(), QueueSettings::default());
        assert_eq!(cpu_governor(&root).unwrap(), None);
    }

    #[test]
    fn this_machine_is_understood() {
        let root = Root::default();
        for entry in std::fs::read_dir("/sys/class/block").unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            queue_settings(&root, &name).unwrap();
        }
        cpu_governor(&root).unwrap();
    }
}
