//! Starts what a lab made ready, hears its events, and ends it when its time is up.

use std::io::{BufRead, BufReader, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::host::foreign::harmless_value;
use crate::host::limits::HINT;
use crate::host::placement::{Pinned, Placement};
use crate::host::procfs::activity;
use crate::host::root::Root;
use crate::sandbox::{Capabilities, FROM_OUTSIDE, OF_MACHINE, Sandbox, SandboxError, inherit};
use crate::trial::TrialSpec;
use fsverdict_judgement::journal::{CommandRecord, Event, Status};
use fsverdict_judgement::plan::PhaseWork;
use fsverdict_text::{Bytes, Reason, duration_text};

use super::LabError;
use super::console::Console;
use super::first_process::SupervisorWatch;

/// No event is longer, in bytes, and no more of them wait to be handled.
const LONGEST_EVENT: u64 = 16 << 20;
const WAITING_EVENTS: usize = 64;
/// How long a lab may take to end by itself after its last event.
const FAREWELL: Duration = Duration::from_secs(20);

/// What to do about a guest that could not hold what it boots into.
const MORE_MEMORY: &str = "it seems to lack memory: `memory = \"512MiB\"` in the plan, or --set memory=512MiB, gives a guest so much \
    beside what its datasets take";

/// How a trial ended, as seen from outside.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialEnd {
    /// Whether everything was measured and verified.
    pub status: Status,
    /// Why not; empty when ok.
    pub reason: String,
    /// What to do about it; empty where nothing is known.
    pub hint: String,
    /// Seconds of wall time.
    pub wall: f64,
    /// It was ended by a signal, from outside or by a crash, or its kernel gave up: it says nothing about the candidate until it happens again.
    pub killed: bool,
    /// It was ended from outside before its agent said anything, or its device was asked for anything: it says nothing about
    /// the candidate however often that happens.
    pub unheard: bool,
    /// It was stopped for a while and went on: what it timed holds the pause.
    pub stopped: bool,
}

/// Where a sandbox says that its program was stopped.
pub(super) struct Stops {
    pipe: OwnedFd,
    /// Whether the agent and its programs are processes of this kernel.
    natively: bool,
}

impl Stops {
    /// To be asked for before the sandbox's command is made; the descriptor it is given is added to `inherited`.
    pub(super) fn of(sandbox: &mut Sandbox, inherited: &mut Vec<OwnedFd>) -> Result<Self, SandboxError> {
        let failed =
            |source: rustix::io::Errno| SandboxError::System { what: "make a pipe", source: source.into() };
        let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(failed)?;
        sandbox.stops = Some(inherit(writer.as_fd())?);
        inherited.push(writer);
        Ok(Stops { pipe: reader, natively: sandbox.capabilities == Capabilities::Agent })
    }

    fn any(&self) -> bool {
        let mut watched = [PollFd::new(&self.pipe, PollFlags::IN)];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut watched, Some(&at_once)).is_ok() && watched[0].revents().contains(PollFlags::IN)
    }
}

/// How often it is looked whether what serves a guest is still there.
const LOOK: Duration = Duration::from_secs(1);

/// What a guest has beside it.
pub(super) struct Company<'a> {
    /// Where both run.
    pub(super) placement: Placement,
    /// Whether what serves the guest is still there. Without it a guest may wait for ever for a time that never comes.
    pub(super) there: &'a mut dyn FnMut() -> bool,
}

/// One trial under way. What is spawned must be a sandbox's supervisor: ending it ends everything.
///
/// `events` is where the agent's JSON lines arrive; both output streams of the command are the console.
/// Every event but the last (`TrialFinished`) is handed to `watch`. `inherited` are the descriptors the command was
/// given: they are closed here as soon as it has them. With `company`, all of it runs on one processor, and what
/// happens here meanwhile on another; it is ended when what serves it has.
///
/// # Errors
/// When it cannot be started; whatever happens later is the end of the trial, not an error.
pub(super) fn drive(
    mut command: Command,
    events: OwnedFd,
    stops: &Stops,
    spec: &TrialSpec,
    watch: &mut dyn FnMut(Event),
    inherited: Vec<OwnedFd>,
    mut company: Option<Company<'_>>,
) -> Result<TrialEnd, LabError> {
    let started = Instant::now();
    let (console_reader, console_writer) = std::io::pipe()?;
    command.stdout(console_writer.try_clone()?).stderr(console_writer);
    // Children and threads are where the thread was that started them.
    let placement = company.as_ref().map(|company| company.placement);
    let pinned = placement.map(|placement| Pinned::to(placement.guest)).transpose()?;
    let mut supervisor = Supervisor(command.spawn()?);
    drop(pinned);
    let _pinned = placement.map(|placement| Pinned::to(placement.server)).transpose()?;
    // End of file on console and events needs our own copies of their other ends closed.
    drop(command);
    drop(inherited);
    let console = Console::listen(console_reader);
    let lines = lines_of(std::fs::File::from(events));
    let mut reported = None;
    let mut has_long_line = false;
    let mut late = false;
    let time_is_up = started + spec.limit;
    let mut deadline = time_is_up;
    let mut step = String::new();
    let mut alone = false;
    let mut felled = None;
    let mut watch_first = SupervisorWatch::of(supervisor.0.id());
    loop {
        let patience = deadline.saturating_duration_since(Instant::now());
        match lines.recv_timeout(patience.min(LOOK)) {
            Ok(None) => has_long_line = true,
            Ok(Some(line)) => {
                match serde_json::from_str(&line).map(harmless_value).and_then(serde_json::from_value) {
                    Ok(Event::TrialFinished { status, reason, hint, .. }) => {
                        reported = Some((status, reason, hint));
                        deadline = Instant::now() + FAREWELL;
                    }
                    Ok(event) => {
                        match &event {
                            Event::StepStarted { step: begun } => {
                                step.clone_from(begun);
                                console.forget();
                            }
                            Event::Command(record) => felled = felled.or(taken_by(record, stops.natively)),
                            _ => {}
                        }
                        watch(event);
                    }
                    // Not an event: a kernel's message on the same line. The console has the rest of it.
                    Err(_) => {}
                }
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                // Where both ended just now, what the guest said last has had a second to arrive.
                let was_alone = alone;
                alone = company.as_mut().is_some_and(|company| !(company.there)());
                watch_first.look();
                late = Instant::now() >= deadline || was_alone && alone || watch_first.has_given_up();
                if late {
                    break;
                }
            }
        }
    }
    // Who could have said more is gone.
    deadline = deadline.min(Instant::now() + FAREWELL);
    let ended = if late { None } else { supervisor.wait_until(deadline)? };
    // One that does not end although all it ran has; or that was held for long. At the end of its time a chance is not told.
    let held = if ended.is_none() && (watch_first.has_given_up() || !late) {
        watch_first.look();
        watch_first.told()
    } else {
        None
    };
    // A guest's processes are its own; here is only its kernel.
    let doing = (late && stops.natively).then(|| activity(&Root::default(), supervisor.0.id())).flatten();
    supervisor.end()?;
    let wall = started.elapsed().as_secs_f64();
    if reported.is_none() && ended.and_then(|status| status.code()) == Some(OF_MACHINE.into()) {
        let said = console.after("it lacks what every trial needs");
        return Err(LabError::NotStarted(Reason::new(said, HINT)));
    }
    if has_long_line {
        let longest = Bytes(LONGEST_EVENT);
        let reason = format!("the trial sent a line of more than {longest}, which is not kept");
        reported = Some((Status::Failed, reason, String::new()));
    }
    let failed = reported.as_ref().is_some_and(|(status, ..)| *status == Status::Failed);
    let starved = reported.is_none() && step.is_empty() && console.was_refused_memory();
    let killed = starved
        || failed && felled.is_some()
        || reported.is_none()
            && (signal(ended).is_some()
                || ended.is_some() && console.has_panic()
                // A guest that powers off in the midst of its work: its agent was taken away.
                || ended.is_some_and(|status| status.success()) && !step.is_empty()
                || held.is_some());
    let from_outside = held.is_some() || signal(ended).is_some_and(|signal| FROM_OUTSIDE.contains(&signal));
    let unheard = starved || killed && from_outside && step.is_empty();
    let told = reported.map(|(status, reason, hint)| match felled {
        Some(how) if status == Status::Failed => {
            (status, format!("a program of the trial {how}: {reason}"), hint)
        }
        _ => (status, reason, hint),
    });
    let (status, reason, hint) = told.unwrap_or_else(|| {
        let at = at_step(spec, &step);
        if let Some(held) = held {
            return (Status::Failed, format!("the trial was given up ({held}); it was {at}"), String::new());
        }
        let lacks_memory = !stops.natively && step.is_empty() && console.lacks_memory();
        if Instant::now() < time_is_up {
            let hint = if lacks_memory { MORE_MEMORY } else { "" };
            return (Status::Failed, console.after(&how_it_ended(ended)), hint.to_owned());
        }
        let limit = duration_text(spec.limit);
        let doing = doing.map_or(String::new(), |doing| format!("; {doing}"));
        let reason =
            console.after(&format!("not finished within the {limit} of a trial: it was {at}{doing}"));
        let longer = duration_text(spec.limit * 3);
        let hint = match lacks_memory {
            true => MORE_MEMORY.to_owned(),
            false => format!("`timeout` in [protocol] gives a trial longer: --set protocol.timeout={longer}"),
        };
        (Status::Failed, reason, hint)
    });
    Ok(TrialEnd { status, reason, hint, wall, killed, unheard, stopped: stops.any() || watch_first.was_held })
}

/// What a trial was at in its last step, for people: the phase, and the program it runs where the plan names one.
pub(super) fn at_step(spec: &TrialSpec, step: &str) -> String {
    let work = spec.phases.iter().find(|phase| phase.name == step).map(|phase| &phase.work);
    match work {
        _ if step.is_empty() => "before its first step".to_owned(),
        Some(PhaseWork::Command(line)) => format!("at `{step}`, which runs: {line}"),
        Some(PhaseWork::Adapter { name, options }) => format!("at `{step}`, which runs: {name} {options}"),
        _ => format!("at `{step}`"),
    }
}

fn how_it_ended(status: Option<ExitStatus>) -> String {
    match (signal(status), status.and_then(|status| status.code())) {
        (Some(signal), _) => format!("the trial was ended from outside, or crashed (signal {signal})"),
        (None, Some(code)) => format!("the trial ended without a result (exit status {code})"),
        (None, None) => "the trial ended without a result".to_owned(),
    }
}

/// How somebody, the kernel that ran out of memory say, took a program of a trial away: none does that to itself. A guest's
/// kernel that is a process takes one whose own process on this machine was ended for one that used memory it does not have.
fn taken_by(record: &CommandRecord, natively: bool) -> Option<&'static str> {
    const KILL: i32 = 9;
    const SEGMENTATION_FAULT: i32 = 11;
    let by = |signal: i32| record.signal == Some(signal) || record.exit == Some(128 + signal);
    match natively {
        _ if by(KILL) => Some("was ended from outside (signal 9)"),
        false if by(SEGMENTATION_FAULT) => Some("crashed, or was ended from outside (signal 11)"),
        _ => None,
    }
}

/// The signal that ended it, or what the supervisor reported as 128 and the signal.
fn signal(status: Option<ExitStatus>) -> Option<i32> {
    let status = status?;
    status.signal().or(status.code().filter(|code| *code > 128).map(|code| code - 128))
}

/// The lines of a trial as they come; `None` in place of one that is too long. A trial that sends faster than its events are
/// handled waits.
fn lines_of(events: impl Read + Send + 'static) -> mpsc::Receiver<Option<String>> {
    let (send, receive) = mpsc::sync_channel(WAITING_EVENTS);
    std::thread::spawn(move || {
        let mut events = BufReader::new(events);
        while let Ok(Some(line)) = read_line(&mut events, LONGEST_EVENT) {
            let line = line.map(|line| String::from_utf8_lossy(&line).into_owned());
            if send.send(line).is_err() {
                break;
            }
        }
    });
    receive
}

/// The next line without its end, or `Some(None)` where it has more than `most` bytes; `None` at the end of all.
fn read_line(events: &mut impl BufRead, most: u64) -> std::io::Result<Option<Option<Vec<u8>>>> {
    let mut line = Vec::new();
    if events.by_ref().take(most + 1).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
        return Ok(Some(Some(line)));
    }
    if line.len() as u64 <= most {
        return Ok(Some(Some(line)));
    }
    drop(line);
    // The rest of it is read in pieces, and forgotten.
    let mut piece = Vec::new();
    while events.by_ref().take(most + 1).read_until(b'\n', &mut piece)? > 0 && piece.last() != Some(&b'\n') {
        piece.clear();
    }
    Ok(Some(None))
}

/// Ends its process when it goes out of scope, whatever happened.
struct Supervisor(Child);

impl Supervisor {
    fn wait_until(&mut self, deadline: Instant) -> std::io::Result<Option<ExitStatus>> {
        loop {
            if let Some(status) = self.0.try_wait()? {
                return Ok(Some(status));
            }
            if Instant::now() >= deadline {
                return Ok(None);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn end(&mut self) -> std::io::Result<()> {
        if self.0.try_wait()?.is_none() {
            self.0.kill()?;
            self.0.wait()?;
        }
        Ok(())
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Read, repeat};

    use super::read_line;

    #[test]
    fn a_line_without_end_takes_bounded_memory_and_what_follows_is_read() {
        let input = b"first\n\n".chain(repeat(b'x').take(100_000_000)).chain(&b"\nlast\nno end"[..]);
        let mut input = BufReader::new(input);
        let mut next = || read_line(&mut input, 1000).unwrap();
        assert_eq!(next(), Some(Some(b"first".to_vec())));
        assert_eq!(next(), Some(Some(Vec::new())));
        assert_eq!(next(), Some(None));
        assert_eq!(next(), Some(Some(b"last".to_vec())));
        assert_eq!(next(), Some(Some(b"no end".to_vec())));
        assert_eq!(next(), None);
    }
}
