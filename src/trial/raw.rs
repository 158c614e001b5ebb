//! Phases on the bare device, before there is a filesystem: the rate it can be held against.

use std::path::Path;

use crate::host::syscall;
use crate::journal::{Facts, Observation};
use crate::measure::WorkDone;
use crate::plan::{Flow, Operation, Phase, Work};
use crate::workload::{read_device, verify_device, write_device};

use super::agent::Agent;
use super::error::TrialError;
use super::spec::is_raw;
use super::stack::Stack;

impl Agent<'_> {
    /// Runs the phases on the bare device, and leaves it as bare as it was.
    pub(super) fn raw_phases(&mut self, stack: &mut Stack<'_>) -> Result<(), TrialError> {
        let phases: Vec<&Phase> = self.spec.phases.iter().filter(|phase| is_raw(phase)).collect();
        if phases.is_empty() {
            return Ok(());
        }
        let device = stack.top();
        let mut written = false;
        for phase in phases {
            stack.step(&phase.name);
            let (mut observation, wrote) = self.raw_phase(stack, phase, &device)?;
            written |= wrote;
            observation.measurements.extend(self.settle(stack, &phase.name));
            stack.sink.observation(observation);
        }
        if written {
            self.discard(stack, &device)?;
        }
        self.cache = "fresh";
        Ok(())
    }

    /// Returns whether it has written, too.
    fn raw_phase(
        &self,
        stack: &mut Stack<'_>,
        phase: &Phase,
        device: &Path,
    ) -> Result<(Observation, bool), TrialError> {
        let material = self.materials.get(phase.dataset.as_deref().unwrap_or_default())?;
        let dataset = &material.prepared;
        let writes = writes_device(phase);
        stack.check_device()?;
        stack.forget_device()?;
        let work = |_: &mut Stack<'_>| {
            let done = if writes { write_device(device, dataset)? } else { read_device(device, dataset)? };
            Ok::<_, TrialError>(done)
        };
        let make_durable = |stack: &mut Stack<'_>| stack.sync_device();
        let (done, clocked) = self.meter.clock(&phase.name, "cold", stack, work, make_durable)?;
        let (bytes_read, bytes_written) =
            if writes { (0, done.logical_bytes) } else { (done.logical_bytes, 0) };
        let work = WorkDone {
            bytes_read,
            bytes_written,
            histograms: done.histograms,
            main_call: Some(done.main_call.to_owned()),
            ..WorkDone::default()
        };
        let observation = clocked.finish(work, None)?;
        if writes {
            verify_device(device, dataset)?;
        } else if !self.spec.phases.iter().any(writes_device) {
            let text = format!(
                "{} without {} before it: what a discarded device returns was never stored",
                Operation::DeviceRead,
                Operation::DeviceWrite
            );
            stack.sink.caution(&phase.name, text);
        }
        Ok((observation, writes))
    }

    /// Every filesystem gets the device as bare as one that was never measured.
    fn discard(&self, stack: &mut Stack<'_>, device: &Path) -> Result<(), TrialError> {
        stack.check_device()?;
        let file = std::fs::OpenOptions::new()
            .write(true)
            .open(device)
            .map_err(TrialError::io("open the device"))?;
        let size = rustix::fs::seek(&file, rustix::fs::SeekFrom::End(0))
            .map_err(|errno| TrialError::io("learn the size of the device")(errno.into()))?;
        let discarded = syscall::discard(&file, size).is_ok();
        if !discarded {
            let text = "the device could not be discarded after its rate was measured: every filesystem finds it full of old data";
            stack.sink.caution("", text.to_owned());
        }
        stack.sink.facts(Facts::from([("device.discarded_after_raw".to_owned(), discarded.to_string())]));
        Ok(())
    }
}

fn writes_device(phase: &Phase) -> bool {
    is_raw(phase) && matches!(phase.work, Work::Operation(operation) if operation.flow() == Flow::Writes)
}
