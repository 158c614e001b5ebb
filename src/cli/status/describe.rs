//! The progress of a run in words: lines with a label each, or all of it in one line.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::reading::{RunActivity, RunProgress, TrialProgress};
use crate::study::{Leader, ToCome};
use fsverdict_report::{count, in_lines, wrap};
use fsverdict_text::{quoted, rough_duration_text};

/// The width of the labels.
const LABEL: usize = 11;

/// `about 3m to go`, or `3m at least to go` while no more is known.
pub(in super::super) fn time_to_go(seconds: &ToCome<f64>) -> String {
    let rounded = |seconds: f64| rough_duration_text(seconds.max(1.0));
    match seconds.likely {
        Some(likely) => format!("about {} to go", rounded(likely)),
        None => format!("{} at least to go", rounded(seconds.least)),
    }
}

/// `xfs leads`, or with several contests `encrypted: xfs+luks2 leads; unencrypted: ext4 leads`; empty without a leader.
pub(in super::super) fn name_leaders(leaders: &[Leader]) -> String {
    let one = |leader: &Leader| match leader.contest.as_str() {
        "" => format!("{} leads", leader.candidate),
        contest => format!("{contest}: {} leads", leader.candidate),
    };
    leaders.iter().map(one).collect::<Vec<_>>().join("; ")
}

/// All of it, in lines of at most `columns`.
pub(super) fn describe(status: &RunProgress, columns: usize) -> String {
    let mut lines = vec![in_lines(&status.title)];
    for (label, text) in rows(status) {
        let wrapped = wrap(&in_lines(&text), columns.saturating_sub(LABEL));
        lines.push(format!("{label:LABEL$}{}", wrapped.join(&format!("\n{:LABEL$}", ""))));
    }
    lines.join("\n")
}

/// `12:00:01 block 3, 35 trials ended, about 3m to go; xfs leads`.
pub(super) fn describe_in_line(status: &RunProgress) -> String {
    let block = status.block.map(|block| format!("block {block}"));
    let ended = format!("{} ended", count(status.trials.ended, "trial"));
    let to_go = status.seconds_to_go.as_ref().map(time_to_go);
    let parts: Vec<String> = [block, Some(ended), to_go].into_iter().flatten().collect();
    let leaders = match name_leaders(&status.leaders) {
        none if none.is_empty() => none,
        leaders => format!("; {leaders}"),
    };
    in_lines(&format!("{} {}{leaders}", clock_time(Timestamp::now()), parts.join(", ")))
}

fn rows(status: &RunProgress) -> Vec<(&'static str, String)> {
    let mut rows = vec![("State", state(status))];
    if status.started.is_some() {
        rows.push(("Blocks", blocks(status)));
        rows.push(("Trials", trials(status)));
    }
    if !status.underway.is_empty() {
        let doing = if status.state == RunActivity::Running { "Now" } else { "Cut off" };
        let left_out = Some(status.underway_left_out).filter(|number| *number > 0);
        let left_out =
            left_out.map(|number| format!("{} that began earlier are left out", count(number, "trial")));
        let trials: Vec<String> = left_out.into_iter().chain(status.underway.iter().map(trial)).collect();
        rows.push((doing, trials.join("; ")));
    }
    if let Some(simulated) = status.simulated_seconds {
        let (simulated, wall) = (rough_duration_text(simulated), rough_duration_text(status.wall_seconds));
        rows.push(("Simulated", format!("{simulated} of device time in {wall}")));
    }
    rows.extend(status.leaders.iter().map(|leader| ("Leader", leader_with_rivals(leader))));
    if status.state == RunActivity::Running {
        rows.push(("To go", to_go(status)));
    }
    let run = quoted(&status.run);
    match status.state {
        RunActivity::Stopped => rows.push(("Next", format!("`fsverdict resume {run}` continues it"))),
        RunActivity::Ended => rows.push(("Next", format!("`fsverdict report {run}` shows the result"))),
        RunActivity::Preparing | RunActivity::Running | RunActivity::Examining => {}
    }
    rows
}

fn state(status: &RunProgress) -> String {
    let process = status.process.map_or(String::new(), |process| format!(" (process {process})"));
    let what = match status.state {
        RunActivity::Preparing => {
            "nothing is recorded yet: it is being prepared, or was stopped before".to_owned()
        }
        RunActivity::Running => format!("running{process}"),
        RunActivity::Examining => {
            format!("the trials have ended; what comes after them is under way{process}")
        }
        RunActivity::Stopped => {
            "stopped before its end: no process on this machine is writing its journal".to_owned()
        }
        RunActivity::Ended => "ended".to_owned(),
    };
    let reason = status.reason.as_ref().map_or(String::new(), |reason| format!(": {reason}"));
    let since = status.started.map_or(String::new(), |started| {
        let last = status.last_record.filter(|_| !status.state.is_going_on());
        let last = last.map_or(String::new(), |last| format!(", last record {}", date_and_time(last)));
        format!(
            "; begun {}, {} of work{last}",
            date_and_time(started),
            rough_duration_text(status.wall_seconds)
        )
    });
    format!("{what}{reason}{since}")
}

fn blocks(status: &RunProgress) -> String {
    let counted = &status.blocks;
    // Of a range, only the trials have an upper bound: candidates that rest leave theirs to the others.
    let wanted = match counted.least == counted.most {
        true => format!("of {} planned", counted.most),
        false => format!("of at least {}", counted.least),
    };
    let now = status.block.map_or(String::new(), |block| format!("; the last to begin is block {block}"));
    format!("{} complete {wanted}{now}", counted.complete)
}

fn trials(status: &RunProgress) -> String {
    let counted = &status.trials;
    let to_come = &counted.to_come;
    let number = match to_come.likely {
        Some(likely) if likely == to_come.most => format!("{likely}"),
        Some(likely) => format!("about {likely} (at least {}, at most {})", to_come.least, to_come.most),
        None => format!("at least {}, at most {}", to_come.least, to_come.most),
    };
    let mut parts = vec![format!("{} ended", counted.ended)];
    parts.extend((counted.failed > 0).then(|| format!("{} of them failed", counted.failed)));
    parts.extend((counted.discarded > 0).then(|| format!("{} do not count", counted.discarded)));
    if status.state != RunActivity::Ended {
        parts.push(format!("{number} to come"));
    }
    parts.join(", ")
}

fn trial(trial: &TrialProgress) -> String {
    let seconds = rough_duration_text(trial.seconds_in_step);
    match trial.step.as_str() {
        "" => format!("{} in block {} is starting, for {seconds}", trial.candidate, trial.block),
        step => format!("{} in block {}: {step}, for {seconds}", trial.candidate, trial.block),
    }
}

fn leader_with_rivals(leader: &Leader) -> String {
    let contest = match leader.contest.as_str() {
        "" => String::new(),
        contest => format!("{contest}: "),
    };
    let rivals = match leader.open_rivals {
        0 => "settled".to_owned(),
        open => format!("{} not settled against it", count(open, "candidate")),
    };
    format!("{contest}{} ({rivals})", leader.candidate)
}

fn to_go(status: &RunProgress) -> String {
    let Some(seconds) = &status.seconds_to_go else {
        return "not known before the first trial has ended".to_owned();
    };
    let rounded = |seconds: f64| rough_duration_text(seconds.max(1.0));
    let bounds = format!("at least {}, at most {}", rounded(seconds.least), rounded(seconds.most));
    match seconds.likely {
        Some(likely) => {
            let end = SignedDuration::try_from_secs_f64(likely)
                .ok()
                .and_then(|likely| Timestamp::now().checked_add(likely).ok());
            let end = end.map_or(String::new(), |end| format!(", until {}", clock_time(end)));
            match seconds.least == seconds.most {
                true => format!("about {}{end}", rounded(likely)),
                false => format!("about {}{end} ({bounds})", rounded(likely)),
            }
        }
        None => bounds,
    }
}

fn clock_time(at: Timestamp) -> String {
    at.to_zoned(TimeZone::system()).strftime("%H:%M:%S").to_string()
}

fn date_and_time(at: Timestamp) -> String {
    at.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string()
}
