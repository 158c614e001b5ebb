//! Runs a prepared trial: starts its process, reads its events, and kills it at the timeout.

use std::os::fd::OwnedFd;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use crate::trial::TrialSpec;
use fsverdict_judgement::journal::{Event, Status};
use fsverdict_linux::host::limits::HINT;
use fsverdict_linux::host::placement::Pinned;
use fsverdict_linux::host::procfs::{describe_activity, oom_kills};
use fsverdict_linux::host::root::Root;
use fsverdict_linux::sandbox::OF_MACHINE;
use fsverdict_text::{Bytes, Reason};

use super::LabError;
use super::console::Console;
use super::device_process::{DeviceProcess, ProcessEnd};
use super::event_lines::{LONGEST_EVENT, read_lines};
use super::running_trial::{EXIT_GRACE_PERIOD, RunningTrial};
use super::stop_watcher::StopWatcher;
use super::trial_end::TrialEnd;

/// Runs one trial to its end. The command must start a sandbox's supervisor: killing it ends everything.
///
/// The agent's JSON lines arrive on `events`; both output streams of the command are the console. Every event but the
/// last (`TrialFinished`) is passed to `watch`. `inherited` are the descriptors that the command was given: they are
/// closed here as soon as it has them. With `device_process`, the guest runs on one processor and this process on another,
/// and the trial is ended when the device process has.
///
/// # Errors Fails if the trial cannot be started. A later failure is the end of the trial, not an error.
pub(super) fn run_trial_process(
    mut command: Command,
    events: OwnedFd,
    stops: &StopWatcher,
    spec: &TrialSpec,
    watch: &mut dyn FnMut(Event),
    inherited: Vec<OwnedFd>,
    mut device_process: Option<DeviceProcess<'_>>,
) -> Result<TrialEnd, LabError> {
    let started = Instant::now();
    let oom_kills_before = oom_kills(&Root::default());
    let (console_reader, console_writer) = std::io::pipe()?;
    command.stdout(console_writer.try_clone()?).stderr(console_writer);
    // A child or thread starts on the processor of the thread that creates it.
    let placement = device_process.as_ref().map(|device_process| device_process.placement);
    let pinned = placement.map(|placement| Pinned::pin_to(placement.guest)).transpose()?;
    let mut supervisor = Supervisor(command.spawn()?);
    drop(pinned);
    let _pinned = placement.map(|placement| Pinned::pin_to(placement.server)).transpose()?;
    // End of file on console and events needs our own copies of their other ends closed.
    drop(command);
    drop(inherited);
    let console = Console::read_in_background(console_reader);
    let lines = read_lines(std::fs::File::from(events));
    let mut running = RunningTrial::new(spec, stops, started, console, supervisor.0.id());
    running.follow_events(&lines, watch, device_process.as_mut());
    // Nothing is left that could send more events.
    running.deadline = running.deadline.min(Instant::now() + EXIT_GRACE_PERIOD);
    let status = if running.is_late { None } else { supervisor.wait_until(running.deadline)? };
    let held = running.find_hold(status.is_some());
    // The processes of a guest belong to its own kernel; only that kernel is visible here.
    let activity = (running.is_late && stops.natively)
        .then(|| describe_activity(&Root::default(), supervisor.0.id()))
        .flatten();
    supervisor.kill_and_wait()?;
    let wall = started.elapsed().as_secs_f64();
    if running.reported.is_none() && status.and_then(|status| status.code()) == Some(OF_MACHINE.into()) {
        let reason = running.console.append_to_reason("it lacks what every trial needs");
        return Err(LabError::NotStarted(Reason::new(reason, HINT)));
    }
    if running.has_long_line {
        let longest = Bytes(LONGEST_EVENT);
        let reason = format!("the trial sent a line of more than {longest}, which is not kept");
        running.reported = Some((Status::Failed, reason, String::new()));
    }
    Ok(running.into_end(&ProcessEnd { status, held, activity, wall, oom_kills_before }))
}

/// Ends its process when it goes out of scope, also after an error.
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

    fn kill_and_wait(&mut self) -> std::io::Result<()> {
        if self.0.try_wait()?.is_none() {
            self.0.kill()?;
            self.0.wait()?;
        }
        Ok(())
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        let _ = self.kill_and_wait();
    }
}
