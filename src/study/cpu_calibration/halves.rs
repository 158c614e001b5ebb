//! The two halves of a processor's calibration: trials of the same plan natively, on an image in memory, and in a guest.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
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
use crate::study::claim::Permission;
use crate::study::error::SessionError;
use crate::study::session::check_limits;

/// A filesystem in memory that every user of a machine has.
const MEMORY: &str = "/dev/shm";

/// Seconds of a piece of work: those of the thread that does it, and those of the kernel's threads meanwhile.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct NativeTime {
    own: f64,
    kernel_threads: f64,
}

impl NativeTime {
    /// The least of each part.
    pub(super) fn least_of(self, other: NativeTime) -> NativeTime {
        NativeTime {
            own: self.own.min(other.own),
            kernel_threads: self.kernel_threads.min(other.kernel_threads),
        }
    }

    pub(super) fn seconds(self) -> f64 {
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
    fn obstacle(&self, candidate: &Candidate) -> Option<String> {
        self.lab.find_obstacle(candidate).map(|reason| reason.what)
    }

    /// Does the work of a plan on a candidate; `watch` hears its events.
    fn trial(
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
                let what = format!("cannot do the work on {}: {}", candidate.name, end.reason);
                Err(SessionError::Disk(Reason::new(what, end.hint)))
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
        plan.device.replace(&[DeviceSource::Image(size)]);
        check_limits(&plan)?;
        let lab = choose_lab(&plan, LabChoice::Native)?.lab;
        let room = image_room(&plan, size.0);
        let image = Attachment::Image { folder: PathBuf::from(MEMORY), size: size.0, room };
        Ok(NativeHalf(Half { plan, lab, attachments: Attachments::new(image, Vec::new()) }))
    }

    pub(super) fn obstacle(&self, candidate: &Candidate) -> Option<String> {
        self.0.obstacle(candidate)
    }

    /// What each piece of work took.
    pub(super) fn times(
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
        self.0.trial(candidate, round, &mut watch)?;
        Ok(times)
    }
}

/// The half in guests, whose kernel counts.
pub(super) struct GuestHalf {
    half: Half,
    /// Has the script that starts the kernel.
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
        // A plan has no word for a kernel that counts and charges nothing.
        let script = folder.path().join("counting-kernel");
        let text = format!("#!/bin/sh\nexec '{}' cpu_price=count \"$@\"\n", counting_kernel.display());
        std::fs::write(&script, text).map_err(unwritable)?;
        for path in [folder.path(), &script] {
            std::fs::set_permissions(path, Permissions::from_mode(0o755)).map_err(unwritable)?;
        }
        let mut plan = plan.clone();
        plan.lab = LabChoice::Uml;
        plan.kernel = Some(script);
        check_limits(&plan)?;
        let never = |_: &fsverdict_linux::guard::Refusal| None;
        let attachments = Permission { erase: &[], ask: &never }.claim(&plan)?;
        let lab = choose_lab(&plan, LabChoice::Uml)?.lab;
        Ok(GuestHalf { half: Half { plan, lab, attachments }, _folder: folder })
    }

    pub(super) fn obstacle(&self, candidate: &Candidate) -> Option<String> {
        self.half.obstacle(candidate)
    }

    /// What was counted of each piece of work: the classes, and what the device was asked for.
    pub(super) fn counts(&self, candidate: &Candidate) -> Result<Vec<(WorkKey, Vec<f64>)>, SessionError> {
        let mut found = Vec::new();
        let mut watch = |event: Event| {
            if let Event::Observation(observation) = event
                && let Some(counts) = counts_of(&observation)
            {
                found.push(((candidate.name.clone(), observation.phase), counts));
            }
        };
        self.half.trial(candidate, 1, &mut watch)?;
        Ok(found)
    }
}

/// The counts of the classes, and what the loop device of the native half is asked for; none if a count is missing.
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
    use crate::study::made::measured;

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
        assert!((one.least_of(other).seconds() - 4.0).abs() < 1e-12);
    }
}
