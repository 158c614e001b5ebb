//! Real time: requests are answered when the machine's clock comes to the time the model gives. For kernels without
//! simulated time, and to see whether simulated time distorts anything.

use std::num::NonZeroU64;
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::accept;
use rustix::time::{ClockId, clock_gettime};

use super::EndpointError;
use super::disk::Disk;
use super::session::{Asked, Session};
use super::tally::EndpointReport;

/// Serves one guest to its end. How long it says nothing does not matter here: a trial has a time limit of its own.
pub(super) fn serve(disk: &mut Disk, driver: &OwnedFd) -> Result<EndpointReport, EndpointError> {
    // The kernel would let a process sleep 50 µs longer, to save power (prctl(2), PR_SET_TIMERSLACK).
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    disk.tally.watch_lateness();
    let mut session = Session::new(accept(driver).map_err(std::io::Error::from)?);
    let began = now();
    loop {
        let time = now() - began;
        let due = disk.next_event(time);
        if due.is_some_and(|due| due <= time) {
            if disk.advance(time, session.memory()?)? {
                session.notify()?;
            }
            continue;
        }
        if !session.wire().holds_any() && !wait(&session, due.map(|due| due - time))? {
            continue;
        }
        match session.serve(disk)? {
            Asked::Kick => {
                disk.submit(now() - began, session.memory()?)?;
                session.acknowledge()?;
            }
            Asked::End => return Ok(EndpointReport::default()),
            Asked::Nothing => {}
        }
    }
}

/// The machine's clock, in nanoseconds.
fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    (time.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(time.tv_nsec as u64)
}

/// Waits for the guest to say something, so many nanoseconds at most; whether it did.
fn wait(session: &Session, limit: Option<u64>) -> Result<bool, EndpointError> {
    let limit = limit.map(|nanoseconds| Timespec {
        tv_sec: (nanoseconds / 1_000_000_000) as i64,
        tv_nsec: (nanoseconds % 1_000_000_000) as i64,
    });
    let mut watched = [PollFd::from_borrowed_fd(session.wire().as_fd(), PollFlags::IN)];
    match poll(&mut watched, limit.as_ref()) {
        Ok(ready) => Ok(ready > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(std::io::Error::from(error).into()),
    }
}
