//! One phase: cold if asked for, the work on two clocks, verified outside them, settled.

use std::path::{Path, PathBuf};

use crate::dataset::{HardLinks, Manifest};
use crate::filesystem::reads_without_trace;
use crate::host::procfs::memory;
use crate::host::program::{Program, locate};
use crate::host::root::Root;
use crate::journal::{CommandRecord, Event, Measurement, Observation};
use crate::measure::{Clocked, Quiet, SettleLimits, WorkDone};
use crate::plan::{Flow, Operation, Phase, Work};
use crate::workload::{CommandContext, FOLDER, Workplace, adapter, command, run, verify};

use super::agent::Agent;
use super::complaint::{ended_well, missing};
use super::error::TrialError;
use super::stack::{MOUNT, Stack, Trade};

/// What a command may write to besides the filesystem under test: the agent's own tmpfs.
const SCRATCH: &str = "/tmp";

/// How much is kept of what a benchmark program prints, in bytes: fio's JSON grows with its percentiles.
const ADAPTER_OUTPUT: usize = 512 * 1024;

/// What is said where no device is watched that could be quiet.
const BESIDE_FOLDER: &str =
    "the machine still held unwritten data when the next step began, of others or of what the folder lies on";

impl Agent<'_> {
    pub(super) fn phase(&mut self, stack: &mut Stack<'_>, phase: &Phase) -> Result<(), TrialError> {
        stack.step(&phase.name);
        if phase.work == Work::Operation(Operation::Fsck) {
            stack.unmount()?;
            self.checks(stack, &phase.name)?;
            stack.mount_again()?;
            self.checked = true;
            return Ok(());
        }
        for repetition in 0..self.times(stack, &phase.name) {
            self.once(stack, phase, repetition)?;
        }
        Ok(())
    }

    /// How many times a phase is done. By the rule alone only where reading leaves no trace: else the first reader writes the
    /// times of access, and those after it do not.
    fn times(&self, stack: &Stack<'_>, phase: &str) -> u32 {
        let traceless = || {
            let mount = stack.resolved_mount();
            mount.is_none_or(|mount| reads_without_trace(&mount.options))
        };
        match self.spec.repeats.get(phase) {
            Some(repeats) if repeats.asked_for || traceless() => repeats.times.max(1),
            _ => 1,
        }
    }

    fn once(&mut self, stack: &mut Stack<'_>, phase: &Phase, repetition: u32) -> Result<(), TrialError> {
        if phase.cold {
            stack.make_cold(&phase.name)?;
            self.cache = "cold";
        }
        let mut observation = match &phase.work {
            Work::Operation(operation) => self.operation(stack, phase, *operation)?,
            Work::Command(line) => self.command(stack, phase, line)?,
            Work::Adapter { name, options } => self.adapter(stack, phase, name, options)?,
        };
        self.cache = "warm";
        self.checked = false;
        observation.measurements.extend(self.settle(stack, &phase.name));
        observation.repetition = repetition;
        stack.sink.observation(observation);
        Ok(())
    }

    fn operation(
        &mut self,
        stack: &mut Stack<'_>,
        phase: &Phase,
        operation: Operation,
    ) -> Result<Observation, TrialError> {
        let dataset = phase.dataset.as_deref().unwrap_or_default();
        let material = self.materials.get(dataset)?;
        let into = PathBuf::from(phase.into.as_deref().unwrap_or(dataset));
        let mut site = Workplace {
            operation,
            mount: Path::new(MOUNT),
            into: &into,
            dataset: &material.prepared,
            staged: material.staged.as_ref(),
            ledger: &mut self.ledger,
            changed: phase.changed.unwrap_or(0.0),
        };
        let work = |_: &mut Stack<'_>| Ok::<_, TrialError>(run(&mut site)?);
        let (done, clocked) = self.meter.clock(&phase.name, self.cache, stack, work, Stack::sync)?;
        self.quiet = may_be_quiet(stack);
        let (bytes_read, bytes_written) = match operation.flow() {
            Flow::Reads => (done.logical_bytes, 0),
            Flow::Writes | Flow::Neither => (0, done.logical_bytes),
        };
        let work = WorkDone {
            bytes_read,
            bytes_written,
            files: done.files,
            histograms: done.histograms,
            main_call: Some(done.main_call.to_owned()),
        };
        let observation = clocked.finish(work, stack.fresh())?;
        verify(&site)?;
        Ok(observation)
    }

    fn command(
        &mut self,
        stack: &mut Stack<'_>,
        phase: &Phase,
        line: &str,
    ) -> Result<Observation, TrialError> {
        let device = stack.top();
        let program = command(line, &self.command_context(&device, phase));
        let (record, clocked) = self.shell(stack, phase, &program)?;
        stack.sink.command(&record);
        ended_well(&phase.name, record, stack, |_| None)?;
        let totals = phase.dataset.as_deref().map(|name| self.materials.get(name)).transpose()?;
        let totals = totals.and_then(|material| material.staged.as_ref().map(crate::dataset::Staged::totals));
        let work = WorkDone { files: totals.map_or(0, |totals| totals.files), ..WorkDone::default() };
        let observation = clocked.finish(work, stack.fresh())?;
        // A command may have done anything to what lies there.
        self.ledger.doubt();
        self.compare(phase)?;
        Ok(observation)
    }

    /// Runs a benchmark program and adds its own numbers to those of the phase.
    fn adapter(
        &mut self,
        stack: &mut Stack<'_>,
        phase: &Phase,
        name: &str,
        options: &str,
    ) -> Result<Observation, TrialError> {
        let adapter = adapter(name).ok_or_else(|| TrialError::Unknown(format!("adapter `{name}`")))?;
        if locate(adapter.program()).is_none() {
            return Err(missing(&phase.name, adapter.program()));
        }
        let folder = phase.into.as_ref().map_or(PathBuf::from(MOUNT), |into| Path::new(MOUNT).join(into));
        std::fs::create_dir_all(&folder).map_err(TrialError::io("make the folder of an adapter"))?;
        let device = stack.top();
        let program = command(&adapter.line(options), &self.command_context(&device, phase))
            .variable(FOLDER, folder)
            .keep(ADAPTER_OUTPUT);
        let (record, clocked) = self.shell(stack, phase, &program)?;
        stack.sink.command(&record);
        let record = ended_well(&phase.name, record, stack, |said| adapter.hint(said))?;
        let reading = adapter
            .read(&record.stdout)
            .map_err(|error| TrialError::Adapter { phase: phase.name.clone(), error })?;
        let work = WorkDone {
            bytes_read: reading.bytes_read,
            bytes_written: reading.bytes_written,
            ..WorkDone::default()
        };
        let mut observation = clocked.finish(work, stack.fresh())?;
        observation.measurements.extend(reading.measurements);
        reading.notes.into_iter().for_each(|note| stack.sink.caution(&phase.name, note));
        if let Some(note) = reading.working_set.and_then(cached) {
            stack.sink.caution(&phase.name, format!("{name} {note}"));
        }
        self.ledger.doubt();
        self.compare(phase)?;
        Ok(observation)
    }

    fn command_context<'a>(&'a self, device: &'a Path, phase: &Phase) -> CommandContext<'a> {
        CommandContext {
            mount: Path::new(MOUNT),
            device,
            scratch: Path::new(SCRATCH),
            datasets: &self.variables,
            network: phase.network,
            limit: self.spec.limit,
        }
    }

    /// Runs a shell line on both clocks.
    fn shell(
        &mut self,
        stack: &mut Stack<'_>,
        phase: &Phase,
        program: &Program,
    ) -> Result<(CommandRecord, Clocked), TrialError> {
        let ready = program.prepare()?;
        let work = |_: &mut Stack<'_>| Ok::<_, TrialError>(ready.run(&phase.name)?);
        let ran = self.meter.clock(&phase.name, self.cache, stack, work, Stack::sync)?;
        self.quiet = may_be_quiet(stack);
        Ok(ran)
    }

    /// Compares what a command left behind with the dataset that must be there.
    fn compare(&mut self, phase: &Phase) -> Result<(), TrialError> {
        let Some(expected) = &phase.verify else { return Ok(()) };
        let material = self.materials.get(&expected.dataset)?;
        let manifest = Manifest::of(&material.prepared, material.staged.as_ref(), 0)?;
        // rsync -a and cp -R without further options make copies of hard links.
        manifest.compare(&Path::new(MOUNT).join(&expected.at), HardLinks::MayBeCopies).map_err(
            |difference| TrialError::Different {
                phase: phase.name.clone(),
                difference: difference.to_string(),
            },
        )?;
        self.ledger.found(Path::new(&expected.at), &expected.dataset);
        Ok(())
    }

    /// Checks the unmounted filesystem with its own checker, timed under this name.
    pub(super) fn checks(&mut self, stack: &mut Stack<'_>, name: &str) -> Result<(), TrialError> {
        let filesystem = stack.filesystem;
        let Some(argv) = filesystem.fsck_argv(&stack.top().to_string_lossy()) else {
            stack
                .sink
                .caution(name, format!("{} has no checker: nothing was checked or timed", filesystem.name));
            return Ok(());
        };
        for repetition in 0..self.times(stack, name) {
            self.check(stack, name, argv.clone(), repetition)?;
        }
        Ok(())
    }

    fn check(
        &mut self,
        stack: &mut Stack<'_>,
        name: &str,
        argv: Vec<String>,
        repetition: u32,
    ) -> Result<(), TrialError> {
        let filesystem = stack.filesystem;
        stack.check_device()?;
        let work = |stack: &mut Stack<'_>| stack.tool(name, Trade::Formatting, argv);
        let (record, clocked) = self.meter.clock(name, "cold", stack, work, Stack::sync_device)?;
        stack.sink.observation(Observation { repetition, ..clocked.finish(WorkDone::default(), None)? });
        let meaning = record.exit.and_then(|status| filesystem.fsck_meaning(status));
        if meaning.is_some_and(|meaning| meaning == crate::filesystem::Meaning::Clean) {
            return Ok(());
        }
        let words = meaning.map_or("no answer", crate::filesystem::Meaning::words);
        let said = format!("{}{}", record.stdout, record.stderr);
        Err(TrialError::Damaged(format!(
            "{} found the filesystem not clean after the work ({words}):\n{}",
            record.argv.join(" "),
            said.trim()
        )))
    }

    /// Waits until the device is quiet. What a busy machine makes of it is told, not hidden.
    pub(super) fn settle(&mut self, stack: &mut Stack<'_>, phase: &str) -> Option<Measurement> {
        let begin = || Quiet::begin(&Root::default(), stack.device_name().as_deref());
        let quiet = self.quiet.take().map_or_else(begin, Ok);
        match quiet.and_then(|quiet| quiet.settle(&SettleLimits::default())) {
            Ok(settled) => {
                if let Some(mut caution) = settled.caution(phase) {
                    if stack.in_folder() {
                        caution.text = BESIDE_FOLDER.to_owned();
                    }
                    stack.sink.send(&Event::Caution(caution));
                }
                Some(settled.measurement())
            }
            Err(error) => {
                stack.sink.caution(phase, format!("could not tell whether the device was quiet: {error}"));
                None
            }
        }
    }

    /// Times a step that is not a phase: mkfs, mount, umount.
    pub(super) fn timed<'s>(
        &mut self,
        stack: &mut Stack<'s>,
        name: &str,
        work: impl FnOnce(&mut Stack<'s>) -> Result<(), TrialError>,
        make_durable: impl FnOnce(&mut Stack<'s>) -> Result<(), TrialError>,
    ) -> Result<(), TrialError> {
        stack.step(name);
        stack.check_device()?;
        let ((), clocked) = self.meter.clock(name, self.cache, stack, work, make_durable)?;
        stack.sink.observation(clocked.finish(WorkDone::default(), None)?);
        Ok(())
    }
}

/// The device, from when its data were durable; what cannot be read is told when it is waited for.
fn may_be_quiet(stack: &Stack<'_>) -> Option<Quiet> {
    Quiet::begin(&Root::default(), stack.device_name().as_deref()).ok()
}

/// What is to be said of data that fit the machine's memory twice over: their reader may have asked no device.
fn cached(working_set: u64) -> Option<String> {
    // What is staged in memory is no room for what is read.
    let memory = memory(&Root::new("/")).ok()?.available;
    let mib = |bytes: u64| bytes >> 20;
    (working_set < memory.saturating_mul(2)).then(|| {
        format!(
            "worked on {} MiB, less than twice the {} MiB of memory that caches may take: what it read may have come from memory, not from the device",
            mib(working_set),
            mib(memory)
        )
    })
}
