//! Starts what a lab made ready, hears its events, and ends it when its time is up.

use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::trial::TrialSpec;
use fsverdict_judgement::journal::{Caution, CommandRecord, DeviceEvent, Event, JournalBounds, Status};
use fsverdict_judgement::plan::PhaseWork;
use fsverdict_linux::host::foreign::harmless_value;
use fsverdict_linux::host::limits::HINT;
use fsverdict_linux::host::placement::{Pinned, Placement};
use fsverdict_linux::host::procfs::{describe_activity, oom_kills};
use fsverdict_linux::host::root::Root;
use fsverdict_linux::sandbox::{
    Capabilities, FROM_OUTSIDE, OF_MACHINE, Sandbox, SandboxError, make_inheritable,
};
use fsverdict_text::{Bytes, Reason, duration_text};

use super::LabError;
use super::console::Console;
use super::event_lines::{LONGEST_EVENT, read_lines};
use super::first_process::SupervisorWatch;
use super::interruption::{Interruption, signal_from_outside, terminating_signal};

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
    /// What ended it from outside, if that did: it says nothing about the candidate however often it happens.
    pub interrupted: Option<Interruption>,
    /// It was ended from outside before its agent said anything, or its device was asked for anything: it says nothing about
    /// the candidate however often that happens.
    pub unheard: bool,
    /// It was stopped for a while and went on: what it timed holds the pause.
    pub stopped: bool,
    /// A device of this machine that failed under it (its number, from 1), and what was reported of it: that says nothing about the
    /// candidate.
    pub device_error: Option<(usize, String)>,
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
        sandbox.stops = Some(make_inheritable(writer.as_fd())?);
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
    let oom_kills_before = oom_kills(&Root::default());
    let (console_reader, console_writer) = std::io::pipe()?;
    command.stdout(console_writer.try_clone()?).stderr(console_writer);
    // Children and threads are where the thread was that started them.
    let placement = company.as_ref().map(|company| company.placement);
    let pinned = placement.map(|placement| Pinned::pin_to(placement.guest)).transpose()?;
    let mut supervisor = Supervisor(command.spawn()?);
    drop(pinned);
    let _pinned = placement.map(|placement| Pinned::pin_to(placement.server)).transpose()?;
    // End of file on console and events needs our own copies of their other ends closed.
    drop(command);
    drop(inherited);
    let console = Console::listen(console_reader);
    let lines = read_lines(std::fs::File::from(events));
    let mut reported = None;
    let mut has_long_line = false;
    let mut late = false;
    let time_is_up = started + spec.limit;
    let mut deadline = spec.deadline.map_or(time_is_up, |of_run| of_run.min(time_is_up));
    let mut step = String::new();
    let mut alone = false;
    let mut felled = Felled::default();
    let mut device_error = None;
    let (mut bounds, mut has_left_out) = (JournalBounds::default(), false);
    let mut watch_first = SupervisorWatch::of(supervisor.0.id());
    let mut looked = Instant::now();
    loop {
        // A guest's processes are its own.
        if stops.natively && looked.elapsed() >= LOOK {
            watch_first.look_for_stops();
            looked = Instant::now();
        }
        let patience = deadline.saturating_duration_since(Instant::now());
        match lines.recv_timeout(patience.min(LOOK)) {
            Ok(None) => has_long_line = true,
            Ok(Some(line)) => {
                match serde_json::from_str(&line).map(harmless_value).and_then(serde_json::from_value) {
                    Ok(Event::TrialFinished { status, reason, hint, .. }) => {
                        reported = Some((status, reason, hint));
                        deadline = Instant::now() + FAREWELL;
                    }
                    Ok(Event::Device(DeviceEvent::Failed { device, found })) => {
                        device_error.get_or_insert((device, found));
                    }
                    Ok(event) => {
                        if let Err(reason) = bounds.check_event(&event) {
                            if !std::mem::replace(&mut has_left_out, true) {
                                let text = format!("left out of what the trial reported: {reason}");
                                watch(Event::Caution(Caution { phase: String::new(), text }));
                            }
                            continue;
                        }
                        match &event {
                            Event::StepStarted { step: begun } => {
                                step.clone_from(begun);
                                console.forget();
                            }
                            Event::Command(record) => felled.add(record, stops.natively),
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
                if !stops.natively && reported.is_none() {
                    watch_first.look_for_dead_helpers();
                }
                late = Instant::now() >= deadline
                    || was_alone && alone
                    || watch_first.has_given_up()
                    || watch_first.dead_helper.is_some();
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
    let doing =
        (late && stops.natively).then(|| describe_activity(&Root::default(), supervisor.0.id())).flatten();
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
    let outside = Outside {
        // One that still ran at the end of its time, or after it had its say, was killed here.
        signal: signal(ended).or(watch_first.dead_helper).filter(|_| reported.is_none()),
        program: felled.from_outside.filter(|_| failed || reported.is_none()),
        held: held.is_some(),
        guest_ended: reported.is_none()
            && !stops.natively
            && !step.is_empty()
            && ended.is_some_and(|status| terminating_signal(status).is_none())
            && !console.has_panic()
            && !console.is_explained(),
        failed: failed || reported.is_none(),
        natively: stops.natively,
        guest_out_of_memory: !stops.natively && console.ran_out_of_memory(),
        oom_kill: oom_kills(&Root::default()) > oom_kills_before,
    };
    let interrupted = outside.interruption();
    let killed = starved
        || interrupted.is_some()
        || failed && felled.crashed
        || reported.is_none()
            && (signal(ended).is_some()
                || ended.is_some() && console.has_panic()
                // Its agent was taken away, or crashed.
                || ended.is_some_and(|status| status.success()) && !step.is_empty());
    let from_outside = held.is_some() || signal(ended).is_some_and(|signal| FROM_OUTSIDE.contains(&signal));
    let unheard = starved || killed && from_outside && step.is_empty();
    let told = reported.map(|(status, reason, hint)| match felled.words() {
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
        let lacks_memory = interrupted == Some(Interruption::GuestOutOfMemory)
            || !stops.natively && step.is_empty() && console.lacks_memory();
        if let Some(signal) = watch_first.dead_helper {
            let reason =
                format!("a process of the guest's kernel was killed by signal {signal}; it was {at}");
            return (Status::Failed, reason, String::new());
        }
        if Instant::now() < time_is_up {
            if late && spec.deadline.is_some_and(|of_run| of_run <= Instant::now()) {
                return (Status::Failed, format!("the time of the run was up; it was {at}"), String::new());
            }
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
    let out_of_memory = interrupted == Some(Interruption::GuestOutOfMemory);
    let hint = if out_of_memory { MORE_MEMORY.to_owned() } else { hint };
    let stopped = stops.any() || watch_first.was_held || watch_first.was_stopped;
    Ok(TrialEnd { status, reason, hint, wall, killed, interrupted, unheard, stopped, device_error })
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
        (Some(signal), _) if FROM_OUTSIDE.contains(&signal) => {
            format!("the trial was killed by signal {signal}")
        }
        (Some(signal), _) => format!("the trial crashed (signal {signal})"),
        (None, Some(code)) => format!("the trial ended without a result (exit status {code})"),
        (None, None) => "the trial ended without a result".to_owned(),
    }
}

/// What is known of the end of a trial that may come from outside.
#[derive(Debug, Clone, Copy, Default)]
struct Outside {
    /// The signal that ended the trial as a whole before it had reported its result.
    signal: Option<i32>,
    /// The signal from outside that ended a program of a trial that failed.
    program: Option<i32>,
    held: bool,
    guest_ended: bool,
    /// Whether it failed, or ended without a result.
    failed: bool,
    /// Whether its programs are processes of this machine's kernel.
    natively: bool,
    guest_out_of_memory: bool,
    /// Whether this machine's kernel killed a process for want of memory meanwhile.
    oom_kill: bool,
}

impl Outside {
    /// A crash (SIGSEGV, SIGABRT, SIGBUS) is none: a program may crash because of its filesystem.
    fn interruption(self) -> Option<Interruption> {
        const KILL: i32 = 9;
        let of_trial = self.signal.filter(|signal| FROM_OUTSIDE.contains(signal));
        let interruption = match (self.held, of_trial, self.program) {
            (true, ..) => Some(Interruption::Debugger),
            (false, Some(signal), _) => Some(Interruption::Signal(signal)),
            // In a guest the guest's own kernel may have done it.
            _ if self.failed && self.guest_out_of_memory => return Some(Interruption::GuestOutOfMemory),
            (false, None, Some(signal)) => Some(Interruption::Signal(signal)),
            _ => self.guest_ended.then_some(Interruption::GuestEnded),
        };
        match interruption {
            Some(Interruption::Signal(KILL)) if self.oom_kill => Some(Interruption::OutOfMemory),
            // A program of the trial, or what that had started, may have been the one.
            None if self.oom_kill && self.natively && self.failed => Some(Interruption::OutOfMemory),
            other => other,
        }
    }
}

/// Programs of a trial that a signal ended.
#[derive(Debug, Clone, Copy, Default)]
struct Felled {
    /// By a signal from outside: the first one.
    from_outside: Option<i32>,
    /// A guest's kernel that is a process ends with SIGSEGV a program whose own process on this machine was ended because it used
    /// memory that this machine does not have; the program may have done it to itself as well.
    crashed: bool,
}

impl Felled {
    fn add(&mut self, record: &CommandRecord, natively: bool) {
        const SEGMENTATION_FAULT: i32 = 11;
        self.from_outside = self.from_outside.or(signal_from_outside(record));
        let crashed =
            record.signal == Some(SEGMENTATION_FAULT) || record.exit == Some(128 + SEGMENTATION_FAULT);
        self.crashed |= crashed && !natively;
    }

    fn words(self) -> Option<String> {
        match self.from_outside {
            Some(signal) => Some(format!("was killed by signal {signal}")),
            None => self.crashed.then(|| "crashed, or was killed from outside (signal 11)".to_owned()),
        }
    }
}

fn signal(status: Option<ExitStatus>) -> Option<i32> {
    status.and_then(terminating_signal)
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
    use super::super::interruption::Interruption;
    use super::Outside;

    #[test]
    fn what_ends_a_trial_from_outside_is_told_from_what_its_candidate_does() {
        let native = Outside { natively: true, failed: true, ..Outside::default() };
        let guest = Outside { natively: false, ..native };
        for (end, expected) in [
            (native, None),
            (Outside { signal: Some(9), ..native }, Some(Interruption::Signal(9))),
            (Outside { signal: Some(15), ..guest }, Some(Interruption::Signal(15))),
            // A crash may be the filesystem's doing.
            (Outside { signal: Some(11), ..native }, None),
            (Outside { signal: Some(6), ..guest }, None),
            (Outside { program: Some(2), ..native }, Some(Interruption::Signal(2))),
            (Outside { program: Some(9), oom_kill: true, ..native }, Some(Interruption::OutOfMemory)),
            (Outside { program: Some(15), oom_kill: true, ..native }, Some(Interruption::Signal(15))),
            (Outside { oom_kill: true, ..native }, Some(Interruption::OutOfMemory)),
            (Outside { oom_kill: true, failed: false, ..native }, None),
            // A guest that fails by itself while somebody else's program is killed has failed.
            (Outside { oom_kill: true, ..guest }, None),
            (Outside { signal: Some(9), oom_kill: true, ..guest }, Some(Interruption::OutOfMemory)),
            (
                Outside { program: Some(9), guest_out_of_memory: true, ..guest },
                Some(Interruption::GuestOutOfMemory),
            ),
            (Outside { guest_out_of_memory: true, ..guest }, Some(Interruption::GuestOutOfMemory)),
            (Outside { guest_out_of_memory: true, failed: false, ..guest }, None),
            (Outside { signal: Some(9), guest_out_of_memory: true, ..guest }, Some(Interruption::Signal(9))),
            (Outside { guest_ended: true, ..guest }, Some(Interruption::GuestEnded)),
            (Outside { held: true, ..native }, Some(Interruption::Debugger)),
        ] {
            assert_eq!(end.interruption(), expected, "{end:?}");
        }
    }
}
