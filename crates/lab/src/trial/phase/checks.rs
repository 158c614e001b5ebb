//! Checks after the timed work of a phase, off the clocks: verifies its result, judges the checker, and waits until the
//! device is quiet.

use std::path::Path;

use fsverdict_judgement::journal::{Event, Measurement, Unit};
use fsverdict_judgement::plan::{Operation, Phase, PhaseWork};
use fsverdict_linux::host::root::Root;
use fsverdict_workload::dataset::{HardLinks, Manifest};
use fsverdict_workload::measure::{QuietDevice, SettleLimits};
use fsverdict_workload::workload::{layout_score, renew_files, verify_operation, write_again};

use super::workplace_for;
use crate::trial::agent::Agent;
use crate::trial::error::TrialError;
use crate::trial::stack::{MOUNT, Stack};

/// The message where there is no device that could be watched until it is quiet.
const BESIDE_FOLDER: &str =
    "the machine still held unwritten data when the next step began, of others or of what the folder lies on";

impl Agent<'_> {
    /// Off the clocks, verifies the result of an operation, or compares the result of a command with the dataset that
    /// must be there.
    pub(in crate::trial) fn verify_phase(&mut self, phase: &Phase) -> Result<(), TrialError> {
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
    pub(in crate::trial) fn check_aged(&mut self, stack: &mut Stack<'_>) -> Result<(), TrialError> {
        self.checked = stack.run_checker("fsck")?;
        self.judge_check(stack)
    }

    /// Writes the data that the phase reads again, untimed, onto the remade filesystem.
    pub(in crate::trial) fn copy_again(
        &mut self,
        stack: &mut Stack<'_>,
        phase: &Phase,
    ) -> Result<(), TrialError> {
        stack.note_fresh()?;
        let (PhaseWork::Operation(operation), Some(remake)) = (&phase.work, &phase.remake) else {
            return Ok(());
        };
        write_again(&mut workplace_for(&self.materials, &mut self.ledger, phase, *operation)?, remake)?;
        stack.sync_filesystem()
    }

    /// Before a repetition, removes the files that the phase changed and writes them again, untimed.
    pub(in crate::trial) fn renew_files(
        &mut self,
        stack: &mut Stack<'_>,
        phase: &Phase,
    ) -> Result<(), TrialError> {
        let PhaseWork::Operation(operation) = &phase.work else { return Ok(()) };
        if self.repetition == 0 {
            return Ok(());
        }
        renew_files(&mut workplace_for(&self.materials, &mut self.ledger, phase, *operation)?)?;
        stack.sync_filesystem()
    }

    /// Judges the checker's result on the unmounted filesystem.
    pub(in crate::trial) fn judge_check(&mut self, stack: &Stack<'_>) -> Result<(), TrialError> {
        let Some(record) = self.checked.take() else { return Ok(()) };
        let meaning = record.exit.and_then(|status| stack.filesystem.check_status_of(status, &record.stdout));
        if meaning.is_some_and(|meaning| meaning == fsverdict_stack::filesystem::FsckStatus::Clean) {
            return Ok(());
        }
        let words = meaning.map_or("no answer", fsverdict_stack::filesystem::FsckStatus::words);
        let output = format!("{}{}", record.stdout, record.stderr);
        Err(TrialError::Damaged(format!(
            "{} found the filesystem not clean after the work ({words}):\n{}",
            record.argv.join(" "),
            output.trim()
        )))
    }

    /// Waits until the device is quiet. Disturbances by a busy machine are reported, not hidden.
    pub(in crate::trial) fn settle_device(
        &mut self,
        stack: &mut Stack<'_>,
        phase: &str,
    ) -> Result<(), TrialError> {
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
