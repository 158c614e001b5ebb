//! The counters of the machine at one moment, read through files that stay open.

use std::ops::Add;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use fsverdict_linux::host::procfs::{CpuTimes, ProcessStat, io_pressure};
use fsverdict_linux::host::root::{OpenFile, PAGE, ReadError, Root};
use fsverdict_linux::host::sysfs::{DeviceStat, SECTOR, bottom_devices, device_folder, partition_parent};

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Sample {
    /// CPU time of the machine, in ticks.
    pub(super) cpu: CpuTimes,
    /// Counters of the devices at the bottom, summed.
    pub(super) device: Option<DeviceCounters>,
    /// Time in which some task was stalled on I/O.
    pub(super) stalled: Option<Duration>,
}

/// The devices' counters since they appeared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct DeviceCounters {
    pub(super) reads: u64,
    pub(super) bytes_read: u64,
    pub(super) writes: u64,
    pub(super) bytes_written: u64,
    /// `None` where the kernel does not count them; so for discards.
    pub(super) flushes: Option<u64>,
    pub(super) bytes_discarded: Option<u64>,
    /// Summed over devices: with several it may exceed wall time.
    pub(super) busy: Duration,
}

impl From<DeviceStat> for DeviceCounters {
    fn from(stat: DeviceStat) -> DeviceCounters {
        DeviceCounters {
            reads: stat.reads,
            bytes_read: stat.read_sectors * SECTOR,
            writes: stat.writes,
            bytes_written: stat.write_sectors * SECTOR,
            flushes: stat.flushes,
            bytes_discarded: stat.discards.map(|(_, sectors)| sectors * SECTOR),
            busy: Duration::from_millis(stat.busy_milliseconds),
        }
    }
}

impl Add for DeviceCounters {
    type Output = DeviceCounters;

    fn add(self, other: DeviceCounters) -> DeviceCounters {
        DeviceCounters {
            reads: self.reads + other.reads,
            bytes_read: self.bytes_read + other.bytes_read,
            writes: self.writes + other.writes,
            bytes_written: self.bytes_written + other.bytes_written,
            flushes: self.flushes.zip(other.flushes).map(|(own, other)| own + other),
            bytes_discarded: self.bytes_discarded.zip(other.bytes_discarded).map(|(own, other)| own + other),
            busy: self.busy + other.busy,
        }
    }
}

#[derive(Debug)]
pub(super) struct SampleProbe {
    cpu: OpenFile,
    children: OpenFile,
    pressure: Option<OpenFile>,
    devices: Vec<DeviceFile>,
    /// The unit of [`CpuTimes`]: clock ticks per second.
    pub(super) ticks_per_second: u64,
}

#[derive(Debug)]
struct DeviceFile {
    own: OpenFile,
    /// The kernel counts flushes for whole disks only.
    disk: Option<OpenFile>,
}

impl SampleProbe {
    pub(super) fn open(root: &Root, devices: &[impl AsRef<str>]) -> Result<SampleProbe, ReadError> {
        let bottoms = below_all(root, devices)?;
        let devices = bottoms.iter().map(|name| DeviceFile::open(root, name)).collect::<Result<_, _>>()?;
        let pressure = match OpenFile::open(root, "proc/pressure/io") {
            Ok(file) => Some(file),
            Err(error) if error.is_absent() => None,
            Err(error) => return Err(error),
        };
        Ok(SampleProbe {
            cpu: OpenFile::open(root, "proc/stat")?,
            children: OpenFile::open(root, "proc/self/stat")?,
            pressure,
            devices,
            ticks_per_second: rustix::param::clock_ticks_per_second().max(1),
        })
    }

    pub(super) fn sample(&self) -> Result<Sample, ReadError> {
        let mut buffer = [0; PAGE];
        let mut device: Option<DeviceCounters> = None;
        for file in &self.devices {
            let one = DeviceCounters::from(file.read(&mut buffer)?);
            device = Some(device.map_or(one, |sum| sum + one));
        }
        let stalled = match &self.pressure {
            Some(file) => Some(Duration::from_micros(io_pressure(file.read(&mut buffer)?, file.path())?)),
            None => None,
        };
        let cpu = CpuTimes::parse(self.cpu.read(&mut buffer)?, self.cpu.path())?;
        Ok(Sample { cpu, device, stalled })
    }

    /// CPU time of this process, and of the children it has waited for (those in ticks of 10 ms).
    pub(super) fn own_cpu(&self) -> Result<Duration, ReadError> {
        let mut buffer = [0; PAGE];
        let process = ProcessStat::parse(self.children.read(&mut buffer)?, self.children.path())?;
        Ok(cpu_clock(ClockId::ProcessCPUTime)
            + Duration::from_secs_f64(process.children_ticks() as f64 / self.ticks_per_second as f64))
    }
}

/// The devices at the bottom of these, each once.
pub(super) fn below_all(root: &Root, devices: &[impl AsRef<str>]) -> Result<Vec<String>, ReadError> {
    let mut bottoms = Vec::new();
    for device in devices {
        bottoms.extend(bottom_devices(root, device.as_ref())?);
    }
    bottoms.sort();
    bottoms.dedup();
    Ok(bottoms)
}

impl DeviceFile {
    fn open(root: &Root, name: &str) -> Result<DeviceFile, ReadError> {
        let stat = |name: &str| OpenFile::open(root, device_folder(name).join("stat"));
        Ok(DeviceFile {
            own: stat(name)?,
            disk: partition_parent(root, name).map(|disk| stat(&disk)).transpose()?,
        })
    }

    fn read(&self, buffer: &mut [u8; PAGE]) -> Result<DeviceStat, ReadError> {
        let mut stat = DeviceStat::parse(self.own.read(buffer)?, self.own.path())?;
        if let Some(disk) = &self.disk {
            stat.flushes = DeviceStat::parse(disk.read(buffer)?, disk.path())?.flushes;
        }
        Ok(stat)
    }
}

/// CPU time by a clock of this process or thread.
pub(super) fn cpu_clock(clock: ClockId) -> Duration {
    Duration::try_from(clock_gettime(clock)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    const NONE: &[&str] = &[];
    use std::time::Duration;

    use super::{DeviceCounters, SampleProbe};
    use crate::measure::fake_root;

    const CPU: &str = "cpu 1 2 3 4 5 6 7 8 0 0\n";
    const SELF: &str = "1 (agent) S 1 1 1 0 -1 0 1 2 3 4 0 0 30 40 20 0 1 0 500";

    #[test]
    fn sums_the_devices_below_and_takes_flushes_from_the_disk() {
        let (_folder, root) = fake_root(&[
            ("proc/stat", CPU),
            ("proc/self/stat", SELF),
            ("sys/class/block/md0/slaves/sda1", ""),
            ("sys/class/block/md0/slaves/sdb", ""),
            ("sys/devices/sda/stat", "99 0 99 0 99 0 99 0 0 99 99 99 99 99 99 7 0"),
            ("sys/devices/sda/sda1/stat", "1 0 2 0 3 0 4 0 0 5 5 6 0 7 0 0 0"),
            ("sys/devices/sda/sda1/partition", "1"),
            ("sys/class/block/sdb/stat", "10 0 20 0 30 0 40 0 0 50 50 60 0 70 0 80 0"),
        ]);
        let class = root.path("sys/class/block");
        std::os::unix::fs::symlink("../../devices/sda", class.join("sda")).unwrap();
        std::os::unix::fs::symlink("../../devices/sda/sda1", class.join("sda1")).unwrap();
        let sample = SampleProbe::open(&root, &["md0", "sdb"]).unwrap().sample().unwrap();
        let expected = DeviceCounters {
            reads: 11,
            bytes_read: 22 * 512,
            writes: 33,
            bytes_written: 44 * 512,
            flushes: Some(87),
            bytes_discarded: Some(77 * 512),
            busy: Duration::from_millis(55),
        };
        assert_eq!(sample.device, Some(expected));
        assert_eq!(sample.stalled, None, "no pressure accounting in this kernel");
    }

    #[test]
    fn a_kernel_that_does_not_count_flushes_gives_none() {
        let (_folder, root) = fake_root(&[
            ("proc/stat", CPU),
            ("proc/self/stat", SELF),
            ("proc/pressure/io", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1500\n"),
            ("sys/class/block/sda/stat", "1 0 2 0 3 0 4 0 0 5 5"),
        ]);
        let probe = SampleProbe::open(&root, &["sda"]).unwrap();
        let sample = probe.sample().unwrap();
        assert_eq!(sample.device.map(|device| (device.flushes, device.bytes_discarded)), Some((None, None)));
        assert_eq!(sample.stalled, Some(Duration::from_micros(1500)));
        let children = Duration::from_millis(700);
        assert!(probe.own_cpu().unwrap() >= children, "70 ticks of waited-for children");
    }

    #[test]
    fn a_device_that_is_not_there_is_reported() {
        let (_folder, root) = fake_root(&[("proc/stat", CPU), ("proc/self/stat", SELF)]);
        let shown = SampleProbe::open(&root, &["sdz"]).unwrap_err().to_string();
        assert!(shown.contains("sys/class/block/sdz: No such file"), "{shown}");
        assert_eq!(SampleProbe::open(&root, NONE).unwrap().sample().unwrap().device, None);
    }
}
