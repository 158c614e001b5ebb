//! `fsverdict run --dry-run`: every trial and every command line that would run, and whether the run would begin; nothing is
//! touched. Options of mkfs and mount are tried on a scratch image.

use std::io::Write;

use crate::runner::DryRun;
use crate::study::{DeviceProspect, Prospect, SessionError, draw_order};
use fsverdict_judgement::plan::{Dataset, DeviceSource, Plan};
use fsverdict_report::{TerminalLook, in_lines};
use fsverdict_text::{Hinted, Reason, duration_text, wrap_hanging};
use fsverdict_workload::dataset::check_readable;

use super::forecast::forecast;
use super::pager::{PagedOutput, PagerArguments};
use super::{CliError, Exit};

/// The width of the labels before the amounts that a run takes, in columns.
const LABEL: usize = 8;
/// Files of each folder that are looked at, which takes a second at most.
const LOOKED_AT: usize = 50_000;

pub(super) fn show(dry_run: &DryRun, pager: PagerArguments) -> Result<Exit, CliError> {
    let DryRun { plan, choice, lacks, prospect, untried } = dry_run;
    let mut out = PagedOutput::new(pager);
    let columns = TerminalLook::list_width();
    let hanging = |text: &str, indent: usize| wrap_hanging(text, columns, indent);
    writeln!(out, "{}", hanging(&in_lines(&plan.title), 0))?;
    writeln!(out, "{}", hanging(&format!("lab: {} ({})", choice.lab.name(), choice.reason), 2))?;
    for (at, source) in plan.device.all_sources().enumerate() {
        writeln!(out, "{}", hanging(&in_lines(&describe_device(source, prospect.devices.get(at))), 2))?;
    }
    if let Some(fails) = plan.device.fails {
        let after = duration_text(fails.after);
        writeln!(out, "device {} fails {after} after its guest has started", fails.device)?;
    }
    writeln!(out, "{}", hanging(&format!("each trial: {}", choice.lab.command_line().join(" ")), 2))?;
    for (place, candidate) in plan.candidates.iter().enumerate() {
        writeln!(out)?;
        match prospect.reason_to_skip(&candidate.name) {
            Some(Reason { what, hint, .. }) => {
                let text = format!("{}: skipped: {what}\n  hint: {hint}", in_lines(&candidate.name));
                writeln!(out, "{}", hanging(&text, 4))?;
            }
            None => {
                writeln!(out, "{}:", in_lines(&candidate.name))?;
                for line in fsverdict_lab::trial::command_lines(plan, place) {
                    writeln!(out, "{}", hanging(&format!("  {}", in_lines(&line)), 6))?;
                }
            }
        }
    }
    writeln!(out)?;
    for (label, text) in forecast(plan, choice, prospect) {
        writeln!(out, "{}", hanging(&format!("{label:LABEL$}{text}"), LABEL))?;
    }
    for text in left_out(plan) {
        writeln!(out, "{}", hanging(&format!("{:LABEL$}{text}", "data"), LABEL))?;
    }
    if let Some(why) = untried {
        writeln!(out, "{}", hanging(&format!("{:LABEL$}{why}", "options"), LABEL))?;
    }
    if let Some(seed) = plan.protocol.order {
        let able = |at: usize| prospect.reason_to_skip(&plan.candidates[at].name).is_none();
        for block in 1..=plan.protocol.blocks.min {
            let places = draw_order(seed, block, plan.candidates.len(), able);
            let names: Vec<&str> = places.iter().map(|at| plan.candidates[*at].name.as_str()).collect();
            writeln!(out, "{}", hanging(&format!("block {block}: {}", names.join(" ")), LABEL))?;
        }
    }
    if let Some(lacks) = lacks {
        let text = lacks.reason().after("Not as this user: ").to_string();
        writeln!(out, "\n{}", hanging(&text, 2))?;
    }
    out.show()?;
    may_begin(prospect)?;
    Ok(match prospect.skipped.len() {
        0 => Exit::Done,
        all if all == plan.candidates.len() => Exit::NoVerdict,
        _ => Exit::Incomplete,
    })
}

/// Describes the fate of a device: it differs for one that would be refused.
fn describe_device(source: &DeviceSource, prospect: Option<&DeviceProspect>) -> String {
    let refused = prospect.and_then(|prospect| prospect.refused.as_ref());
    let fate = match source {
        DeviceSource::Path(_) if refused.is_none() => ": everything on it would be destroyed",
        DeviceSource::Path(_) if prospect.is_some_and(|prospect| prospect.consent_is_missing) => {
            ": everything on it would be destroyed, and it has to be named for that"
        }
        DeviceSource::Path(_) => ": not written to",
        _ => "",
    };
    let line = format!("device: {source}{fate}");
    match refused.map(Hinted::reason) {
        Some(Reason { what, hint, .. }) => {
            format!("{line}\n  the run would be refused: {what}\n  hint: {hint}")
        }
        None => line,
    }
}

/// Describes the files that this user cannot read in the folders that the plan copies.
fn left_out(plan: &Plan) -> Vec<String> {
    let of = |(name, dataset): (&String, &Dataset)| {
        let Dataset::Folder { path, .. } = dataset else { return Vec::new() };
        let (readable, mut notes) = (check_readable(path, LOOKED_AT), Vec::new());
        if readable.unreadable > 0 {
            let names: Vec<String> = readable.first.iter().map(|path| path.display().to_string()).collect();
            let more = match readable.unreadable - names.len() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            notes.push(format!(
                "{name}: this user cannot read, and a trial leaves out: {}{more}",
                names.join(", ")
            ));
        }
        if readable.partly {
            notes.push(format!(
                "{name}: whether more than the first {LOOKED_AT} files of {} can be read was not checked",
                path.display()
            ));
        }
        notes.iter().map(|line| in_lines(line)).collect()
    };
    plan.datasets.iter().flat_map(of).collect()
}

/// Whether the run would begin: an error in the words with which it would not.
pub(super) fn may_begin(prospect: &Prospect) -> Result<(), CliError> {
    let refusals: Vec<&SessionError> = prospect.refusals().collect();
    if refusals.is_empty() {
        return Ok(());
    }
    let reasons = Reason::all(refusals.into_iter().map(Hinted::reason));
    Err(CliError::failed(reasons.after("the run would not start: ")))
}
