//! The meter the agent puts around a phase.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::host::procfs::cpu_times;
use crate::host::root::{ReadError, Root};
use crate::host::sysfs::{bottom_devices, queue_settings};
use crate::journal::{Caution, Observation};

use super::account::{Readings, WorkDone, measurements};
use super::dirty::{DirtyPeak, DirtyWatch};
use super::sample::{Probe, Sample};

/// How long [`idle_load`] looks by default. CPU time comes in ticks of 10 ms: shorter says little.
pub const IDLE_WINDOW: Duration = Duration::from_millis(400);

/// Why a phase could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// A counter of the kernel could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The space in use could not be asked for.
    #[error("cannot ask how much space is used on {}: {source}", mount_point.display())]
    Space {
        /// Where the filesystem is mounted.
        mount_point: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The thread that watches dirty memory could not be started.
    #[error("cannot start the thread that watches dirty memory: {0}")]
    Watch(io::Error),
}

/// CPU seconds per wall second that the machine uses while we do nothing, measured over `window`.
///
/// # Errors
/// When `/proc/stat` cannot be read or understood.
pub fn idle_load(root: &Root, window: Duration) -> Result<f64, ReadError> {
    let started = Instant::now();
    let before = cpu_times(root)?.busy();
    std::thread::sleep(window);
    let after = cpu_times(root)?.busy();
    let ticks = rustix::param::clock_ticks_per_second().max(1) as f64;
    let elapsed = started.elapsed().as_secs_f64();
    let busy = after.saturating_sub(before) as f64 / ticks;
    Ok(if elapsed > 0.0 { busy / elapsed } else { 0.0 })
}

/// Measures phases on one device. Its files stay open, so that measuring costs a few system calls.
#[derive(Debug)]
pub struct Meter {
    root: Root,
    probe: Probe,
    idle_load: f64,
    cautions: Vec<Caution>,
}

impl Meter {
    /// A meter for phases on `device` (kernel name, e.g. `dm-0`: what it stands on is what is counted), on a
    /// machine that uses `idle_load` by itself (see [`idle_load`]). Without a device there are no device numbers.
    ///
    /// # Errors
    /// When the device or a counter is not there or cannot be understood.
    pub fn new(root: &Root, device: Option<&str>, idle_load: f64) -> Result<Meter, MeasureError> {
        let probe = Probe::open(root, device)?;
        let mut cautions = Vec::new();
        for bottom in device.map(|name| bottom_devices(root, name)).transpose()?.unwrap_or_default() {
            if queue_settings(root, &bottom)?.counted == Some(false) {
                cautions.push(Caution {
                    phase: String::new(),
                    text: format!(
                        "the kernel keeps no counters for {bottom} (queue/iostats is 0): its bytes, requests and busy time read as 0"
                    ),
                });
            }
        }
        Ok(Meter { root: root.clone(), probe, idle_load, cautions })
    }

    /// What a reader of this meter's numbers must know.
    pub fn cautions(&self) -> &[Caution] {
        &self.cautions
    }

    /// Starts the clocks. `cache` is the cache state: `cold`, `warm` or `fresh`.
    ///
    /// # Errors
    /// When a counter cannot be read.
    pub fn start(&self, phase: &str, cache: &str) -> Result<Running<'_>, MeasureError> {
        let watch = DirtyWatch::start(&self.root)?;
        let before = self.probe.sample()?;
        let own_cpu = self.probe.own_cpu()?;
        Ok(Running {
            meter: self,
            phase: phase.to_owned(),
            cache: cache.to_owned(),
            watch_cost: watch.cost(),
            watch,
            before,
            own_cpu,
            returned: None,
            durable: None,
            // Last, so that none of the above is on the clock.
            started: Instant::now(),
        })
    }
}

/// A phase being measured. Dropped without `finish`, it leaves nothing behind.
#[derive(Debug)]
pub struct Running<'m> {
    meter: &'m Meter,
    phase: String,
    cache: String,
    watch: DirtyWatch,
    watch_cost: Duration,
    before: Sample,
    own_cpu: Duration,
    returned: Option<Returned>,
    durable: Option<Durable>,
    started: Instant,
}

#[derive(Debug, Clone, Copy)]
struct Returned {
    wall: Duration,
    own_cpu: Duration,
}

#[derive(Debug, Clone, Copy)]
struct Durable {
    wall: Duration,
    after: Sample,
    dirty: DirtyPeak,
}

impl Running<'_> {
    /// The work has returned: stops the first clock. Call it at once, then make the work durable.
    ///
    /// # Errors
    /// When a counter cannot be read.
    pub fn returned(&mut self) -> Result<(), MeasureError> {
        let wall = self.started.elapsed();
        let own_cpu = self.meter.probe.own_cpu()?.saturating_sub(self.own_cpu);
        let watching = self.watch.cost().saturating_sub(self.watch_cost);
        self.returned = Some(Returned { wall, own_cpu: own_cpu.saturating_sub(watching) });
        // The moment when most is likely to be unwritten.
        self.watch.look()?;
        Ok(())
    }

    /// The work is durable (the caller has called syncfs): stops the second clock and reads the device.
    ///
    /// # Errors
    /// When a counter cannot be read.
    pub fn durable(&mut self) -> Result<(), MeasureError> {
        let wall = self.started.elapsed();
        let after = self.meter.probe.sample()?;
        let mut dirty = self.watch.stop()?;
        dirty.cpu = dirty.cpu.saturating_sub(self.watch_cost);
        self.durable = Some(Durable { wall, after, dirty });
        Ok(())
    }

    /// The observation. `mount_point` is where the filesystem under test is mounted, if it is.
    ///
    /// A clock that was not stopped is stopped now; a phase with nothing to make durable (an unmount) needs
    /// only [`returned`](Running::returned), and then was durable when it returned.
    ///
    /// # Errors
    /// When a counter or the space in use cannot be read.
    pub fn finish(mut self, work: WorkDone, mount_point: Option<&Path>) -> Result<Observation, MeasureError> {
        let returned = match self.returned {
            Some(returned) => returned,
            None => {
                self.returned()?;
                return self.finish(work, mount_point);
            }
        };
        let durable = match self.durable {
            Some(durable) => durable,
            None => {
                self.durable()?;
                if let Some(durable) = &mut self.durable {
                    durable.wall = returned.wall;
                }
                return self.finish(work, mount_point);
            }
        };
        let readings = Readings {
            returned: returned.wall,
            durable: durable.wall,
            before: self.before,
            after: durable.after,
            own_cpu: returned.own_cpu,
            idle_load: self.meter.idle_load,
            dirty: durable.dirty,
            space_used: mount_point.map(space_used).transpose()?,
            ticks_per_second: self.meter.probe.ticks_per_second(),
        };
        Ok(Observation {
            measurements: measurements(&readings, &work),
            phase: std::mem::take(&mut self.phase),
            histograms: work.histograms,
            cache: std::mem::take(&mut self.cache),
        })
    }
}

/// Bytes in use on the filesystem mounted here.
fn space_used(mount_point: &Path) -> Result<u64, MeasureError> {
    let space = rustix::fs::statvfs(mount_point)
        .map_err(|errno| MeasureError::Space { mount_point: mount_point.to_owned(), source: errno.into() })?;
    Ok(space.f_blocks.saturating_sub(space.f_bfree) * space.f_frsize)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use super::{MeasureError, Meter, idle_load};
    use crate::host::root::{Root, fake_root};
    use crate::journal::Observation;
    use crate::measure::WorkDone;

    const MEMINFO: &str = "MemTotal: 9 kB\nMemAvailable: 5 kB\nDirty: 2 kB\nWriteback: 1 kB\n";
    const SELF: &str = "1 (agent) S 1 1 1 0 -1 0 1 2 3 4 0 0 0 0 20 0";

    fn files() -> Vec<(&'static str, &'static str)> {
        vec![
            ("proc/stat", "cpu 100 0 0 0 0 0 0 0 0 0\n"),
            ("proc/self/stat", SELF),
            ("proc/meminfo", MEMINFO),
            ("sys/class/block/sda/stat", "1 0 8 0 1 0 8 0 0 5 5 0 0 0 0 3 0"),
            ("sys/class/block/sda/queue/iostats", "1"),
        ]
    }

    fn value(observation: &Observation, name: &str) -> f64 {
        observation.measurements.iter().find(|one| one.metric == name).unwrap().value
    }

    #[test]
    fn measures_what_changed_between_start_and_durable() {
        let (folder, root) = fake_root(&files());
        let meter = Meter::new(&root, Some("sda"), 0.0).unwrap();
        assert!(meter.cautions().is_empty());
        let mut running = meter.start("write", "fresh").unwrap();
        running.returned().unwrap();
        let stat = root.path("sys/class/block/sda/stat");
        std::fs::write(&stat, "1 0 8 0 5 0 208 0 0 25 25 0 0 0 0 4 0").unwrap();
        running.durable().unwrap();
        std::fs::write(&stat, "9 9 9 9 9 9 999 9 9 99 99 0 0 0 0 99 0").unwrap();
        let work = WorkDone { bytes_written: 51_200, ..WorkDone::default() };
        let observation = running.finish(work, Some(folder.path())).unwrap();
        assert_eq!((observation.phase.as_str(), observation.cache.as_str()), ("write", "fresh"));
        assert_eq!(value(&observation, "device_writes"), 4.0);
        assert_eq!(value(&observation, "device_written"), 102_400.0);
        assert_eq!(value(&observation, "device_flushes"), 1.0);
        assert_eq!(value(&observation, "write_amplification"), 2.0);
        assert_eq!(value(&observation, "dirty_peak"), 3072.0);
        assert!(value(&observation, "durable") >= value(&observation, "returned"));
        assert!(value(&observation, "space_used") > 0.0);
    }

    #[test]
    fn a_phase_with_nothing_to_sync_was_durable_when_it_returned() {
        let (_folder, root) = fake_root(&files());
        let meter = Meter::new(&root, None, 0.0).unwrap();
        let mut running = meter.start("umount", "warm").unwrap();
        running.returned().unwrap();
        let observation = running.finish(WorkDone::default(), None).unwrap();
        assert_eq!(value(&observation, "durable"), value(&observation, "returned"));
        assert!(!observation.measurements.iter().any(|one| one.metric.starts_with("device")));
    }

    #[test]
    fn says_when_the_kernel_does_not_count() {
        let mut files = files();
        files[4].1 = "0\n";
        let (_folder, root) = fake_root(&files);
        let meter = Meter::new(&root, Some("sda"), 0.0).unwrap();
        assert!(meter.cautions()[0].text.contains("no counters for sda"));
    }

    #[test]
    fn errors_say_what_failed() {
        let (_folder, root) = fake_root(&files());
        let meter = Meter::new(&root, None, 0.0).unwrap();
        let failed = meter.start("write", "fresh").unwrap();
        let error = failed.finish(WorkDone::default(), Some(Path::new("/no/such/place"))).unwrap_err();
        assert!(matches!(error, MeasureError::Space { .. }));
        assert!(error.to_string().contains("/no/such/place: No such file"), "{error}");
        std::fs::write(root.path("proc/meminfo"), "Dirty: x kB\n").unwrap();
        let mut blind = meter.start("write", "fresh").unwrap();
        assert!(blind.returned().unwrap_err().to_string().contains("line 1: Dirty"));
    }

    #[test]
    fn works_on_this_machine() {
        let root = Root::default();
        let idle = idle_load(&root, Duration::from_millis(20)).unwrap();
        assert!(idle >= 0.0);
        let meter = Meter::new(&root, None, idle).unwrap();
        let mut running = meter.start("smoke", "warm").unwrap();
        let sum: u64 = (0..1_000_000_u64).map(|number| std::hint::black_box(number ^ 7)).sum();
        running.returned().unwrap();
        running.durable().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let work = WorkDone { files: sum.min(1), ..WorkDone::default() };
        let observation = running.finish(work, Some(folder.path())).unwrap();
        assert!(value(&observation, "cpu") > 0.0);
        assert!(value(&observation, "durable") >= value(&observation, "returned"));
        assert!(value(&observation, "space_used") > 0.0);
    }
}
