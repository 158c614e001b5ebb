//! `fsverdict doctor`: which candidates can run in which lab here, and what to install.

use std::collections::BTreeMap;
use std::io::Write;

use clap::Args;
use comfy_table::{Table, TableStyle};

use crate::kernel::{Cache, in_the_way};
use crate::lab::{Candidacy, Lab, Obstacle, every};
use crate::plan::{Candidate, Overrides, Plan};

use super::vocabulary::{Among, preset_names, read_plan};
use super::{CliError, Outcome};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// A preset or the path of a plan; every filesystem, plain and encrypted, when absent
    #[arg(value_name = "PRESET|PLAN.toml", value_parser = Among(preset_names), hide_possible_values = true)]
    plan: Option<String>,
}

type Labs = [Candidacy; 2];

pub(super) fn run(arguments: &Arguments) -> Result<Outcome, CliError> {
    let plan = match &arguments.plan {
        Some(name) => read_plan(name, &Overrides::default())?,
        None => everything()?,
    };
    let labs = every(&plan);
    let mut out = anstream::stdout().lock();
    writeln!(out, "Labs on this machine:")?;
    for (name, lab) in &labs {
        match lab {
            Ok(lab) => writeln!(out, "  {name:7} yes  {}", lab.fidelity())?,
            Err(error) => {
                let text = error.to_string().replace('\n', &format!("\n{:14}", ""));
                writeln!(out, "  {name:7} no   {text}")?;
            }
        }
    }
    writeln!(out, "{}\n", simulated_time())?;
    let (table, reasons) = compare(&plan, &labs);
    writeln!(out, "{table}")?;
    if !reasons.is_empty() {
        writeln!(out, "\nWhat is missing:")?;
    }
    let mut numbered: Vec<_> = reasons.iter().collect();
    numbered.sort_by_key(|(_, (number, _))| *number);
    for (obstacle, (number, lab)) in numbered {
        writeln!(out, "  [{number}] {lab}: {}\n      hint: {}", obstacle.0, obstacle.1)?;
    }
    let runs_somewhere = |candidate: &Candidate| {
        labs.iter().any(|(_, lab)| lab.as_ref().is_ok_and(|lab| lab.obstacle(candidate).is_none()))
    };
    let able = plan.candidates.iter().filter(|candidate| runs_somewhere(candidate)).count();
    writeln!(out, "\n{able} of {} candidates can run here.", plan.candidates.len())?;
    Ok(if able == 0 {
        Outcome::NoVerdict
    } else if able < plan.candidates.len() {
        Outcome::Incomplete
    } else {
        Outcome::Done
    })
}

/// Whether trials on modelled devices can be done here: every kernel in the cache can.
fn simulated_time() -> String {
    let kernels = Cache::of_user().map(|cache| cache.list()).unwrap_or_default();
    let names: Vec<&str> = kernels.iter().rev().map(|kernel| kernel.name.as_str()).collect();
    let (answer, text) = match (names.is_empty(), in_the_way()) {
        (false, _) => ("yes", format!("kernel {}", names.join(", "))),
        (true, None) => {
            ("no ", "no kernel for it yet\nhint: fsverdict kernel build: some minutes, once".to_owned())
        }
        (true, Some(error)) => ("no ", format!("no kernel for it, and none can be built: {error}")),
    };
    let text = text.replace('\n', &format!("\n{:7}", ""));
    format!("Simulated time, on modelled devices (lab uml):\n  {answer}  {text}")
}

type Reasons = BTreeMap<(String, String), (usize, &'static str)>;

fn compare(plan: &Plan, labs: &Labs) -> (Table, Reasons) {
    let mut reasons = Reasons::new();
    let mut table = Table::new();
    table.load_style(TableStyle::new());
    let usable: Vec<(&'static str, &dyn Lab)> =
        labs.iter().filter_map(|(name, lab)| Some((*name, lab.as_ref().ok()?.as_ref()))).collect();
    table.set_header(["candidate"].into_iter().chain(usable.iter().map(|(name, _)| *name)));
    for candidate in &plan.candidates {
        let mut row = vec![candidate.name.clone()];
        for (name, lab) in &usable {
            row.push(match lab.obstacle(candidate) {
                None => "yes".to_owned(),
                Some(Obstacle { reason, hint }) => {
                    let next = reasons.len() + 1;
                    let (number, _) = *reasons.entry((reason, hint)).or_insert((next, *name));
                    format!("no [{number}]")
                }
            });
        }
        table.add_row(row);
    }
    (table, reasons)
}

/// A plan of every filesystem, each plain and encrypted.
fn everything() -> Result<Plan, CliError> {
    let mut plan = read_plan("quick", &Overrides::default())?;
    let candidate = |filesystem: &str, encryption: &str| Candidate {
        name: if encryption == "none" { filesystem.to_owned() } else { format!("{filesystem}+{encryption}") },
        filesystem: filesystem.to_owned(),
        mkfs: Vec::new(),
        mount: Vec::new(),
        encryption: encryption.to_owned(),
        scheduler: None,
        path: None,
        under: crate::plan::Circumstances::default(),
    };
    let names = crate::filesystem::names();
    plan.candidates =
        names.iter().flat_map(|name| [candidate(name, "none"), candidate(name, "luks2")]).collect();
    Ok(plan)
}
