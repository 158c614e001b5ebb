//! Runs the commands and benchmark programs of phases on both clocks, and reads the numbers that they print.

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use fsverdict_judgement::journal::{CommandRecord, Event, Measurement, Observation};
use fsverdict_judgement::plan::{OwnMetric, Phase};
use fsverdict_linux::host::procfs::read_memory;
use fsverdict_linux::host::root::Root;
use fsverdict_linux::sandbox::program::{Program, find_program};
use fsverdict_workload::dataset::{open_directory_below, open_path};
use fsverdict_workload::measure::{Clocked, WorkDone};
use fsverdict_workload::workload::{
    CommandContext, FOLDER, LOG, Printed, PromiseListener, adapter_by_name, command_program, read_own_metric,
};

use super::computing::RaisedPrice;
use super::{SAVES, SCRATCH, clock_work, may_be_quiet};
use crate::trial::act::{CacheState, Timed};
use crate::trial::adapter_log::{empty_logs, read_logs};
use crate::trial::agent::Agent;
use crate::trial::error::TrialError;
use crate::trial::program_failure::{missing_program, require_good_end};
use crate::trial::stack::{MOUNT, Stack};

/// Largest output of a program that is kept for parsing, in bytes: fio's JSON grows with its percentiles.
const READ_OUTPUT: usize = 512 * 1024;

/// Seconds: a time of a trial that was shorter is not held against it.
const SHORTEST_TRIAL: f64 = 1.0;

/// Makes a folder below the mount point. An earlier phase may have left a link there, which must not lead this process out.
fn make_below_mount(folder: &str) -> std::io::Result<()> {
    let root = open_path(Path::new(MOUNT))?;
    open_directory_below(root.as_fd(), Path::new(folder), true)?;
    Ok(())
}

impl Agent<'_> {
    /// Runs a shell command of the plan, and adds the numbers that the plan reads out of its output.
    pub(super) fn run_command(
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
        let record = require_good_end(&phase.name, record, stack, |_| None)?;
        let totals = phase.dataset.as_deref().map(|name| self.materials.get(name)).transpose()?;
        let totals = totals
            .and_then(|material| material.staged.as_ref().map(fsverdict_workload::dataset::Staged::totals));
        let work = WorkDone { files: totals.map_or(0, |totals| totals.files), ..WorkDone::default() };
        let mut observation = clocked.finish(work, stack.fresh_copy())?;
        let own = self.own_metrics(phase, &record)?;
        self.warn_of_rates_above_device(stack, &phase.name, &own);
        observation.measurements.extend(own);
        // A command may have changed any file.
        self.ledger.mark_all_unsure();
        Ok(observation)
    }

    /// Runs a benchmark program and adds its own numbers to those of the phase.
    pub(super) fn run_adapter(
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
        let record = require_good_end(&phase.name, record, stack, |said| adapter.hint_for_output(said))?;
        let log =
            read_logs(&logs).map_err(TrialError::io_error("read what an adapter's program wrote down"))?;
        let reading = adapter
            .read_output(&record.stdout, &log)
            .and_then(|reading| adapter.check_times(reading, self.longest_time(), &record.stdout))
            .map_err(|error| TrialError::Adapter { phase: phase.name.clone(), error: Box::new(error) })?;
        let work = WorkDone {
            bytes_read: reading.bytes_read,
            bytes_written: reading.bytes_written,
            course: reading.course,
            ..WorkDone::default()
        };
        let mut observation = clocked.finish(work, stack.fresh_copy())?;
        let mut found = reading.measurements;
        found.extend(self.own_metrics(phase, &record)?);
        self.warn_of_rates_above_device(stack, &phase.name, &found);
        observation.measurements.extend(found);
        reading.notes.into_iter().for_each(|note| stack.sink.send_caution(&phase.name, note));
        if let Some(note) = reading.working_set.and_then(describe_cached) {
            stack.sink.send_caution(&phase.name, format!("{name} {note}"));
        }
        self.ledger.mark_all_unsure();
        Ok(observation)
    }

    /// The surroundings of a command: mount point, device, variables, network and time limit.
    pub(in crate::trial) fn command_context<'a>(
        &'a self,
        device: &'a Path,
        phase: &Phase,
    ) -> CommandContext<'a> {
        CommandContext {
            mount: Path::new(MOUNT),
            device,
            scratch: Path::new(SCRATCH),
            datasets: &self.variables,
            network: phase.network,
            in_guest: self.assignment.bench.is_in_guest(),
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
        let counts = self.assignment.bench.counts_computation;
        let raised = if counts { RaisedPrice::for_phase(phase)? } else { None };
        let work = |_: &mut Stack<'_>| {
            let ran = ready.run(&phase.name)?;
            raised.map_or(Ok(()), RaisedPrice::restore)?;
            Ok::<_, TrialError>(ran)
        };
        let ran = clock_work(self.meter.as_ref(), stack, Timed::Phase(phase), cache, work)?;
        self.quiet = may_be_quiet(stack);
        Ok(ran)
    }

    /// The longest time in seconds that a program of this trial can have measured: processors spend time side by side.
    fn longest_time(&self) -> f64 {
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        self.begun.elapsed().as_secs_f64().max(SHORTEST_TRIAL) * processors as f64
    }

    /// The numbers that the plan tells a phase to read out of its program's output.
    fn own_metrics(&self, phase: &Phase, record: &CommandRecord) -> Result<Vec<Measurement>, TrialError> {
        let longest = self.longest_time();
        let printed = Printed { stdout: &record.stdout, stderr: &record.stderr, kept: READ_OUTPUT, longest };
        let read = |(name, metric): (&String, &OwnMetric)| {
            read_own_metric(name, metric, printed)
                .map_err(|error| TrialError::OwnMetric { phase: phase.name.clone(), error })
        };
        phase.metrics.iter().map(read).collect()
    }
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
