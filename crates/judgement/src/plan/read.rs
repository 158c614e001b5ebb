//! From TOML to a resolved plan: the top level, and the sections that are about the run as a whole.

use fsverdict_text::Reason;

use super::change::{Overrides, apply, apply_settings, forget_models};
use super::control::Twice;
use super::environment;
use super::faults::{self, read_faults};
use super::folders;
use super::keys::{fill_keys, key_names, keys_with_types};
use super::lab::KernelOwner;
use super::model::TOP;
use super::own_metric;
use super::phase;
use super::preset::{self, read_ask};
use super::protection::assign_protection;
use super::protocol::{self, read_protocol};
use super::published::{self, read_published};
use super::read_candidate::{self, read_candidates};
use super::read_dataset::{self, read_datasets};
use super::read_device::{self, read_device};
use super::read_goal::{self, read_goal};
use super::read_phase::read_phases;
use super::read_phase_data;
use super::read_service::read_services;
use super::safeguards::assign_safeguards;
use super::tree_form;
use super::work_source::{self, read_work_source};
use super::{LabChoice, Plan, Vocabulary, recorded, space};
use fsverdict_text::{Node, Placed, Problems, Section, TextError, TextSpan, Texts, read_tree};

/// Every key a plan may hold, by the section it stands in, with its type; without one where the reference alone has it.
/// The reference (docs/reference/plan-format.md) covers them all.
pub fn keys_by_table() -> Vec<(&'static str, Vec<(&'static str, &'static str)>)> {
    let untyped = |names: &[&'static str]| names.iter().map(|name| (*name, "")).collect();
    vec![
        ("", keys_with_types(TOP)),
        ("[device]", untyped(read_device::DEVICE)),
        ("fails", untyped(read_device::FAILS)),
        ("[protocol]", keys_with_types(protocol::PROTOCOL)),
        ("blocks", untyped(protocol::BLOCKS)),
        ("disturbed", keys_with_types(protocol::DISTURBED)),
        ("[faults]", keys_with_types(faults::FAULTS)),
        ("[work]", keys_with_types(work_source::WORK)),
        ("[goal]", untyped(read_goal::KEYS)),
        ("[dataset.NAME]", keys_with_types(tree_form::TREE)),
        ("[dataset.NAME]", untyped(&read_dataset::dataset_keys())),
        ("[[candidate]]", untyped(&read_candidate::candidate_keys())),
        ("[matrix]", untyped(&read_candidate::matrix_keys())),
        ("[[phase]]", keys_with_types(phase::PHASE)),
        ("verify", untyped(read_phase_data::VERIFY)),
        ("[phase.metric.NAME]", untyped(own_metric::OWN_METRIC)),
        ("[[service]]", keys_with_types(phase::SERVICE)),
        ("[[published]]", untyped(published::PUBLISHED)),
        ("claim", untyped(published::CLAIM)),
        ("[ask]", keys_with_types(preset::ASK)),
    ]
}

/// Reads a plan, makes the changes that the command line asks for, checks it, and spells out everything it leaves to
/// defaults.
///
/// `--set` is applied to the TOML before it is typed, so that its mistakes are reported like those of a file; then
/// candidates are picked, lab, device and blocks replaced, the data scaled, and the whole checked to fit.
///
/// # Errors
/// Returns every fault of the plan and of the changes. Some faults can be found only in a plan that is
/// otherwise right (in a change to its candidates, or whether its data fit); they are looked for once there are no
/// others.
pub fn read_with(
    text: &str,
    file_name: &str,
    overrides: &Overrides,
    vocabulary: &Vocabulary<'_>,
) -> Result<Plan, TextError> {
    read_tree(file_name, text, |mut tree, texts, problems| {
        if !overrides.device.is_empty() {
            forget_models(&mut tree);
        }
        apply_settings(&mut tree, &overrides.set, texts, problems);
        let typed = read_top(&tree, vocabulary, problems).filter(|_| problems.is_empty())?;
        Some(finish_plan(typed, overrides, vocabulary, texts, problems))
    })
}

/// Makes the changes that the command line asks for, and does the checks that are possible only after them.
fn finish_plan(
    Typed { mut plan, device_at, network_at, twice }: Typed,
    overrides: &Overrides,
    vocabulary: &Vocabulary<'_>,
    texts: &mut Texts,
    problems: &Problems,
) -> Plan {
    let device_at = apply(&mut plan, overrides, vocabulary, texts, problems).or(device_at);
    environment::settle_cpu(&mut plan);
    // Only now is it known which candidates are left; the command line's word goes before the plan's.
    let asked = overrides.twice.as_ref().map(|twice| {
        let given = if let Twice::Named(name) = twice { name.as_str() } else { "" };
        Placed { at: texts.add_option("--aa", given), value: twice.clone() }
    });
    if let Some(Placed { at, value }) = asked.or(twice) {
        problems.record_error(at, value.add_twin(&mut plan));
    }
    if !plan.goal.one_ranking {
        assign_protection(&mut plan, vocabulary.protection);
    }
    assign_safeguards(&mut plan, vocabulary.safeguards);
    if problems.is_empty() {
        problems.record_error(device_at.unwrap_or_default(), check_models(&plan, vocabulary));
        problems.record_error(device_at.unwrap_or_default(), environment::check_cpus(&plan, vocabulary));
        problems
            .record_error(network_at.or(device_at).unwrap_or_default(), environment::check_network(&plan));
        problems.record_error(device_at.unwrap_or_default(), environment::check(&plan));
        problems.record_error(device_at.unwrap_or_default(), folders::check(&plan));
        problems.record_error(device_at.unwrap_or_default(), read_device::check(&plan, vocabulary));
        problems.record_error(device_at.unwrap_or_default(), faults::check(&plan));
        problems.record_error(device_at.unwrap_or_default(), space::check(&plan));
        problems.record_error(device_at.unwrap_or_default(), recorded::check_bounds(&plan));
    }
    plan
}

/// Whether there are such modelled devices, the command line's included.
fn check_models(plan: &Plan, vocabulary: &Vocabulary<'_>) -> Result<(), Reason> {
    let every = plan.candidates.iter().flat_map(|candidate| plan.models_of(candidate));
    every.into_iter().try_for_each(|model| (vocabulary.model)(model.name, Some(model.size)).map(drop))
}

/// The typed plan, with the settings that are completed only after the command line's changes.
struct Typed {
    plan: Plan,
    device_at: Option<TextSpan>,
    /// Where a phase asks for this machine's network.
    network_at: Option<TextSpan>,
    twice: Option<Placed<Twice>>,
}

fn read_top(tree: &Node, vocabulary: &Vocabulary<'_>, problems: &Problems) -> Option<Typed> {
    let top = Section::new("the plan", tree, &key_names(TOP), problems)?;
    let mut plan = Plan::default();
    let complete = fill_keys(TOP, &top, &mut plan);
    plan.cpu = top.get("cpu", environment::known_cpu(vocabulary.cpu));
    if let Some(entry) = top.entry("kernel").filter(|_| plan.kernel.is_some())
        && plan.lab.lab_offer().kernel == KernelOwner::Machine
    {
        let lab = plan.lab;
        problems.add(
            entry.node.at,
            format!("a kernel of one's own does not go with lab = \"{lab}\", which is this machine's kernel"),
            format!("take `kernel` out, or let lab be {}", LabChoice::guest_labs(["\""; 2])),
        );
    }
    let twice = read_protocol(&top, &mut plan);
    plan.faults = read_faults(&top);
    plan.work = read_work_source(&top);
    let datasets = read_datasets(&top, vocabulary);
    plan.candidates = read_candidates(&top, vocabulary);
    let device = read_device(&top, &plan.candidates, vocabulary);
    let phases = read_phases(&top, &datasets, vocabulary);
    let goal = read_goal(&top, &phases, vocabulary);
    plan.services = read_services(&top, &phases);
    plan.published = read_published(&top, &phases, vocabulary);
    // `[ask]` is checked like the rest and kept out of the plan: its words do not change the run.
    let _ = read_ask(&top);
    complete?;
    plan.datasets = datasets.into_iter().filter_map(|(name, dataset)| Some((name, dataset?))).collect();
    let (device, device_at) = device?;
    plan = Plan { device, goal: goal?, phases: phases.list, ..plan };
    Some(Typed { plan, device_at, network_at: phases.network_at, twice })
}
