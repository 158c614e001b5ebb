//! Watches how much unwritten data the machine holds while a phase runs.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::time::ClockId;

use fsverdict_linux::host::procfs::Memory;
use fsverdict_linux::host::root::{OpenFile, PAGE, ReadError, Root};

use super::error::MeasureError;
use super::sample::cpu_clock;

/// How often it looks: often enough to see a buffer fill, seldom enough to cost a thousandth of a processor.
const INTERVAL: Duration = Duration::from_millis(40);

/// The maximum number of points: enough for a chart. When it is reached, neighbouring points are merged in pairs.
const KEPT: usize = 64;

/// A point is made of no more looks than this: a phase of hours is looked at less often. A look costs a guest in simulated
/// time a millisecond and more of ours, and an idle second 25 of them.
const LOOKS: u32 = 8;

/// A thread that looks at `/proc/meminfo` now and then. It ends when this is stopped or dropped.
#[derive(Debug)]
pub(super) struct DirtyWatch {
    /// Dropping it ends the thread at once.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<Result<(), ReadError>>>,
    seen: Arc<DirtySample>,
}

#[derive(Debug)]
struct DirtySample {
    file: OpenFile,
    began: Instant,
    course: Mutex<DirtyCourse>,
    /// CPU time of the thread itself, which is not the phase's.
    nanoseconds: AtomicU64,
}

/// The samples, evenly spaced in time.
#[derive(Debug, Default)]
struct DirtyCourse {
    /// (milliseconds since the watch began, the largest Dirty + Writeback in bytes from then to the next point).
    points: Vec<(u64, u64)>,
    /// The number of samples in each point but the last; a power of two.
    looks: u32,
    /// Of how many the last is made.
    made: u32,
    /// How many times [`INTERVAL`] lies between two looks, less one.
    slower: u32,
}

impl DirtyCourse {
    /// How long to wait until the next look.
    fn sampling_pause(&self) -> Duration {
        INTERVAL * (self.slower + 1)
    }

    fn add_sample(&mut self, milliseconds: u64, bytes: u64) {
        if let Some((_, last)) = self.points.last_mut().filter(|_| self.made < self.looks) {
            *last = bytes.max(*last);
            self.made += 1;
            return;
        }
        if self.points.len() == KEPT {
            let pairs = self.points.chunks(2);
            let one =
                |pair: &[(u64, u64)]| Some((pair.first()?.0, pair.iter().map(|(_, bytes)| *bytes).max()?));
            self.points = pairs.filter_map(one).collect();
            if self.looks < LOOKS {
                self.looks *= 2;
            } else {
                self.slower = self.slower * 2 + 1;
            }
        }
        self.points.push((milliseconds, bytes));
        self.looks = self.looks.max(1);
        self.made = 1;
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct DirtyPeak {
    /// Largest Dirty + Writeback in bytes.
    pub(super) bytes: u64,
    /// (milliseconds since the watch began, bytes of Dirty + Writeback).
    pub(super) course: Vec<(u64, u64)>,
    pub(super) cpu: Duration,
}

impl DirtyWatch {
    pub(super) fn start(root: &Root) -> Result<DirtyWatch, MeasureError> {
        let sample = Arc::new(DirtySample::open(root)?);
        let (stop, stopped) = channel();
        let watched = Arc::clone(&sample);
        let thread = std::thread::Builder::new()
            .name("dirty-watch".to_owned())
            .spawn(move || watched.sample_until_stopped(&stopped))
            .map_err(MeasureError::Watch)?;
        Ok(DirtyWatch { stop: Some(stop), thread: Some(thread), seen: sample })
    }

    pub(super) fn sample_now(&self) -> Result<(), ReadError> {
        self.seen.sample_now()
    }

    /// CPU time the watching thread has used so far.
    pub(super) fn cpu_used(&self) -> Duration {
        Duration::from_nanos(self.seen.nanoseconds.load(Ordering::Relaxed))
    }

    /// Ends the thread and returns its samples.
    pub(super) fn stop_and_report(&mut self) -> Result<DirtyPeak, ReadError> {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has nothing to report; it does not panic.
            thread.join().unwrap_or(Ok(()))?;
        }
        let course = self.seen.course.lock().unwrap_or_else(PoisonError::into_inner).points.clone();
        let bytes = course.iter().map(|(_, bytes)| *bytes).max().unwrap_or(0);
        Ok(DirtyPeak { bytes, course, cpu: self.cpu_used() })
    }
}

impl Drop for DirtyWatch {
    fn drop(&mut self) {
        // Reached with the thread alive only when the phase failed; that error is the one to report.
        drop(self.stop_and_report());
    }
}

impl DirtySample {
    fn open(root: &Root) -> Result<DirtySample, ReadError> {
        let file = OpenFile::open(root, "proc/meminfo")?;
        let course = Mutex::new(DirtyCourse::default());
        Ok(DirtySample { file, began: Instant::now(), course, nanoseconds: AtomicU64::new(0) })
    }

    fn sample_until_stopped(&self, stopped: &Receiver<()>) -> Result<(), ReadError> {
        loop {
            self.sample_now()?;
            let cpu = cpu_clock(ClockId::ThreadCPUTime).as_nanos();
            self.nanoseconds.store(u64::try_from(cpu).unwrap_or(u64::MAX), Ordering::Relaxed);
            let pause = self.course.lock().unwrap_or_else(PoisonError::into_inner).sampling_pause();
            match stopped.recv_timeout(pause) {
                Err(RecvTimeoutError::Timeout) => {}
                Ok(()) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
        }
    }

    fn sample_now(&self) -> Result<(), ReadError> {
        let mut buffer = [0; PAGE];
        let memory = Memory::parse(self.file.read(&mut buffer)?, self.file.path())?;
        let milliseconds = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let mut course = self.course.lock().unwrap_or_else(PoisonError::into_inner);
        course.add_sample(milliseconds, memory.unwritten_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{DirtyCourse, DirtySample, DirtyWatch, KEPT};
    use crate::measure::fake_root;

    fn meminfo(dirty: u64) -> String {
        format!("MemTotal: 100 kB\nMemAvailable: 50 kB\nDirty: {dirty} kB\nWriteback: 1 kB\n")
    }

    #[test]
    fn keeps_the_course_and_its_largest() {
        let (_folder, root) = fake_root(&[("proc/meminfo", &meminfo(3))]);
        let seen = DirtySample::open(&root).unwrap();
        let mut looks = vec![3; 2 * KEPT];
        looks[70] = 9;
        for dirty in looks {
            std::fs::write(seen.file.path(), meminfo(dirty)).unwrap();
            seen.sample_now().unwrap();
        }
        let course = seen.course.into_inner().unwrap().points;
        assert!(course.len() <= KEPT);
        assert_eq!(course.iter().map(|(_, bytes)| *bytes).max(), Some(10 << 10));
    }

    #[test]
    fn a_long_course_is_thinned_evenly() {
        for (seconds, most) in [(1, 25), (40, 800), (3600, 3000)] {
            let mut course = DirtyCourse::default();
            let (mut now, mut looks) = (0, 0);
            while now < seconds * 1000 {
                course.add_sample(now, now);
                now += u64::try_from(course.sampling_pause().as_millis()).unwrap();
                looks += 1;
            }
            assert!(looks <= most, "{looks} looks in {seconds} s");
            let every = course.points[1].0;
            assert!(course.points.len() >= 25 && course.points.len() <= KEPT);
            assert!(course.points.iter().zip(0..).all(|((milliseconds, _), at)| *milliseconds == at * every));
            assert!(course.points.last().is_some_and(|(_, most)| *most + every >= seconds * 1000));
        }
    }

    #[test]
    fn stops_when_asked() {
        let (_folder, root) = fake_root(&[("proc/meminfo", &meminfo(3))]);
        let mut watch = DirtyWatch::start(&root).unwrap();
        watch.sample_now().unwrap();
        let peak = watch.stop_and_report().unwrap();
        assert_eq!((peak.bytes, peak.course.last().map(|(_, bytes)| *bytes)), (4 << 10, Some(4 << 10)));
        assert_eq!(watch.stop_and_report().unwrap(), peak, "stopping twice is harmless");
        drop(DirtyWatch::start(&root).unwrap());
    }

    #[test]
    fn what_cannot_be_read_is_reported() {
        let (_folder, root) = fake_root(&[("proc/meminfo", "MemTotal: lots\n")]);
        let shown = DirtyWatch::start(&root).unwrap().stop_and_report().unwrap_err().to_string();
        assert!(shown.contains("line 1: MemTotal"), "{shown}");
        let (_folder, root) = fake_root(&[]);
        assert!(DirtyWatch::start(&root).unwrap_err().to_string().contains("proc/meminfo"));
    }
}
