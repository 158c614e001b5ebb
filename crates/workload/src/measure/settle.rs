//! Waits until the effects of a phase have ended: no request in flight, no write-back, the device quiet.
//!
//! Dirty and Writeback count the whole machine. Call this after a syncfs: the remaining dirty pages belong to other
//! programs, may stay for half a minute (vm.dirty_expire_centisecs), and are not waited for; their current write-back,
//! perhaps to the disk below the device, is waited for, but only briefly.

use std::time::{Duration, Instant};

use fsverdict_judgement::journal::{Caution, Measurement, Unit};
use fsverdict_linux::host::procfs::read_memory;
use fsverdict_linux::host::root::{ReadError, Root};
use fsverdict_linux::host::sysfs::{device_stat, is_in_flight};

use super::sample::below_all;

/// When to call it settled, and when to give up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SettleLimits {
    pub timeout: Duration,
    pub interval: Duration,
    /// The device is quiet when it has written nothing for this long.
    pub quiet: Duration,
    /// Less than this many bytes of memory, unwritten or being written, is nothing.
    pub dirty_bytes: u64,
    /// If the device is quiet, write-back of other programs is waited for no longer than this …
    pub foreign: Duration,
    /// … and no longer than this once it has stopped shrinking.
    pub foreign_still: Duration,
}

impl Default for SettleLimits {
    fn default() -> SettleLimits {
        SettleLimits {
            timeout: Duration::from_secs(30),
            interval: Duration::from_millis(10),
            quiet: Duration::from_millis(40),
            dirty_bytes: 1 << 20,
            foreign: Duration::from_secs(2),
            foreign_still: Duration::from_millis(300),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settled {
    pub seconds: f64,
    /// Whether the device was still at work when waiting ended.
    pub timed_out: bool,
    /// Unwritten bytes of the whole machine at the end; at or above the limit they are others'.
    pub dirty_left: u64,
    dirty_limit: u64,
}

impl Settled {
    pub fn measurement(&self) -> Measurement {
        Measurement::new("settle", Unit::Seconds, self.seconds)
    }

    /// A caution about the numbers measured after this, if any.
    pub fn to_caution(&self, phase: &str) -> Option<Caution> {
        let text = if self.timed_out {
            format!(
                "the device was still busy {:.0} s later; what follows was measured while it worked",
                self.seconds
            )
        } else if self.dirty_left >= self.dirty_limit {
            // Without its amount, which is another one each time: the same caution of many trials is reported once.
            "the machine still held unwritten data of other programs or devices when the next step began; the device itself was quiet"
                .to_owned()
        } else {
            return None;
        };
        Some(Caution::in_phase(phase, text))
    }
}

/// Waits until `devices` (and the devices below them) are quiet and no write-back is in progress; a timeout is
/// reported, not hidden.
pub fn wait_until_settled(
    root: &Root,
    devices: &[impl AsRef<str>],
    limits: &SettleLimits,
) -> Result<Settled, ReadError> {
    QuietDevice::start_watching(root, devices)?.wait_until_settled(limits)
}

/// A device that may be quiet from now on: time spent on other work counts as waiting.
#[derive(Debug)]
pub struct QuietDevice {
    root: Root,
    bottoms: Vec<String>,
    began: Instant,
    writes: u64,
}

impl QuietDevice {
    pub fn start_watching(root: &Root, devices: &[impl AsRef<str>]) -> Result<QuietDevice, ReadError> {
        let bottoms = below_all(root, devices)?;
        let mut quiet = QuietDevice { root: root.clone(), bottoms, began: Instant::now(), writes: 0 };
        quiet.writes = quiet.read_state()?.writes;
        Ok(quiet)
    }

    /// Like [`wait_until_settled`], but counts the time that has already passed.
    pub fn wait_until_settled(self, limits: &SettleLimits) -> Result<Settled, ReadError> {
        let before = (self.writes, self.began.elapsed());
        wait_with_clock(limits, &mut RealTime(Instant::now()), before, || self.read_state())
    }

    fn read_state(&self) -> Result<SettleState, ReadError> {
        let memory = read_memory(&self.root)?;
        let (unwritten, written_back) = (memory.unwritten_bytes(), memory.writeback);
        let mut state = SettleState { unwritten, written_back, writes: 0, in_flight: false };
        for name in &self.bottoms {
            let stat = device_stat(&self.root, name)?;
            // Flushes and discards move the device as writes do.
            state.writes += stat.writes;
            state.writes += stat.discards.map_or(0, |(discards, _)| discards);
            state.writes += stat.flushes.unwrap_or(0);
            state.in_flight |= is_in_flight(&self.root, name)?;
        }
        Ok(state)
    }
}

#[derive(Debug, Clone, Copy)]
struct SettleState {
    unwritten: u64,
    /// The part of it that is on its way to a device.
    written_back: u64,
    writes: u64,
    in_flight: bool,
}

/// The clock, which tests replace.
trait Time {
    /// The time since waiting began.
    fn elapsed(&self) -> Duration;
    fn pause(&mut self, duration: Duration);
}

struct RealTime(Instant);

impl Time for RealTime {
    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }

    fn pause(&mut self, duration: Duration) {
        std::thread::sleep(duration);
    }
}

/// `before` is how much had been written so long before waiting began.
fn wait_with_clock(
    limits: &SettleLimits,
    time: &mut impl Time,
    before: (u64, Duration),
    mut look: impl FnMut() -> Result<SettleState, ReadError>,
) -> Result<Settled, ReadError> {
    let (mut last_writes, mut ahead) = before;
    let mut state = look()?;
    let mut quiet_since = time.elapsed();
    let mut least = (state.written_back, time.elapsed());
    loop {
        let now = time.elapsed();
        if state.in_flight || state.writes != last_writes {
            (quiet_since, ahead) = (now, Duration::ZERO);
            last_writes = state.writes;
        }
        if state.written_back < least.0 {
            least = (state.written_back, now);
        }
        let quiet_for = now.saturating_sub(quiet_since);
        let quiet = quiet_for + ahead >= limits.quiet;
        let clean = state.written_back < limits.dirty_bytes;
        let gave_up_on_others =
            quiet_for >= limits.foreign || quiet_for.min(now.saturating_sub(least.1)) >= limits.foreign_still;
        let timed_out = now >= limits.timeout;
        if (quiet && (clean || gave_up_on_others)) || timed_out {
            return Ok(Settled {
                seconds: now.as_secs_f64(),
                timed_out: !quiet,
                dirty_left: state.unwritten,
                dirty_limit: limits.dirty_bytes,
            });
        }
        time.pause(limits.interval);
        state = look()?;
    }
}

#[cfg(test)]
mod tests {
    const NONE: &[&str] = &[];
    use std::cell::Cell;
    use std::time::Duration;

    use super::{SettleLimits, SettleState, Settled, Time, wait_until_settled, wait_with_clock};
    use crate::measure::fake_root;

    /// Time that passes only when somebody waits.
    struct Virtual<'a>(&'a Cell<Duration>);

    impl Time for Virtual<'_> {
        fn elapsed(&self) -> Duration {
            self.0.get()
        }

        fn pause(&mut self, duration: Duration) {
            self.0.set(self.0.get() + duration);
        }
    }

    /// Settles on a machine that is, after so many milliseconds, in the state `at` gives.
    fn settled(at: impl Fn(u128) -> SettleState) -> Settled {
        settled_after((at(0).writes, Duration::ZERO), at)
    }

    fn settled_after(before: (u64, Duration), at: impl Fn(u128) -> SettleState) -> Settled {
        let (clock, limits) = (Cell::new(Duration::ZERO), SettleLimits::default());
        wait_with_clock(&limits, &mut Virtual(&clock), before, || Ok(at(clock.get().as_millis()))).unwrap()
    }

    fn state(written_back: u64, writes: u64, in_flight: bool) -> SettleState {
        SettleState { unwritten: written_back, written_back, writes, in_flight }
    }

    #[test]
    fn a_quiet_device_costs_little() {
        let quiet = settled(|_| state(100, 7, false));
        assert!(quiet.seconds <= 0.06, "{}", quiet.seconds);
        assert!(!quiet.timed_out);
        assert_eq!(quiet.to_caution("write"), None);
        assert_eq!((&*quiet.measurement().metric, quiet.measurement().value), ("settle", quiet.seconds));
    }

    #[test]
    fn what_was_quiet_meanwhile_is_not_waited_for() {
        let seconds = |before, at: fn(u128) -> SettleState| settled_after(before, at).seconds;
        let long = Duration::from_millis(90);
        assert!(seconds((7, long), |_| state(0, 7, false)) < 1e-9);
        assert!((0.01..0.03).contains(&seconds((7, long / 3), |_| state(0, 7, false))));
        assert!(seconds((6, long), |_| state(0, 7, false)) >= 0.04, "it has written since");
        assert!(seconds((7, long), |now| state(0, 7, now < 30)) > 0.05);
    }

    #[test]
    fn waits_for_the_last_write() {
        let writing = settled(|now| state(0, (now.min(500)).try_into().unwrap(), false));
        assert!((0.5..0.6).contains(&writing.seconds), "{}", writing.seconds);
        let flying = settled(|now| state(0, 0, now < 700));
        assert!((0.7..0.8).contains(&flying.seconds), "{}", flying.seconds);
    }

    #[test]
    fn a_device_that_never_rests_is_a_time_out() {
        let busy = settled(|now| state(0, now.try_into().unwrap(), false));
        assert!(busy.timed_out);
        assert!(busy.seconds >= 30.0);
        assert!(busy.to_caution("write").unwrap().text.contains("still busy 30 s"));
    }

    #[test]
    fn waits_while_what_is_written_back_shrinks() {
        let shrinking =
            settled(|now| state((10 << 20) - u64::try_from(now.min(999)).unwrap() * 10_000, 0, false));
        assert!((0.9..1.1).contains(&shrinking.seconds), "{}", shrinking.seconds);
        assert_eq!(shrinking.to_caution("write"), None);
    }

    #[test]
    fn dirt_of_others_is_reported_and_not_waited_for() {
        let idle = settled(|_| SettleState { unwritten: 8 << 20, ..state(0, 0, false) });
        assert!(idle.seconds <= 0.06 && !idle.timed_out, "nobody writes it: {}", idle.seconds);
        assert!(idle.to_caution("write").unwrap().text.contains("of other programs or devices"));
        let still = settled(|_| state(8 << 20, 0, false));
        assert!((0.3..0.4).contains(&still.seconds), "{}", still.seconds);
        assert!(!still.timed_out, "the device was quiet");
        assert!(still.to_caution("write").unwrap().text.contains("of other programs or devices"));
        let forever = settled(|now| state((1 << 40) - u64::try_from(now).unwrap(), 0, false));
        assert!((2.0..2.1).contains(&forever.seconds), "{}", forever.seconds);
    }

    #[test]
    fn reads_the_device_below() {
        let (_folder, root) = fake_root(&[
            ("proc/meminfo", "MemTotal: 9 kB\nMemAvailable: 5 kB\nDirty: 2 kB\nWriteback: 1 kB\n"),
            ("sys/class/block/dm-0/slaves/sda", ""),
            ("sys/class/block/sda/stat", "1 0 8 0 1 0 8 0 0 5 5"),
            ("sys/class/block/sda/inflight", "0 1"),
        ]);
        let once = SettleLimits {
            timeout: Duration::ZERO,
            quiet: Duration::from_secs(1),
            ..SettleLimits::default()
        };
        let busy = wait_until_settled(&root, &["dm-0"], &once).unwrap();
        assert!(busy.timed_out);
        assert_eq!(busy.dirty_left, 3072);
        let at_once = SettleLimits { quiet: Duration::ZERO, ..once };
        assert!(!wait_until_settled(&root, NONE, &at_once).unwrap().timed_out);
        assert!(wait_until_settled(&root, &["sdz"], &once).unwrap_err().is_absent());
    }
}
