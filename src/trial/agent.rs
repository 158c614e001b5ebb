//! `fsverdict agent`: runs one trial, whatever kernel it finds itself on, and tells the conductor.

use std::ffi::OsString;
use std::fs::File;
use std::path::Path;
use std::time::Duration;

use crate::host::cell::OF_MACHINE;
use crate::host::root::Root;
use crate::host::talk::say;
use crate::journal::{CLAIM, Complaint, Event, Facts, Status, TEAR_DOWN};
use crate::measure::{Meter, Quiet};
use crate::workload::{Ledger, verify_written};

use super::bare_device::BareDevice;
use super::calibration::calibrate;
use super::error::TrialError;
use super::sink::Sink;
use super::spec::{Assignment, TrialDevice, TrialSpec, is_raw};
use super::stack::{MOUNT, Stack};
use super::staging::{Materials, ROOM};

/// Environment variable with the number of the descriptor that events go to.
pub const EVENTS_VARIABLE: &str = "FSVERDICT_EVENTS";

/// What a trial needs at hand from its first phase to its last.
pub(super) struct Agent<'a> {
    pub(super) spec: &'a TrialSpec,
    pub(super) materials: Materials,
    pub(super) variables: Vec<(String, OsString)>,
    pub(super) ledger: Ledger,
    pub(super) meter: Meter,
    /// State of the caches at the next phase: `fresh`, `warm` or `cold`.
    pub(super) cache: &'static str,
    /// Nothing was written since the last check.
    pub(super) checked: bool,
    /// The device since the phase's data were durable, while what it left behind is verified.
    pub(super) quiet: Option<Quiet>,
}

/// Runs the trial described on standard input. Returns the exit status; the result itself goes out as events.
pub fn agent() -> u8 {
    let assignment: Assignment = match serde_json::from_reader(std::io::stdin().lock()) {
        Ok(assignment) => assignment,
        Err(error) => {
            say(&format!(
                "fsverdict agent: no trial on standard input ({error}); the conductor starts agents, not people"
            ));
            return 2;
        }
    };
    let number = std::env::var(EVENTS_VARIABLE).ok().and_then(|number| number.parse().ok());
    let Some(events) = number.and_then(crate::host::syscall::own) else {
        say(&format!("fsverdict agent: {EVENTS_VARIABLE} names no open descriptor"));
        return 2;
    };
    // Programs that the trial starts have no business with it.
    let _ = rustix::io::fcntl_setfd(&events, rustix::io::FdFlags::CLOEXEC);
    let mut sink = Sink::new(File::from(events));
    let mut of_machine = false;
    let result = run(&assignment, &mut sink, &mut of_machine);
    // A guest's memory is what the plan gave it.
    if let (Err(complaint), true, false) =
        (&result, of_machine, matches!(assignment.bench.device, TrialDevice::Guest { .. }))
    {
        say(&format!("fsverdict agent: {}", complaint.reason));
        return OF_MACHINE;
    }
    let status = if result.is_ok() { Status::Ok } else { Status::Failed };
    let Complaint { reason, hint } = result.err().unwrap_or_default();
    sink.send(&Event::TrialFinished { status, reason, hint, wall: 0.0 });
    0
}

/// From a bare device to a bare device; the reason when it failed, complaints of the tear-down after it.
fn run(assignment: &Assignment, sink: &mut Sink, of_machine: &mut bool) -> Result<(), Complaint> {
    let Assignment { spec, bench } = assignment;
    std::fs::create_dir_all(ROOM)
        .map_err(|error| Complaint::plain(format!("cannot make {ROOM}: {error}")))?;
    // A tmpfs of its own, so that commands see it read-only while /tmp around it is theirs.
    crate::host::mounts::memory(Path::new(ROOM), "755").map_err(Complaint::plain)?;
    sink.step(CLAIM);
    let claim = match &bench.device {
        TrialDevice::Folder { .. } => None,
        device => {
            let claim = BareDevice::take(device, spec.candidate.scheduler.as_deref(), sink);
            Some(claim.map_err(|error| error.complaint())?)
        }
    };
    if let (Some(grid), Some(device)) = (spec.calibration, &claim) {
        calibrate(device, grid, sink).map_err(|error| error.complaint())?;
        return claim.map_or(Ok(()), BareDevice::release).map_err(|error| error.complaint());
    }
    let mut stack =
        Stack::new(sink, &spec.candidate, claim.as_ref(), spec.limit).map_err(|error| error.complaint())?;
    let result = work(assignment, &mut stack).map_err(|error| {
        *of_machine = error.is_of_machine();
        let mut complaint = error.complaint();
        complaint.reason += &stack.said_by_kernel();
        complaint
    });
    stack.step(TEAR_DOWN);
    let mut complaints = stack.take_down();
    complaints.extend(claim.and_then(|claim| claim.release().err()).map(|error| error.to_string()));
    let complaints = complaints.join("; ");
    match (result, complaints.is_empty()) {
        (Ok(()), true) => Ok(()),
        (Ok(()), false) => Err(Complaint::plain(format!(
            "the work was done, but not everything could be taken down: {complaints}"
        ))),
        (Err(error), true) => Err(error),
        (Err(mut error), false) => {
            error.reason += &format!("\nafter that, not everything could be taken down: {complaints}");
            Err(error)
        }
    }
}

fn work(assignment: &Assignment, stack: &mut Stack<'_>) -> Result<(), TrialError> {
    let Assignment { spec, bench } = assignment;
    let root = Root::new("/");
    let materials = Materials::gather(assignment, stack.sink)?;
    stack.shut_in()?;
    let variables = materials.variables();
    let meter = Meter::new(&root, stack.device_name().as_deref(), bench.idle_load)?;
    meter.cautions.iter().for_each(|caution| stack.sink.caution(&caution.phase, caution.text.clone()));
    let mut trial = Agent {
        spec,
        materials,
        variables,
        ledger: Ledger::new(),
        meter,
        cache: "fresh",
        checked: false,
        quiet: None,
    };
    // Twice: what is timed from the mount on, and what from the start, each meet the first phase at another moment.
    let pause = || std::thread::sleep(spec.drawn.map_or(Duration::ZERO, |drawn| drawn.pause));
    pause();
    trial.put_up(stack)?;
    stack.sink.facts(mount_facts(stack));
    tell_of_cleaner(stack);
    pause();
    trial.settle(stack, if stack.in_folder() { "before the phases" } else { "mount" });
    for phase in spec.phases.iter().filter(|phase| !is_raw(phase)) {
        trial.phase(stack, phase)?;
    }
    trial.put_away(stack)?;
    trial.verify_all(stack)
}

impl Agent<'_> {
    /// From the bare device to the mounted filesystem; a folder is there already.
    fn put_up(&mut self, stack: &mut Stack<'_>) -> Result<(), TrialError> {
        if stack.in_folder() {
            return stack.mount();
        }
        self.raw_phases(stack)?;
        stack.encrypt()?;
        self.timed(stack, "mkfs", Stack::mkfs, Stack::sync_device)?;
        self.timed(stack, "mount", Stack::mount, Stack::sync)?;
        stack.note_fresh()
    }

    /// Unmounts and checks, of which a folder knows nothing.
    fn put_away(&mut self, stack: &mut Stack<'_>) -> Result<(), TrialError> {
        if stack.in_folder() {
            return stack.unmount();
        }
        self.timed(stack, "umount", Stack::unmount, Stack::sync_device)?;
        if self.checked {
            return Ok(());
        }
        stack.step("fsck");
        self.checks(stack, "fsck")
    }

    /// After the check: everything that should lie there does, read back from the device.
    fn verify_all(&mut self, stack: &mut Stack<'_>) -> Result<(), TrialError> {
        if self.ledger.written().next().is_none() {
            return Ok(());
        }
        stack.step("verify");
        stack.mount_again()?;
        let materials = &self.materials;
        let find = |name: &str| {
            materials.get(name).ok().map(|material| (&material.prepared, material.staged.as_ref()))
        };
        let verified = verify_written(Path::new(MOUNT), &self.ledger, find);
        stack.unmount()?;
        Ok(verified?)
    }
}

/// A garbage collector changes what is measured, whether it runs or not: told with the numbers, not only in the journal.
fn tell_of_cleaner(stack: &mut Stack<'_>) {
    let Some(cleaner) = stack.filesystem.cleaner else { return };
    let (name, program) = (stack.filesystem.title, cleaner.tool.program);
    let text = match stack.cleaner_runs() {
        true => format!("the garbage collector of {name} ({program}) was running beside the phases"),
        false => format!(
            "the garbage collector of {name} ({program}) was not running: nothing removed or overwritten gave its space back"
        ),
    };
    stack.sink.caution("", text);
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
