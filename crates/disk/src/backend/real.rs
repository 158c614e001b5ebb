//! Serves a device in real time: answers requests when the machine's clock reaches the time that the model gives.
//! This is for kernels without simulated time, and shows whether simulated time distorts results.

use std::num::NonZeroU64;
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::time::{ClockId, clock_gettime};

use super::BackendError;
use super::disk::ServedDisk;
use super::session::{GuestAsks, GuestSession};

/// Serves one guest until it hangs up. A silent guest is not ended here, because a trial has a time limit of its own.
pub(super) fn serve_in_real_time(disk: &mut ServedDisk, connection: OwnedFd) -> Result<(), BackendError> {
    // By default the kernel may prolong a sleep by 50 µs to save power (prctl(2), PR_SET_TIMERSLACK).
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    disk.tally.watch_lateness();
    let mut session = GuestSession::new(connection, true);
    let start_ns = monotonic_ns();
    loop {
        let time_ns = monotonic_ns() - start_ns;
        let due = disk.next_event(time_ns);
        if due.is_some_and(|due| due <= time_ns) {
            if disk.advance_to(time_ns, session.guest_memory()?)? {
                session.notify_guest()?;
            }
            continue;
        }
        if !session.connection.holds_any() {
            let ready = wait_for_guest(&session, due.map(|due| due - time_ns))?;
            if ready.kick && disk.is_ready() {
                disk.submit_requests(monotonic_ns() - start_ns, session.guest_memory()?)?;
            }
            if !ready.message {
                continue;
            }
        }
        match session.serve_message(disk)? {
            GuestAsks::Kick => {
                disk.submit_requests(monotonic_ns() - start_ns, session.guest_memory()?)?;
                session.acknowledge_kick()?;
            }
            GuestAsks::End => return Ok(()),
            // The guest may have kicked before its ring was set up.
            GuestAsks::Nothing if session.kick.is_some() && disk.is_ready() => {
                disk.submit_requests(monotonic_ns() - start_ns, session.guest_memory()?)?;
            }
            GuestAsks::Nothing => {}
        }
    }
}

/// Time of the machine's monotonic clock, in nanoseconds.
fn monotonic_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    (time.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(time.tv_nsec as u64)
}

/// The sources of a guest that are ready to be read.
struct ReadySources {
    message: bool,
    kick: bool,
}

/// Waits until the guest sends a message or kicks, at most `limit` nanoseconds.
fn wait_for_guest(session: &GuestSession, limit: Option<u64>) -> Result<ReadySources, BackendError> {
    let limit = limit.map(|nanoseconds| Timespec {
        tv_sec: (nanoseconds / 1_000_000_000) as i64,
        tv_nsec: (nanoseconds % 1_000_000_000) as i64,
    });
    let descriptors = [Some(session.connection.as_fd()), session.kick.as_ref().map(AsFd::as_fd)];
    let watch = |descriptor| PollFd::from_borrowed_fd(descriptor, PollFlags::IN);
    let mut watched: Vec<PollFd<'_>> = descriptors.into_iter().flatten().map(watch).collect();
    match poll(&mut watched, limit.as_ref()) {
        Ok(_) => {}
        Err(rustix::io::Errno::INTR) => return Ok(ReadySources { message: false, kick: false }),
        Err(error) => return Err(std::io::Error::from(error).into()),
    }
    let is_ready = |index: usize| watched.get(index).is_some_and(|watched| !watched.revents().is_empty());
    let ready = ReadySources { message: is_ready(0), kick: is_ready(1) };
    if let (true, Some(kick)) = (ready.kick, &session.kick) {
        // The number of kicks does not matter, because the whole ring is examined.
        match rustix::io::read(kick, &mut [0; 8]) {
            // EAGAIN: another reader has consumed the kick.
            Ok(_) | Err(rustix::io::Errno::AGAIN) => {}
            Err(error) => return Err(std::io::Error::from(error).into()),
        }
    }
    Ok(ready)
}
