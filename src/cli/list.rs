//! `fsverdict list`: prints the names that plans and options may use.

use std::io::Write;

use clap::Args;

use fsverdict_report::TerminalLook;
use fsverdict_text::wrap_hanging;

use super::pager::{PagedOutput, PagerArguments};
use super::{CliError, Exit};

#[derive(Debug, Args)]
pub(super) struct ListArguments {
    /// What to list [default: everything]
    #[arg(value_enum)]
    what: Option<What>,
    #[command(flatten)]
    pager: PagerArguments,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum What {
    Filesystems,
    Operations,
    Adapters,
    Presets,
    Models,
    Cpus,
    Labs,
    Layers,
    Profiles,
    Metrics,
}

pub(super) fn run(arguments: &ListArguments) -> Result<Exit, CliError> {
    use What::{Adapters, Cpus, Filesystems, Labs, Layers, Metrics, Models, Operations, Presets, Profiles};
    let mut out = PagedOutput::new(arguments.pager);
    let columns = TerminalLook::list_width();
    let all = [Presets, Models, Cpus, Filesystems, Layers, Operations, Adapters, Profiles, Labs, Metrics];
    let wanted: Vec<What> = arguments.what.map_or(all.into(), |one| vec![one]);
    for (index, what) in wanted.iter().enumerate() {
        if wanted.len() > 1 {
            let gap = if index == 0 { "" } else { "\n" };
            let bold = anstyle::Style::new().bold();
            writeln!(out, "{gap}{bold}{}{bold:#}", format!("{what:?}").to_lowercase())?;
        }
        let entries = entries(*what);
        let width = entries.iter().map(|entry| entry.name.len()).max().unwrap_or(0);
        for (at, ListEntry { group, name, summary }) in entries.iter().enumerate() {
            let before = at.checked_sub(1).and_then(|before| entries[before].group.as_ref());
            if let Some(group) = group.as_ref().filter(|group| before != Some(group)) {
                writeln!(out, "  {group}:")?;
            }
            let indent = if group.is_some() { "  " } else { "" };
            let line = format!("  {indent}{name:width$}  {summary}");
            writeln!(out, "{}", wrap_hanging(&line, columns, SUMMARY.min(4 + indent.len() + width)))?;
        }
    }
    out.show()?;
    Ok(Exit::Done)
}

/// The farthest column at which a summary that takes several lines goes on: behind long names too little room would be
/// left.
const SUMMARY: usize = 24;

/// A line of a list.
struct ListEntry {
    /// Under which heading it stands, where a list has some.
    group: Option<String>,
    name: String,
    summary: String,
}

fn entries(what: What) -> Vec<ListEntry> {
    let own = |name: &str, summary: &str| ListEntry {
        group: None,
        name: name.to_owned(),
        summary: summary.to_owned(),
    };
    match what {
        What::Filesystems => {
            let all = fsverdict_stack::filesystem::registry()
                .iter()
                .copied()
                .chain([&fsverdict_stack::filesystem::DIRECTORY]);
            all.map(|filesystem| own(filesystem.name, filesystem.title)).collect()
        }
        What::Layers => [fsverdict_stack::layer::NO_LAYER]
            .into_iter()
            .chain(fsverdict_stack::layer::registry().iter().map(|layer| (layer.name, layer.summary)))
            .map(|(name, summary)| own(name, summary))
            .chain(
                fsverdict_stack::layer::SCHEDULERS
                    .iter()
                    .map(|scheduler| own(scheduler.name, scheduler.summary)),
            )
            .collect(),
        What::Operations => {
            fsverdict_judgement::plan::Operation::all().map(|one| own(one.name(), one.summary())).collect()
        }
        What::Adapters => {
            fsverdict_workload::workload::adapters().iter().map(|a| own(a.name(), a.summary())).collect()
        }
        What::Presets => fsverdict_judgement::plan::presets()
            .iter()
            .map(|preset| {
                let asked_by = preset.asked_by();
                ListEntry { group: Some(asked_by.group), ..own(preset.name, &asked_by.summary) }
            })
            .collect(),
        What::Models => fsverdict_disk::device::built_in()
            .iter()
            .filter_map(|built_in| fsverdict_disk::device::Model::named(built_in.name).ok())
            .map(|model| match model.all_states()[..] {
                [] => own(&model.name, &model.summary),
                ref states => own(&model.name, &format!("{} (:{})", model.summary, states.join(", :"))),
            })
            .collect(),
        What::Cpus => fsverdict_lab::cpu::shipped()
            .iter()
            .filter_map(|shipped| fsverdict_lab::cpu::CpuModel::find(shipped.name).ok())
            .map(|model| own(&model.about.name, &model.summary))
            .collect(),
        What::Profiles => fsverdict_workload::dataset::PROFILES
            .iter()
            .map(|profile| own(profile.name, profile.summary))
            .collect(),
        What::Metrics => fsverdict_judgement::journal::METRICS
            .iter()
            .filter(|metric| metric.group != fsverdict_judgement::journal::Group::Former)
            .chain(
                fsverdict_workload::workload::adapters()
                    .iter()
                    .flat_map(fsverdict_workload::workload::Adapter::metrics),
            )
            .map(|metric| own(metric.name, metric.meaning))
            .collect(),
        What::Labs => fsverdict_lab::lab::LABS.iter().map(|lab| own(lab.name(), lab.summary)).collect(),
    }
}
