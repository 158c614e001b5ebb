//! Describes a trial as command lines, for `--dry-run`: its steps in the order in which the agent runs them.

mod program_text;

use std::path::Path;

use fsverdict_judgement::plan::{ArrayState, DeviceSource, Operation, Phase, PhaseWork, Plan, split_layer};
use fsverdict_stack::filesystem::{DIRECTORY, find_filesystem};
use fsverdict_stack::layer::Layer;
use fsverdict_text::quoted;

use super::above::{AboveLayer, BELOW, show_lower};
use super::act::{Act, Durable, OfLayer, Timed};
use super::arrangement::{Arrangement, TopDevice};
use super::programs::{Line, NamedTop, Programs, TrialNames};
use super::redundancy::Redundancy;
use super::spec::{Repeats, TrialSpec};
use super::stack::MOUNT;
use super::steps::{Step, TrialCourse};
use program_text::{device_variable, quoted_command, shown_above};

/// Placeholders for the device, and for the key file.
const DEVICE: &str = "$DEVICE";
const KEY: &str = "$KEY";
/// Placeholder for the number of a snapshot.
const SNAPSHOT: &str = "$SNAPSHOT";
/// Separates a remark from its line.
const GAP: &str = "    ";

/// The command lines of one trial of the candidate at this place in the plan; steps that are no programs are described in
/// brackets.
pub fn command_lines(plan: &Plan, candidate: usize) -> Vec<String> {
    let Some(candidate) = plan.candidates.get(candidate) else { return Vec::new() };
    let asked = plan
        .phases
        .iter()
        .filter_map(|phase| Some((phase.name.clone(), Repeats { times: phase.repeat?, asked_for: true })));
    let spec = TrialSpec {
        datasets: plan.datasets.clone(),
        phases: plan.phases.clone(),
        services: plan.services.clone(),
        repeats: asked.collect(),
        devices: plan.device.count(),
        ..TrialSpec::without_work(candidate.clone(), plan.protocol.seed, plan.protocol.timeout)
    };
    let filesystem =
        candidate.path.as_ref().map_or_else(|| find_filesystem(&candidate.filesystem), |_| Some(&DIRECTORY));
    let layers = candidate
        .layers
        .names()
        .map(|name| Some((fsverdict_stack::layer::find_layer(name)?, split_layer(name).1)));
    let layers = layers.collect::<Option<Vec<_>>>();
    let (Some(filesystem), Some(layers)) = (filesystem, layers) else { return Vec::new() };
    let arrangement = Arrangement::for_candidate(candidate, spec.devices);
    let programs = Programs { candidate, filesystem };
    let source = &plan.device.source;
    let above = AboveLayer::of_candidate(candidate);
    let mount = if above.is_some() { BELOW } else { MOUNT };
    let names = TrialNames { tops: Vec::new(), names_pool: None, degraded: false, sealed: false, mount };
    let mut told = PlainContext { spec: &spec, programs, names, missing: None, layers, arrangement, source };
    let named = |top: &TopDevice| NamedTop {
        device: top.device,
        apart: top.apart,
        path: told.node_text(top.is).into(),
    };
    told.names.tops = told.arrangement.tops.iter().map(named).collect();
    TrialCourse::for_trial(&spec).all_steps().flat_map(|step| told.step_lines(step)).collect()
}

/// The state on which the words of a dry run depend.
struct PlainContext<'a> {
    spec: &'a TrialSpec,
    programs: Programs<'a>,
    names: TrialNames,
    /// The missing device of a filesystem that keeps copies itself.
    missing: Option<NamedTop>,
    /// The one on the devices first, each with its options.
    layers: Vec<(&'static Layer, &'a str)>,
    arrangement: Arrangement,
    source: &'a DeviceSource,
}

impl PlainContext<'_> {
    /// The lines of a step: one for its preparation, one for the timed work, and one for the rest.
    fn step_lines(&mut self, step: &Step<'_>) -> Vec<String> {
        let times = step.name.and_then(|name| self.spec.repeats.get(name)).map_or(1, |repeats| repeats.times);
        let first = self.act_lines(&step.first, 1);
        let each = self.act_lines(&step.each, times);
        [first, each, self.act_lines(&step.then, 1)].concat()
    }

    fn act_lines(&mut self, acts: &[Act<'_>], times: u32) -> Vec<String> {
        let begins = |act: Act<'_>| {
            matches!(act, Act::Timed(..))
                || matches!(act, Act::Layer(_, of) if of != OfLayer::Make && of != OfLayer::Close)
        };
        let groups = acts.chunk_by(|one, next| !begins(*next) && !matches!(one, Act::Timed(..)));
        groups.filter_map(|group| self.grouped_line(group, times)).collect()
    }

    fn grouped_line(&mut self, acts: &[Act<'_>], times: u32) -> Option<String> {
        let told = acts.iter().filter_map(|act| {
            self.note_lost_device(*act);
            self.names.sealed |= matches!(act, Act::Timed(Timed::Seal, _));
            self.act_text(*act)
        });
        let line = told.collect::<Vec<_>>().join("; ");
        let remark = match (acts, times) {
            ([Act::Timed(timed, _)], 1) => format!("{GAP}[timed as {}]", timed.journal_name()),
            ([Act::Timed(timed, _)], _) => format!("{GAP}[timed as {}, {times} times]", timed.journal_name()),
            (_, 1) => String::new(),
            (_, _) => format!("{GAP}[each time]"),
        };
        (!line.is_empty()).then(|| line + &remark)
    }

    /// A filesystem that keeps its copies itself is mounted without the device that is missing.
    fn note_lost_device(&mut self, act: Act<'_>) {
        let own = || {
            Redundancy::of_candidate(self.programs.candidate, &self.arrangement)
                .is_some_and(|redundancy| redundancy.is_of_filesystem())
        };
        match act {
            Act::TakeOut if self.missing.is_none() && own() => {
                let last = self.names.tops.iter().rposition(|top| !top.apart);
                self.missing = last.map(|at| self.names.tops.remove(at));
            }
            Act::PutBack | Act::Finish(_) => self.names.tops.extend(self.missing.take()),
            _ => {}
        }
        self.names.degraded = self.missing.is_some();
    }

    /// Describes an act in words or as a command line; `None` if it concerns only the agent.
    fn act_text(&self, act: Act<'_>) -> Option<String> {
        let devices: Vec<String> = (1..=self.spec.devices).map(device_variable).collect();
        let bottom = devices.join(" ");
        let own = || self.spec.candidate.path.as_deref().map(own_folder);
        let told = match act {
            Act::Claim => format!("[claim {bottom}]"),
            // Only a real disk needs discarding: other devices are new and empty in each trial.
            Act::Discard if !matches!(self.source, DeviceSource::Path(_)) => return None,
            Act::Discard | Act::DiscardAgain => format!("[discard {bottom}]"),
            Act::Scheduler(name) => format!("[I/O scheduler {name}]"),
            Act::Calibrate(_) => "[measure the device]".to_owned(),
            Act::Stage => {
                let names: Vec<&str> = self.spec.staged_datasets().collect();
                return (!names.is_empty()).then(|| format!("[stage {}]", names.join(", ")));
            }
            Act::Layer(at, OfLayer::Close) => format!("[close {}]", self.layer_name(at)?),
            Act::Layer(at, of) => self.of_layer(at, of)?,
            // Before there is a layer on it.
            Act::TakeOut => format!("[take out {}, if it is there]", device_variable(self.spec.devices)),
            Act::PutBack => {
                format!("[put {} back, and wait until all is rebuilt]", device_variable(self.spec.devices))
            }
            Act::Aside(phase, line) => format!("{}{GAP}[{}]", line.line_of(phase)?, line.plan_key()),
            Act::StartService(service) => {
                let ready = service.ready.as_ref().map_or(String::new(), |line| format!(" until {line}"));
                format!("[service {}: {}{ready}]", service.name, service.start)
            }
            Act::StopService(service) => {
                let how = service.stop.as_deref().unwrap_or("SIGTERM");
                format!("[stop {}: {how}]", service.name)
            }
            Act::Begin(ArrayState::Scrubbing) => "[begin to scrub]".to_owned(),
            Act::Begin(_) => format!("[put {} back, empty]", device_variable(self.spec.devices)),
            Act::Finish(ArrayState::Scrubbing) => "[wait until all is scrubbed]".to_owned(),
            Act::Finish(_) => "[wait until all is rebuilt]".to_owned(),
            Act::Timed(Timed::Raw(phase), _) => format!("{}; [sync {bottom}]", work_text(phase)),
            Act::Timed(timed, _) => {
                format!("{}; {}", self.timed_text(timed)?, self.durable_text(timed.durable()))
            }
            Act::NoChecker(_) => format!("[{} has no checker]", self.programs.filesystem.name),
            Act::Settle(_) => match self.program_text(Line::SyncPool) {
                Some(sync) => format!("{sync}; [settle]"),
                None => "[settle]".to_owned(),
            },
            Act::CheckAged => self.check_text()?,
            Act::MakeAnew => self.timed_text(Timed::Mkfs)?,
            Act::CopyAgain(phase) => {
                format!("[write {} again]", phase.dataset.as_deref().unwrap_or("nothing"))
            }
            Act::RenewFiles(phase) => {
                format!(
                    "[before a repetition: write {} again]",
                    phase.dataset.as_deref().unwrap_or("nothing")
                )
            }
            Act::ShowFolder => format!("[make {}, which is $MOUNT]", own()?),
            Act::Unmount => self.unmount_text()?,
            Act::SyncDevice => self.durable_text(Durable::Device),
            Act::ForgetDevice => format!("[put what is cached of {bottom} out of memory]"),
            Act::ForgetFolder(_) => "[syncfs]; [drop caches]".to_owned(),
            Act::Mount => match (own(), AboveLayer::of_candidate(&self.spec.candidate)) {
                (Some(own), _) => format!("[{own} is $MOUNT again]"),
                (None, Some(above)) => format!("{}; {}", self.mount_text()?, shown_above(&above)),
                (None, None) => self.mount_text()?,
            },
            Act::Verify(_) | Act::VerifyDevice(_) => "[verify]".to_owned(),
            Act::VerifyAll => "[verify everything that was written]".to_owned(),
            Act::Release => {
                own().map_or_else(|| format!("[release {bottom}]"), |own| format!("[remove {own}]"))
            }
            Act::DescribeDevice
            | Act::ShutIn
            | Act::Pause
            | Act::Record
            | Act::Judge
            | Act::DescribeMount
            | Act::NeverStored(_)
            | Act::LookAfterCuts
            | Act::LookAfterRot
            | Act::UnmountLeft => return None,
        };
        Some(told)
    }

    fn timed_text(&self, timed: Timed<'_>) -> Option<String> {
        match timed {
            Timed::Mkfs => {
                let apart = self.program_text(Line::Apart).map(|line| format!("{line}; "));
                let exported = self.program_text(Line::Export).map(|line| format!("; {line}"));
                Some(
                    apart.unwrap_or_default()
                        + &self.program_text(Line::Mkfs)?
                        + &exported.unwrap_or_default(),
                )
            }
            Timed::Mount => {
                let lower =
                    AboveLayer::of_candidate(&self.spec.candidate).map(|above| match above.is_served() {
                        true => shown_above(&above),
                        false => quoted_command(&show_lower(MOUNT)),
                    });
                Some(self.mount_text()? + &lower.map(|line| format!("; {line}")).unwrap_or_default())
            }
            Timed::Unmount => self.unmount_text(),
            Timed::Seal => self.sealing_text(),
            Timed::Check(_) => self.check_text(),
            Timed::Phase(phase) if phase.work == PhaseWork::Operation(Operation::SnapshotRollback) => {
                let (unmount, mount) = (self.unmount_text()?, self.act_text(Act::Mount)?);
                let told = self.snapshot_text(phase)?;
                Some(match self.programs.filesystem.snapshots {
                    Some(_) => format!("{told}; {unmount}; {mount}"),
                    None => format!("{unmount}; {told}; {mount}"),
                })
            }
            Timed::Phase(phase) => Some(self.snapshot_text(phase).unwrap_or_else(|| work_text(phase))),
            Timed::Raw(phase) => Some(work_text(phase)),
        }
    }

    fn durable_text(&self, by: Durable) -> String {
        match by {
            Durable::Syncfs => "[syncfs]".to_owned(),
            Durable::Device => {
                let tops = self.names.tops.iter().map(|top| top.path.to_string_lossy());
                format!("[sync {}]", tops.collect::<Vec<_>>().join(" "))
            }
        }
    }
}

fn own_folder(folder: &Path) -> String {
    quoted(&folder.join(".fsverdict-…").to_string_lossy())
}

fn work_text(phase: &Phase) -> String {
    let beside = phase.beside.as_ref().map_or(String::new(), |line| format!("{GAP}[beside: {line}]"));
    own_work(phase) + &beside
}

fn own_work(phase: &Phase) -> String {
    match &phase.work {
        PhaseWork::Operation(name) => {
            let to = phase.to.map_or(String::new(), |to| format!(", to {} % in use", 100.0 * to));
            let pulls = phase.pulls.map_or(String::new(), |pulls| format!(", {pulls} pulls"));
            let rounds = phase.rounds.map_or(String::new(), |rounds| format!(", {rounds} rounds"));
            format!("[{name} on {}{to}{pulls}{rounds}]", phase.dataset.as_deref().unwrap_or("nothing"))
        }
        PhaseWork::Command(command) => command.clone(),
        PhaseWork::Adapter { name, options } => format!("{name} {options}"),
    }
}
