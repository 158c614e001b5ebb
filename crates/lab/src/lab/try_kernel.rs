//! Tries a kernel before any plan takes it: its file says what it is, it boots, runs the agent, makes, mounts and checks each filesystem that
//! it says it has, opens each usual layer, and gives the same trace twice.
//!
//! It is tried as every guest is: in its sandbox, without this machine's devices.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use crate::kernel::{COUNTING, KernelFailure, KernelProof, KernelTrial, Subject};
use crate::trial::TrialSpec;
use fsverdict_judgement::journal::{Event, Status};
use fsverdict_judgement::plan::{Candidate, DEFAULT_CPU, DeviceSource, Plan};
use fsverdict_linux::host::image::scratch_folder;
use fsverdict_stack::layer::usual_layers;

use super::choose::choose_lab;
use super::kernel::{Kernel, Provision, parse_configuration};
use super::missing_tools::missing_tools_with;
use super::{Attachment, Lab};

/// Time limit of one trial, in wall time; on an idle machine one takes a second or two.
const LIMIT: Duration = Duration::from_secs(180);

/// The check that failed, and why.
type Failed = (String, String);

/// Tries a kernel with the work of this plan on its modelled device; returns the result and a record for people.
/// `heard` receives the name of each check.
pub fn try_kernel(plan: &Plan, subject: Subject<'_>, heard: &mut dyn FnMut(&str)) -> (KernelTrial, String) {
    let mut trying = Trying { plan, subject, heard, record: String::new() };
    let at = jiff::Timestamp::now();
    let trial = match trying.run_checks() {
        Ok(proof) => KernelTrial::Passed(proof),
        Err((what, reason)) => {
            trying.append_line(&format!("FAILED: {what}: {reason}"));
            KernelTrial::Failed(KernelFailure { at, what, reason })
        }
    };
    (trial, trying.record)
}

struct Trying<'a> {
    plan: &'a Plan,
    subject: Subject<'a>,
    heard: &'a mut dyn FnMut(&str),
    record: String,
}

impl Trying<'_> {
    fn append_line(&mut self, text: &str) {
        let _ = writeln!(self.record, "{text}");
    }

    fn begin_check(&mut self, what: &str) {
        (self.heard)(what);
        self.append_line(&format!("== {what}"));
    }

    fn run_checks(&mut self) -> Result<KernelProof, Failed> {
        let kernel = self.read_kernel()?;
        let carried = |candidate: &Candidate| kernel.is_compiled_for(candidate);
        let lacks_tools =
            |candidate: &Candidate| missing_tools_with(candidate, kernel.programs.as_deref()).is_some();
        let all: Vec<Candidate> = fsverdict_stack::filesystem::filesystem_names()
            .into_iter()
            .map(Candidate::with_defaults)
            .filter(carried)
            .collect();
        let (without_tools, able): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|candidate| lacks_tools(candidate));
        let failed = |reason: String| ("a filesystem to try it with".to_owned(), reason);
        let worker = able.iter().find(|candidate| candidate.filesystem == "ext4").or(able.first());
        let worker =
            worker.ok_or_else(|| failed("this machine has the tools of none that it has".to_owned()))?;
        let layered: Vec<Candidate> = usual_layers()
            .map(|layers| worker.with_layers(layers))
            .filter(|candidate| carried(candidate) && !lacks_tools(candidate))
            .collect();
        let mut plan = self.plan.clone();
        plan.kernel = Some(self.subject.kernel.to_owned());
        plan.cpu = (kernel.find_provision(COUNTING) == Provision::Builtin).then(|| DEFAULT_CPU.to_owned());
        plan.candidates = able.iter().cloned().chain(layered.iter().cloned()).collect();
        let lab =
            choose_lab(&plan, plan.lab).map_err(|error| ("the lab uml".to_owned(), error.to_string()))?.lab;
        for candidate in &plan.candidates {
            self.begin_check(&candidate.name);
            let spec = TrialSpec::without_work(candidate.clone(), plan.protocol.seed, LIMIT);
            self.run_one_trial(lab.as_ref(), &spec)?;
        }
        let trace = self.run_twice(lab.as_ref(), worker)?;
        let names = |candidates: Vec<Candidate>| {
            candidates.into_iter().map(|candidate| candidate.filesystem).collect()
        };
        Ok(KernelProof {
            at: jiff::Timestamp::now(),
            layers: layered.iter().map(|candidate| candidate.layers.to_string()).collect(),
            without_tools: names(without_tools),
            filesystems: names(able),
            trace,
        })
    }

    /// Reads the kernel's file, and compares its release with the stated one.
    fn read_kernel(&mut self) -> Result<Kernel, Failed> {
        self.begin_check("what it says of itself");
        let failed = |reason: String| ("what it says of itself".to_owned(), reason);
        let kernel = Kernel::read_kernel(self.subject.kernel).map_err(|error| failed(error.to_string()))?;
        // A tree that is a clone of the kernel's adds to it that it was changed.
        if !kernel.release.starts_with(self.subject.release) {
            return Err(failed(format!(
                "it is to be Linux {}, and says {}",
                self.subject.release, kernel.release
            )));
        }
        if kernel.configuration != parse_configuration(&String::from_utf8_lossy(self.subject.config)) {
            return Err(failed("its configuration is not the one that lies beside it".to_owned()));
        }
        Ok(kernel)
    }

    /// Does the same work twice, which must give the same requests at the same nanoseconds; returns the digest of the
    /// trace.
    fn run_twice(&mut self, lab: &dyn Lab, candidate: &Candidate) -> Result<String, Failed> {
        let spec = TrialSpec {
            datasets: self.plan.datasets.clone(),
            phases: self.plan.phases.clone(),
            services: self.plan.services.clone(),
            repeats: BTreeMap::new(),
            ..TrialSpec::without_work(candidate.clone(), self.plan.protocol.seed, LIMIT)
        };
        let what = format!("the same trial of {} twice", candidate.name);
        self.begin_check(&what);
        let traces = [self.run_one_trial(lab, &spec)?, self.run_one_trial(lab, &spec)?];
        match traces {
            [Some(one), Some(other)] if one == other => Ok(one),
            [Some(one), Some(other)] => {
                Err((what, format!("the traces are {one} and {other}, and have to be the same")))
            }
            _ => Err((what, "its device's process said nothing of a trace".to_owned())),
        }
    }

    /// One trial, to its end; the digest of its device's trace.
    fn run_one_trial(&mut self, lab: &dyn Lab, spec: &TrialSpec) -> Result<Option<String>, Failed> {
        let failed = |step: &str, reason: String| {
            let at = if step.is_empty() { String::new() } else { format!(", at `{step}`") };
            (format!("a trial of {}{at}", spec.candidate.name), reason)
        };
        let DeviceSource::Model { name, size } = &self.plan.device.source else {
            return Err(failed("", "its device is not a modelled one".to_owned()));
        };
        let folder = scratch_folder(None).map_err(|error| failed("", error.to_string()))?;
        let attachment = Attachment::Modelled { model: name.clone(), size: size.0, folder, traces: None };
        let (mut trace, mut step) = (None, String::new());
        let mut record = String::new();
        let mut watch = |event: Event| match event {
            Event::Facts { facts, .. } => trace = trace.take().or_else(|| facts.get("device.trace").cloned()),
            Event::StepStarted { step: begun } => step = begun,
            Event::Command(command) => {
                let _ = writeln!(record, "{}: exit {:?}", command.argv.join(" "), command.exit);
                let _ = write!(record, "{}{}", command.stdout, command.stderr);
            }
            _ => {}
        };
        let ended = lab.run_trial(spec, &attachment.into(), 0, &mut watch);
        self.append_line(record.trim_end());
        let end = ended.map_err(|error| failed(&step, error.to_string()))?;
        self.append_line(&format!("it ended {:?} after {:.1} s", end.status, end.wall));
        if end.status == Status::Ok { Ok(trace) } else { Err(failed(&step, end.reason)) }
    }
}
