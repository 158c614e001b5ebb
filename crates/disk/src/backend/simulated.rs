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
    sockets: (OwnedFd, OwnedFd),
    silence: Duration,
) -> Result<BackendReport, BackendError> {
    let (driver, clock_socket) = sockets;
    let mut clock: Option<SimulationClock> = None;
    let mut session: Option<GuestSession> = None;
    let mut report = BackendReport::default();
    loop {
        if let Some(clock) = clock.as_mut() {
            report.simulated_ns = clock.now();
            match take_turn(disk, clock, session.as_mut())? {
                Turn::Taken => continue,
                Turn::Guests => {}
                Turn::End => break,
            }
        }
        let [driver_says, clock_says] = wait(
            [
                session.as_ref().map_or(WaitSource::Listener(&driver), |session| {
                    WaitSource::Connection(&session.connection)
                }),
                clock.as_ref().map_or(WaitSource::Listener(&clock_socket), |clock| {
                    WaitSource::Connection(&clock.connection)
                }),
            ],
            silence,
        )?;
        if !driver_says && !clock_says {
            let doing = if clock.as_ref().is_some_and(|clock| clock.waiting) {
                "waited for something that never comes"
            } else {
                "computed"
            };
            return Err(BackendError::Silent { seconds: silence.as_secs(), doing });
        }
        if clock_says {
            match clock.as_mut() {
                None => clock = Some(SimulationClock::new(super::connection(&clock_socket)?)?),
                Some(clock) => {
                    if !clock.serve()? {
                        break;
                    }
                }
            }
        }
        if driver_says {
            match (session.as_mut(), clock.as_mut()) {
                (None, _) => {
                    session = Some(GuestSession::new(super::connection(&driver)?, false));
                }
                (Some(session), clock) => match (session.serve(disk)?, clock) {
                    (GuestAsks::Kick, Some(clock)) => {
                        let now = clock.now();
                        disk.submit(now, session.memory()?)?;
                        if !clock.free_until(disk.next_event(now).unwrap_or(now.saturating_add(STRIDE)))? {
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
    clock: &mut SimulationClock,
    session: Option<&mut GuestSession>,
) -> Result<Turn, BackendError> {
    if !clock.waiting {
        return Ok(Turn::Guests);
    }
    let (device, guest) = (disk.next_event(clock.now()), clock.wanted());
    match (device, guest, session) {
        (Some(time), _, Some(session)) if guest.is_none_or(|guest| time <= guest) => {
            clock.device_runs(time);
            if disk.advance(time, session.memory()?)? {
                session.call()?;
                return await_reply(session, clock);
            }
            Ok(Turn::Taken)
        }
        (next, Some(time), _) => {
            if time.saturating_sub(disk.last_used()) > IDLE {
                return Err(BackendError::Idle);
            }
            let until = next.unwrap_or(time.saturating_add(STRIDE));
            Ok(if clock.guest_runs(time, until)? { Turn::Taken } else { Turn::End })
        }
        _ => Ok(Turn::Guests),
    }
}

/// Waits for the guest to have seen a call; before that it may ask for the time.
fn await_reply(session: &mut GuestSession, clock: &mut SimulationClock) -> Result<Turn, BackendError> {
    loop {
        let Some(backend) = &session.backend else { return Ok(Turn::End) };
        let sources = [WaitSource::Connection(backend), WaitSource::Connection(&clock.connection)];
        let [replied, asked] = wait(sources, Duration::from_secs(60))?;
        if asked && !clock.serve()? {
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
    Connection(&'a Connection),
}

/// Which of two have something to be read, within a time.
fn wait(sources: [WaitSource<'_>; 2], limit: Duration) -> Result<[bool; 2], BackendError> {
    let held = sources
        .each_ref()
        .map(|source| matches!(source, WaitSource::Connection(connection) if connection.holds_any()));
    let mut watched = sources.map(|source| match source {
        WaitSource::Listener(listener) => PollFd::from_borrowed_fd(listener.as_fd(), PollFlags::IN),
        WaitSource::Connection(connection) => PollFd::from_borrowed_fd(connection.as_fd(), PollFlags::IN),
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
