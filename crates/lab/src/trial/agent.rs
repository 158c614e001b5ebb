//! `fsverdict agent`: runs one trial on the kernel that started it, and reports to the conductor.

use std::ffi::OsString;
use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::kernel::CPU_CLASSES;
use fsverdict_judgement::journal::{CommandRecord, Event, Facts, Measurement, Observation, Status, Unit};
use fsverdict_judgement::plan::ArrayState;
use fsverdict_linux::host::messages::print_line;
use fsverdict_linux::host::root::Root;
use fsverdict_linux::sandbox::program::report_stops_to;
use fsverdict_linux::sandbox::{OF_MACHINE, STOPS_VARIABLE};
use fsverdict_stack::filesystem::reads_without_trace;
use fsverdict_text::{Hinted, Reason};
use fsverdict_workload::measure::{Meter, QuietDevice};
use fsverdict_workload::workload::{Ledger, verify_written};

use super::act::Act;
use super::bare_device::BareDevice;
use super::bare_device::calibrate_device;
use super::companions::Companions;
use super::error::TrialError;
use super::sink::Sink;
use super::spec::{Assignment, TrialSpec};
use super::stack::{MOUNT, Stack};
use super::staging::{Materials, ROOM};
use super::steps::{Step, TrialCourse};

/// Environment variable with the number of the descriptor that events go to.
pub const EVENTS_VARIABLE: &str = "FSVERDICT_EVENTS";

/// State of a trial from its first step to its last.
pub(super) struct Agent<'a> {
    pub(super) assignment: &'a Assignment,
    pub(super) spec: &'a TrialSpec,
    pub(super) begun: Instant,
    pub(super) materials: Materials,
    pub(super) variables: Vec<(String, OsString)>,
    pub(super) ledger: Ledger,
    /// None before there is nothing here but the trial.
    pub(super) meter: Option<Meter>,
    /// How often the step under way has been done before.
    pub(super) repetition: u32,
    /// The observation that is not in the journal yet.
    pub(super) timed: Option<Observation>,
    /// The checker's record that is not judged yet.
    pub(super) checked: Option<CommandRecord>,
    /// Services and background of the phases.
    pub(super) company: Companions,
    /// Watches the device from the moment the phase's data were durable, while its result is verified.
    pub(super) quiet: Option<QuietDevice>,
}

/// Runs the trial described on standard input. Returns the exit status; the result itself goes out as events.
pub fn run_agent() -> u8 {
    let assignment: Assignment = match serde_json::from_reader(std::io::stdin().lock()) {
        Ok(assignment) => assignment,
        Err(error) => {
            print_line(&format!(
                "fsverdict agent: no trial on standard input ({error}); the conductor starts agents, not people"
            ));
            return 2;
        }
    };
    let number = std::env::var(EVENTS_VARIABLE).ok().and_then(|number| number.parse().ok());
    let Some(events) = number.and_then(fsverdict_linux::host::syscall::own_descriptor) else {
        print_line(&format!("fsverdict agent: {EVENTS_VARIABLE} names no open descriptor"));
        return 2;
    };
    // Programs that the trial starts have no business with it.
    let _ = rustix::io::fcntl_setfd(&events, rustix::io::FdFlags::CLOEXEC);
    let stops = std::env::var(STOPS_VARIABLE).ok().and_then(|number| number.parse().ok());
    if let Some(stops) = stops.and_then(fsverdict_linux::host::syscall::own_descriptor) {
        let _ = rustix::io::fcntl_setfd(&stops, rustix::io::FdFlags::CLOEXEC);
        report_stops_to(stops);
    }
    let mut sink = Sink::from_pipe(File::from(events));
    let mut of_machine = false;
    let result = run_trial(&assignment, &mut sink, &mut of_machine);
    // The plan decides how much memory a guest has, so a shortage there is not the machine's.
    if let (Err(complaint), true, false) = (&result, of_machine, assignment.bench.is_in_guest()) {
        print_line(&format!("fsverdict agent: {}", complaint.what));
        return OF_MACHINE;
    }
    let status = if result.is_ok() { Status::Ok } else { Status::Failed };
    let Reason { what: reason, hint, .. } = result.err().unwrap_or_default();
    sink.send_event(&Event::TrialFinished { status, reason, hint, wall: 0.0 });
    0
}

/// Runs a trial from the bare device back to the bare device. The reason of a failure is followed by complaints of
/// the teardown.
fn run_trial(assignment: &Assignment, sink: &mut Sink, of_machine: &mut bool) -> Result<(), Reason> {
    let spec = &assignment.spec;
    std::fs::create_dir_all(ROOM).map_err(|error| Reason::plain(format!("cannot make {ROOM}: {error}")))?;
    // A separate tmpfs: commands see it read-only, while they can write to /tmp around it.
    fsverdict_linux::host::mounts::mount_tmpfs(Path::new(ROOM), "755").map_err(Reason::plain)?;
    let mut stack =
        Stack::new(sink, &spec.candidate, spec.devices, spec.limit).map_err(|error| error.reason())?;
    let course = TrialCourse::for_trial(spec);
    let mut agent = Agent::new(assignment);
    let result = course.steps.iter().try_for_each(|step| agent.run_step(&mut stack, step)).map_err(|error| {
        *of_machine = error.is_of_machine();
        if let Some(event) = error.device_event() {
            stack.sink.send_event(&Event::Device(event));
        }
        if let Some(record) = error.untold_record() {
            stack.sink.send_command(record);
        }
        let mut complaint = error.reason();
        complaint.what += &stack.said_by_kernel();
        complaint
    });
    let complaints = agent.take_down(&mut stack, &course.last).join("; ");
    if result.is_err() || !complaints.is_empty() {
        let errors = stack.device_errors();
        errors.into_iter().for_each(|error| stack.sink.send_event(&Event::Device(error)));
    }
    match (result, complaints.is_empty()) {
        (Ok(()), true) => Ok(()),
        (Ok(()), false) => Err(Reason::plain(format!(
            "the work was done, but not everything could be taken down: {complaints}"
        ))),
        (Err(error), true) => Err(error),
        (Err(mut error), false) => {
            error.what += &format!("\nafter that, not everything could be taken down: {complaints}");
            Err(error)
        }
    }
}

impl<'a> Agent<'a> {
    fn new(assignment: &'a Assignment) -> Self {
        Agent {
            assignment,
            spec: &assignment.spec,
            begun: Instant::now(),
            materials: Materials::default(),
            variables: Vec::new(),
            ledger: Ledger::new(),
            meter: None,
            repetition: 0,
            timed: None,
            checked: None,
            company: Companions::default(),
            quiet: None,
        }
    }

    fn run_step(&mut self, stack: &mut Stack<'_>, step: &Step<'_>) -> Result<(), TrialError> {
        if let Some(name) = step.name {
            stack.begin_step(name);
        }
        self.repetition = 0;
        self.run_acts(stack, &step.first)?;
        if !step.each.is_empty() {
            for repetition in 0..self.repetitions_of(stack, step.name.unwrap_or_default()) {
                self.repetition = repetition;
                self.run_acts(stack, &step.each)?;
            }
        }
        self.run_acts(stack, &step.then)
    }

    fn run_acts(&mut self, stack: &mut Stack<'_>, acts: &[Act<'_>]) -> Result<(), TrialError> {
        acts.iter().try_for_each(|act| self.run_act(stack, *act))
    }

    /// Takes down everything that is still set up. All failures are collected, and none ends the teardown.
    fn take_down(&mut self, stack: &mut Stack<'_>, last: &Step<'_>) -> Vec<String> {
        if let Some(name) = last.name {
            stack.begin_step(name);
        }
        // A filesystem that programs still use cannot be unmounted.
        self.company.end_all(stack);
        last.past_errors(|act| self.run_act(stack, act))
    }

    /// How many times a step is done. By the rule alone only where reading leaves no trace: else the first reader writes the
    /// times of access, and those after it do not.
    fn repetitions_of(&self, stack: &Stack<'_>, step: &str) -> u32 {
        let traceless = || {
            let mount = stack.resolved_mount();
            mount.is_none_or(|mount| reads_without_trace(&mount.options))
        };
        match self.spec.repeats.get(step) {
            Some(repeats) if repeats.asked_for || traceless() => repeats.times.max(1),
            _ => 1,
        }
    }

    fn run_act(&mut self, stack: &mut Stack<'_>, act: Act<'_>) -> Result<(), TrialError> {
        match act {
            Act::Claim => stack.claim_devices(&self.assignment.bench.devices)?,
            Act::Discard => stack.each_bare(BareDevice::discard_all)?,
            Act::Scheduler(name) => stack.each_bare(|bare| bare.set_scheduler(name))?,
            Act::DescribeDevice => stack.describe_device(),
            Act::LookAfterCuts => self.look_after_cuts(stack)?,
            Act::LookAfterRot => self.look_after_rot(stack)?,
            Act::Calibrate(grid) => calibrate_device(&stack.top_device(), grid, stack.sink)?,
            Act::Stage => {
                self.materials = Materials::prepare_datasets(self.assignment, stack.sink)?;
                self.variables = self.materials.dataset_variables();
            }
            Act::ShutIn => self.shut_in(stack)?,
            Act::Pause => std::thread::sleep(self.spec.drawn.map_or(Duration::ZERO, |drawn| drawn.pause)),
            Act::DiscardAgain => self.discard_again(stack)?,
            Act::Layer(at, act) => stack.run_layer_act(at, act)?,
            Act::Aside(phase, line) => self.run_aside(stack, phase, line)?,
            Act::StartService(service) => self.start_service(stack, service)?,
            Act::StopService(service) => self.stop_service(stack, service)?,
            Act::TakeOut => stack.take_out()?,
            Act::PutBack => stack.put_back()?,
            Act::Begin(state) => stack.begin_beside(state)?,
            Act::Finish(state) => self.finish_beside(stack, state)?,
            Act::Timed(timed, cache) => self.run_timed(stack, timed, cache)?,
            Act::Record => self.record_observation(stack),
            Act::Judge => self.judge_check(stack)?,
            Act::NoChecker(name) => {
                let text = format!("{} has no checker: nothing was checked or timed", stack.filesystem.name);
                stack.sink.send_caution(name, text);
            }
            Act::DescribeMount => describe_mount(stack)?,
            Act::Settle(phase) => self.settle_device(stack, phase)?,
            Act::CheckAged => self.check_aged(stack)?,
            Act::MakeAnew => stack.make_anew()?,
            Act::CopyAgain(phase) => self.copy_again(stack, phase)?,
            Act::RenewFiles(phase) => self.renew_files(stack, phase)?,
            Act::ShowFolder => stack.mount_filesystem()?,
            Act::Unmount => stack.unmount_filesystem()?,
            Act::SyncDevice => stack.sync_device()?,
            Act::ForgetDevice => stack.forget_device()?,
            Act::ForgetFolder(phase) => stack.forget_folder(phase)?,
            Act::Mount => stack.mount_again()?,
            Act::Verify(phase) => self.verify_phase(phase)?,
            Act::VerifyDevice(phase) => self.verify_device(stack, phase)?,
            Act::NeverStored(phase) => Self::never_stored(stack, phase),
            Act::VerifyAll => self.verify_all()?,
            Act::UnmountLeft => stack.unmount_left()?,
            Act::Release => stack.release_devices()?,
        }
        Ok(())
    }

    /// Hides everything of the machine that the trial does not need, then sets up the meter.
    fn shut_in(&mut self, stack: &mut Stack<'_>) -> Result<(), TrialError> {
        stack.shut_in()?;
        let devices = stack.device_names();
        let bench = &self.assignment.bench;
        let mut meter = Meter::new(&Root::new("/"), &devices, bench.idle_load)?;
        if bench.counts_computation {
            meter = meter.with_computation(&CPU_CLASSES)?;
        }
        meter
            .cautions
            .iter()
            .for_each(|caution| stack.sink.send_caution(&caution.phase, caution.text.clone()));
        self.meter = Some(meter);
        Ok(())
    }

    /// Waits for the work beside the phase, and keeps its time with the phase's.
    fn finish_beside(&mut self, stack: &mut Stack<'_>, state: ArrayState) -> Result<(), TrialError> {
        let seconds = stack.finish_beside()?;
        // It moved the devices until now.
        self.quiet = None;
        let metric = if state == ArrayState::Scrubbing { "scrub" } else { "rebuild" };
        if let Some(observation) = &mut self.timed {
            let measured = Measurement::new(metric, Unit::Seconds, seconds);
            observation.measurements.push(measured);
        }
        Ok(())
    }

    fn record_observation(&mut self, stack: &mut Stack<'_>) {
        if let Some(observation) = self.timed.take() {
            stack.sink.send_observation(Observation { repetition: self.repetition, ..observation });
        }
    }

    /// After the check, verifies all expected data, read back from the device.
    fn verify_all(&self) -> Result<(), TrialError> {
        let materials = &self.materials;
        let find = |name: &str| {
            materials.get(name).ok().map(|material| (&material.prepared, material.staged.as_ref()))
        };
        Ok(verify_written(Path::new(MOUNT), &self.ledger, find)?)
    }
}

/// Records how the filesystem was mounted, and reports its garbage collector.
fn describe_mount(stack: &mut Stack<'_>) -> Result<(), TrialError> {
    stack.note_fresh()?;
    stack.sink.send_facts(mount_facts(stack));
    tell_of_cleaner(stack);
    Ok(())
}

/// A garbage collector affects the results whether it runs or not, so the report mentions it, not only the journal.
fn tell_of_cleaner(stack: &mut Stack<'_>) {
    let Some(cleaner) = stack.filesystem.cleaner else { return };
    let (name, program) = (stack.filesystem.title, cleaner.tool.program);
    let text = match stack.cleaner_runs() {
        true => format!("the garbage collector of {name} ({program}) was running beside the phases"),
        false => format!(
            "the garbage collector of {name} ({program}) was not running: nothing removed or overwritten gave its space back"
        ),
    };
    stack.sink.send_caution("", text);
}

fn mount_facts(stack: &Stack<'_>) -> Facts {
    let mut facts = Facts::new();
    if let Some(mount) = stack.resolved_mount() {
        facts.insert("mount.options".to_owned(), mount.options);
        facts.insert("mount.filesystem_options".to_owned(), mount.filesystem_options);
        facts.insert("mount.type".to_owned(), mount.filesystem);
    }
    if let Some(cleaner) = stack.filesystem.cleaner {
        let state = if stack.cleaner_runs() { "running" } else { "not running" };
        facts.insert(format!("cleaner.{}", cleaner.tool.program), state.to_owned());
    }
    facts
}
