//! A trial while it runs: reads its events, checks its processes, and concludes how it ended.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::trial::TrialSpec;
use fsverdict_judgement::journal::{Caution, DeviceEvent, Event, Status};
use fsverdict_linux::host::foreign::harmless_value;
use fsverdict_linux::host::procfs::oom_kills;
use fsverdict_linux::host::root::Root;
use fsverdict_linux::sandbox::FROM_OUTSIDE;
use fsverdict_text::duration_text;

use super::console::Console;
use super::device_process::{DeviceProcess, ProcessEnd};
use super::first_process::SupervisorWatch;
use super::interruption::{Interruption, terminating_signal};
use super::report_bounds::{ReportBounds, shorten_reason};
use super::stop_watcher::StopWatcher;
use super::time_limit::TimeLimit;
use super::trial_end::{KilledPrograms, OutsideCauses, TrialEnd, at_step, describe_exit, exit_signal};

/// How long a trial's process may take to end by itself after its last event.
pub(super) const EXIT_GRACE_PERIOD: Duration = Duration::from_secs(20);

/// How often to check whether the trial's processes are stopped or held, and whether the device process still serves.
const HEALTH_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The hint about a guest with too little memory to boot.
const MORE_MEMORY: &str = "it seems to lack memory: `memory = \"512MiB\"` in the plan, or --set memory=512MiB, gives a guest so much \
    beside what its datasets take";

/// The state of a trial while its events are read.
pub(super) struct RunningTrial<'a> {
    spec: &'a TrialSpec,
    stops: &'a StopWatcher,
    pub(super) console: Console,
    limit: TimeLimit,
    /// The end of the limit, or the end of the run if that is earlier; shortened once the trial has sent its result.
    pub(super) deadline: Instant,
    /// The step it is at; empty before the first.
    step: String,
    /// Status, reason and hint, as the agent reported them.
    pub(super) reported: Option<(Status, String, String)>,
    pub(super) has_long_line: bool,
    /// Whether it was given up: at the deadline, or because it can no longer continue.
    pub(super) is_late: bool,
    killed_programs: KilledPrograms,
    device_error: Option<(usize, String)>,
    supervisor: SupervisorWatch,
    bounds: ReportBounds,
}

impl<'a> RunningTrial<'a> {
    pub(super) fn new(
        spec: &'a TrialSpec,
        stops: &'a StopWatcher,
        started: Instant,
        console: Console,
        supervisor: u32,
    ) -> Self {
        let limit = TimeLimit::new(started, spec.limit);
        RunningTrial {
            spec,
            stops,
            console,
            deadline: limit.end_within(spec.deadline),
            limit,
            step: String::new(),
            reported: None,
            has_long_line: false,
            is_late: false,
            killed_programs: KilledPrograms::default(),
            device_error: None,
            supervisor: SupervisorWatch::new(supervisor),
            bounds: ReportBounds::default(),
        }
    }

    /// Reads events until the last writer has closed the pipe, or the trial is given up.
    pub(super) fn follow_events(
        &mut self,
        lines: &mpsc::Receiver<Option<String>>,
        watch: &mut dyn FnMut(Event),
        mut device_process: Option<&mut DeviceProcess<'_>>,
    ) {
        let mut is_unserved = false;
        let mut checked = Instant::now();
        loop {
            // A guest's processes belong to its own kernel and are not checked.
            if self.stops.natively && checked.elapsed() >= HEALTH_CHECK_INTERVAL {
                self.supervisor.look_for_stops();
                checked = Instant::now();
            }
            let patience = self.deadline.saturating_duration_since(Instant::now());
            match lines.recv_timeout(patience.min(HEALTH_CHECK_INTERVAL)) {
                Ok(line) => {
                    match line {
                        Some(line) => self.take_line(&line, watch),
                        None => self.has_long_line = true,
                    }
                    // A trial that never falls silent has no longer than one that does.
                    if self.is_overdue(device_process.as_deref()) {
                        self.is_late = true;
                        break;
                    }
                }
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    // If guest and device process ended together, the guest's last events get a second to arrive.
                    let was_unserved = is_unserved;
                    is_unserved =
                        device_process.as_mut().is_some_and(|device_process| !device_process.is_serving());
                    self.extend_limit(device_process.as_deref());
                    if self.has_given_up(was_unserved && is_unserved) {
                        self.is_late = true;
                        break;
                    }
                }
            }
            // Without this process the guest may end, go on, or wait or spin until its time is up, and its clock with it.
            // No other sign is needed, and none would do: an honest guest may compute for as long.
            if !self.stops.natively && self.console.stub_signal_so_far().is_some() {
                self.is_late = true;
                break;
            }
        }
    }

    /// Whether the trial still reports long after its deadline. Lines sent before the deadline may have waited to be
    /// read.
    fn is_overdue(&mut self, device_process: Option<&DeviceProcess<'_>>) -> bool {
        if Instant::now() < self.deadline + EXIT_GRACE_PERIOD {
            return false;
        }
        self.extend_limit(device_process);
        Instant::now() >= self.deadline + EXIT_GRACE_PERIOD
    }

    /// Gives a trial in simulated time longer by the clock if it was kept from computing for as long as its limit.
    fn extend_limit(&mut self, device_process: Option<&DeviceProcess<'_>>) {
        let now = Instant::now();
        if now < self.limit.end() || self.reported.is_some() {
            return;
        }
        if let Some(computed) =
            device_process.and_then(|device_process| device_process.computed_time(self.supervisor.process()))
        {
            self.limit.extend(now, computed);
            self.deadline = self.limit.end_within(self.spec.deadline);
        }
    }

    /// Checks the trial's processes after a second without events; returns whether the trial can no longer continue.
    fn has_given_up(&mut self, is_unserved: bool) -> bool {
        self.supervisor.check_now();
        if !self.stops.natively && self.reported.is_none() {
            self.supervisor.look_for_dead_helpers();
        }
        Instant::now() >= self.deadline
            || is_unserved
            || self.supervisor.has_given_up()
            || self.supervisor.dead_helper.is_some()
    }

    /// Parses one line of the event pipe, and passes the event on if a trial may report it.
    fn take_line(&mut self, line: &str, watch: &mut dyn FnMut(Event)) {
        match serde_json::from_str(line).map(harmless_value).and_then(serde_json::from_value) {
            Ok(Event::TrialFinished { status, reason, hint, .. }) => {
                // The first result counts: otherwise a trial that ends again and again would never be given up.
                if self.reported.is_none() {
                    self.reported = Some((status, shorten_reason(reason), shorten_reason(hint)));
                    self.deadline = Instant::now() + EXIT_GRACE_PERIOD;
                }
            }
            Ok(Event::Device(DeviceEvent::Failed { device, found })) => {
                self.device_error.get_or_insert((device, found));
            }
            Ok(event) => {
                if let Some(reason) = self.bounds.why_left_out(&event, line.len()) {
                    if let Some(text) = self.bounds.first_caution(&reason) {
                        watch(Event::Caution(Caution::new(text)));
                    }
                    return;
                }
                match &event {
                    Event::StepStarted { step } => {
                        self.step.clone_from(step);
                        self.console.clear_for_step();
                    }
                    Event::Command(record) => {
                        self.killed_programs.note_command(record, self.stops.natively);
                    }
                    _ => {}
                }
                watch(event);
            }
            // Not an event: a kernel's message on the same line. The console has the rest of it.
            Err(_) => {}
        }
    }

    /// Describes the debugger that holds a process which does not end although its work has, or which was held for
    /// long. A hold that is seen once at the timeout may be a coincidence and is not reported.
    pub(super) fn find_hold(&mut self, has_ended: bool) -> Option<String> {
        if has_ended || !self.supervisor.has_given_up() && self.is_late {
            return None;
        }
        self.supervisor.check_now();
        self.supervisor.describe_hold()
    }

    /// Concludes from the process's end how the trial ended.
    pub(super) fn into_end(self, end: &ProcessEnd) -> TrialEnd {
        let signal = exit_signal(end.status);
        let has_failed = self.reported.as_ref().is_some_and(|(status, ..)| *status == Status::Failed);
        let is_starved = self.reported.is_none() && self.step.is_empty() && self.console.was_refused_memory();
        let interrupted = self.outside_causes(end, has_failed).as_interruption();
        let killed = is_starved
            || interrupted.is_some()
            || has_failed && self.killed_programs.crashed
            || self.reported.is_none()
                && (signal.is_some()
                    || end.status.is_some() && self.console.has_panic()
                    // Its agent was killed, or crashed.
                    || end.status.is_some_and(|status| status.success()) && !self.step.is_empty());
        let from_outside = end.held.is_some() || signal.is_some_and(|signal| FROM_OUTSIDE.contains(&signal));
        let unheard = is_starved || killed && from_outside && self.step.is_empty();
        let (status, reason, hint) = self.describe_result(end, interrupted);
        let is_out_of_memory = interrupted == Some(Interruption::GuestOutOfMemory);
        let hint = if is_out_of_memory { MORE_MEMORY.to_owned() } else { hint };
        let stopped = self.stops.was_stopped() || self.supervisor.was_held || self.supervisor.was_stopped;
        let (wall, device_error) = (end.wall, self.device_error);
        TrialEnd { status, reason, hint, wall, killed, interrupted, unheard, stopped, device_error }
    }

    fn outside_causes(&self, end: &ProcessEnd, has_failed: bool) -> OutsideCauses {
        let natively = self.stops.natively;
        OutsideCauses {
            stub_signal: self.console.stub_signal().filter(|_| !natively),
            // A process that still ran at the timeout, or after its result, was killed here.
            trial_signal: exit_signal(end.status)
                .or(self.supervisor.dead_helper)
                .filter(|_| self.reported.is_none()),
            program_signal: self
                .killed_programs
                .from_outside
                .filter(|_| has_failed || self.reported.is_none()),
            held: end.held.is_some(),
            guest_ended: self.reported.is_none()
                && !natively
                && !self.step.is_empty()
                && end.status.is_some_and(|status| terminating_signal(status).is_none())
                && !self.console.has_panic()
                && !self.console.is_explained(),
            failed: has_failed || self.reported.is_none(),
            natively,
            guest_out_of_memory: !natively && self.console.ran_out_of_memory(),
            oom_kill: oom_kills(&Root::default()) > end.oom_kills_before,
        }
    }

    /// Status, reason and hint of the trial: the reported ones, or a description of why there are none.
    fn describe_result(
        &self,
        end: &ProcessEnd,
        interrupted: Option<Interruption>,
    ) -> (Status, String, String) {
        if let Some(Interruption::GuestProcess(signal)) = interrupted {
            let at = at_step(self.spec, &self.step);
            let reason =
                format!("a process of the guest's kernel got signal {signal} from outside; it was {at}");
            return (Status::Failed, self.console.append_to_reason(&reason), String::new());
        }
        match (&self.reported, self.killed_programs.describe_kill()) {
            (Some((Status::Failed, reason, hint)), Some(kill)) => {
                (Status::Failed, format!("a program of the trial {kill}: {reason}"), hint.clone())
            }
            (Some(reported), _) => reported.clone(),
            (None, _) => {
                let (reason, hint) = self.describe_missing_result(end, interrupted);
                (Status::Failed, reason, hint)
            }
        }
    }

    /// Reason and hint for a trial that ended without a result.
    fn describe_missing_result(
        &self,
        end: &ProcessEnd,
        interrupted: Option<Interruption>,
    ) -> (String, String) {
        let at = at_step(self.spec, &self.step);
        if let Some(held) = &end.held {
            return (format!("the trial was given up ({held}); it was {at}"), String::new());
        }
        let lacks_memory = interrupted == Some(Interruption::GuestOutOfMemory)
            || !self.stops.natively && self.step.is_empty() && self.console.lacks_memory();
        if let Some(signal) = self.supervisor.dead_helper {
            let reason =
                format!("a process of the guest's kernel was killed by signal {signal}; it was {at}");
            return (reason, String::new());
        }
        if Instant::now() < self.limit.end() {
            if self.is_late && self.spec.deadline.is_some_and(|of_run| of_run <= Instant::now()) {
                return (format!("the time of the run was up; it was {at}"), String::new());
            }
            let hint = if lacks_memory { MORE_MEMORY } else { "" };
            return (self.console.append_to_reason(&describe_exit(end.status)), hint.to_owned());
        }
        let limit = duration_text(self.spec.limit);
        let activity = end.activity.as_ref().map_or(String::new(), |activity| format!("; {activity}"));
        let reason = self
            .console
            .append_to_reason(&format!("not finished within the {limit} of a trial: it was {at}{activity}"));
        let longer = duration_text(self.spec.limit * 3);
        let hint = match lacks_memory {
            true => MORE_MEMORY.to_owned(),
            false => format!("`timeout` in [protocol] gives a trial longer: --set protocol.timeout={longer}"),
        };
        (reason, hint)
    }
}
