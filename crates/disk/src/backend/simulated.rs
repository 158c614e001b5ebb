//! Simulated time: gives the next turn to the guest or the device with the earliest event, and makes time jump to
//! that event.

use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::BackendError;
use super::connection::Connection;
use super::disk::ServedDisk;
use super::session::{GuestAsks, GuestSession};
use super::silence::{Silence, measure_guest_share};
use super::simulation_clock::SimulationClock;

/// How long a guest may run by itself while its disks have no event, in simulated nanoseconds; then the clocks are
/// synchronised.
const MAX_FREE_RUN_NS: u64 = 60 * 1_000_000_000;
/// How long a guest may run without using a disk, in simulated nanoseconds. Linux writes dirty pages back within a
/// minute: a longer pause is a program that sleeps, or one that waits for an answer that never comes.
const MAX_IDLE_NS: u64 = 3600 * 1_000_000_000;

/// The processor time that a guest may take to notice a call of its disk.
const MAX_CALL_TIME: Duration = Duration::from_secs(60);

/// Serves one guest until it hangs up, each of its disks on the socket of its driver; returns the simulated time in
/// nanoseconds.
///
/// `silence` bounds the processor time for which the guest may compute without sending anything: a program that spins
/// without reading a clock makes no time pass, and would spin forever.
pub(super) fn serve_in_simulated_time(
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
            simulated_ns = clock.now_ns();
            match take_turn(disks, clock, &mut sessions)? {
                Turn::Taken => continue,
                Turn::WaitForGuest => {}
                Turn::End => break,
            }
        }
        let clock_source = match clock.as_ref() {
            Some(clock) => WaitSource::Connection(&clock.connection),
            None => WaitSource::Listener(clock_socket),
        };
        let driver_sources = drivers.iter().zip(&sessions).map(|(driver, session)| match session {
            Some(session) => WaitSource::Connection(&session.connection),
            None => WaitSource::Listener(driver),
        });
        let readable = wait_for_sources([clock_source].into_iter().chain(driver_sources), silence)?;
        if readable.is_empty() {
            let doing = if clock.as_ref().is_some_and(|clock| clock.waiting) {
                "waited for something that never comes"
            } else {
                "computed"
            };
            return Err(BackendError::Silent { seconds: silence.as_secs(), doing });
        }
        let mut is_connected = true;
        for index in readable {
            is_connected &= match index.checked_sub(1) {
                None => serve_clock(&mut clock, clock_socket)?,
                Some(index) => match (drivers.get(index), sessions.get_mut(index)) {
                    (Some(driver), Some(session)) => {
                        serve_driver(disks, index, driver, session, clock.as_mut())?
                    }
                    _ => true,
                },
            };
        }
        if !is_connected {
            break;
        }
    }
    Ok(simulated_ns)
}

/// Serves a message of the guest's clock; returns false if the guest hung up.
fn serve_clock(clock: &mut Option<SimulationClock>, socket: &OwnedFd) -> Result<bool, BackendError> {
    match clock {
        None => {
            *clock = Some(SimulationClock::new(super::connection(socket)?)?);
            Ok(true)
        }
        Some(clock) => clock.serve_message(),
    }
}

/// Serves a message of the driver of the disk `index`; returns false if the guest hung up.
fn serve_driver(
    disks: &mut [ServedDisk],
    index: usize,
    driver: &OwnedFd,
    session: &mut Option<GuestSession>,
    clock: Option<&mut SimulationClock>,
) -> Result<bool, BackendError> {
    let Some(session) = session else {
        *session = Some(GuestSession::new(super::connection(driver)?, false));
        return Ok(true);
    };
    let Some(disk) = disks.get_mut(index) else { return Ok(true) };
    match (session.serve_message(disk)?, clock) {
        (GuestAsks::Kick, Some(clock)) => {
            let now = clock.now_ns();
            disk.submit_requests(now, session.guest_memory()?)?;
            let next = first_event(disks, now).map(|event| event.at_ns);
            if !clock.free_until(next.unwrap_or(now.saturating_add(MAX_FREE_RUN_NS)))? {
                return Ok(false);
            }
            session.acknowledge_kick()?;
            Ok(true)
        }
        (GuestAsks::Kick, None) => Err(BackendError::Chain("the guest uses the disk before its clock")),
        (GuestAsks::End, _) => Ok(false),
        (GuestAsks::Nothing, _) => Ok(true),
    }
}

enum Turn {
    /// The guest or a device had a turn, and the next one can be determined.
    Taken,
    /// The guest is running, or nothing has an event.
    WaitForGuest,
    /// The guest has hung up.
    End,
}

/// The time at which a disk, given by its number, needs a turn.
struct DiskEvent {
    disk: usize,
    at_ns: u64,
}

/// Finds the disk that needs a turn first; of several at the same time, it takes the one with the lowest number.
fn first_event(disks: &[ServedDisk], now: u64) -> Option<DiskEvent> {
    let events = disks.iter().enumerate();
    let events = events.filter_map(|(disk, served)| Some(DiskEvent { disk, at_ns: served.next_event(now)? }));
    events.min_by_key(|event| event.at_ns)
}

/// Gives the next turn to the guest or the device with the earliest event, if the guest waits.
fn take_turn(
    disks: &mut [ServedDisk],
    clock: &mut SimulationClock,
    sessions: &mut [Option<GuestSession>],
) -> Result<Turn, BackendError> {
    if !clock.waiting {
        return Ok(Turn::WaitForGuest);
    }
    let (event, guest) = (first_event(disks, clock.now_ns()), clock.wanted_ns());
    if let Some(DiskEvent { disk, at_ns }) = event
        && guest.is_none_or(|guest| at_ns <= guest)
        && let (Some(disk), Some(Some(session))) = (disks.get_mut(disk), sessions.get_mut(disk))
    {
        clock.device_runs(at_ns);
        if disk.advance_to(at_ns, session.guest_memory()?)? {
            session.call_guest()?;
            return await_reply(session, clock);
        }
        return Ok(Turn::Taken);
    }
    let Some(time) = guest else { return Ok(Turn::WaitForGuest) };
    let used = disks.iter().map(ServedDisk::last_used).max().unwrap_or(0);
    if time.saturating_sub(used) > MAX_IDLE_NS {
        return Err(BackendError::Idle);
    }
    let until = event.map_or(time.saturating_add(MAX_FREE_RUN_NS), |event| event.at_ns);
    Ok(if clock.guest_runs(time, until)? { Turn::Taken } else { Turn::End })
}

/// Waits until the guest has seen a call; it may ask for the time before that.
fn await_reply(session: &mut GuestSession, clock: &mut SimulationClock) -> Result<Turn, BackendError> {
    loop {
        let Some(backend) = &session.backend else { return Ok(Turn::End) };
        let sources = [WaitSource::Connection(&clock.connection), WaitSource::Connection(backend)];
        let readable = wait_for_sources(sources.into_iter(), MAX_CALL_TIME)?;
        if readable.contains(&0) && !clock.serve_message()? {
            return Ok(Turn::End);
        }
        if readable.contains(&1) {
            return Ok(if session.receive_call_reply()? { Turn::Taken } else { Turn::End });
        }
        if readable.is_empty() {
            let seconds = MAX_CALL_TIME.as_secs();
            return Err(BackendError::Silent { seconds, doing: "took no notice of its disk" });
        }
    }
}

/// A socket that may become readable.
enum WaitSource<'a> {
    Listener(&'a OwnedFd),
    Connection(&'a Connection),
}

/// Waits until at least one source is readable; returns the indices of those that are. There are none if the guest has
/// computed silently for `limit` of processor time.
fn wait_for_sources<'a>(
    sources: impl Iterator<Item = WaitSource<'a>>,
    limit: Duration,
) -> Result<Vec<usize>, BackendError> {
    let mut has_buffered: Vec<bool> = Vec::new();
    let mut watched: Vec<PollFd<'_>> = Vec::new();
    for source in sources {
        let (descriptor, holds) = match source {
            WaitSource::Listener(listener) => (listener.as_fd(), false),
            WaitSource::Connection(connection) => (connection.as_fd(), connection.holds_any()),
        };
        has_buffered.push(holds);
        watched.push(PollFd::from_borrowed_fd(descriptor, PollFlags::IN));
    }
    let is_any_buffered = has_buffered.contains(&true);
    let mut silence = Silence::new(limit);
    let period = if is_any_buffered { Duration::ZERO } else { silence.period() };
    let period = Timespec::try_from(period).unwrap_or(Timespec { tv_sec: 60, tv_nsec: 0 });
    loop {
        match poll(&mut watched, Some(&period)) {
            Ok(0) if !is_any_buffered && !silence.add_period(measure_guest_share()) => {}
            Ok(_) => {
                let ready = watched
                    .iter()
                    .zip(&has_buffered)
                    .map(|(watch, buffered)| *buffered || !watch.revents().is_empty());
                return Ok(ready
                    .enumerate()
                    .filter_map(|(index, is_ready)| is_ready.then_some(index))
                    .collect());
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(std::io::Error::from(error).into()),
        }
    }
}
