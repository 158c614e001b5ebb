//! `fsverdict run --dry-run`: every trial and every command line that would run; nothing is touched.

use std::io::Write;

use crate::lab::Choice;
use crate::plan::{Candidate, DeviceSource, Plan, Until, duration_text};
use crate::study::order;

use super::{CliError, Outcome};

/// How many trials a run of so many candidates takes.
pub(super) fn trials_to_come(plan: &Plan, candidates: usize) -> String {
    let blocks = plan.protocol.blocks;
    let trials = |blocks: u32| blocks as usize * candidates;
    if blocks.max == blocks.min {
        return format!("{} trials: {} blocks of {candidates}", trials(blocks.min), blocks.min);
    }
    let until = match plan.protocol.until {
        Until::Recommended => "until one can be recommended",
        Until::Ranked => "until every candidate has its place",
    };
    format!(
        "blocks of {candidates} trials, {until}: about {} trials where they stray by 2% or less, {} at most",
        trials(blocks.min),
        trials(blocks.max)
    )
}

pub(super) fn show(plan: &Plan, choice: &Choice) -> Result<Outcome, CliError> {
    let mut out = anstream::stdout().lock();
    writeln!(out, "{}", plan.title)?;
    writeln!(out, "lab: {} ({})", choice.lab.name(), choice.reason)?;
    let device = match &plan.device.source {
        DeviceSource::Image(size) => format!("scratch image of {size}"),
        DeviceSource::Path(path) => format!("{}: everything on it would be destroyed", path.display()),
        other @ (DeviceSource::Model { .. } | DeviceSource::Folders) => other.to_string(),
    };
    writeln!(out, "device: {device}")?;
    writeln!(out, "each trial: {}", choice.lab.command_line().join(" "))?;
    for candidate in &plan.candidates {
        writeln!(out)?;
        match choice.lab.obstacle(candidate) {
            Some(obstacle) => {
                writeln!(out, "{}: skipped: {}\n  hint: {}", candidate.name, obstacle.reason, obstacle.hint)?;
            }
            None => {
                writeln!(out, "{}:", candidate.name)?;
                for line in crate::trial::command_lines(candidate, &plan.phases) {
                    writeln!(out, "  {line}")?;
                }
            }
        }
    }
    writeln!(out)?;
    let able = |candidate: &Candidate| choice.lab.obstacle(candidate).is_none();
    let trials = plan.candidates.iter().filter(|candidate| able(candidate)).count();
    writeln!(out, "{}", trials_to_come(plan, trials))?;
    if let Some(seed) = plan.protocol.order {
        for block in 1..=plan.protocol.blocks.min {
            let places = order(seed, block, plan.candidates.len(), |at| able(&plan.candidates[at]));
            let names: Vec<&str> = places.iter().map(|at| plan.candidates[*at].name.as_str()).collect();
            writeln!(out, "block {block}: {}", names.join(" "))?;
        }
    }
    if let Some(budget) = plan.protocol.budget {
        writeln!(out, "no block starts that could not end within {}", duration_text(budget))?;
    }
    Ok(Outcome::Done)
}
