//! Runs the timed work of phases: measures it on two clocks, verifies it off the clocks, and settles the device.

mod checks;
mod commands;
mod computing;

use std::path::Path;

use fsverdict_judgement::journal::{Event, Observation};
use fsverdict_judgement::plan::{Flow, Operation, Phase, PhaseWork};
use fsverdict_linux::host::root::Root;
use fsverdict_linux::host::sysfs::{bottom_devices, has_volatile_cache};
use fsverdict_workload::measure::{Clocked, Meter, QuietDevice, WorkDone};
use fsverdict_workload::workload::{Ledger, Workplace, run_operation};

use super::act::{CacheState, Durable, Timed};
use super::agent::Agent;
use super::error::TrialError;
use super::stack::{MOUNT, Stack};
use super::staging::Materials;

/// A folder that commands can write to besides the filesystem under test: the agent's own tmpfs.
pub(super) const SCRATCH: &str = "/tmp";

/// The caution about a filesystem that syncs without flushing the device's cache.
const NEVER_FLUSHED: &str = "data were synced again and again, and the device hardly ever asked to empty its cache: a power cut may lose what was called safe";

/// If fewer than one in this many syncs sends the device a flush, syncs do not flush it.
const FEW_FLUSHES: f64 = 8.0;

/// Largest number of saved files or promises in one event.
const SAVES: usize = 1000;

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
        let sync_every = if operation.takes("sync_every") { site.sync_every } else { 0 };
        let threads = site.threads;
        let work = |stack: &mut Stack<'_>| match operation {
            Operation::SnapshotCreate => stack.create_snapshot(site.ledger),
            Operation::SnapshotDelete => stack.delete_snapshot(site.ledger),
            Operation::SnapshotRollback => stack.roll_back(site.ledger),
            Operation::SnapshotSend => stack.send_snapshot(site.ledger),
            Operation::SnapshotReceive => stack.receive_snapshot(site.ledger),
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
        for promises in self.ledger.take_durable_calls().chunks(SAVES) {
            stack
                .sink
                .send_event(&Event::Promised { phase: phase.name.clone(), promises: promises.to_vec() });
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
