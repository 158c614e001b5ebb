//! Declares once the steps of a trial, from a bare device back to a bare device: the agent runs these steps,
//! `--dry-run` prints them, and a test compares the documentation with them.

use fsverdict_judgement::journal::{CLAIM, TEAR_DOWN};
use fsverdict_judgement::plan::{ArrayState, Flow, Operation, Phase, PhaseWork};
use fsverdict_stack::filesystem::find_filesystem;

use super::act::{Act, AsideLine, CacheState, OfLayer, SEALING, Timed};
use super::arrangement::Arrangement;
use super::error::TrialError;
use super::spec::{TrialSpec, is_raw};
use super::staging::to_stage;

/// The journal's name of the step that measures a device without a filesystem.
const MEASURED: &str = "calibration";

/// The course of a trial: one step after another, up to the first that fails; the last step runs in any case, past
/// every error.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialCourse<'a> {
    pub steps: Vec<Step<'a>>,
    pub last: Step<'a>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Step<'a> {
    /// As the journal has it; without one it goes on under the name of the step before.
    pub name: Option<&'a str>,
    /// Acts before the repetitions, …
    pub first: Vec<Act<'a>>,
    /// … acts of each repetition, and …
    pub each: Vec<Act<'a>>,
    /// … acts after the repetitions.
    pub then: Vec<Act<'a>>,
}

impl<'a> Step<'a> {
    fn done_once(name: impl Into<Option<&'a str>>, acts: impl Into<Vec<Act<'a>>>) -> Self {
        Step { name: name.into(), first: acts.into(), ..Step::default() }
    }

    /// Runs all acts, past every error; returns the errors as text.
    pub(super) fn past_errors(&self, mut act: impl FnMut(Act<'a>) -> Result<(), TrialError>) -> Vec<String> {
        let failed = |failed_act: Act<'_>, error: TrialError| match failed_act {
            Act::UnmountLeft => format!("unmount: {error}"),
            _ => error.to_string(),
        };
        self.all_acts().filter_map(|next| Some(failed(next, act(next).err()?))).collect()
    }

    /// All acts of the step; repeated ones occur once.
    pub fn all_acts(&self) -> impl Iterator<Item = Act<'a>> {
        self.first.iter().chain(&self.each).chain(&self.then).copied()
    }
}

impl<'a> TrialCourse<'a> {
    /// Everything that a trial of this kind does, in order.
    pub fn for_trial(spec: &'a TrialSpec) -> Self {
        let mut last = Step::done_once(TEAR_DOWN, [Act::UnmountLeft]);
        last.first.extend(spec.layer_places().rev().map(|at| Act::Layer(at, OfLayer::Close)));
        last.first.push(Act::Release);
        TrialCourse { steps: spec.main_steps(), last }
    }

    /// Every step, the last one included.
    pub fn all_steps(&self) -> impl Iterator<Item = &Step<'a>> {
        self.steps.iter().chain([&self.last])
    }
}

impl TrialSpec {
    /// The numbers of the places of its layers, from the devices up.
    pub(super) fn layer_places(&self) -> std::ops::Range<usize> {
        0..Arrangement::for_candidate(&self.candidate, self.devices).sites.len()
    }

    fn main_steps(&self) -> Vec<Step<'_>> {
        let in_folder = self.candidate.path.is_some();
        let mut claim = Step::done_once(CLAIM, []);
        if !in_folder {
            claim.first.extend([Act::Claim, Act::Discard]);
            claim.first.extend(self.candidate.scheduler.as_deref().map(Act::Scheduler));
            claim.first.push(Act::DescribeDevice);
        }
        if let Some(grid) = self.calibration {
            return vec![claim, Step::done_once(MEASURED, [Act::Calibrate(grid)])];
        }
        if self.cuts.is_some() {
            // The device holds the states after power cuts, and reading its serial number requests the next state.
            let looked = [Act::Claim, Act::Stage, Act::ShutIn, Act::LookAfterCuts];
            return vec![Step::done_once(CLAIM, looked)];
        }
        if self.rot.is_some() {
            let looked = [Act::Claim, Act::Stage, Act::ShutIn, Act::LookAfterRot];
            return vec![Step::done_once(CLAIM, looked)];
        }
        let mut steps = vec![claim, Step::done_once(None, [Act::Stage, Act::ShutIn])];
        // Twice, because work timed from the mount on and work timed from the start each reach the first phase at
        // another moment.
        let pause = self.drawn.map(|_| Act::Pause);
        steps.extend(pause.map(|pause| Step::done_once(None, [pause])));
        if in_folder {
            let ready = [Act::ShowFolder, Act::DescribeMount].into_iter().chain(pause);
            steps.push(Step::done_once(
                None,
                ready.chain([Act::Settle("before the phases")]).collect::<Vec<_>>(),
            ));
        } else {
            self.raw_steps(&mut steps);
            for at in self.layer_places() {
                let layer = [OfLayer::Make, OfLayer::Open, OfLayer::Mark, OfLayer::Fill, OfLayer::Describe];
                steps.push(Step::done_once(None, layer.map(|act| Act::Layer(at, act))));
            }
            steps.push(Step::done_once("mkfs", [Act::Timed(Timed::Mkfs, CacheState::Fresh), Act::Record]));
            let mount = [Act::Timed(Timed::Mount, CacheState::Fresh), Act::Record, Act::DescribeMount];
            let mount = mount.into_iter().chain(pause).chain([Act::Settle("mount")]);
            steps.push(Step::done_once("mount", mount.collect::<Vec<_>>()));
        }
        let (mut cache, mut missing) = (CacheState::Fresh, false);
        let mut to_seal =
            fsverdict_stack::layer::layers_of(&self.candidate).any(|layer| layer.seal.is_some());
        for phase in self.mounted_phases() {
            let whole = [ArrayState::Degraded, ArrayState::Rebuilding].map(Some);
            if missing && !whole.contains(&phase.state) {
                steps.push(Step::done_once(None, [Act::PutBack]));
            }
            if phase.cold && std::mem::take(&mut to_seal) {
                let sealed = [Act::Timed(Timed::Seal, CacheState::Cold), Act::Record, Act::Mount];
                let sealed = [Act::Unmount, Act::SyncDevice].into_iter().chain(sealed);
                steps.push(Step::done_once(SEALING, sealed.collect::<Vec<_>>()));
            }
            steps.push(self.phase_step(phase, &mut cache));
            missing = phase.state == Some(ArrayState::Degraded);
        }
        if missing {
            steps.push(Step::done_once(None, [Act::PutBack]));
        }
        if in_folder {
            // Belongs to the step of the last phase, because unmounting a folder is not timed.
            steps.push(Step::done_once(None, [Act::Unmount]));
        } else {
            steps.push(Step::done_once("umount", [Act::Timed(Timed::Unmount, cache), Act::Record]));
            if !self.mounted_phases().last().is_some_and(is_check) {
                steps.push(self.check_step("fsck"));
            }
        }
        if self.mounted_phases().any(leaves_something) {
            steps.push(Step::done_once("verify", [Act::Mount, Act::VerifyAll, Act::Unmount]));
        }
        steps
    }

    fn mounted_phases(&self) -> impl Iterator<Item = &Phase> {
        self.phases.iter().filter(|phase| !is_raw(phase))
    }

    /// Phases on the bare device, before there is a filesystem: the rate it can be held against. Every filesystem then gets
    /// the device as bare as one that was never measured.
    fn raw_steps<'a>(&'a self, steps: &mut Vec<Step<'a>>) {
        let written = self.phases.iter().any(writes_device);
        for phase in self.phases.iter().filter(|phase| is_raw(phase)) {
            let timed = Act::Timed(Timed::Raw(phase), CacheState::Cold);
            let verified = match (writes_device(phase), written) {
                (true, _) => Some(Act::VerifyDevice(phase)),
                (false, true) => None,
                (false, false) => Some(Act::NeverStored(phase)),
            };
            let acts = [Act::ForgetDevice, timed].into_iter().chain(verified);
            let acts = acts.chain([Act::Settle(&phase.name), Act::Record]);
            steps.push(Step::done_once(phase.name.as_str(), acts.collect::<Vec<_>>()));
        }
        if written {
            steps.push(Step::done_once(None, [Act::DiscardAgain]));
        }
    }

    fn phase_step<'a>(&'a self, phase: &'a Phase, cache: &mut CacheState) -> Step<'a> {
        if is_check(phase) {
            let mut step = self.check_step(&phase.name);
            step.first.insert(0, Act::Unmount);
            step.then.push(Act::Mount);
            return step;
        }
        let (mut first, mut each) = (Vec::new(), Vec::new());
        if phase.remake.is_some() {
            first.extend([Act::Unmount, Act::CheckAged, Act::MakeAnew, Act::Mount, Act::CopyAgain(phase)]);
        }
        if self.repeats.contains_key(&phase.name) && changes_its_files(phase) {
            each.push(Act::RenewFiles(phase));
        }
        let aside = |line: AsideLine| line.line_of(phase).map(|_| Act::Aside(phase, line));
        each.extend(aside(AsideLine::Before));
        // Nothing where it is missing already.
        if matches!(phase.state, Some(ArrayState::Degraded | ArrayState::Rebuilding)) {
            each.push(Act::TakeOut);
        }
        if phase.cold {
            *cache = CacheState::Cold;
            match self.candidate.path {
                Some(_) => each.push(Act::ForgetFolder(&phase.name)),
                None => each.extend([Act::Unmount, Act::SyncDevice, Act::ForgetDevice, Act::Mount]),
            }
        }
        let services = || self.services.iter();
        each.extend(services().filter(|service| service.from == phase.name).map(Act::StartService));
        let beside = phase.state.filter(|state| *state != ArrayState::Degraded);
        each.extend(beside.map(Act::Begin));
        each.push(Act::Timed(Timed::Phase(phase), *cache));
        each.extend(beside.map(Act::Finish));
        if matches!(phase.work, PhaseWork::Operation(_)) || phase.verify.is_some() {
            each.push(Act::Verify(phase));
        }
        each.extend(aside(AsideLine::After));
        // The last that was started is the first to go.
        each.extend(services().rev().filter(|service| service.to == phase.name).map(Act::StopService));
        each.extend([Act::Settle(&phase.name), Act::Record]);
        *cache = CacheState::Warm;
        Step { name: Some(&phase.name), first, each, ..Step::default() }
    }

    /// Of the unmounted filesystem, timed under this name.
    fn check_step<'a>(&self, name: &'a str) -> Step<'a> {
        if find_filesystem(&self.candidate.filesystem).is_some_and(|filesystem| filesystem.fsck.is_none()) {
            return Step::done_once(name, [Act::NoChecker(name)]);
        }
        let each = vec![Act::Timed(Timed::Check(name), CacheState::Cold), Act::Record, Act::Judge];
        Step { name: Some(name), each, ..Step::default() }
    }

    /// The datasets that must lie somewhere as files before the work begins.
    pub(super) fn staged_datasets(&self) -> impl Iterator<Item = &str> {
        to_stage(&self.datasets, &self.phases).map(|(name, _)| name.as_str())
    }
}

fn is_check(phase: &Phase) -> bool {
    phase.work == PhaseWork::Operation(Operation::Fsck)
}

pub(super) fn writes_device(phase: &Phase) -> bool {
    is_raw(phase) && matches!(phase.work, PhaseWork::Operation(operation) if operation.flow() == Flow::Writes)
}

/// Whether a repetition of the phase needs files as they were before it.
fn changes_its_files(phase: &Phase) -> bool {
    matches!(phase.work, PhaseWork::Operation(operation) if operation.needs_fresh_files())
}

/// Whether the expected content after such a phase is known.
fn leaves_something(phase: &Phase) -> bool {
    matches!(phase.work, PhaseWork::Operation(_)) && !is_check(phase) || phase.verify.is_some()
}
