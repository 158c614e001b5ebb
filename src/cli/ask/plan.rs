//! Makes the plan for a question: the preset's, or that of a folder, with the question's changes; or the reason why the
//! question cannot be asked. It works on the parsed plan, so that the form of the text does not matter.

use fsverdict_disk::device::Model;
use fsverdict_judgement::plan::{
    DeviceSource, Flow, Overrides, Phase, PhaseWork, Plan, least_space, once_each, presets, read_with,
};
use fsverdict_lab::kernel::KernelCache;
use fsverdict_stack::filesystem::{Filesystem, find_filesystem};
use fsverdict_text::{Bytes, Hinted, Reason, TextError};

use super::super::{CliError, with_vocabulary};
use super::devices::AskedDevice;
use super::parsed::{QuestionLimit, THROUGHPUT};
use super::plan_candidates::{choose_candidates, kernel_release, missing_driver};
use super::question::Question;

/// How large a device is at most that cannot be as large as the plan's.
const ENOUGH: u64 = 64_000_000_000;

/// The caution about a plan in which computation should take time, on a machine without a kernel for that.
const FREE_COMPUTATION: &str = "computation takes no time in this answer, because there is no kernel that counts it; \
                                `fsverdict kernel build` builds part in some minutes";

/// A question as a plan.
#[derive(Debug)]
pub(super) struct QuestionPlan {
    pub(super) plan: Plan,
    /// The changes to the preset's plan.
    pub(super) overrides: Overrides,
    /// For the user: the candidates of the preset that are not tried, with the reasons.
    pub(super) left_out: Vec<String>,
    /// Cautions about candidates that are tried, to be read before one of them is used.
    pub(super) cautions: Vec<String>,
}

impl QuestionPlan {
    /// The plan of this question, with these changes besides its own.
    ///
    /// # Errors
    /// Fails if it cannot be asked so.
    pub(super) fn new(question: &Question, overrides: Overrides) -> Result<Self, CliError> {
        let text = question.text()?;
        let read = |overrides: &Overrides| {
            with_vocabulary(|vocabulary| read_with(&text, question.name(), overrides, vocabulary))
                .map_err(|error| cannot_be_asked(question, &error))
        };
        let preset = read(&Overrides::default())?;
        let (mut overrides, left_out) = change(&preset, question, overrides).map_err(CliError::Usage)?;
        let mut plan = read(&overrides)?;
        // A filesystem that this machine's kernel, or the next, cannot mount is not recommended without a word about that.
        let release = kernel_release();
        let filesystems =
            once_each(plan.candidates.iter().filter_map(|part| find_filesystem(&part.filesystem)));
        let caution =
            |part: &Filesystem| missing_driver(part, &release).or_else(|| part.removal_caution(&release));
        let mut cautions: Vec<String> = filesystems.into_iter().filter_map(caution).collect();
        if plan.cpu.is_some() && !has_counting_kernel() {
            overrides.set.retain(|setting| !setting.starts_with("cpu="));
            overrides.set.push("cpu=free".to_owned());
            plan = read(&overrides)?;
            cautions.push(FREE_COMPUTATION.to_owned());
        }
        Ok(QuestionPlan { plan, overrides, left_out, cautions })
    }
}

/// The changes to a plan that a question asks for, and the candidates that it leaves out.
fn change(
    plan: &Plan,
    question: &Question,
    overrides: Overrides,
) -> Result<(Overrides, Vec<String>), Reason> {
    check_device(question, plan)?;
    let device = question.device.iter().map(|asked| device_source(asked, plan, question.name()));
    let device = device.collect::<Result<_, _>>()?;
    let (candidates, left_out) = choose_candidates(question, plan)?;
    let set = settings(question, plan)?;
    let scale = overrides.scale.or(question.preset().and_then(|work| work.ask.scale));
    Ok((Overrides { set, candidates, device, scale, ..overrides }, left_out))
}

/// Whether the cache has a kernel for plans in which computation takes time.
fn has_counting_kernel() -> bool {
    KernelCache::of_user().list_kernels().iter().any(|entry| entry.facts.counting)
}

/// The error for a question without a valid plan. The text of the plan is the program's own, so the place in it is left
/// out.
fn cannot_be_asked(question: &Question, error: &TextError) -> CliError {
    let Some(fault) = error.0.first() else { return CliError::usage(error.reason()) };
    let reason = Reason::new(&fault.message, fault.hint.as_str());
    CliError::Usage(reason.after(format!("`{}` cannot be asked so: ", question.name())))
}

/// Faults are those of modelled devices, and a number of devices is the plan's.
fn check_device(question: &Question, plan: &Plan) -> Result<(), Reason> {
    let name = question.name();
    let unmodelled = question.device.as_ref().filter(|asked| !asked.source.is_modelled());
    if let Some(asked) = unmodelled.filter(|_| plan.faults.is_some()) {
        return Err(Reason::new(
            format!(
                "`{name}` is asked of modelled devices, of which every write is known, and {} is none",
                asked.words
            ),
            "name a kind of device instead: --on hdd, ssd, nvme, usb-disk, usb-stick or sd-card",
        ));
    }
    let count = plan.device.count();
    match &question.parsed.device_count {
        Some(asked) if usize::try_from(asked.value) != Ok(count) => Err(Reason::new(
            format!(
                "`{name}` is about {count} {}, and `{}` says otherwise",
                if count == 1 { "device" } else { "devices" },
                asked.words
            ),
            "`fsverdict ask nas` and `fsverdict ask zfs-mirror` are about two disks; other arrays are named in a plan (docs/reference/layers.md)",
        )),
        _ => Ok(()),
    }
}

/// The device that was asked of, as large as it can be where the user did not say.
fn device_source(asked: &AskedDevice, plan: &Plan, name: &str) -> Result<DeviceSource, Reason> {
    match &asked.source {
        DeviceSource::Path(path) if plan.device.count() > 1 => Err(Reason::new(
            format!("`{name}` has {} devices at once, and {} is one", plan.device.count(), asked.words),
            format!(
                "name each: fsverdict run {name} --device {} --device …; or a kind of device here: --on hdd",
                path.display()
            ),
        )),
        DeviceSource::Model { name, size: usual } if !asked.is_sized => {
            let size = plan.device.source.size().unwrap_or(*usual).0;
            let capacity = Model::named(name).map_or(u64::MAX, |model| model.capacity());
            let size = if size > capacity { capacity.min(ENOUGH) } else { size };
            Ok(DeviceSource::Model { name: name.clone(), size: Bytes(size) })
        }
        given => Ok(given.clone()),
    }
}

/// Values for `--set`: requirements on the recommended candidate, the difference that does not matter, processor and memory.
///
/// # Errors
/// Fails if latencies or the throughput of the work are not measured.
fn settings(question: &Question, plan: &Plan) -> Result<Vec<String>, Reason> {
    let parsed = &question.parsed;
    let properties = question.properties();
    let mut settings: Vec<String> =
        properties.iter().map(|property| format!("goal.require.{}=true", property.word())).collect();
    for limit in parsed.limits.iter().map(|part| &part.value) {
        let phase = phase_of(question, plan, limit)?;
        let key = format!("{}.{}", phase.name, metric_of(phase, limit.metric));
        settings.push(format!("goal.require.{key:?}={:?}", limit.bound));
    }
    settings.extend(question.faults.iter().map(|part| part.value.setting.to_owned()));
    settings.extend(parsed.tolerance.iter().map(|part| format!("protocol.tie={}", part.value)));
    settings.extend(question.cpu.iter().map(|part| format!("cpu={}", part.value)));
    let memory = parsed.memory.iter().map(|part| part.value.to_string().replace(' ', ""));
    settings.extend(memory.map(|size| format!("memory=\"{size}\"")));
    Ok(settings)
}

/// The phase that a limit means, which names none: of latencies the one that the preset names, of a throughput the one of
/// the goal that reads or writes most.
///
/// # Errors
/// Fails if no phase is timed so, or does this with data of known size.
pub(super) fn phase_of<'a>(
    question: &Question,
    plan: &'a Plan,
    limit: &QuestionLimit,
) -> Result<&'a Phase, Reason> {
    let name = question.name();
    if limit.metric != THROUGHPUT {
        let timed = question.preset().and_then(|work| work.ask.latency.as_ref());
        let phase = timed.and_then(|name| plan.phases.iter().find(|phase| phase.name == *name));
        return phase.ok_or_else(|| {
            let timed = presets().iter().filter(|preset| preset.asked_by().latency.is_some());
            let names: Vec<&str> = timed.map(|preset| preset.name).collect();
            Reason::new(
                format!("`{name}` does not time single calls, so that no latency of it can be bounded"),
                format!("these do: {}; `ask etcd` is about the log of a database", names.join(", ")),
            )
        });
    }
    let (flow, does) = if limit.is_of_reading { (Flow::Reads, "reads") } else { (Flow::Writes, "writes") };
    let bytes = |phase: &Phase| {
        let counts = plan.goal.weights.is_empty() || plan.goal.weights.contains_key(&phase.name);
        let PhaseWork::Operation(operation) = phase.work else { return None };
        let dataset = plan.datasets.get(phase.dataset.as_ref()?)?;
        Some(least_space(dataset)).filter(|bytes| counts && *bytes > 0 && operation.flow() == flow)
    };
    let largest = plan.phases.iter().filter(|phase| bytes(phase).is_some()).max_by_key(|phase| bytes(phase));
    largest.ok_or_else(|| {
        Reason::new(
            format!("no phase of `{name}` {does} data of known size, so that no throughput of it can be bounded"),
            "`fsverdict show vm-image` is a plan whose phases do; in a plan of yours: require = { \"write.throughput\" = \">= 200MB/s\" }",
        )
    })
}

/// The name of a metric in a phase: that of its main call, or the one that its program prints.
fn metric_of(phase: &Phase, metric: &str) -> String {
    match (&phase.work, metric) {
        (PhaseWork::Adapter { name, .. }, "p99.9") => format!("{name}_latency_p999"),
        (PhaseWork::Adapter { name, .. }, "worst") => format!("{name}_latency_max"),
        (PhaseWork::Adapter { name, .. }, latency) if latency != THROUGHPUT => {
            format!("{name}_latency_{latency}")
        }
        _ => metric.to_owned(),
    }
}
