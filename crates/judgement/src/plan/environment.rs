//! The circumstances of a candidate's trials: device model, kernel, memory and processor model. They are no choice
//! between filesystems, so candidates are only compared under the same circumstances, and each of these environments
//! has its own verdict.

use std::path::Path;

use fsverdict_text::Reason;

use super::lab::KernelOwner;
use super::lists::once_each;
use super::{
    Candidate, ClockChoice, DEFAULT_CPU, DeviceSource, Environment, FREE_CPU, LabChoice, Plan, Vocabulary,
};
use fsverdict_text::value::{filled_text, size};
use fsverdict_text::{Bytes, Node};

/// The metric for the simulated time that computation takes, if it has a price.
const CHARGED: &str = "charged";
/// The minimum memory of a guest in addition to its datasets.
const LEAST_MEMORY: Bytes = Bytes(64 << 20);

/// A candidate's modelled device as the plan defines it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlannedModel<'a> {
    /// The model's name, with its state if the model has several.
    pub name: &'a str,
    pub size: Bytes,
}

impl Plan {
    /// The candidate of this name.
    pub fn find_candidate(&self, name: &str) -> Option<&Candidate> {
        self.candidates.iter().find(|candidate| candidate.name == name)
    }

    /// The environments of all candidates, each once, in the order of the candidates.
    pub fn environments(&self) -> Vec<&Environment> {
        once_each(self.candidates.iter().map(|candidate| &candidate.under))
    }

    /// The modelled devices of a candidate in order; empty if its devices are of another kind. If the candidate sets a
    /// model, it applies to every device.
    pub fn models_of<'a>(&'a self, candidate: &'a Candidate) -> Vec<PlannedModel<'a>> {
        let of = |source: &'a DeviceSource| match source {
            DeviceSource::Model { name, size } => {
                Some(PlannedModel { name: candidate.under.model.as_ref().unwrap_or(name), size: *size })
            }
            _ => None,
        };
        self.device.all_sources().filter_map(of).collect()
    }

    pub fn kernel_of<'a>(&'a self, candidate: &'a Candidate) -> Option<&'a Path> {
        candidate.under.kernel.as_deref().or(self.kernel.as_deref())
    }

    /// The processor model that prices a candidate's computation; `None` if computation takes no time, or real time.
    pub fn cpu_of<'a>(&'a self, candidate: &'a Candidate) -> Option<&'a str> {
        candidate.under.cpu.as_deref().or(self.cpu.as_deref()).filter(|cpu| *cpu != FREE_CPU)
    }

    /// Whether its trials can run in simulated time: they do, in a lab whose kernel can be given it.
    pub(super) fn may_simulate(&self) -> bool {
        self.device.source.is_modelled()
            && self.clock != ClockChoice::Real
            && self.lab.lab_offer().against_simulation.is_none()
    }

    /// The processor models of all candidates, each once, in the order of the candidates.
    pub fn cpus(&self) -> Vec<&str> {
        once_each(self.candidates.iter().filter_map(|candidate| self.cpu_of(candidate)))
    }

    pub fn models(&self) -> Vec<&str> {
        let all = self.candidates.iter().flat_map(|candidate| self.models_of(candidate));
        once_each(all.map(|model| model.name))
    }

    /// The first setting of the plan that only a guest can provide.
    pub fn wants_guest(&self) -> Option<&'static str> {
        let any =
            |has: fn(&Environment) -> bool| self.candidates.iter().any(|candidate| has(&candidate.under));
        if self.kernel.is_some() || any(|under| under.kernel.is_some()) {
            Some("kernel")
        } else if self.memory.is_some() || any(|under| under.memory.is_some()) {
            Some("memory")
        } else if any(|under| under.model.is_some()) {
            Some("model")
        } else {
            None
        }
    }
}

/// Checks that settings fit together: models need a modelled device; guest memory and kernels need a guest.
pub(super) fn check(plan: &Plan) -> Result<(), Reason> {
    let model = plan.candidates.iter().find_map(|candidate| candidate.under.model.as_ref());
    if let (Some(model), false) = (model, plan.device.source.is_modelled()) {
        return Err(Reason::new(
            format!(
                "candidates are to be tried on the model {model}, but the device is a {}",
                plan.device.source
            ),
            "write `[device] size = \"16GB\"`; on the command line, --device model:NAME@SIZE replaces the device",
        ));
    }
    let (lab, offer) = (plan.lab, plan.lab.lab_offer());
    if let (KernelOwner::Machine, Some(key)) = (offer.kernel, plan.wants_guest()) {
        return Err(Reason::new(
            format!("`{key}` does not go with lab = \"{lab}\", which is this machine as it is"),
            format!("take `{key}` out, or let lab be {}", LabChoice::guest_labs(["\""; 2])),
        ));
    }
    if !offer.has_models && plan.device.source.is_modelled() {
        return Err(Reason::new(
            format!("the lab {lab} has no modelled devices, and the device is a {}", plan.device.source),
            "take lab = \"uml\", which has them; or name another device: --device image:SIZE",
        ));
    }
    if let (Some(why), ClockChoice::Simulated) = (offer.against_simulation, plan.clock) {
        return Err(Reason::new(
            format!("clock = \"simulated\" does not go with lab = \"{lab}\": {why}"),
            "take `clock` out, or let lab be \"uml\", whose kernels take their time from the device",
        ));
    }
    Ok(())
}

/// Completes the processor model: in simulated time computation has a price unless the plan says that it is free.
pub(super) fn settle_cpu(plan: &mut Plan) {
    match plan.cpu.as_deref() {
        Some(FREE_CPU) => plan.cpu = None,
        None if plan.may_simulate() => {
            let needs_one = plan.candidates.iter().any(|candidate| candidate.under.cpu.is_none());
            plan.cpu = needs_one.then(|| DEFAULT_CPU.to_owned());
        }
        _ => {}
    }
}

/// Checks that the processor models of a plan exist, and that its trials run in simulated time: in real time,
/// computation takes as long as this machine's processor needs.
pub(super) fn check_cpus(plan: &Plan, vocabulary: &Vocabulary<'_>) -> Result<(), Reason> {
    let named = plan.candidates.iter().filter_map(|candidate| candidate.under.cpu.as_deref());
    let free = |cpu: &&str| *cpu != FREE_CPU;
    named.chain(plan.cpu.as_deref()).filter(free).try_for_each(vocabulary.cpu)?;
    let Some(cpu) = plan.cpus().first().copied() else { return check_charged_goal(plan) };
    let against = |why: String| {
        Reason::new(
            format!("cpu = \"{cpu}\" prices computation in simulated time, and {why}"),
            "take `cpu` out (--set cpu=free), or name a modelled device and leave lab and clock to \"auto\": --device model:NAME@SIZE",
        )
    };
    if !plan.device.source.is_modelled() {
        return Err(against(format!("the device is a {}, which takes real time", plan.device.source)));
    }
    if plan.clock == ClockChoice::Real {
        return Err(against("clock = \"real\" takes this machine's time".to_owned()));
    }
    if let Some(why) = plan.lab.lab_offer().against_simulation {
        return Err(against(format!("lab = \"{}\" has none: {why}", plan.lab)));
    }
    check_charged_goal(plan)
}

/// Checks that computation has a price for every candidate if the goal is the price of computation.
fn check_charged_goal(plan: &Plan) -> Result<(), Reason> {
    let free = plan.candidates.iter().find(|candidate| plan.cpu_of(candidate).is_none());
    match free {
        Some(candidate) if plan.goal.metric == CHARGED => Err(Reason::new(
            format!("the goal is `{CHARGED}`, and computation has no price for `{}`", candidate.name),
            "name a processor model: --set cpu=NAME (`fsverdict list cpus` has them)",
        )),
        _ => Ok(()),
    }
}

/// Rejects phases that need the network in a guest: guests have no access to this machine's network.
pub(super) fn check_network(plan: &Plan) -> Result<(), Reason> {
    let guest = match plan.lab.lab_offer().kernel {
        KernelOwner::Guest => format!("lab = \"{}\"", plan.lab),
        KernelOwner::Open if plan.device.source.is_modelled() => "a modelled device".to_owned(),
        KernelOwner::Open | KernelOwner::Machine => return Ok(()),
    };
    match plan.phases.iter().find(|phase| phase.network) {
        Some(phase) => Err(Reason::new(
            format!(
                "the phase `{}` wants this machine's network, which no guest has any of, and {guest} means a guest",
                phase.name
            ),
            "let lab be \"native\" (as root), on a device that it has; or take `network = true` out: its own loopback every phase has",
        )),
        None => Ok(()),
    }
}

/// Reads a model's name; `known` checks that the model exists.
pub(super) fn known_model(
    known: fn(&str, Option<Bytes>) -> Result<Option<Bytes>, Reason>,
) -> impl Fn(&Node) -> Result<String, Reason> {
    move |node| {
        let name = filled_text(node)?;
        known(&name, None).map(|_| name)
    }
}

/// Reads a processor model's name, or [`FREE_CPU`]; `known` checks that the model exists.
pub(super) fn known_cpu(known: fn(&str) -> Result<(), Reason>) -> impl Fn(&Node) -> Result<String, Reason> {
    move |node| {
        let name = filled_text(node)?;
        if name != FREE_CPU {
            known(&name)?;
        }
        Ok(name)
    }
}

/// Reads the memory of a guest, in addition to its datasets.
pub(super) fn read_memory(node: &Node) -> Result<Bytes, Reason> {
    match size(node)? {
        least if least < LEAST_MEMORY => Err(Reason::new(
            format!("a guest with {least} of memory does not start"),
            format!("give it {LEAST_MEMORY} or more, for example: memory = \"512MiB\""),
        )),
        enough => Ok(enough),
    }
}
