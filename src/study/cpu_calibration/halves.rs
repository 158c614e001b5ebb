//! Runs the two halves of a processor's calibration: trials of the same plan natively, on an image in memory, and in a
//! guest.

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use fsverdict_judgement::journal::{Event, Observation, Status, TrialId};
use fsverdict_judgement::plan::{Candidate, DeviceSource, LabChoice, Plan, image_room};
use fsverdict_lab::kernel::CPU_CLASSES;
use fsverdict_lab::lab::{Attachment, Attachments, Lab, choose_lab};
use fsverdict_lab::trial::TrialSpec;
use fsverdict_linux::host::procfs::kernel_thread_times;
use fsverdict_linux::host::root::Root;
use fsverdict_text::Reason;
use fsverdict_workload::cpu_work::{COUNT_PREFIX, OWN_NANOSECONDS};

use super::WorkKey;
use crate::study::claim::{Permission, check_limits};
use crate::study::error::SessionError;

/// A filesystem in memory that every user of a machine has.
const MEMORY: &str = "/dev/shm";

/// The CPU time of a piece of work in seconds: of the thread that does it, and of the kernel's threads meanwhile.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct NativeTime {
    own: f64,
    kernel_threads: f64,
}

impl NativeTime {
    /// The minimum of each part.
    pub(super) fn least_of(self, other: NativeTime) -> NativeTime {
        NativeTime {
            own: self.own.min(other.own),
            kernel_threads: self.kernel_threads.min(other.kernel_threads),
        }
    }

    pub(super) fn total_seconds(self) -> f64 {
        self.own + self.kernel_threads
    }
}

/// Trials of a plan in a lab.
struct Half {
    plan: Plan,
    lab: Box<dyn Lab>,
    attachments: Attachments,
}

impl Half {
    fn find_obstacle(&self, candidate: &Candidate) -> Option<String> {
        self.lab.find_obstacle(candidate).map(|reason| reason.what)
    }

    /// Does the work of a plan on a candidate; `watch` receives its events.
    fn run_trial(
        &self,
        candidate: &Candidate,
        number: u32,
        watch: &mut dyn FnMut(Event),
    ) -> Result<(), SessionError> {
        let bare =
            TrialSpec::without_work(candidate.clone(), self.plan.protocol.seed, self.plan.protocol.timeout);
        let spec = TrialSpec {
            trial: TrialId { block: number, candidate: candidate.name.clone(), attempt: 1 },
            datasets: self.plan.datasets.clone(),
            phases: self.plan.phases.clone(),
            ..bare
        };
        let end = self.lab.run_trial(&spec, &self.attachments, 0, watch)?;
        match end.status {
            Status::Ok => Ok(()),
            Status::Failed => {
                let statement = format!("cannot do the work on {}: {}", candidate.name, end.reason);
                Err(SessionError::Disk(Reason::new(statement, end.hint)))
            }
        }
    }
}

/// The native half.
pub(super) struct NativeHalf(Half);

impl NativeHalf {
    pub(super) fn new(plan: &Plan) -> Result<Self, SessionError> {
        if !rustix::process::geteuid().is_root() {
            return Err(SessionError::Disk(Reason::new(
                "half of a processor's calibration is measured natively, which only root may",
                "run it with sudo",
            )));
        }
        let DeviceSource::Model { size, .. } = plan.device.source else {
            return Err(SessionError::Disk(Reason::plain("a processor is calibrated on a modelled device")));
        };
        let mut plan = plan.clone();
        plan.lab = LabChoice::Native;
        plan.device.replace_sources(&[DeviceSource::Image(size)]);
        check_limits(&plan)?;
        let lab = choose_lab(&plan, LabChoice::Native)?.lab;
        let room = image_room(&plan, size.0);
        let image = Attachment::Image { folder: PathBuf::from(MEMORY), size: size.0, room };
        Ok(NativeHalf(Half { plan, lab, attachments: Attachments::new(image, Vec::new()) }))
    }

    pub(super) fn find_obstacle(&self, candidate: &Candidate) -> Option<String> {
        self.0.find_obstacle(candidate)
    }

    /// Measures the CPU time of each piece of work.
    pub(super) fn measure_times(
        &self,
        candidate: &Candidate,
        round: u32,
    ) -> Result<Vec<(WorkKey, NativeTime)>, SessionError> {
        let root = Root::default();
        let mut before = kernel_thread_times(&root);
        let mut times = Vec::new();
        let mut watch = |event: Event| match event {
            Event::StepStarted { .. } => before = kernel_thread_times(&root),
            Event::Observation(observation) => {
                let Some(own) = observation.value(OWN_NANOSECONDS) else { return };
                let after = kernel_thread_times(&root);
                let ran = |(thread, time): (&(u32, u64), &u64)| {
                    time.saturating_sub(before.get(thread).copied().unwrap_or(0))
                };
                let kernel_threads = after.iter().map(ran).sum::<u64>() as f64 * 1e-9;
                let key = (candidate.name.clone(), observation.phase);
                times.push((key, NativeTime { own: own * 1e-9, kernel_threads }));
            }
            _ => {}
        };
        self.0.run_trial(candidate, round, &mut watch)?;
        Ok(times)
    }
}

/// The half in guests with a counting kernel.
pub(super) struct GuestHalf {
    half: Half,
    /// The folder of the script that starts the kernel.
    _folder: TempDir,
}

impl GuestHalf {
    pub(super) fn new(plan: &Plan, counting_kernel: &Path) -> Result<Self, SessionError> {
        let unwritable = |error: std::io::Error| {
            SessionError::Disk(Reason::plain(format!(
                "cannot write a script that starts the kernel: {error}"
            )))
        };
        let folder = tempfile::tempdir().map_err(unwritable)?;
        // A plan cannot express a kernel that counts computation without charging it.
        let script = folder.path().join("counting-kernel");
        let text = format!("#!/bin/sh\nexec '{}' cpu_price=count \"$@\"\n", counting_kernel.display());
        std::fs::write(&script, text).map_err(unwritable)?;
        // Modules are looked for beside the kernel.
        let modules = counting_kernel.with_file_name("modules");
        if modules.is_dir() {
            symlink(modules, folder.path().join("modules")).map_err(unwritable)?;
        }
        for path in [folder.path(), &script] {
            std::fs::set_permissions(path, Permissions::from_mode(0o755)).map_err(unwritable)?;
        }
        let mut plan = plan.clone();
        plan.lab = LabChoice::Uml;
        plan.kernel = Some(script);
        let attachments = Permission::NONE.claim_devices(&plan)?;
        let lab = choose_lab(&plan, LabChoice::Uml)?.lab;
        Ok(GuestHalf { half: Half { plan, lab, attachments }, _folder: folder })
    }

    pub(super) fn obstacle(&self, candidate: &Candidate) -> Option<String> {
        self.half.find_obstacle(candidate)
    }

    /// The counts of each piece of work: of the classes of computation, and of the requests to the device.
    pub(super) fn measure_counts(
        &self,
        candidate: &Candidate,
    ) -> Result<Vec<(WorkKey, Vec<f64>)>, SessionError> {
        let mut counts_by_work = Vec::new();
        let mut watch = |event: Event| {
            if let Event::Observation(observation) = event
                && let Some(counts) = counts_of(&observation)
            {
                counts_by_work.push(((candidate.name.clone(), observation.phase), counts));
            }
        };
        self.half.run_trial(candidate, 1, &mut watch)?;
        Ok(counts_by_work)
    }
}

/// The counts of the classes, followed by the requests that the loop device of the native half receives; `None` if a
/// count is missing.
fn counts_of(observation: &Observation) -> Option<Vec<f64>> {
    let mut counts: Vec<f64> = (0..CPU_CLASSES.len())
        .map(|class| observation.value(&format!("{COUNT_PREFIX}{class}")))
        .collect::<Option<_>>()?;
    let value = |name: &str| observation.value(name).unwrap_or(0.0);
    counts.extend([
        value("device_read"),
        value("device_written"),
        value("device_reads") + value("device_writes"),
        value("device_flushes"),
    ]);
    Some(counts)
}

#[cfg(test)]
mod tests {
    use fsverdict_judgement::journal::Unit;
    use fsverdict_lab::kernel::CPU_CLASSES;

    use super::{NativeTime, counts_of};
    use fsverdict_testutil::journals::measured;

    #[test]
    fn counts_are_complete_or_none() {
        let names: Vec<String> = (0..CPU_CLASSES.len()).map(|class| format!("count_{class}")).collect();
        let numbers = names.iter().map(|name| (&*name.clone().leak(), Unit::Count, 7.0));
        let numbers: Vec<(&'static str, Unit, f64)> = numbers.collect();
        let counts = counts_of(&measured("tree_write", &numbers)).unwrap();
        assert_eq!(counts.len(), CPU_CLASSES.len() + 4);
        assert_eq!((counts[0], counts.last().copied()), (7.0, Some(0.0)));
        assert_eq!(counts_of(&measured("tree_write", &numbers[1..])), None);
    }

    #[test]
    fn the_least_of_each_part_counts() {
        let (one, other) =
            (NativeTime { own: 1.0, kernel_threads: 4.0 }, NativeTime { own: 2.0, kernel_threads: 3.0 });
        assert!((one.least_of(other).total_seconds() - 4.0).abs() < 1e-12);
    }
}
