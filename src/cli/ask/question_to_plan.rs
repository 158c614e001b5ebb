//! Makes the plan for a question: the preset's, or that of a folder, with the question's changes; or the reason why the
//! question cannot be asked. It works on the parsed plan, so that the form of the text does not matter.

use fsverdict_disk::device::Model;
use fsverdict_judgement::plan::{
    Candidate, DeviceSource, Flow, Layers, Overrides, Phase, PhaseWork, Plan, RequiredProperty, least_space,
    once_each, presets, read_with,
};
use fsverdict_lab::kernel::KernelCache;
use fsverdict_report::listing;
use fsverdict_stack::filesystem;
use fsverdict_stack::layer::has_property;
use fsverdict_text::{Bytes, Hinted, Reason, TextError};

use crate::study::find_missing_ability;

use super::super::guarantees::{is_disk, is_on_disk};
use super::super::{CliError, with_vocabulary};
use super::features::Feature;
use super::kernel::{kernel_cautions, kernel_release, missing_driver};
use super::left_out::{LeftOutCandidates, LeftOutReason};
use super::plan_candidates::choose_candidates;
use super::question::{AskedDevice, Question};

/// How large a device is at most that cannot be as large as the plan's.
const ENOUGH: u64 = 64_000_000_000;

/// The caution about a plan in which computation should take time, on a machine without a kernel for that.
const FREE_COMPUTATION: &str = "computation takes no time in this answer, because there is no kernel that counts it; \
                                `fsverdict kernel build` builds one in some minutes";

/// A question as a plan.
#[derive(Debug)]
pub(super) struct QuestionPlan {
    pub(super) plan: Plan,
    /// The changes to the preset's plan.
    pub(super) overrides: Overrides,
    /// The candidates of the preset that are not tried.
    pub(super) left_out: LeftOutCandidates,
    /// Filesystems without a driver in this machine's kernel that the question did not name: each with the reason.
    pub(super) without_driver: Vec<String>,
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
        check_device(question, &preset).map_err(CliError::Usage)?;
        let device = match &question.device {
            Some(asked) => vec![device_source(asked, &preset, question.name()).map_err(CliError::Usage)?],
            None => Vec::new(),
        };
        let mut left_out = LeftOutCandidates::default();
        let mut without_driver = Vec::new();
        let candidates =
            all_candidates(question, &preset, &mut left_out, &mut without_driver).map_err(CliError::Usage)?;
        let mut overrides = Overrides {
            set: settings(question, &preset).map_err(CliError::Usage)?,
            candidates,
            device,
            scale: overrides.scale.or(question.preset().and_then(|work| work.ask.scale)),
            ..overrides
        };
        let mut plan = read(&overrides)?;
        let mut cautions = kernel_cautions(&plan, &kernel_release());
        if plan.cpu.is_some() && !has_counting_kernel() {
            overrides.set.retain(|setting| !setting.starts_with("cpu="));
            overrides.set.push("cpu=free".to_owned());
            plan = read(&overrides)?;
            cautions.push(FREE_COMPUTATION.to_owned());
        }
        Ok(QuestionPlan { plan, overrides, left_out, without_driver, cautions })
    }
}

/// Whether the cache has a kernel for plans in which computation takes time.
fn has_counting_kernel() -> bool {
    KernelCache::of_user().list_kernels().iter().any(|entry| entry.facts.counting)
}

/// The error for a question without a valid plan. The text of the plan is the program's own, so the place in it is left
/// out.
fn cannot_be_asked(question: &Question, error: &TextError) -> CliError {
    match error.0.first() {
        Some(fault) => CliError::Usage(
            Reason::new(&fault.message, fault.hint.as_str())
                .after(format!("`{}` cannot be asked so: ", question.name())),
        ),
        None => CliError::usage(error.reason()),
    }
}

/// The candidates that are tried.
fn all_candidates(
    question: &Question,
    plan: &Plan,
    left_out: &mut LeftOutCandidates,
    without_driver: &mut Vec<String>,
) -> Result<Vec<Candidate>, Reason> {
    let parsed = &question.parsed;
    let must = question.properties();
    let mut candidates = plan.candidates.clone();
    if question.device.is_some() {
        // Models that candidates are tried on one after the other give way to the one device that was named.
        candidates = candidates.iter().map(|one| one.with_change(|one| one.under.model = None)).collect();
    }
    left_out.add(LeftOutReason::Weakened, take_weakened(question, &mut candidates));
    let release = kernel_release();
    let missing = |one: &Candidate| {
        missing_driver(&one.filesystem, &release).filter(|_| !question.names_filesystem(one))
    };
    *without_driver = once_each(candidates.iter().filter_map(missing));
    candidates.retain(|one| missing(one).is_none());
    let is_encrypted = |one: &Candidate| has_property(one, RequiredProperty::Encryption);
    let is_named_on_layer = |one: &Candidate| {
        parsed
            .candidates
            .iter()
            .any(|named| named.value.filesystem.name == one.filesystem && !named.value.layers.is_empty())
    };
    let is_absent = parsed.absent.iter().any(|one| one.value == Feature::ENCRYPTION);
    if is_absent || !question.mentions_encryption() {
        if !is_absent {
            let names = candidates.iter().filter(|one| is_encrypted(one)).map(|one| one.name.clone());
            left_out.add(LeftOutReason::Encrypted, names);
        }
        candidates.retain(|one| !is_encrypted(one));
    }
    let before = candidates.clone();
    let candidates = choose_candidates(&candidates, question)?;
    if is_absent && candidates.iter().any(|one| is_encrypted(one) && is_named_on_layer(one)) {
        return Err(Reason::new(
            "a candidate on LUKS is named, and encryption is excluded",
            "leave out one of both",
        ));
    }
    if !parsed.compared.is_empty() {
        let is_left = |one: &&Candidate| !candidates.iter().any(|other| other.filesystem == one.filesystem);
        let is_of_list = |one: &&Candidate| {
            parsed.candidates.is_empty()
                && !parsed.excluded.iter().any(|other| other.value.name == one.filesystem)
        };
        let names = before.iter().filter(is_left).filter(is_of_list).map(|one| one.name.clone());
        left_out.add(LeftOutReason::Unable, names);
    }
    if !parsed.excluded.is_empty() && candidates.len() < 2 && parsed.compared.is_empty() {
        let left: Vec<&str> = candidates.iter().map(|one| one.name.as_str()).collect();
        let excluded: Vec<&str> = parsed.excluded.iter().map(|one| one.value.name).collect();
        let left = if left.is_empty() { "none".to_owned() } else { left.join(", ") };
        return Err(Reason::new(
            format!(
                "without {} there is nothing to compare in `{}` ({left} left)",
                excluded.join(", "),
                question.name()
            ),
            "name the filesystems to compare: `ask 'ext4 or xfs for mail'`",
        ));
    }
    let has_all = |candidate: &Candidate| must.iter().all(|property| has_property(candidate, *property));
    let (mut able, unable): (Vec<Candidate>, Vec<Candidate>) = candidates.into_iter().partition(has_all);
    refuse_one_sided(question, &able, &unable)?;
    let is_excluded =
        |one: &Candidate| parsed.excluded.iter().any(|excluded| excluded.value.name == one.filesystem);
    if able.is_empty() && parsed.candidates.is_empty() {
        able = registry_with(&must);
        able.retain(|one| !is_excluded(one) && missing(one).is_none());
        // Candidates that the plan does not list may be unable to do its work.
        let reason = able.iter().find_map(|one| find_missing_ability(plan, one));
        able.retain(|one| find_missing_ability(plan, one).is_none());
        if let (true, Some(reason)) = (able.is_empty(), reason) {
            return Err(reason.after(format!("`{}` cannot be asked so: ", question.name())));
        }
    }
    if able.is_empty() {
        let words: Vec<&str> = must.iter().map(|property| property.word()).collect();
        let of_what = if parsed.candidates.is_empty() { "filesystem" } else { "candidate that is named" };
        return Err(Reason::new(
            format!("no {of_what} has all of this: {}", words.join(", ")),
            format!("ask for less of it; {}", filesystems_by_property(&must)),
        ));
    }
    left_out.add(LeftOutReason::ForFlash, take_those_for_flash(question, plan, &mut able));
    let is_lacked = |property: &RequiredProperty| unable.iter().any(|one| !has_property(one, *property));
    left_out.lacked = must.iter().copied().filter(is_lacked).collect();
    left_out.add(LeftOutReason::Unable, unable.into_iter().map(|candidate| candidate.name));
    Ok(able)
}

/// Of the filesystems that were named, all but one lack a required property: there is nothing left to compare.
fn refuse_one_sided(question: &Question, able: &[Candidate], unable: &[Candidate]) -> Result<(), Reason> {
    let named = |all: &[Candidate]| {
        let of_those = all.iter().filter(|one| question.names_filesystem(one));
        once_each(of_those.map(|one| one.filesystem.clone()))
    };
    let (left, mut lacking) = (named(able), named(unable));
    lacking.retain(|one| !left.contains(one));
    let ([only], [_, ..], [_]) = (left.as_slice(), lacking.as_slice(), able) else { return Ok(()) };
    let words: Vec<&str> = question.parsed.required.iter().map(|one| one.words.as_str()).collect();
    let must: Vec<&str> = question.properties().iter().map(|property| property.word()).collect();
    Err(Reason::new(
        format!("only {only} of the named filesystems meets the requirements ({})", must.join(", ")),
        format!(
            "that answers it: {} cannot. To compare their times all the same, leave out `{}`",
            listing(&lacking, 8),
            words.join("`, `")
        ),
    ))
}

/// Removes the candidates that have a drawback on disks, where the question is about one and does not name them: each
/// trial is of a fresh filesystem, which does not show that drawback. Returns their names. Nothing is removed where
/// fewer than two candidates would be left, or faults are examined.
fn take_those_for_flash(question: &Question, plan: &Plan, candidates: &mut Vec<Candidate>) -> Vec<String> {
    let is_on_disk = |one: &Candidate| match question.device.as_ref().map(|asked| &asked.source) {
        Some(DeviceSource::Model { name, .. }) => is_disk(name),
        Some(_) => false,
        None => is_on_disk(plan, one),
    };
    let is_for_flash = |one: &Candidate| {
        filesystem::find_filesystem(&one.filesystem)
            .is_some_and(|known| !known.facts.drawback_on_disks.is_empty())
    };
    let is_taken = |one: &Candidate| is_for_flash(one) && is_on_disk(one) && !question.names_filesystem(one);
    let (taken, left): (Vec<Candidate>, Vec<Candidate>) = candidates.iter().cloned().partition(is_taken);
    if left.len() < 2 || plan.faults.is_some() || !question.faults.is_empty() {
        return Vec::new();
    }
    *candidates = left;
    taken.into_iter().map(|one| one.name).collect()
}

/// Removes the candidates from which the preset took a protection away, and returns their names. A question that compares
/// candidates with and without something is asked of all.
fn take_weakened(question: &Question, candidates: &mut Vec<Candidate>) -> Vec<String> {
    let Some(work) = question.preset().filter(|_| question.parsed.compared.is_empty()) else {
        return Vec::new();
    };
    let is_weakened = |one: &Candidate| work.ask.weakened.contains(&one.name);
    let taken = candidates.iter().filter(|one| is_weakened(one)).map(|one| one.name.clone()).collect();
    candidates.retain(|one| !is_weakened(one));
    taken
}

/// Faults are those of modelled devices, and a number of devices is the plan's.
fn check_device(question: &Question, plan: &Plan) -> Result<(), Reason> {
    let name = question.name();
    if let Some(asked) =
        question.device.as_ref().filter(|asked| plan.faults.is_some() && !asked.source.is_modelled())
    {
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

/// Which filesystems have each of these.
fn filesystems_by_property(must: &[RequiredProperty]) -> String {
    let of = |property: &RequiredProperty| {
        let able = registry_with(std::slice::from_ref(property));
        let names: Vec<&str> = able.iter().map(|one| one.name.as_str()).collect();
        format!("{}: {}", property.word(), listing(&names, 20))
    };
    must.iter().map(of).collect::<Vec<_>>().join("; ")
}

/// All filesystems with the required properties, for plans that name none of them.
fn registry_with(must: &[RequiredProperty]) -> Vec<Candidate> {
    let luks = Layers::from_names(["luks2"]).unwrap_or_default();
    let plain = filesystem::registry().iter().map(|known| Candidate::with_defaults(known.name));
    let is_encrypted = must.contains(&RequiredProperty::Encryption);
    let all = plain.map(|one| if is_encrypted { one.with_layers(luks.clone()) } else { one });
    all.filter(|one| must.iter().all(|property| has_property(one, *property))).collect()
}

/// Values for `--set`: requirements on the recommended candidate, the difference that does not matter, processor and memory.
///
/// # Errors
/// Fails if latencies or the throughput of the work are not measured.
fn settings(question: &Question, plan: &Plan) -> Result<Vec<String>, Reason> {
    let parsed = &question.parsed;
    let required = question.properties();
    let mut settings: Vec<String> =
        required.iter().map(|property| format!("goal.require.{}=true", property.word())).collect();
    for one in &parsed.limits {
        let phase = phase_of_latency(question, plan)?;
        let key = format!("{}.{}", phase.name, metric_of(phase, one.value.metric));
        settings.push(format!("goal.require.{key:?}={:?}", one.value.bound()));
    }
    for one in &parsed.throughputs {
        let phase = phase_of_throughput(question, plan, one.value.is_of_reading)?;
        settings.push(format!(
            "goal.require.{:?}={:?}",
            format!("{}.throughput", phase.name),
            one.value.bound()
        ));
    }
    settings.extend(question.faults.iter().map(|one| one.value.setting().to_owned()));
    settings.extend(parsed.tolerance.iter().map(|one| format!("protocol.tie={}", one.value)));
    settings.extend(question.cpu.iter().map(|one| format!("cpu={}", one.value)));
    settings.extend(
        parsed.memory.iter().map(|one| format!("memory=\"{}\"", one.value.to_string().replace(' ', ""))),
    );
    Ok(settings)
}

/// The phase of the latencies that a question means if it names none.
pub(super) fn phase_of_latency<'a>(question: &Question, plan: &'a Plan) -> Result<&'a Phase, Reason> {
    let named = question.preset().and_then(|work| work.ask.latency.as_ref());
    let phase = named.and_then(|name| plan.phases.iter().find(|phase| phase.name == *name));
    phase.ok_or_else(|| {
        let timed = presets().iter().filter(|preset| preset.asked_by().latency.is_some());
        let names: Vec<&str> = timed.map(|preset| preset.name).collect();
        Reason::new(
            format!(
                "`{}` does not time single calls, so that no latency of it can be bounded",
                question.name()
            ),
            format!("these do: {}; `ask etcd` is about the log of a database", names.join(", ")),
        )
    })
}

/// The phase of the goal that reads or writes most: a throughput that names no phase is of that one.
///
/// # Errors
/// Fails if no phase of the goal does this with data of known size.
pub(super) fn phase_of_throughput<'a>(
    question: &Question,
    plan: &'a Plan,
    is_of_reading: bool,
) -> Result<&'a Phase, Reason> {
    let flow = if is_of_reading { Flow::Reads } else { Flow::Writes };
    let bytes = |phase: &Phase| {
        let counts = plan.goal.weights.is_empty() || plan.goal.weights.contains_key(&phase.name);
        let PhaseWork::Operation(operation) = phase.work else { return None };
        let dataset = plan.datasets.get(phase.dataset.as_ref()?)?;
        Some(least_space(dataset)).filter(|bytes| counts && *bytes > 0 && operation.flow() == flow)
    };
    let largest = plan.phases.iter().filter(|phase| bytes(phase).is_some()).max_by_key(|phase| bytes(phase));
    largest.ok_or_else(|| {
        let does = if is_of_reading { "reads" } else { "writes" };
        Reason::new(
            format!("no phase of `{}` {does} data of known size, so that no throughput of it can be bounded", question.name()),
            "`fsverdict show vm-image` is a plan whose phases do; in a plan of yours: require = { \"write.throughput\" = \">= 200MB/s\" }",
        )
    })
}

/// The name of a latency in a phase: that of its main call, or the one that its program prints.
fn metric_of(phase: &Phase, metric: &str) -> String {
    match &phase.work {
        PhaseWork::Adapter { name, .. } => {
            let short = match metric {
                "p99.9" => "p999",
                "worst" => "max",
                other => other,
            };
            format!("{name}_latency_{short}")
        }
        PhaseWork::Operation(_) | PhaseWork::Command(_) => metric.to_owned(),
    }
}
