//! Simulated time: whoever has the earliest thing to do has the next turn, guest or one of its devices, and time jumps to it.

use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::BackendError;
use super::connection::Connection;
use super::disk::ServedDisk;
use super::session::{GuestAsks, GuestSession};
use super::simulation_clock::SimulationClock;

/// How far a guest whose disk has nothing to do may go on by itself, in nanoseconds: where it is then, is known here, too.
const STRIDE: u64 = 60 * 1_000_000_000;
/// How long, in simulated nanoseconds, a guest may live without its disk. Linux writes what is dirty within a minute: longer is
/// a program that sleeps, or one that waits for an answer that never comes.
const IDLE: u64 = 3600 * 1_000_000_000;

/// Serves one guest to its end, each of its disks on the socket of its driver; the nanoseconds of simulated time it took.
///
/// `silence` bounds how long, in wall time, the guest may compute without asking for anything: a program that spins
/// without reading a clock makes no time pass, and would spin for ever.
pub(super) fn serve(
    disks: &mut [ServedDisk],
    drivers: &[OwnedFd],
    clock_socket: &OwnedFd,
    silence: Duration,
) -> Result<u64, BackendError> {
    let mut clock: Option<SimulationClock> = None;
    let mut sessions: Vec<Option<GuestSession>> = drivers.iter().map(|_| None).collect();
    let mut simulated_ns = 0;
    loop {
        if let Some(clock) = clock.as_mut() {
            simulated_ns = clock.now();
            match take_turn(disks, clock, &mut sessions)? {
                Turn::Taken => continue,
                Turn::Guests => {}
                Turn::End => break,
            }
        }
        let of_clock = match clock.as_ref() {
            Some(clock) => WaitSource::Connection(&clock.connection),
            None => WaitSource::Listener(clock_socket),
        };
        let of_drivers = drivers.iter().zip(&sessions).map(|(driver, session)| match session {
            Some(session) => WaitSource::Connection(&session.connection),
            None => WaitSource::Listener(driver),
        });
        let said = wait([of_clock].into_iter().chain(of_drivers), silence)?;
        if said.is_empty() {
            let doing = if clock.as_ref().is_some_and(|clock| clock.waiting) {
                "waited for something that never comes"
            } else {
                "computed"
            };
            return Err(BackendError::Silent { seconds: silence.as_secs(), doing });
        }
        let mut goes_on = true;
        for at in said {
            goes_on &= match at.checked_sub(1) {
                None => serve_clock(&mut clock, clock_socket)?,
                Some(at) => match (drivers.get(at), sessions.get_mut(at)) {
                    (Some(driver), Some(session)) => {
                        serve_driver(disks, at, driver, session, clock.as_mut())?
                    }
                    _ => true,
                },
            };
        }
        if !goes_on {
            break;
        }
    }
    Ok(simulated_ns)
}

/// Hears the guest's clock; false where the guest hung up.
fn serve_clock(clock: &mut Option<SimulationClock>, socket: &OwnedFd) -> Result<bool, BackendError> {
    match clock {
        None => {
            *clock = Some(SimulationClock::new(super::connection(socket)?)?);
            Ok(true)
        }
        Some(clock) => clock.serve(),
    }
}

/// Hears the driver of the disk of this number; false where the guest hung up.
fn serve_driver(
    disks: &mut [ServedDisk],
    at: usize,
    driver: &OwnedFd,
    session: &mut Option<GuestSession>,
    clock: Option<&mut SimulationClock>,
) -> Result<bool, BackendError> {
    let Some(session) = session else {
        *session = Some(GuestSession::new(super::connection(driver)?, false));
        return Ok(true);
    };
    let Some(disk) = disks.get_mut(at) else { return Ok(true) };
    match (session.serve(disk)?, clock) {
        (GuestAsks::Kick, Some(clock)) => {
            let now = clock.now();
            disk.submit(now, session.memory()?)?;
            let next = first_event(disks, now).map(|event| event.at_ns);
            if !clock.free_until(next.unwrap_or(now.saturating_add(STRIDE)))? {
                return Ok(false);
            }
            session.acknowledge()?;
            Ok(true)
        }
        (GuestAsks::Kick, None) => Err(BackendError::Chain("the guest uses the disk before its clock")),
        (GuestAsks::End, _) => Ok(false),
        (GuestAsks::Nothing, _) => Ok(true),
    }
}

enum Turn {
    /// Somebody had one: look again.
    Taken,
    Guests,
    /// The guest is gone.
    End,
}

/// When a disk, by its number, has to have its turn.
struct DiskEvent {
    disk: usize,
    at_ns: u64,
}

/// The first disk that has to have a turn; of several at one moment, the one with the lowest number.
fn first_event(disks: &[ServedDisk], now: u64) -> Option<DiskEvent> {
    let events = disks.iter().enumerate();
    let events = events.filter_map(|(disk, served)| Some(DiskEvent { disk, at_ns: served.next_event(now)? }));
    events.min_by_key(|event| event.at_ns)
}

/// Gives whoever is first their turn, where the guest waits.
fn take_turn(
    disks: &mut [ServedDisk],
    clock: &mut SimulationClock,
    sessions: &mut [Option<GuestSession>],
) -> Result<Turn, BackendError> {
    if !clock.waiting {
        return Ok(Turn::Guests);
    }
    let (event, guest) = (first_event(disks, clock.now()), clock.wanted());
    if let Some(DiskEvent { disk, at_ns }) = event
        && guest.is_none_or(|guest| at_ns <= guest)
        && let (Some(disk), Some(Some(session))) = (disks.get_mut(disk), sessions.get_mut(disk))
    {
        clock.device_runs(at_ns);
        if disk.advance(at_ns, session.memory()?)? {
            session.call()?;
            return await_reply(session, clock);
        }
        return Ok(Turn::Taken);
    }
    let Some(time) = guest else { return Ok(Turn::Guests) };
    let used = disks.iter().map(ServedDisk::last_used).max().unwrap_or(0);
    if time.saturating_sub(used) > IDLE {
        return Err(BackendError::Idle);
    }
    let until = event.map_or(time.saturating_add(STRIDE), |event| event.at_ns);
    Ok(if clock.guest_runs(time, until)? { Turn::Taken } else { Turn::End })
}

/// Waits for the guest to have seen a call; before that it may ask for the time.
fn await_reply(session: &mut GuestSession, clock: &mut SimulationClock) -> Result<Turn, BackendError> {
    loop {
        let Some(backend) = &session.backend else { return Ok(Turn::End) };
        let sources = [WaitSource::Connection(&clock.connection), WaitSource::Connection(backend)];
        let said = wait(sources.into_iter(), Duration::from_secs(60))?;
        if said.contains(&0) && !clock.serve()? {
            return Ok(Turn::End);
        }
        if said.contains(&1) {
            return Ok(if session.called()? { Turn::Taken } else { Turn::End });
        }
        if said.is_empty() {
            return Err(BackendError::Silent { seconds: 60, doing: "took no notice of its disk" });
        }
    }
}

/// What may have something to say.
enum WaitSource<'a> {
    Listener(&'a OwnedFd),
    Connection(&'a Connection),
}

/// Which of these, by their numbers, have something to be read, within a time.
fn wait<'a>(
    sources: impl Iterator<Item = WaitSource<'a>>,
    limit: Duration,
) -> Result<Vec<usize>, BackendError> {
    let mut held: Vec<bool> = Vec::new();
    let mut watched: Vec<PollFd<'_>> = Vec::new();
    for source in sources {
        let (descriptor, holds) = match source {
            WaitSource::Listener(listener) => (listener.as_fd(), false),
            WaitSource::Connection(connection) => (connection.as_fd(), connection.holds_any()),
        };
        held.push(holds);
        watched.push(PollFd::from_borrowed_fd(descriptor, PollFlags::IN));
    }
    let limit = if held.contains(&true) { Duration::ZERO } else { limit };
    let limit = Timespec::try_from(limit).unwrap_or(Timespec { tv_sec: 60, tv_nsec: 0 });
    loop {
        match poll(&mut watched, Some(&limit)) {
            Ok(_) => {
                let say = watched.iter().zip(&held).map(|(one, held)| *held || !one.revents().is_empty());
                return Ok(say.enumerate().filter_map(|(at, says)| says.then_some(at)).collect());
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(std::io::Error::from(error).into()),
        }
    }
}
