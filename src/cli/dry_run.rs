//! `fsverdict run --dry-run`: every trial and every command line that would run; nothing is touched.

use std::io::Write;

use crate::lab::Choice;
use crate::plan::{DeviceSource, Plan, duration_text};
use crate::study::order;

use super::{CliError, Outcome};

pub(super) fn show(plan: &Plan, choice: &Choice) -> Result<Outcome, CliError> {
    let mut out = anstream::stdout().lock();
    writeln!(out, "{}", plan.title)?;
    writeln!(out, "lab: {} ({})", choice.lab.name(), choice.reason)?;
    let device = match &plan.device.source {
        DeviceSource::Image(size) => format!("scratch image of {size}"),
        DeviceSource::Path(path) => format!("{}: everything on it would be destroyed", path.display()),
        model @ DeviceSource::Model { .. } => model.to_string(),
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
    let able: Vec<String> = plan
        .candidates
        .iter()
        .filter(|candidate| choice.lab.obstacle(candidate).is_none())
        .map(|candidate| candidate.name.clone())
        .collect();
    for block in 1..=plan.protocol.blocks.min {
        let order = order(plan.protocol.seed, block, 1, &able);
        writeln!(out, "block {block}: {}", order.join(" "))?;
    }
    if plan.protocol.blocks.max > plan.protocol.blocks.min {
        writeln!(out, "up to {} blocks, until the verdict is certain", plan.protocol.blocks.max)?;
    }
    if let Some(budget) = plan.protocol.budget {
        writeln!(out, "no block starts that could not end within {}", duration_text(budget))?;
    }
    Ok(Outcome::Done)
}
