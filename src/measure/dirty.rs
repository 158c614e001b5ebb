//! Watches how much unwritten data the machine holds while a phase runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::time::ClockId;

use crate::host::procfs::Memory;
use crate::host::root::{OpenFile, PAGE, ReadError, Root};

use super::error::MeasureError;
use super::sample::cpu_clock;

/// How often it looks: often enough to see a buffer fill, seldom enough to cost a thousandth of a processor.
const INTERVAL: Duration = Duration::from_millis(40);

/// A thread that looks at `/proc/meminfo` now and then. It ends when this is stopped or dropped.
#[derive(Debug)]
pub(super) struct DirtyWatch {
    /// Dropping it ends the thread at once.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<Result<(), ReadError>>>,
    seen: Arc<Seen>,
}

#[derive(Debug)]
struct Seen {
    file: OpenFile,
    peak: AtomicU64,
    /// CPU time of the thread itself, which is not the phase's.
    nanoseconds: AtomicU64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct DirtyPeak {
    /// Largest Dirty + Writeback in bytes.
    pub(super) bytes: u64,
    pub(super) cpu: Duration,
}

impl DirtyWatch {
    pub(super) fn start(root: &Root) -> Result<DirtyWatch, MeasureError> {
        let seen = Arc::new(Seen::open(root)?);
        let (stop, stopped) = channel();
        let watched = Arc::clone(&seen);
        let thread = std::thread::Builder::new()
            .name("dirty-watch".to_owned())
            .spawn(move || watched.watch(&stopped))
            .map_err(MeasureError::Watch)?;
        Ok(DirtyWatch { stop: Some(stop), thread: Some(thread), seen })
    }

    pub(super) fn look(&self) -> Result<(), ReadError> {
        self.seen.look()
    }

    /// CPU time the watching thread has used so far.
    pub(super) fn cost(&self) -> Duration {
        Duration::from_nanos(self.seen.nanoseconds.load(Ordering::Relaxed))
    }

    /// Ends the thread and says what it saw.
    pub(super) fn stop(&mut self) -> Result<DirtyPeak, ReadError> {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has nothing to report; it does not panic.
            thread.join().unwrap_or(Ok(()))?;
        }
        Ok(DirtyPeak { bytes: self.seen.peak.load(Ordering::Relaxed), cpu: self.cost() })
    }
}

impl Drop for DirtyWatch {
    fn drop(&mut self) {
        // Reached with the thread alive only when the phase failed; that error is the one to report.
        drop(self.stop());
    }
}

impl Seen {
    fn open(root: &Root) -> Result<Seen, ReadError> {
        let file = OpenFile::open(root, "proc/meminfo")?;
        Ok(Seen { file, peak: AtomicU64::new(0), nanoseconds: AtomicU64::new(0) })
    }

    fn watch(&self, stopped: &Receiver<()>) -> Result<(), ReadError> {
        loop {
            self.look()?;
            let cpu = cpu_clock(ClockId::ThreadCPUTime).as_nanos();
            self.nanoseconds.store(u64::try_from(cpu).unwrap_or(u64::MAX), Ordering::Relaxed);
            match stopped.recv_timeout(INTERVAL) {
                Err(RecvTimeoutError::Timeout) => {}
                Ok(()) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
        }
    }

    fn look(&self) -> Result<(), ReadError> {
        let mut buffer = [0; PAGE];
        let memory = Memory::parse(self.file.read(&mut buffer)?, self.file.path())?;
        self.peak.fetch_max(memory.unwritten(), Ordering::Relaxed);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::{DirtyWatch, Seen};
    use crate::host::root::fake_root;

    fn meminfo(dirty: u64) -> String {
        format!("MemTotal: 100 kB\nMemAvailable: 50 kB\nDirty: {dirty} kB\nWriteback: 1 kB\n")
    }

    #[test]
    fn keeps_the_largest() {
        let (_folder, root) = fake_root(&[("proc/meminfo", &meminfo(3))]);
        let seen = Seen::open(&root).unwrap();
        for dirty in [3, 9, 4] {
            std::fs::write(seen.file.path(), meminfo(dirty)).unwrap();
            seen.look().unwrap();
        }
        assert_eq!(seen.peak.load(Ordering::Relaxed), 10 << 10);
    }

    #[test]
    fn stops_when_asked() {
        let (_folder, root) = fake_root(&[("proc/meminfo", &meminfo(3))]);
        let mut watch = DirtyWatch::start(&root).unwrap();
        watch.look().unwrap();
        let peak = watch.stop().unwrap();
        assert_eq!(peak.bytes, 4 << 10);
        assert_eq!(watch.stop().unwrap(), peak, "stopping twice is harmless");
        drop(DirtyWatch::start(&root).unwrap());
    }

    #[test]
    fn what_cannot_be_read_is_reported() {
        let (_folder, root) = fake_root(&[("proc/meminfo", "MemTotal: lots\n")]);
        let shown = DirtyWatch::start(&root).unwrap().stop().unwrap_err().to_string();
        assert!(shown.contains("line 1: MemTotal"), "{shown}");
        let (_folder, root) = fake_root(&[]);
        assert!(DirtyWatch::start(&root).unwrap_err().to_string().contains("proc/meminfo"));
    }
}
