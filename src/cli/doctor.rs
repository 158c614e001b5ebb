//! `fsverdict doctor`: which candidates can run in which lab here, and what to install.

use std::ffi::OsString;
use std::io::Write;

use clap::Args;

use crate::runner::predict_candidates;
use crate::study::{Permission, Prospect};
use fsverdict_judgement::plan::{Candidate, Overrides, Plan};
use fsverdict_lab::kernel::{KernelCache, KernelEntry, find_build_obstacle};
use fsverdict_lab::lab::{by_default, list_candidacies};
use fsverdict_linux::sandbox::{Isolation, possible_isolation};
use fsverdict_report::TerminalLook;
use fsverdict_stack::layer::usual_layers;
use fsverdict_text::{Hinted, Reason, display_width, wrap_hanging};

use super::consent::PlanOrigin;
use super::dry_run::may_begin;
use super::kernel::in_short;
use super::pager::{PagedOutput, PagerArguments};
use super::vocabulary::{PathOrAmong, plan_and_origin, preset_names, read_plan};
use super::{CliError, Exit};

#[derive(Debug, Args)]
pub(super) struct DoctorArguments {
    /// A preset or a plan's file [default: every filesystem, plain and encrypted]
    #[arg(value_name = "PRESET|PLAN.toml", value_parser = PathOrAmong(preset_names), hide_possible_values = true)]
    plan: Option<OsString>,
    #[command(flatten)]
    pager: PagerArguments,
}

pub(super) fn run(arguments: &DoctorArguments) -> Result<Exit, CliError> {
    let (plan, origin) = match &arguments.plan {
        Some(name) => plan_and_origin(name, &Overrides::default())?,
        None => (everything()?, PlanOrigin::Preset),
    };
    let labs = list_candidacies(&plan);
    let mut out = PagedOutput::new(arguments.pager);
    let columns = TerminalLook::list_width();
    writeln!(out, "Labs on this machine:")?;
    for (name, lab) in &labs {
        let line = match lab {
            Ok(lab) => format!("  {name:7} yes  {}", lab.fidelity()),
            Err(error) => {
                let text = error.reason().to_string().replace('\n', &format!("\n{:14}", ""));
                format!("  {name:7} no   {text}")
            }
        };
        writeln!(out, "{}", wrap_hanging(&line, columns, 14))?;
    }
    writeln!(out, "{}\n", wrap_hanging(&simulated_time(&plan), columns, 7))?;
    let mut untried = Vec::new();
    let mut prospects: Vec<(&'static str, Prospect)> = Vec::new();
    let is_own = !matches!(origin, PlanOrigin::Stranger(_));
    for (name, lab) in &labs {
        let Ok(lab) = lab else { continue };
        let (prospect, why) = predict_candidates(&plan, lab.as_ref(), &Permission::NONE, is_own);
        untried.extend(why.map(|why| format!("{name}: options {why}")));
        prospects.push((*name, prospect));
    }
    let (rows, reasons) = compare(&plan, &prospects);
    for line in in_line(&rows) {
        writeln!(out, "{line}")?;
    }
    for text in &untried {
        writeln!(out, "{}", wrap_hanging(text, columns, 2))?;
    }
    if !reasons.is_empty() {
        writeln!(out, "\nWhat is missing:")?;
    }
    for (number, (lab, obstacle)) in (1..).zip(&reasons) {
        let text = format!("  [{number}] {lab}: {}\n      hint: {}", obstacle.what, obstacle.hint);
        writeln!(out, "{}", wrap_hanging(&text, columns, 6))?;
    }
    let runs = |candidate: &&Candidate| {
        prospects.iter().any(|(_, one)| one.reason_to_skip(&candidate.name).is_none())
    };
    let able = plan.candidates.iter().filter(runs).count();
    writeln!(out, "\n{able} of {} candidates can run here.", plan.candidates.len())?;
    out.show()?;
    // The device and the data are the same in every lab.
    if let Some((_, prospect)) = prospects.first() {
        may_begin(prospect)?;
    }
    Ok(if able == 0 {
        Exit::NoVerdict
    } else if able < plan.candidates.len() {
        Exit::Incomplete
    } else {
        Exit::Done
    })
}

/// Whether trials on modelled devices can be done here: every kernel in the cache can; and which is taken where the plan names
/// none.
fn simulated_time(plan: &Plan) -> String {
    let kernels = KernelCache::of_user().list_kernels();
    let describe_kernel = |kernel: &KernelEntry| format!("{} ({})", kernel.name, in_short(kernel));
    let names: Vec<String> = kernels.iter().rev().map(describe_kernel).collect();
    let (answer, text) = match (names.is_empty(), find_build_obstacle()) {
        (false, _) => ("yes", Reason::plain(format!("kernel {}{}", names.join(", "), taken(plan)))),
        (true, None) => {
            ("no ", Reason::new("no kernel for it yet", "fsverdict kernel build: some minutes, once"))
        }
        (true, Some(error)) => {
            ("no ", error.reason().after("there is no kernel for it, and none can be built: "))
        }
    };
    let text = text.to_string().replace('\n', &format!("\n{:7}", ""));
    let shared = match possible_isolation() {
        Isolation::None if answer == "yes" => {
            "\n       one trial at a time: this machine allows no namespaces, as many containers do not"
        }
        _ => "",
    };
    format!("Simulated time, on modelled devices (lab uml):\n  {answer}  {text}{shared}")
}

/// The kernel of the candidates that name none, and why it.
fn taken(plan: &Plan) -> String {
    let names_none = plan.candidates.iter().any(|candidate| plan.kernel_of(candidate).is_none());
    let found = names_none.then(|| by_default(plan)).flatten();
    found.map_or(String::new(), |found| {
        format!("\ntaken where none is named: {}, {}", found.entry.name, found.why)
    })
}

/// Every candidate in every lab that can be used, under their titles; and the obstacles, by the numbers in the table.
fn compare<'a>(
    plan: &Plan,
    prospects: &'a [(&'static str, Prospect)],
) -> (Vec<Vec<String>>, Vec<(&'static str, &'a Reason)>) {
    let mut reasons: Vec<(&str, &Reason)> = Vec::new();
    let titles = ["candidate"].into_iter().chain(prospects.iter().map(|(name, _)| *name));
    let mut rows: Vec<Vec<String>> = vec![titles.map(str::to_owned).collect()];
    for candidate in &plan.candidates {
        let mut row = vec![candidate.name.clone()];
        for (name, prospect) in prospects {
            row.push(match prospect.reason_to_skip(&candidate.name) {
                None => "yes".to_owned(),
                Some(obstacle) => {
                    let known = reasons.iter().position(|(_, known)| *known == obstacle);
                    let at = known.unwrap_or(reasons.len());
                    if known.is_none() {
                        reasons.push((name, obstacle));
                    }
                    format!("no [{}]", at + 1)
                }
            });
        }
        rows.push(row);
    }
    (rows, reasons)
}

/// Rows as lines, each cell below the one above it.
fn in_line(rows: &[Vec<String>]) -> impl Iterator<Item = String> {
    let columns = rows.first().map_or(0, Vec::len);
    let widest = |at: usize| {
        rows.iter().filter_map(|row| row.get(at)).map(|cell| display_width(cell)).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(widest).collect();
    let padded =
        |(cell, columns): (&String, &usize)| format!(" {cell}{} ", " ".repeat(columns - display_width(cell)));
    rows.iter().map(move |row| row.iter().zip(&widths).map(padded).collect())
}

/// A plan of every filesystem, each plain and on every usual layer.
fn everything() -> Result<Plan, CliError> {
    let mut plan = read_plan("quick", &Overrides::default())?;
    let with_layers = |name: &&str| {
        let plain = Candidate::with_defaults(name);
        let layered: Vec<Candidate> = usual_layers().map(|layers| plain.with_layers(layers)).collect();
        [plain].into_iter().chain(layered)
    };
    plan.candidates = fsverdict_stack::filesystem::filesystem_names().iter().flat_map(with_layers).collect();
    Ok(plan)
}
