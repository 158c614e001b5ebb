//! Real time: requests are answered when the machine's clock comes to the time the model gives. For kernels without
//! simulated time, and to see whether simulated time distorts anything.

use std::num::NonZeroU64;
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::time::{ClockId, clock_gettime};

use super::BackendError;
use super::disk::ServedDisk;
use super::session::{GuestAsks, GuestSession};

/// Serves one guest to its end. How long it says nothing does not matter here: a trial has a time limit of its own.
pub(super) fn serve(disk: &mut ServedDisk, connection: OwnedFd) -> Result<(), BackendError> {
    // The kernel would let a process sleep 50 µs longer, to save power (prctl(2), PR_SET_TIMERSLACK).
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    disk.tally.watch_lateness();
    let mut session = GuestSession::new(connection, true);
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
        if !session.connection.holds_any() {
            let heard = wait(&session, due.map(|due| due - time))?;
            if heard.bell && disk.is_ready() {
                disk.submit(now() - began, session.memory()?)?;
            }
            if !heard.message {
                continue;
            }
        }
        match session.serve(disk)? {
            GuestAsks::Kick => {
                disk.submit(now() - began, session.memory()?)?;
                session.acknowledge()?;
            }
            GuestAsks::End => return Ok(()),
            // It may have rung before its ring was set up.
            GuestAsks::Nothing if session.kick.is_some() && disk.is_ready() => {
                disk.submit(now() - began, session.memory()?)?;
            }
            GuestAsks::Nothing => {}
        }
    }
}

/// The machine's clock, in nanoseconds.
fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    (time.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(time.tv_nsec as u64)
}

/// What was heard of a guest.
struct Heard {
    message: bool,
    bell: bool,
}

/// Waits for the guest to say something, so many nanoseconds at most.
fn wait(session: &GuestSession, limit: Option<u64>) -> Result<Heard, BackendError> {
    let limit = limit.map(|nanoseconds| Timespec {
        tv_sec: (nanoseconds / 1_000_000_000) as i64,
        tv_nsec: (nanoseconds % 1_000_000_000) as i64,
    });
    let descriptors = [Some(session.connection.as_fd()), session.kick.as_ref().map(AsFd::as_fd)];
    let watch = |descriptor| PollFd::from_borrowed_fd(descriptor, PollFlags::IN);
    let mut watched: Vec<PollFd<'_>> = descriptors.into_iter().flatten().map(watch).collect();
    match poll(&mut watched, limit.as_ref()) {
        Ok(_) => {}
        Err(rustix::io::Errno::INTR) => return Ok(Heard { message: false, bell: false }),
        Err(error) => return Err(std::io::Error::from(error).into()),
    }
    let said = |at: usize| watched.get(at).is_some_and(|watched| !watched.revents().is_empty());
    let heard = Heard { message: said(0), bell: said(1) };
    if let (true, Some(bell)) = (heard.bell, &session.kick) {
        // How often it rang does not matter: the whole ring is looked through.
        match rustix::io::read(bell, &mut [0; 8]) {
            // Somebody else heard it, too.
            Ok(_) | Err(rustix::io::Errno::AGAIN) => {}
            Err(error) => return Err(std::io::Error::from(error).into()),
        }
    }
    Ok(heard)
}
