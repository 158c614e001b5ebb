//! Examines the states that power cuts left on a device, one after another in one guest: mounts, reads, writes,
//! unmounts and checks each, and reports the outcome.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use fsverdict_judgement::journal::{CutOutcome, Event, StateFinding};
use fsverdict_linux::host::syscall::files_reader::FilesReader;
use fsverdict_stack::filesystem::FsckStatus;
use fsverdict_workload::workload::{
    CutPromises, ReplayHistory, SavedReading, SequencesLooking, SequencesRecord,
};

use super::agent::Agent;
use super::changing_devices::{ChangingDevices, LogPauses};
use super::error::TrialError;
use super::spec::CutLook;
use super::stack::{MOUNT, Stack};

/// Largest size of the messages that are reported for one state, in bytes.
const SEEN: usize = 600;

/// A file that a filesystem has to take after a crash.
const TAKEN: &str = "fsverdict-after-a-cut";

/// Observations about one state.
#[derive(Default)]
struct StateLook {
    /// Complaints of kernel and programs, as text.
    told: Vec<String>,
    replayed: bool,
    repaired: bool,
    reading: SavedReading,
}

impl Agent<'_> {
    pub(super) fn look_after_cuts(&mut self, stack: &mut Stack<'_>) -> Result<(), TrialError> {
        let look = self.spec.cuts.clone().unwrap_or(CutLook {
            moments_ns: Vec::new(),
            thorough: Vec::new(),
            promises: CutPromises::default(),
            waits_freely: false,
        });
        let sequences = look.promises.sequences.as_ref().map(SequencesRecord::looking);
        let mut looked =
            CutLooking { look: &look, sequences, histories: BTreeMap::new(), reader: FilesReader::default() };
        let devices = ChangingDevices::for_stack(stack);
        let mut pauses = LogPauses::new(look.waits_freely);
        loop {
            // Of the state before, nothing may be left in memory.
            stack.forget_device()?;
            pauses.wait(stack);
            let Some(at) = devices.next()? else { return Ok(()) };
            let number = at.to_string();
            stack.begin_step(&number);
            let moment_ns = look.moments_ns.get(at).copied().unwrap_or(0);
            let is_thorough = look.thorough.get(at).copied().unwrap_or(true);
            let mut finding = match self.reopen_layers(stack) {
                Ok(()) => self.examine_state(stack, &mut looked, moment_ns, is_thorough)?,
                Err(error) => StateLook::unopened_finding(stack, &error),
            };
            self.close_layers(stack)?;
            finding.state = number;
            stack.sink.send_event(&Event::AfterCut(finding));
        }
    }

    fn examine_state(
        &self,
        stack: &mut Stack<'_>,
        look: &mut CutLooking<'_>,
        moment_ns: u64,
        is_thorough: bool,
    ) -> Result<StateFinding, TrialError> {
        let mut found = StateLook::default();
        let began = Instant::now();
        let recovery = stack.filesystem.recovery;
        if recovery.repair_first {
            found.repaired = run_repair(stack, &mut found.told)?;
        }
        let mut refused = stack.mount_state()?;
        if let (Some(reason), false) = (&refused, recovery.repair_first) {
            found.told.push(reason.clone());
            if run_repair(stack, &mut found.told)? {
                found.repaired = true;
                refused = stack.mount_state()?;
            }
        }
        let back_s = began.elapsed().as_secs_f64();
        if let Some(reason) = refused {
            found.told.push(reason);
            found.read_kernel_messages(stack);
            return Ok(found.into_finding(CutOutcome::Unmountable, back_s));
        }
        found.read_kernel_messages(stack);
        self.read_all(look, moment_ns, &mut found.reading)?;
        self.look_besides(stack, look.look, moment_ns, &mut found.reading)?;
        look.remove_saved(moment_ns, if is_thorough { usize::MAX } else { 1 }, &mut found.reading);
        found.try_writing();
        found.read_kernel_messages(stack);
        stack.unmount_state()?;
        // A mount may succeed on a damaged filesystem, so the checker decides.
        let complaint = if is_thorough || found.is_wrong() { stack.find_complaint()? } else { None };
        if let Some(what) = complaint {
            found.told.push(what);
            if !found.repaired && run_repair(stack, &mut found.told)? {
                found.repaired = true;
                if stack.mount_state()?.is_none() {
                    self.read_again(stack, look, moment_ns, &mut found)?;
                    stack.unmount_state()?;
                }
            }
        }
        let outcome = found.judge_outcome();
        Ok(found.into_finding(outcome, back_s))
    }

    /// The reading after the checker counts; errors of the first reading are reported as complaints. For sequences
    /// the first reading counts, because they have been removed since.
    fn read_again(
        &self,
        stack: &Stack<'_>,
        look: &mut CutLooking<'_>,
        moment_ns: u64,
        found: &mut StateLook,
    ) -> Result<(), TrialError> {
        if look.sequences.is_some() {
            return Ok(());
        }
        let before = std::mem::take(&mut found.reading);
        found.told.extend(before.errors);
        self.read_all(look, moment_ns, &mut found.reading)?;
        self.look_besides(stack, look.look, moment_ns, &mut found.reading)?;
        // Before the repair it may have been made, and not been let go.
        let _ = std::fs::remove_file(Path::new(MOUNT).join(TAKEN));
        found.try_writing();
        Ok(())
    }

    fn read_all(
        &self,
        look: &mut CutLooking<'_>,
        moment_ns: u64,
        reading: &mut SavedReading,
    ) -> Result<(), TrialError> {
        if let (Some(record), Some(looking)) = (&look.look.promises.sequences, &look.sequences) {
            record.check_after_cut(looking, Path::new(MOUNT), moment_ns, reading);
        }
        for folder in &look.look.promises.folders {
            let Ok(material) = self.materials.get(&folder.dataset) else { continue };
            let reader = Some(&mut look.reader);
            let read = folder.check_after_cut(Path::new(MOUNT), &material.prepared, moment_ns, reader);
            reading.ages.merge(&read.ages);
            for (promise, seen) in read.broken {
                reading.broken.entry(promise).or_insert(seen);
            }
            reading.errors.extend(read.errors);
        }
        for folder in &look.look.promises.replayed {
            let material = self.materials.get(&folder.dataset)?;
            let history = look.histories.entry(folder.into.clone()).or_default();
            folder
                .check_after_cut(Path::new(MOUNT), &material.prepared, moment_ns, history, reading)
                .map_err(|fault| TrialError::Host(format!("the trace {}: {fault}", folder.dataset)))?;
        }
        Ok(())
    }
}

/// The requirements on each state, and the resources that are prepared once for all of them.
struct CutLooking<'a> {
    look: &'a CutLook,
    sequences: Option<SequencesLooking>,
    /// Of each replayed folder.
    histories: BTreeMap<String, Option<ReplayHistory>>,
    reader: FilesReader,
}

impl CutLooking<'_> {
    /// Checks that the saved files can be removed.
    fn remove_saved(&self, moment_ns: u64, most: usize, reading: &mut SavedReading) {
        if let (Some(record), Some(looking)) = (&self.look.promises.sequences, &self.sequences) {
            record.check_removal(looking, Path::new(MOUNT), moment_ns, most, reading);
        }
    }
}

impl StateLook {
    /// The finding where a layer below the filesystem could not be opened, so that there is no filesystem.
    fn unopened_finding(stack: &mut Stack<'_>, error: &TrialError) -> StateFinding {
        let mut found = StateLook { told: vec![error.to_string()], ..StateLook::default() };
        found.read_kernel_messages(stack);
        found.into_finding(CutOutcome::Unmountable, 0.0)
    }

    /// Reads the messages that the kernel has logged since.
    fn read_kernel_messages(&mut self, stack: &mut Stack<'_>) {
        let recovery = stack.filesystem.recovery;
        for line in stack.said_at_all() {
            self.replayed |= recovery.replayed.iter().any(|word| line.text.contains(word));
            // An error for each block of a file that is gone is one.
            if line.is_error() && !self.told.contains(&line.text) {
                self.told.push(line.text);
            }
        }
    }

    /// A filesystem that is mounted takes a file, keeps it and lets it go.
    fn try_writing(&mut self) {
        let path = Path::new(MOUNT).join(TAKEN);
        let written = File::create_new(&path)
            .and_then(|mut file| file.write_all(&[0x5a; 5000]).and_then(|()| file.sync_all()))
            .and_then(|()| std::fs::read(&path))
            .and_then(|bytes| match bytes == [0x5a; 5000] {
                true => std::fs::remove_file(&path),
                false => Err(std::io::Error::other("another content was read than was written")),
            });
        if let Err(error) = written {
            self.reading.broken.entry("writable").or_insert_with(|| format!("a new file: {error}"));
        }
    }

    /// Whether something is lost, or anything complained.
    fn is_wrong(&self) -> bool {
        self.repaired
            || !self.told.is_empty()
            || !self.reading.broken.is_empty()
            || !self.reading.errors.is_empty()
    }

    fn judge_outcome(&self) -> CutOutcome {
        let lost = !self.reading.broken.is_empty() || !self.reading.errors.is_empty();
        // A checker that repaired something has reported it.
        let said = self.repaired || !self.told.is_empty() || !self.reading.errors.is_empty();
        match (lost, self.repaired) {
            (true, _) if !said => CutOutcome::SilentLoss,
            (true, _) => CutOutcome::LossReported,
            (false, true) => CutOutcome::Repaired,
            (false, false) if self.replayed => CutOutcome::Replayed,
            (false, false) => CutOutcome::Unharmed,
        }
    }

    fn into_finding(self, outcome: CutOutcome, back_s: f64) -> StateFinding {
        let broken = self.reading.broken.keys().map(|name| (*name).to_owned()).collect();
        let seen = self.reading.broken.values().chain(&self.reading.errors).chain(&self.told);
        let mut seen = seen.map(String::as_str).collect::<Vec<_>>().join("; ");
        seen.truncate(seen.floor_char_boundary(SEEN));
        StateFinding { state: String::new(), outcome, broken, seen, back_s, ages: self.reading.ages }
    }
}

/// Lets the checker repair the filesystem; returns whether there was anything to repair. Failures to repair are added
/// to `told`.
fn run_repair(stack: &mut Stack<'_>, told: &mut Vec<String>) -> Result<bool, TrialError> {
    if stack.filesystem.pool.is_some() {
        // The scrub that complained has repaired what it could; a second one finds what it could not.
        let complaint = stack.find_complaint()?;
        told.extend(complaint.clone());
        return Ok(complaint.is_none());
    }
    let Some(record) = stack.run_repair()? else { return Ok(false) };
    let meaning = record.exit.and_then(|status| stack.filesystem.repair_status_of(status));
    let gave_up = |line: &&str| stack.filesystem.recovery.gave_up.iter().any(|words| line.contains(words));
    told.extend(record.stdout.lines().find(gave_up).map(|line| line.trim().to_owned()));
    match meaning {
        Some(FsckStatus::Clean) => Ok(false),
        Some(FsckStatus::Corrected | FsckStatus::CorrectedReboot) => Ok(true),
        other => {
            let words = other.map_or("no answer", FsckStatus::words);
            told.push(format!("{}: {words}", record.argv.join(" ")));
            Ok(true)
        }
    }
}
