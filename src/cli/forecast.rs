//! Forecasts the cost of a run as far as it is known before: trials, time, bytes written, space and memory.

use crate::study::{Prospect, TrialTimeEstimate};
use fsverdict_judgement::plan::{
    Dataset, DeviceSource, Operation, Phase, PhaseWork, Plan, Until, bytes_written, image_room,
};
use fsverdict_lab::lab::ChosenLab;
use fsverdict_lab::trial::bytes_to_stage;
use fsverdict_linux::host::procfs::read_memory;
use fsverdict_linux::host::root::Root;
use fsverdict_report::{count, listing};
use fsverdict_stack::filesystem::written_by_mkfs;
use fsverdict_text::{Bytes, duration_text, rough_duration_text};
use fsverdict_workload::dataset::{IoFailure, room_for};

/// Each with its label, the most important first.
pub(super) fn forecast(plan: &Plan, choice: &ChosenLab, prospect: &Prospect) -> Vec<(&'static str, String)> {
    let able = plan.candidates.len() - prospect.skipped.len();
    let (least, most) = count_trials(plan, able);
    let mut lines =
        vec![("trials", trials_to_come(plan, able)), ("time", forecast_time(plan, choice, least, most))];
    lines.extend(forecast_writes(plan, prospect, least).map(|text| ("writes", text)));
    lines.extend(describe_mkfs_writes(plan, prospect).map(|text| ("mkfs", text)));
    if let DeviceSource::Image(size) = &plan.device.source {
        let images = if plan.device.count() > 1 { "images" } else { "image" };
        let each = image_room(plan, size.0);
        let room = Bytes(each.saturating_mul(plan.device.count() as u64));
        lines.push((
            "space",
            format!("up to {room} of the disk below the {images}, given back after each trial"),
        ));
    }
    lines.extend(memory_needed(plan, choice).map(|text| ("memory", text)));
    lines
}

fn count_trials(plan: &Plan, able: usize) -> (usize, usize) {
    let blocks = plan.protocol.blocks;
    (blocks.min as usize * able, blocks.max as usize * able)
}

/// How many trials a run of so many candidates takes.
fn trials_to_come(plan: &Plan, able: usize) -> String {
    let blocks = plan.protocol.blocks;
    let (least, most) = count_trials(plan, able);
    if most == least {
        return format!("{} ({} of {able})", count(least, "trial"), count(blocks.min as usize, "block"));
    }
    let until = match plan.protocol.until {
        Until::Recommended => "until one candidate can be recommended",
        Until::Ranked => "until every candidate has a certain rank",
    };
    format!(
        "blocks of {able}, {until}: about {} if times vary by 2% or less, {most} at most",
        count(least, "trial")
    )
}

/// The time of the run, by an earlier run of the same work on this machine or else by an estimate.
fn forecast_time(plan: &Plan, choice: &ChosenLab, least: usize, most: usize) -> String {
    let stopped = plan.protocol.budget.map(|budget| format!("; stopped after {}", duration_text(budget)));
    let estimate = TrialTimeEstimate::before_run(plan, choice);
    let trial = rough_duration_text(estimate.seconds);
    let all = |trials: usize| rough_duration_text(estimate.seconds_of_trials(trials));
    if let Some(run) = &estimate.earlier_run {
        let stopped = stopped.unwrap_or_default();
        return format!("{} or more, going by {} ({trial} a trial){stopped}", all(least), run.display());
    }
    let longest = || {
        let limit = duration_text(plan.protocol.timeout);
        format!("; {} if all trials are needed, each of which is stopped after {limit}", all(most))
    };
    format!(
        "about {} ({trial} a trial, by sizes and the speed of this machine, until trials have ended){}",
        all(least),
        stopped.unwrap_or_else(longest)
    )
}

/// The bytes that the trials write; `None` if all of them are written by commands that name no dataset.
fn forecast_writes(plan: &Plan, prospect: &Prospect, trials: usize) -> Option<String> {
    let (least, known) = bytes_written(plan);
    let copied = measure_folders(plan);
    let each = least.saturating_add(*copied.as_ref().unwrap_or(&0));
    let all = each.saturating_mul(trials as u64);
    let besides = if known { "" } else { ", and what commands write besides their datasets" };
    let mut text = format!("about {} a trial, {} in the trials above{besides}", rough(each), rough(all));
    if let (DeviceSource::Path(_), Some(size)) = (&plan.device.source, prospect.size) {
        // Transcend, "SSD" (Article/SSD of its pages): fewer than 1500 times with three bits a cell; four bear less.
        let share = all as f64 / size.max(1) as f64;
        text.push_str(&format!(": {share:.1} times the device's size, and cheap flash lasts for about 1000"));
    }
    if let Err(failure) = &copied {
        text.push_str(&format!("; a folder's data are not counted, since fsverdict cannot {failure}"));
    }
    (each > 0 || copied.is_err()).then_some(text)
}

/// Less than this is written by mkfs within seconds.
const MIN_REPORTED_MKFS_BYTES: u64 = 1 << 30;

/// Describes which candidates' mkfs writes much: inode tables on a large device take minutes of each trial.
fn describe_mkfs_writes(plan: &Plan, prospect: &Prospect) -> Option<String> {
    let size = prospect.size?;
    let mut largest = 0;
    let able = plan.candidates.iter().filter(|candidate| prospect.reason_to_skip(&candidate.name).is_none());
    let names: Vec<&str> = able
        .filter(|candidate| {
            let written = written_by_mkfs(candidate, size);
            largest = largest.max(written);
            written >= MIN_REPORTED_MKFS_BYTES
        })
        .map(|candidate| candidate.name.as_str())
        .collect();
    (!names.is_empty()).then(|| {
        format!(
            "writes up to {} of inode tables in each trial ({}), however little data there is: a smaller device (--device …@SIZE) saves minutes",
            rough(largest),
            listing(&names, 8)
        )
    })
}

/// Bytes in folders of the user's that commands copy whole: the plan does not say, and only a look there does.
fn measure_folders(plan: &Plan) -> Result<u64, IoFailure> {
    let whole = |phase: &&Phase| {
        matches!(phase.work, PhaseWork::Command(_) | PhaseWork::Operation(Operation::TreeWrite))
    };
    let named =
        plan.phases.iter().filter(whole).filter_map(|phase| plan.datasets.get(phase.dataset.as_ref()?));
    named.filter(|dataset| matches!(dataset, Dataset::Folder { size: None, .. })).map(room_for).sum()
}

/// Bytes as an estimate has them: of more than a few MiB whole ones.
fn rough(bytes: u64) -> Bytes {
    Bytes(if bytes < 10 << 20 { bytes } else { bytes.next_multiple_of(1 << 20) })
}

fn memory_needed(plan: &Plan, choice: &ChosenLab) -> Option<String> {
    // A folder that cannot be read is named beside the bytes that the trials write.
    let staged = bytes_to_stage(&plan.datasets, &plan.phases).ok().flatten().filter(|bytes| *bytes > 0);
    let guest = choice.lab.guest_memory().and_then(|guest| guest.each.last().copied());
    let (needed, text) = match (guest, staged) {
        (Some(guest), _) => {
            let jobs = choice.jobs;
            let what = if jobs > 1 {
                format!("for each of {jobs} guests at once")
            } else {
                "for a guest".to_owned()
            };
            (guest.saturating_mul(jobs as u64), format!("{} {what}, its datasets included", Bytes(guest)))
        }
        (None, Some(staged)) => {
            (staged, format!("{} of datasets that commands need as files", Bytes(staged)))
        }
        (None, None) => return None,
    };
    let free = read_memory(&Root::default()).map_or(u64::MAX, |memory| memory.available);
    Some(if free < needed { format!("{text}, and only {} are free", Bytes(free)) } else { text })
}
