//! Phases on the bare device, before there is a filesystem: the rate it can be held against.

use fsverdict_judgement::journal::{Facts, Observation};
use fsverdict_judgement::plan::{Operation, Phase, PhaseWork};
use fsverdict_linux::host::syscall;
use fsverdict_workload::dataset::Prepared;
use fsverdict_workload::measure::WorkDone;
use fsverdict_workload::workload::{
    read_device, replay_device, verify_device, verify_replayed, write_device,
};

use super::act::{CacheState, Timed};
use super::agent::Agent;
use super::error::TrialError;
use super::phase::clock_work;
use super::stack::Stack;
use super::steps::writes_device;

impl Agent<'_> {
    pub(super) fn run_raw_phase(
        &self,
        stack: &mut Stack<'_>,
        phase: &Phase,
        cache: CacheState,
    ) -> Result<Observation, TrialError> {
        let dataset = self.prepared_dataset(phase)?;
        let device = stack.top_device();
        let writes = writes_device(phase);
        let work = |_: &mut Stack<'_>| {
            let done = match phase.work {
                PhaseWork::Operation(Operation::DeviceReplay) => {
                    replay_device(&device, dataset, phase.pace, phase.threads.unwrap_or(1))?
                }
                _ if writes => write_device(&device, dataset)?,
                _ => read_device(&device, dataset)?,
            };
            Ok::<_, TrialError>(done)
        };
        let (done, clocked) = clock_work(self.meter.as_ref(), stack, Timed::Raw(phase), cache, work)?;
        let (bytes_read, bytes_written) =
            if writes { (done.read_besides, done.logical_bytes) } else { (done.logical_bytes, 0) };
        let work = WorkDone {
            bytes_read,
            bytes_written,
            histograms: done.histograms(),
            course: done.course(),
            main_call: Some(done.main_call.to_owned()),
            ..WorkDone::default()
        };
        Ok(clocked.finish(work, None)?)
    }

    pub(super) fn verify_device(&self, stack: &Stack<'_>, phase: &Phase) -> Result<(), TrialError> {
        let dataset = self.prepared_dataset(phase)?;
        match phase.work {
            PhaseWork::Operation(Operation::DeviceReplay) => verify_replayed(&stack.top_device(), dataset)?,
            _ => verify_device(&stack.top_device(), dataset)?,
        }
        Ok(())
    }

    fn prepared_dataset(&self, phase: &Phase) -> Result<&Prepared, TrialError> {
        Ok(&self.materials.get(phase.dataset.as_deref().unwrap_or_default())?.prepared)
    }

    /// Every filesystem gets the device as bare as one that was never measured.
    pub(super) fn discard_again(&self, stack: &mut Stack<'_>) -> Result<(), TrialError> {
        stack.check_device()?;
        let file = std::fs::OpenOptions::new()
            .write(true)
            .open(stack.top_device())
            .map_err(TrialError::io_error("open the device"))?;
        let size = rustix::fs::seek(&file, rustix::fs::SeekFrom::End(0))
            .map_err(|errno| TrialError::io_error("learn the size of the device")(errno.into()))?;
        let discarded = syscall::discard_range(&file, size).is_ok();
        if !discarded {
            let text = "the device could not be discarded after its rate was measured: every filesystem finds it full of old data";
            stack.sink.send_caution("", text.to_owned());
        }
        stack
            .sink
            .send_facts(Facts::from([("device.discarded_after_raw".to_owned(), discarded.to_string())]));
        Ok(())
    }

    pub(super) fn never_stored(stack: &mut Stack<'_>, phase: &Phase) {
        let text = format!(
            "{} without {} before it reads a discarded device, which stores no data: put a phase that writes before it",
            Operation::DeviceRead,
            Operation::DeviceWrite
        );
        stack.sink.send_caution(&phase.name, text);
    }
}
