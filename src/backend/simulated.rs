//! Simulated time: whoever has the earliest thing to do has the next turn, guest or device, and time jumps to it.

use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::BackendError;
use super::connection::Connection;
use super::disk::ServedDisk;
use super::session::{GuestAsks, GuestSession};
use super::simulation_clock::SimulationClock;
use super::tally::BackendReport;

/// How far a guest whose disk has nothing to do may go on by itself, in nanoseconds: where it is then, is known here, too.
const STRIDE: u64 = 60 * 1_000_000_000;
/// How long, in simulated nanoseconds, a guest may live without its disk. Linux writes what is dirty within a minute: longer is
/// a program that sleeps, or one that waits for an answer that never comes.
const IDLE: u64 = 3600 * 1_000_000_000;

/// Serves one guest to its end.
///
/// `silence` bounds how long, in wall time, the guest may compute without asking for anything: a program that spins
/// without reading a clock makes no time pass, and would spin for ever.
pub(super) fn serve(
    disk: &mut ServedDisk,
    (driver, clock): (OwnedFd, OwnedFd),
    silence: Duration,
) -> Result<BackendReport, BackendError> {
    let mut calendar: Option<SimulationClock> = None;
    let mut session: Option<GuestSession> = None;
    let mut report = BackendReport::default();
    loop {
        if let Some(calendar) = calendar.as_mut() {
            report.simulated_ns = calendar.now();
            match take_turn(disk, calendar, session.as_mut())? {
                Turn::Taken => continue,
                Turn::Guests => {}
                Turn::End => break,
            }
        }
        let [driver_says, clock_says] = wait(
            [
                session
                    .as_ref()
                    .map_or(WaitSource::Listener(&driver), |session| WaitSource::Wire(&session.wire)),
                calendar
                    .as_ref()
                    .map_or(WaitSource::Listener(&clock), |calendar| WaitSource::Wire(&calendar.wire)),
            ],
            silence,
        )?;
        if !driver_says && !clock_says {
            let doing = if calendar.as_ref().is_some_and(|calendar| calendar.waiting) {
                "waited for something that never comes"
            } else {
                "computed"
            };
            return Err(BackendError::Silent { seconds: silence.as_secs(), doing });
        }
        if clock_says {
            match calendar.as_mut() {
                None => calendar = Some(SimulationClock::new(super::connection(&clock)?)?),
                Some(calendar) => {
                    if !calendar.serve()? {
                        break;
                    }
                }
            }
        }
        if driver_says {
            match (session.as_mut(), calendar.as_mut()) {
                (None, _) => {
                    session = Some(GuestSession::new(super::connection(&driver)?, false));
                }
                (Some(session), calendar) => match (session.serve(disk)?, calendar) {
                    (GuestAsks::Kick, Some(calendar)) => {
                        let now = calendar.now();
                        disk.submit(now, session.memory()?)?;
                        if !calendar.free_until(disk.next_event(now).unwrap_or(now.saturating_add(STRIDE)))? {
                            break;
                        }
                        session.acknowledge()?;
                    }
                    (GuestAsks::Kick, None) => {
                        return Err(BackendError::Chain("the guest uses the disk before its clock"));
                    }
                    (GuestAsks::End, _) => break,
                    (GuestAsks::Nothing, _) => {}
                },
            }
        }
    }
    Ok(report)
}

enum Turn {
    /// Somebody had one: look again.
    Taken,
    Guests,
    /// The guest is gone.
    End,
}

/// Gives whoever is first their turn, where the guest waits.
fn take_turn(
    disk: &mut ServedDisk,
    calendar: &mut SimulationClock,
    session: Option<&mut GuestSession>,
) -> Result<Turn, BackendError> {
    if !calendar.waiting {
        return Ok(Turn::Guests);
    }
    let (device, guest) = (disk.next_event(calendar.now()), calendar.wanted());
    match (device, guest, session) {
        (Some(time), _, Some(session)) if guest.is_none_or(|guest| time <= guest) => {
            calendar.device_runs(time);
            if disk.advance(time, session.memory()?)? {
                session.call()?;
                return await_reply(session, calendar);
            }
            Ok(Turn::Taken)
        }
        (next, Some(time), _) => {
            if time.saturating_sub(disk.last_used()) > IDLE {
                return Err(BackendError::Idle);
            }
            let until = next.unwrap_or(time.saturating_add(STRIDE));
            Ok(if calendar.guest_runs(time, until)? { Turn::Taken } else { Turn::End })
        }
        _ => Ok(Turn::Guests),
    }
}

/// Waits for the guest to have seen a call; before that it may ask for the time.
fn await_reply(session: &mut GuestSession, calendar: &mut SimulationClock) -> Result<Turn, BackendError> {
    loop {
        let Some(backend) = &session.backend else { return Ok(Turn::End) };
        let sources = [WaitSource::Wire(backend), WaitSource::Wire(&calendar.wire)];
        let [replied, asked] = wait(sources, Duration::from_secs(60))?;
        if asked && !calendar.serve()? {
            return Ok(Turn::End);
        }
        if replied {
            return Ok(if session.called()? { Turn::Taken } else { Turn::End });
        }
        if !asked {
            return Err(BackendError::Silent { seconds: 60, doing: "took no notice of its disk" });
        }
    }
}

/// What may have something to say.
enum WaitSource<'a> {
    Listener(&'a OwnedFd),
    Wire(&'a Connection),
}

/// Which of two have something to be read, within a time.
fn wait(sources: [WaitSource<'_>; 2], limit: Duration) -> Result<[bool; 2], BackendError> {
    let held = sources.each_ref().map(|source| matches!(source, WaitSource::Wire(wire) if wire.holds_any()));
    let mut watched = sources.map(|source| match source {
        WaitSource::Listener(listener) => PollFd::from_borrowed_fd(listener.as_fd(), PollFlags::IN),
        WaitSource::Wire(wire) => PollFd::from_borrowed_fd(wire.as_fd(), PollFlags::IN),
    });
    let limit = if held.contains(&true) { Duration::ZERO } else { limit };
    let limit = Timespec::try_from(limit).unwrap_or(Timespec { tv_sec: 60, tv_nsec: 0 });
    loop {
        match poll(&mut watched, Some(&limit)) {
            Ok(_) => {
                let [first, second] = watched.map(|one| !one.revents().is_empty());
                return Ok([first || held[0], second || held[1]]);
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(std::io::Error::from(error).into()),
        }
    }
}
