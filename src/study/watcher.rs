//! Watches the machine while a trial runs: CPU time of other programs and of the hypervisor, bytes that others move
//! on the disk, and whether the machine became slower.
//!
//! *Foreign CPU* is the machine's user-mode time minus the user-mode time of this process and of all children that it
//! has waited for; between trials nothing of fsverdict's runs. Kernel time is left out on purpose: kworkers, journal
//! threads and loop threads work on behalf of the trial and are no children of this process. In user mode, only the
//! children of this process work for the trial.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::param::clock_ticks_per_second;

use fsverdict_judgement::journal::{Sentinel, Surroundings};
use fsverdict_lab::lab::{Attachment, Attachments};
use fsverdict_linux::host::block_device::DeviceNumber;
use fsverdict_linux::host::procfs::{CpuTimes, ProcessStat, cpu_times};
use fsverdict_linux::host::root::Root;
use fsverdict_linux::host::sysfs::{SECTOR, bottom_devices, device_stat, partition_parent};

use super::clocks::{ClockReadings, ClockWatch};
use super::machine_speed::time_sentinel;

/// Watches the machine while a trial runs.
pub trait Watcher {
    fn begin_trial(&mut self);
    /// Reads values that may change back before the trial ends.
    fn read_clocks(&mut self) {}
    /// Ends the watch. The trial itself moved at most `own_bytes`. A value that cannot be read is left out.
    fn end_trial(&mut self, own_bytes: u64) -> Surroundings;
}

/// A watcher that observes nothing, so that every block counts.
#[derive(Debug, Default)]
pub struct UnwatchedMachine;

impl Watcher for UnwatchedMachine {
    fn begin_trial(&mut self) {}

    fn end_trial(&mut self, _own_bytes: u64) -> Surroundings {
        Surroundings::default()
    }
}

#[derive(Debug)]
pub struct MachineWatcher {
    root: Root,
    shared: Option<SharedDisk>,
    before: Option<WatcherReadings>,
    clocks: Option<ClockWatch>,
    /// Set when this process continues after a stop: SIGCONT cannot be kept from a process (signal(7)).
    continued: Arc<AtomicBool>,
}

/// A disk that other programs use as well.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SharedDisk {
    disks: Vec<String>,
    /// The partition that only the run uses, if its bytes are counted separately.
    own: Option<String>,
}

#[derive(Debug, Clone)]
struct WatcherReadings {
    cpu: Option<CpuTimes>,
    own_user: Option<u64>,
    bytes: Option<u64>,
    sentinel: Option<Sentinel>,
}

impl MachineWatcher {
    pub fn new(attachments: &Attachments) -> Self {
        let root = Root::default();
        // Only the first device is examined: images share one folder, and of several disks only the first is watched
        // for foreign bytes.
        let shared = match attachments.first_device() {
            Attachment::Image { folder, .. } | Attachment::Modelled { folder, .. } => {
                below_folder(&root, folder)
            }
            Attachment::Folders { .. } => None,
            Attachment::Device { ticket, .. } => beside_partition(&root, &ticket.path),
        };
        let continued = Arc::default();
        // If the handler cannot be registered, a stop of this process goes unnoticed; stops of the trial's processes
        // are still seen.
        let _ = signal_hook::flag::register(signal_hook::consts::SIGCONT, Arc::clone(&continued));
        Self { root, shared, before: None, clocks: None, continued }
    }

    fn take_readings(&self) -> WatcherReadings {
        WatcherReadings {
            cpu: cpu_times(&self.root).ok(),
            own_user: ProcessStat::read(&self.root, "self").ok().map(|own| own.user_ticks()),
            bytes: self.shared.as_ref().and_then(|shared| shared.bytes_moved(&self.root)),
            sentinel: None,
        }
    }
}

impl Watcher for MachineWatcher {
    fn begin_trial(&mut self) {
        let sentinel = Some(time_sentinel());
        self.before = Some(WatcherReadings { sentinel, ..self.take_readings() });
        self.continued.store(false, Ordering::Relaxed);
        self.clocks = Some(ClockWatch::from_readings(ClockReadings::now()));
    }

    fn read_clocks(&mut self) {
        if let Some(clocks) = &mut self.clocks {
            clocks.add_readings(ClockReadings::now());
        }
    }

    fn end_trial(&mut self, own_bytes: u64) -> Surroundings {
        let Some(before) = self.before.take() else { return Surroundings::default() };
        let after = self.take_readings();
        self.read_clocks();
        let mut surroundings = Surroundings {
            sentinel: before.sentinel,
            slept: self.clocks.as_ref().and_then(ClockWatch::seconds_slept),
            clock_step: self.clocks.as_ref().and_then(ClockWatch::clock_step),
            stopped: self.continued.load(Ordering::Relaxed),
            ..Surroundings::default()
        };
        if let Some((first, last)) = before.cpu.zip(after.cpu) {
            let per_second = clock_ticks_per_second() as f64;
            let seconds = |ticks: u64| ticks as f64 / per_second;
            surroundings.cpu_time = Some(seconds(total_ticks(&last).saturating_sub(total_ticks(&first))));
            surroundings.steal = Some(seconds(last.steal.saturating_sub(first.steal)));
            let own_ticks = before.own_user.zip(after.own_user);
            surroundings.foreign_cpu = own_ticks.map(|own| seconds(foreign_user_ticks(&first, &last, own)));
        }
        if let Some((first, last)) = before.bytes.zip(after.bytes) {
            let moved = last.saturating_sub(first);
            let counted_apart = self.shared.as_ref().is_some_and(|shared| shared.own.is_some());
            surroundings.foreign_bytes =
                Some(if counted_apart { moved } else { moved.saturating_sub(own_bytes) });
            surroundings.own_bytes = Some(own_bytes);
        }
        surroundings
    }
}

fn total_ticks(times: &CpuTimes) -> u64 {
    times.busy_ticks() + times.idle + times.io_wait + times.steal
}

/// User-mode ticks that were not this process's own. Both counters are rounded, so the own ticks may exceed the
/// total.
fn foreign_user_ticks(first: &CpuTimes, last: &CpuTimes, own: (u64, u64)) -> u64 {
    let user = (last.user + last.nice).saturating_sub(first.user + first.nice);
    user.saturating_sub(own.1.saturating_sub(own.0))
}

impl SharedDisk {
    /// The bytes moved so far by others, if the run's own partition is counted separately; otherwise by all.
    fn bytes_moved(&self, root: &Root) -> Option<u64> {
        let bytes_of = |name: &String| {
            let stat = device_stat(root, name).ok()?;
            Some((stat.read_sectors + stat.write_sectors) * SECTOR)
        };
        let total: u64 = self.disks.iter().map(bytes_of).sum::<Option<u64>>()?;
        match &self.own {
            Some(own) => Some(total.saturating_sub(bytes_of(own)?)),
            None => Some(total),
        }
    }
}

/// The disks below the folder of a scratch image; `None` if the folder is on no block device of its own (tmpfs,
/// btrfs, a network filesystem).
fn below_folder(root: &Root, folder: &Path) -> Option<SharedDisk> {
    let number = DeviceNumber::from_raw(std::fs::metadata(folder).ok()?.dev());
    let link = root.path(format!("sys/dev/block/{number}")).canonicalize().ok()?;
    let name = link.file_name()?.to_str()?.replace('!', "/");
    let mut disks: Vec<String> = bottom_devices(root, &name)
        .ok()?
        .into_iter()
        .map(|bottom| partition_parent(root, &bottom).unwrap_or(bottom))
        .collect();
    disks.dedup();
    (!disks.is_empty()).then_some(SharedDisk { disks, own: None })
}

/// The disk of a partition: other programs may use its other partitions. A whole disk belongs to the run alone.
fn beside_partition(root: &Root, path: &Path) -> Option<SharedDisk> {
    let name = path.canonicalize().ok()?.strip_prefix("/dev").ok()?.to_str()?.to_owned();
    let disk = partition_parent(root, &name)?;
    Some(SharedDisk { disks: vec![disk], own: Some(name) })
}

#[cfg(test)]
mod tests {
    use super::{MachineWatcher, SharedDisk, Watcher, foreign_user_ticks, total_ticks};
    use fsverdict_lab::lab::Attachment;
    use fsverdict_linux::host::procfs::CpuTimes;
    use fsverdict_linux::host::root::Root;

    #[test]
    fn foreign_cpu_is_what_is_not_ours_in_user_mode() {
        let first = CpuTimes { user: 100, system: 50, idle: 1000, ..CpuTimes::default() };
        let last = CpuTimes { user: 160, nice: 20, system: 350, idle: 1560, io_wait: 10, steal: 50, ..first };
        assert_eq!(total_ticks(&last) - total_ticks(&first), 1000);
        // 80 ticks in user mode, of which 30 are this process's own.
        assert_eq!(foreign_user_ticks(&first, &last, (7, 37)), 50);
        assert_eq!(foreign_user_ticks(&first, &last, (0, 500)), 0);
    }

    #[test]
    fn a_partition_is_counted_apart_from_its_disk() {
        let stat = |read: u64, written: u64| format!("1 0 {read} 0 1 0 {written} 0 0 0 0\n");
        let folder = tempfile::tempdir().unwrap();
        let root = Root::new(folder.path());
        for (device, counters) in [("sda", stat(1000, 500)), ("sda1", stat(900, 100))] {
            let sysfs = folder.path().join("sys/class/block").join(device);
            std::fs::create_dir_all(&sysfs).unwrap();
            std::fs::write(sysfs.join("stat"), counters).unwrap();
        }
        let shared =
            |own: Option<&str>| SharedDisk { disks: vec!["sda".to_owned()], own: own.map(str::to_owned) };
        assert_eq!(shared(None).bytes_moved(&root), Some(1500 * 512));
        assert_eq!(shared(Some("sda1")).bytes_moved(&root), Some(500 * 512));
        assert_eq!(shared(Some("sda2")).bytes_moved(&root), None);
    }

    #[test]
    fn this_machine_can_be_watched() {
        let mut machine =
            MachineWatcher::new(&Attachment::Image { folder: std::env::temp_dir(), size: 1, room: 1 }.into());
        machine.begin_trial();
        let found = machine.end_trial(0);
        assert!(found.sentinel.is_some(), "{found:?}");
        assert!(found.foreign_cpu <= found.cpu_time, "{found:?}");
        assert_eq!(machine.end_trial(0), fsverdict_judgement::journal::Surroundings::default());
    }
}
