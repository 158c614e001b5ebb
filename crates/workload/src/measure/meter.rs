//! The meter the agent puts around a phase.

use std::time::{Duration, Instant};

use fsverdict_judgement::journal::{Caution, CountedComputation, Measurement, Observation, Unit, WorkCourse};
use fsverdict_linux::host::procfs::cpu_times;
use fsverdict_linux::host::root::{ReadError, Root};
use fsverdict_linux::host::sysfs::is_counted;

use super::account::{AccountReadings, WorkDone, compute_measurements};
use super::computation::{ComputationClasses, ComputationProbe};
use super::dirty::DirtyWatch;
use super::error::MeasureError;
use super::sample::{SampleProbe, below_all};
use super::space::Fresh;

/// How long [`idle_load`] looks by default. CPU time comes in ticks of 10 ms: shorter says little.
pub const IDLE_WINDOW: Duration = Duration::from_millis(400);

/// CPU seconds per wall second that the machine uses while we do nothing, measured over `window`.
pub fn idle_load(root: &Root, window: Duration) -> Result<f64, ReadError> {
    let started = Instant::now();
    let before = cpu_times(root)?.busy_ticks();
    std::thread::sleep(window);
    let after = cpu_times(root)?.busy_ticks();
    let ticks = rustix::param::clock_ticks_per_second().max(1) as f64;
    let elapsed = started.elapsed().as_secs_f64();
    let busy = after.saturating_sub(before) as f64 / ticks;
    Ok(if elapsed > 0.0 { busy / elapsed } else { 0.0 })
}

/// Measures phases on one device. Its files stay open, so that measuring costs a few system calls.
#[derive(Debug)]
pub struct Meter {
    root: Root,
    probe: SampleProbe,
    idle_load: f64,
    /// The counters of a kernel that counts its computation.
    computation: Option<ComputationProbe>,
    /// Cautions for the reader of this meter's numbers.
    pub cautions: Vec<Caution>,
}

impl Meter {
    /// Creates a meter for phases on `devices` (kernel names, e.g. `dm-0`; the devices below them are counted, all
    /// together), on a machine with a load of `idle_load` without the phase (see [`idle_load`]). Without a device there
    /// are no device metrics.
    pub fn new(root: &Root, devices: &[impl AsRef<str>], idle_load: f64) -> Result<Meter, MeasureError> {
        let probe = SampleProbe::open(root, devices)?;
        let mut cautions = Vec::new();
        for bottom in below_all(root, devices)? {
            if !is_counted(root, &bottom)? {
                cautions.push(Caution::new(format!(
                        "the kernel keeps no counters for {bottom} (queue/iostats is 0): its bytes, requests and busy time read as 0"
                    )));
            }
        }
        Ok(Meter { root: root.clone(), probe, idle_load, computation: None, cautions })
    }

    /// Also records the kernel's counts of these classes.
    ///
    /// # Errors
    /// When it does not count, its counts cannot be read, or are of other classes.
    pub fn with_computation(self, classes: ComputationClasses) -> Result<Meter, MeasureError> {
        let computation = ComputationProbe::open(&self.root, classes)?;
        Ok(Meter { computation: Some(computation), ..self })
    }

    /// Runs `work` under the first clock, makes it durable under the second, and measures the cost of both. `cache` is
    /// the cache state: `cold`, `warm` or `fresh`; `context` is passed to both steps.
    ///
    /// # Errors
    /// Those of the two steps, and when a counter cannot be read.
    pub fn clock<C, T, E: From<MeasureError>>(
        &self,
        phase: &str,
        cache: &str,
        context: &mut C,
        work: impl FnOnce(&mut C) -> Result<T, E>,
        make_durable: impl FnOnce(&mut C) -> Result<(), E>,
    ) -> Result<(T, Clocked), E> {
        let read = |error: ReadError| MeasureError::from(error);
        let mut watch = DirtyWatch::start(&self.root)?;
        let before = self.probe.sample().map_err(read)?;
        let own_before = self.probe.own_cpu().map_err(read)?;
        let watch_cost = watch.cpu_used();
        let counted = || self.computation.as_ref().map(ComputationProbe::sample).transpose().map_err(read);
        let counted_before = counted()?;
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        let began = Duration::try_from(now).unwrap_or_default();
        // Last, so that none of the above is on the clock.
        let started = Instant::now();
        let work_done = work(context)?;
        let returned = started.elapsed();
        let own_cpu = self.probe.own_cpu().map_err(read)?.saturating_sub(own_before);
        let watching = watch.cpu_used().saturating_sub(watch_cost);
        // The moment when most is likely to be unwritten.
        watch.sample_now().map_err(read)?;
        make_durable(context)?;
        let durable = started.elapsed();
        let counted_after = counted()?;
        let after = self.probe.sample().map_err(read)?;
        let mut dirty = watch.stop_and_report().map_err(read)?;
        dirty.cpu = dirty.cpu.saturating_sub(watch_cost);
        let both = self.computation.as_ref().zip(counted_before).zip(counted_after);
        let computation = both.map(|((probe, before), after)| probe.between(&before, &after));
        let clocked = Clocked {
            phase: phase.to_owned(),
            cache: cache.to_owned(),
            computation,
            readings: AccountReadings {
                began,
                returned,
                durable,
                before,
                after,
                own_cpu: own_cpu.saturating_sub(watching),
                idle_load: self.idle_load,
                dirty,
                space: None,
                ticks_per_second: self.probe.ticks_per_second,
            },
        };
        Ok((work_done, clocked))
    }
}

/// A phase with its work done and durable, ready to be evaluated.
#[derive(Debug)]
pub struct Clocked {
    phase: String,
    cache: String,
    computation: Option<CountedComputation>,
    readings: AccountReadings,
}

impl Clocked {
    /// The observation; `fresh` is the filesystem under test as it was when it was made, if it is mounted.
    pub fn finish(mut self, work: WorkDone, fresh: Option<&Fresh>) -> Result<Observation, MeasureError> {
        self.readings.space = fresh.map(Fresh::since_phase_start).transpose()?;
        let mut measurements = compute_measurements(&self.readings, &work);
        measurements.extend(self.computation.as_ref().map(|counted| {
            // Nanoseconds of a phase are far below 2⁵³.
            Measurement::new("charged", Unit::Seconds, counted.charged_ns as f64 / 1e9)
        }));
        Ok(Observation {
            measurements,
            phase: self.phase,
            histograms: work.histograms,
            cache: self.cache,
            repetition: 0,
            unwritten: self.readings.dirty.course,
            course: work.course.map(WorkCourse::thin_out),
            computation: self.computation,
        })
    }
}

#[cfg(test)]
mod tests {
    const NONE: &[&str] = &[];
    use std::time::Duration;

    use super::{MeasureError, Meter, idle_load};
    use crate::measure::fake_root;
    use crate::measure::{Fresh, WorkDone};
    use fsverdict_linux::host::root::Root;

    const MEMINFO: &str = "MemTotal: 9 kB\nMemAvailable: 5 kB\nDirty: 2 kB\nWriteback: 1 kB\n";
    const SELF: &str = "1 (agent) S 1 1 1 0 -1 0 1 2 3 4 0 0 0 0 20 0 1 0 500";

    fn files() -> Vec<(&'static str, &'static str)> {
        vec![
            ("proc/stat", "cpu 100 0 0 0 0 0 0 0 0 0\n"),
            ("proc/self/stat", SELF),
            ("proc/meminfo", MEMINFO),
            ("sys/class/block/sda/stat", "1 0 8 0 1 0 8 0 0 5 5 0 0 0 0 3 0"),
            ("sys/class/block/sda/queue/iostats", "1"),
        ]
    }

    fn nothing<C>(_: &mut C) -> Result<(), MeasureError> {
        Ok(())
    }

    #[test]
    fn measures_what_changed_between_start_and_durable() {
        let (folder, root) = fake_root(&files());
        let meter = Meter::new(&root, &["sda"], 0.0).unwrap();
        assert!(meter.cautions.is_empty());
        let stat = root.path("sys/class/block/sda/stat");
        let write = |text: &str| std::fs::write(&stat, text).unwrap();
        let make_durable = |_: &mut ()| {
            write("1 0 8 0 5 0 208 0 0 25 25 0 0 0 0 4 0");
            Ok::<(), MeasureError>(())
        };
        let ((), clocked) = meter.clock("write", "fresh", &mut (), nothing, make_durable).unwrap();
        write("9 9 9 9 9 9 999 9 9 99 99 0 0 0 0 99 0");
        let work = WorkDone { bytes_written: 51_200, ..WorkDone::default() };
        let fresh = Fresh::before_phase(folder.path(), u64::MAX).unwrap();
        let observation = clocked.finish(work, Some(&fresh)).unwrap();
        assert_eq!((observation.phase.as_str(), observation.cache.as_str()), ("write", "fresh"));
        for (name, expected) in [
            ("device_writes", 4.0),
            ("device_written", 102_400.0),
            ("device_flushes", 1.0),
            ("write_amplification", 2.0),
            ("dirty_peak", 3072.0),
        ] {
            assert_eq!(observation.value(name).unwrap(), expected, "{name}");
        }
        assert!(observation.value("durable").unwrap() >= observation.value("returned").unwrap());
        assert!(observation.value("space_lost").unwrap() > 0.0);
    }

    #[test]
    fn without_a_device_there_are_no_numbers_of_one() {
        let (_folder, root) = fake_root(&files());
        let meter = Meter::new(&root, NONE, 0.0).unwrap();
        let ((), clocked) = meter.clock("umount", "warm", &mut (), nothing, nothing).unwrap();
        let observation = clocked.finish(WorkDone::default(), None).unwrap();
        assert!(!observation.measurements.iter().any(|measurement| measurement.metric.starts_with("device")));
    }

    #[test]
    fn what_a_counting_kernel_charges_until_durable_is_recorded() {
        let mut files = files();
        files.push(("proc/cpu_price", "9 9 9\n"));
        let (_folder, root) = fake_root(&files);
        let meter = Meter::new(&root, NONE, 0.0).unwrap().with_computation(&["block_hot"]).unwrap();
        let file = root.path("proc/cpu_price");
        let charge = |_: &mut ()| {
            std::fs::write(&file, "2000009 1009 19\n").unwrap();
            Ok::<(), MeasureError>(())
        };
        let ((), clocked) = meter.clock("write", "fresh", &mut (), nothing, charge).unwrap();
        std::fs::write(&file, "9999999 9 99\n").unwrap();
        let observation = clocked.finish(WorkDone::default(), None).unwrap();
        assert_eq!(observation.value("charged"), Some(0.002));
        let counted = observation.computation.unwrap();
        assert_eq!(
            (counted.charged_ns, counted.slept_ns, counted.counts["block_hot"]),
            (2_000_000, 1000, 10)
        );
        // Without such a kernel nothing is said of it.
        let meter = Meter::new(&root, NONE, 0.0).unwrap();
        let ((), clocked) = meter.clock("write", "fresh", &mut (), nothing, nothing).unwrap();
        let observation = clocked.finish(WorkDone::default(), None).unwrap();
        assert!(observation.value("charged").is_none() && observation.computation.is_none());
    }

    #[test]
    fn says_when_the_kernel_does_not_count() {
        let mut files = files();
        files[4].1 = "0\n";
        let (_folder, root) = fake_root(&files);
        let meter = Meter::new(&root, &["sda"], 0.0).unwrap();
        assert!(meter.cautions[0].text.contains("no counters for sda"));
    }

    #[test]
    fn errors_say_what_failed() {
        let (_folder, root) = fake_root(&files());
        let meter = Meter::new(&root, NONE, 0.0).unwrap();
        let ((), failed) = meter.clock("write", "fresh", &mut (), nothing, nothing).unwrap();
        let gone = tempfile::tempdir().unwrap();
        let fresh = Fresh::before_phase(gone.path(), 0).unwrap();
        let place = gone.path().display().to_string();
        drop(gone);
        let error = failed.finish(WorkDone::default(), Some(&fresh)).unwrap_err();
        assert!(matches!(error, MeasureError::Space { .. }));
        assert!(error.to_string().contains(&format!("{place}: No such file")), "{error}");
        let meminfo = root.path("proc/meminfo");
        let spoil = |_: &mut ()| {
            std::fs::write(&meminfo, "Dirty: x kB\n").unwrap();
            Ok::<(), MeasureError>(())
        };
        let blind = meter.clock("write", "fresh", &mut (), spoil, nothing);
        assert!(blind.unwrap_err().to_string().contains("line 1: Dirty"));
    }

    #[test]
    fn works_on_this_machine() {
        let root = Root::default();
        let idle = idle_load(&root, Duration::from_millis(20)).unwrap();
        let meter = Meter::new(&root, NONE, idle).unwrap();
        let work = |_: &mut ()| {
            let numbers = (0..1_000_000_u64).map(|number| std::hint::black_box(number ^ 7));
            Ok::<u64, MeasureError>(numbers.sum())
        };
        let (sum, clocked) = meter.clock("smoke", "warm", &mut (), work, nothing).unwrap();
        let work = WorkDone { files: sum.min(1), ..WorkDone::default() };
        let observation = clocked.finish(work, None).unwrap();
        assert!(observation.value("cpu").unwrap() > 0.0);
        assert_eq!(observation.value("space_grown"), None);
    }
}
