//! Runs the timed work of phases: measures it on two clocks, verifies it off the clocks, and settles the device.

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use fsverdict_judgement::journal::{CommandRecord, Event, Measurement, Observation, Unit};
use fsverdict_judgement::plan::{Flow, Operation, OwnMetric, Phase, PhaseWork};
use fsverdict_linux::host::procfs::read_memory;
use fsverdict_linux::host::root::Root;
use fsverdict_linux::host::sysfs::{bottom_devices, has_volatile_cache};
use fsverdict_linux::sandbox::program::{Program, find_program};
use fsverdict_workload::dataset::{HardLinks, Manifest, open_directory_below, open_path};
use fsverdict_workload::measure::{Clocked, Meter, QuietDevice, SettleLimits, WorkDone};
use fsverdict_workload::workload::{
    CommandContext, FOLDER, LOG, Ledger, Printed, PromiseListener, Workplace, adapter_by_name,
    command_program, layout_score, read_own_metric, run_operation, verify_operation, write_again,
};

use super::act::{CacheState, Durable, Timed};
use super::adapter_log::{empty_logs, read_logs};
use super::agent::Agent;
use super::complaint::{ended_well, missing_program};
use super::error::TrialError;
use super::stack::{MOUNT, Stack};
use super::staging::Materials;

/// A folder that commands can write to besides the filesystem under test: the agent's own tmpfs.
pub(super) const SCRATCH: &str = "/tmp";

/// Largest output of a program that is kept for parsing, in bytes: fio's JSON grows with its percentiles.
const READ_OUTPUT: usize = 512 * 1024;

/// The caution about a filesystem that syncs without flushing the device's cache.
const NEVER_FLUSHED: &str = "data were synced again and again, and the device hardly ever asked to empty its cache: a power cut may lose what was called safe";

/// If fewer than one in this many syncs sends the device a flush, syncs do not flush it.
const FEW_FLUSHES: f64 = 8.0;

/// Largest number of saved files or promises in one event.
const SAVES: usize = 1000;

/// The message where there is no device that could be watched until it is quiet.
const BESIDE_FOLDER: &str =
    "the machine still held unwritten data when the next step began, of others or of what the folder lies on";

/// Makes a folder below the mount point. An earlier phase may have left a link there, which must not lead this process out.
fn make_below_mount(folder: &str) -> std::io::Result<()> {
    let root = open_path(Path::new(MOUNT))?;
    open_directory_below(root.as_fd(), Path::new(folder), true)?;
    Ok(())
}

impl Agent<'_> {
    /// Runs timed work on both clocks; the observation is kept until it is recorded.
    pub(super) fn run_timed(
        &mut self,
        stack: &mut Stack<'_>,
        timed: Timed<'_>,
        cache: CacheState,
    ) -> Result<(), TrialError> {
        if !matches!(timed, Timed::Phase(_)) {
            stack.check_device()?;
        }
        self.timed = match timed {
            Timed::Mkfs => Some(self.time_work(stack, timed, cache, Stack::run_mkfs)?.1),
            Timed::Mount => Some(self.time_work(stack, timed, cache, Stack::mount_filesystem)?.1),
            Timed::Unmount => Some(self.time_work(stack, timed, cache, Stack::unmount_filesystem)?.1),
            Timed::Seal => Some(self.time_work(stack, timed, cache, Stack::seal_layers)?.1),
            Timed::Check(name) => {
                let (record, observation) =
                    self.time_work(stack, timed, cache, |stack| stack.run_checker(name))?;
                self.checked = record;
                Some(observation)
            }
            Timed::Raw(phase) => Some(self.run_raw_phase(stack, phase, cache)?),
            Timed::Phase(phase) => {
                let beside = self.start_beside(stack, phase)?;
                let timed = match &phase.work {
                    PhaseWork::Operation(operation) => self.run_operation(stack, phase, *operation, cache),
                    PhaseWork::Command(line) => self.run_command(stack, phase, line, cache),
                    PhaseWork::Adapter { name, options } => {
                        self.run_adapter(stack, phase, name, options, cache)
                    }
                };
                self.end_beside(stack, phase, beside)?;
                self.company.require_all_running(&phase.name)?;
                Some(timed?)
            }
        };
        Ok(())
    }

    /// Work that is no phase's.
    fn time_work<'s, T>(
        &self,
        stack: &mut Stack<'s>,
        timed: Timed<'_>,
        cache: CacheState,
        work: impl FnOnce(&mut Stack<'s>) -> Result<T, TrialError>,
    ) -> Result<(T, Observation), TrialError> {
        let (done, clocked) = clock_work(self.meter.as_ref(), stack, timed, cache, work)?;
        Ok((done, clocked.finish(WorkDone::default(), None)?))
    }

    fn run_operation(
        &mut self,
        stack: &mut Stack<'_>,
        phase: &Phase,
        operation: Operation,
        cache: CacheState,
    ) -> Result<Observation, TrialError> {
        if operation == Operation::Sequences {
            return self.run_sequences(stack, phase, cache);
        }
        let mut site = workplace_for(&self.materials, &mut self.ledger, phase, operation)?;
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        if let Some(note) = describe_crowding(site.threads as usize, processors) {
            stack.sink.send_caution(&phase.name, note);
        }
        let sync_every = if operation.takes_sync() { site.sync_every } else { 0 };
        let threads = site.threads;
        let work = |stack: &mut Stack<'_>| match operation {
            Operation::SnapshotCreate => stack.create_snapshot(site.ledger),
            Operation::SnapshotDelete => stack.delete_snapshot(site.ledger),
            Operation::SnapshotRollback => stack.roll_back(site.ledger),
            _ => Ok(run_operation(&mut site)?),
        };
        let (done, clocked) = clock_work(self.meter.as_ref(), stack, Timed::Phase(phase), cache, work)?;
        if let Some(into) = phase.into.as_deref() {
            self.ledger.remember_phase(&phase.name, Path::new(into));
        }
        self.quiet = may_be_quiet(stack);
        let saves = self.ledger.take_saves();
        for saves in saves.chunks(SAVES) {
            stack.sink.send_event(&Event::Saved { phase: phase.name.clone(), saves: saves.to_vec() });
        }
        let (bytes_read, bytes_written) = match operation.flow() {
            Flow::Reads => (done.logical_bytes, 0),
            Flow::Writes | Flow::Neither => (done.read_besides, done.logical_bytes),
        };
        let work = WorkDone {
            bytes_read,
            bytes_written,
            files: done.files,
            held: done.held,
            histograms: done.histograms(),
            course: done.course(),
            main_call: Some(done.main_call.to_owned()),
        };
        let syncs = count_calls(&work) / u64::from(sync_every.max(1));
        let observation = clocked.finish(work, stack.fresh_copy())?;
        let flushes = observation.value("device_flushes");
        // Concurrent syncs share a flush, and each phase ends with one.
        let few = flushes.is_some_and(|flushes| flushes * FEW_FLUSHES * f64::from(threads) < syncs as f64);
        if sync_every > 0 && few && has_volatile_bottom(stack) {
            stack.sink.send_caution(&phase.name, NEVER_FLUSHED.to_owned());
        }
        Ok(observation)
    }

    fn run_command(
        &mut self,
        stack: &mut Stack<'_>,
        phase: &Phase,
        line: &str,
        cache: CacheState,
    ) -> Result<Observation, TrialError> {
        let device = stack.top_device();
        let program = command_program(line, &self.command_context(&device, phase));
        let program = if phase.metrics.is_empty() { program } else { program.with_output_limit(READ_OUTPUT) };
        let listener = PromiseListener::default();
        let listens = phase.recheck.is_some();
        let program = if listens { program.heard_by(listener.line_hearer()) } else { program };
        let (record, clocked) = self.run_shell(stack, phase, &program, cache)?;
        for promises in listener.take_promises().chunks(SAVES) {
            stack
                .sink
                .send_event(&Event::Promised { phase: phase.name.clone(), promises: promises.to_vec() });
        }
        stack.sink.send_command(&record);
        let record = ended_well(&phase.name, record, stack, |_| None)?;
        let totals = phase.dataset.as_deref().map(|name| self.materials.get(name)).transpose()?;
        let totals = totals
            .and_then(|material| material.staged.as_ref().map(fsverdict_workload::dataset::Staged::totals));
        let work = WorkDone { files: totals.map_or(0, |totals| totals.files), ..WorkDone::default() };
        let mut observation = clocked.finish(work, stack.fresh_copy())?;
        let own = own_metrics(phase, &record)?;
        self.caution_of_caches(stack, &phase.name, &own);
        observation.measurements.extend(own);
        // A command may have changed any file.
        self.ledger.mark_all_unsure();
        Ok(observation)
    }

    /// Runs a benchmark program and adds its own numbers to those of the phase.
    fn run_adapter(
        &mut self,
        stack: &mut Stack<'_>,
        phase: &Phase,
        name: &str,
        options: &str,
        cache: CacheState,
    ) -> Result<Observation, TrialError> {
        let adapter =
            adapter_by_name(name).ok_or_else(|| TrialError::Unknown(format!("adapter `{name}`")))?;
        if find_program(adapter.program()).is_none() {
            return Err(missing_program(&phase.name, adapter.program()));
        }
        let folder = phase.into.as_ref().map_or(PathBuf::from(MOUNT), |into| Path::new(MOUNT).join(into));
        if let Some(into) = &phase.into {
            make_below_mount(into).map_err(TrialError::io_error("make the folder of an adapter"))?;
        }
        let logs = empty_logs(Path::new(SCRATCH))
            .map_err(TrialError::io_error("make the folder of an adapter's logs"))?;
        let device = stack.top_device();
        let program = command_program(&adapter.command_line(options), &self.command_context(&device, phase))
            .with_variable(FOLDER, folder)
            .with_variable(LOG, &logs)
            .with_output_limit(READ_OUTPUT);
        let (record, clocked) = self.run_shell(stack, phase, &program, cache)?;
        stack.sink.send_command(&record);
        let record = ended_well(&phase.name, record, stack, |said| adapter.hint_for_output(said))?;
        let log =
            read_logs(&logs).map_err(TrialError::io_error("read what an adapter's program wrote down"))?;
        let reading = adapter
            .read_output(&record.stdout, &log)
            .map_err(|error| TrialError::Adapter { phase: phase.name.clone(), error })?;
        let work = WorkDone {
            bytes_read: reading.bytes_read,
            bytes_written: reading.bytes_written,
            course: reading.course,
            ..WorkDone::default()
        };
        let mut observation = clocked.finish(work, stack.fresh_copy())?;
        let mut found = reading.measurements;
        found.extend(own_metrics(phase, &record)?);
        self.caution_of_caches(stack, &phase.name, &found);
        observation.measurements.extend(found);
        reading.notes.into_iter().for_each(|note| stack.sink.send_caution(&phase.name, note));
        if let Some(note) = reading.working_set.and_then(describe_cached) {
            stack.sink.send_caution(&phase.name, format!("{name} {note}"));
        }
        self.ledger.mark_all_unsure();
        Ok(observation)
    }

    pub(super) fn command_context<'a>(&'a self, device: &'a Path, phase: &Phase) -> CommandContext<'a> {
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
    fn run_shell(
        &mut self,
        stack: &mut Stack<'_>,
        phase: &Phase,
        program: &Program,
        cache: CacheState,
    ) -> Result<(CommandRecord, Clocked), TrialError> {
        let ready = program.prepare_start()?;
        let work = |_: &mut Stack<'_>| Ok::<_, TrialError>(ready.run(&phase.name)?);
        let ran = clock_work(self.meter.as_ref(), stack, Timed::Phase(phase), cache, work)?;
        self.quiet = may_be_quiet(stack);
        Ok(ran)
    }

    /// Off the clocks, verifies the result of an operation, or compares the result of a command with the dataset that
    /// must be there.
    pub(super) fn verify_phase(&mut self, phase: &Phase) -> Result<(), TrialError> {
        if phase.work == PhaseWork::Operation(Operation::Sequences) {
            // Each batch was compared before it was removed.
            return Ok(());
        }
        if let PhaseWork::Operation(operation) = phase.work {
            let site = workplace_for(&self.materials, &mut self.ledger, phase, operation)?;
            verify_operation(&site)?;
            let score = if site.is_aged() { layout_score(&site)? } else { None };
            if let Some((observation, value)) = self.timed.as_mut().zip(score) {
                observation.measurements.push(Measurement::new("layout", Unit::Ratio, value));
            }
            return Ok(());
        }
        let Some(expected) = &phase.verify else { return Ok(()) };
        let material = self.materials.get(&expected.dataset)?;
        let manifest = Manifest::for_generation(&material.prepared, material.staged.as_ref(), 0)?;
        // rsync -a and cp -R without further options make copies of hard links.
        manifest.compare_with(&Path::new(MOUNT).join(&expected.at), HardLinks::MayBeCopies).map_err(
            |difference| TrialError::Different {
                phase: phase.name.clone(),
                difference: difference.to_string(),
            },
        )?;
        self.ledger.note_found(Path::new(&expected.at), &expected.dataset);
        Ok(())
    }

    /// Checks, untimed, the filesystem that is about to be remade.
    pub(super) fn check_aged(&mut self, stack: &mut Stack<'_>) -> Result<(), TrialError> {
        self.checked = stack.run_checker("fsck")?;
        self.judge_check(stack)
    }

    /// Writes the data that the phase reads again, untimed, onto the remade filesystem.
    pub(super) fn copy_again(&mut self, stack: &mut Stack<'_>, phase: &Phase) -> Result<(), TrialError> {
        stack.note_fresh()?;
        let (PhaseWork::Operation(operation), Some(remake)) = (&phase.work, &phase.remake) else {
            return Ok(());
        };
        write_again(&mut workplace_for(&self.materials, &mut self.ledger, phase, *operation)?, remake)?;
        stack.sync_filesystem()
    }

    /// Judges the checker's result on the unmounted filesystem.
    pub(super) fn judge_check(&mut self, stack: &Stack<'_>) -> Result<(), TrialError> {
        let Some(record) = self.checked.take() else { return Ok(()) };
        let meaning = record.exit.and_then(|status| stack.filesystem.check_meaning(status, &record.stdout));
        if meaning.is_some_and(|meaning| meaning == fsverdict_stack::filesystem::Meaning::Clean) {
            return Ok(());
        }
        let words = meaning.map_or("no answer", fsverdict_stack::filesystem::Meaning::words);
        let said = format!("{}{}", record.stdout, record.stderr);
        Err(TrialError::Damaged(format!(
            "{} found the filesystem not clean after the work ({words}):\n{}",
            record.argv.join(" "),
            said.trim()
        )))
    }

    /// Waits until the device is quiet. Disturbances by a busy machine are reported, not hidden.
    pub(super) fn settle_device(&mut self, stack: &mut Stack<'_>, phase: &str) -> Result<(), TrialError> {
        stack.sync_pool()?;
        let begin = || QuietDevice::start_watching(&Root::default(), &stack.device_names());
        let quiet = self.quiet.take().map_or_else(begin, Ok);
        match quiet.and_then(|quiet| quiet.wait_until_settled(&SettleLimits::default())) {
            Ok(settled) => {
                if let Some(mut caution) = settled.to_caution(phase) {
                    if stack.in_folder() {
                        caution.text = BESIDE_FOLDER.to_owned();
                    }
                    stack.sink.send_event(&Event::Caution(caution));
                }
                if let Some(observation) = &mut self.timed {
                    observation.measurements.push(settled.measurement());
                }
            }
            Err(error) => {
                stack
                    .sink
                    .send_caution(phase, format!("could not tell whether the device was quiet: {error}"));
            }
        }
        Ok(())
    }
}

/// The numbers that the plan tells a phase to read out of its program's output.
fn own_metrics(phase: &Phase, record: &CommandRecord) -> Result<Vec<Measurement>, TrialError> {
    let printed = Printed { stdout: &record.stdout, stderr: &record.stderr, kept: READ_OUTPUT };
    let read = |(name, metric): (&String, &OwnMetric)| {
        read_own_metric(name, metric, printed)
            .map_err(|error| TrialError::OwnMetric { phase: phase.name.clone(), error })
    };
    phase.metrics.iter().map(read).collect()
}

/// How many times the main call of an operation was done.
fn count_calls(work: &WorkDone) -> u64 {
    let main = work.histograms.iter().find(|histogram| Some(&histogram.call) == work.main_call.as_ref());
    main.map_or(0, |histogram| histogram.buckets.iter().map(|(_, count)| count).sum())
}

/// Whether a device at the bottom has a volatile cache, which may lose accepted writes.
fn has_volatile_bottom(stack: &Stack<'_>) -> bool {
    let root = Root::default();
    let bottoms = stack.device_names();
    let bottoms = bottoms.iter().filter_map(|name| bottom_devices(&root, name).ok()).flatten();
    bottoms.into_iter().any(|name| has_volatile_cache(&root, &name))
}

/// A caution about more threads than processors: they overlap in waiting for the device, but not in computing.
fn describe_crowding(threads: usize, processors: usize) -> Option<String> {
    let processor = if processors == 1 { "processor" } else { "processors" };
    (threads > processors).then(|| {
        format!("{threads} threads shared {processors} {processor}: what they wait for the device overlaps, what they compute does not")
    })
}

/// Runs work on the first clock and makes it durable on the second, by syncfs(2) or by flushing the device, depending
/// on the step. There are no clocks before the trial is alone with its device.
pub(super) fn clock_work<'s, T>(
    meter: Option<&Meter>,
    stack: &mut Stack<'s>,
    timed: Timed<'_>,
    cache: CacheState,
    work: impl FnOnce(&mut Stack<'s>) -> Result<T, TrialError>,
) -> Result<(T, Clocked), TrialError> {
    let meter = meter.ok_or_else(|| TrialError::Host("nothing is measured yet".to_owned()))?;
    let make_durable = match timed.durable() {
        Durable::Syncfs => Stack::sync_filesystem,
        Durable::Device => Stack::sync_device,
    };
    meter.clock(timed.journal_name(), cache.journal_name(), stack, work, make_durable)
}

/// The directory and dataset of a phase's operation.
fn workplace_for<'a>(
    materials: &'a Materials,
    ledger: &'a mut Ledger,
    phase: &'a Phase,
    operation: Operation,
) -> Result<Workplace<'a>, TrialError> {
    let dataset = phase.dataset.as_deref().unwrap_or_default();
    let material = materials.get(dataset)?;
    Ok(Workplace {
        operation,
        mount: Path::new(MOUNT),
        into: Path::new(phase.into.as_deref().unwrap_or(dataset)),
        dataset: &material.prepared,
        staged: material.staged.as_ref(),
        ledger,
        changed: phase.changed.unwrap_or(0.0),
        to: phase.to.unwrap_or(0.0),
        piece: phase.piece.map_or_else(|| operation.usual_piece(), |piece| piece.0),
        sync_every: phase.syncs_every(operation),
        pause: phase.pause.unwrap_or_default(),
        threads: phase.threads.unwrap_or(1),
        depth: phase.depth.unwrap_or(0),
        pace: phase.pace,
        pulls: phase.pulls.unwrap_or(1),
        rounds: phase.rounds.unwrap_or(1),
    })
}

/// Starts watching the device once its data are durable; errors are reported when it is waited for.
pub(super) fn may_be_quiet(stack: &Stack<'_>) -> Option<QuietDevice> {
    QuietDevice::start_watching(&Root::default(), &stack.device_names()).ok()
}

/// A caution about data that fit into memory twice: their reader may not have reached the device.
fn describe_cached(working_set: u64) -> Option<String> {
    // Memory of staged data is not available for caching.
    let memory = read_memory(&Root::new("/")).ok()?.available;
    let mib = |bytes: u64| bytes >> 20;
    (working_set < memory.saturating_mul(2)).then(|| {
        format!(
            "worked on {} MiB, less than twice the {} MiB of memory that caches may take: what it read may have come from memory, not from the device",
            mib(working_set),
            mib(memory)
        )
    })
}
