//! Prints how the examination of faults goes on: its progress, its results, and the candidates that it leaves out.

use crate::runner::{FaultKind, FaultNews};
use fsverdict_faults::CutProgress;
use fsverdict_judgement::journal::{PowerCuts, RotOutcome, RottenBlocks};
use fsverdict_linux::host::messages::print_line;
use fsverdict_text::{Reason, quoted};

/// Prints the news; if `quiet`, only of candidates that are not examined.
pub(super) fn print_fault_news(news: FaultNews<'_>, quiet: bool) {
    let line = match news {
        FaultNews::CutProgress { .. }
        | FaultNews::CutsExamined(_)
        | FaultNews::RotProgress { .. }
        | FaultNews::RotExamined(_)
            if quiet =>
        {
            return;
        }
        FaultNews::CutProgress { candidate, progress: CutProgress { part, parts, done, all } } => {
            let of = if parts > 1 { format!("part {} of {parts}: ", part + 1) } else { String::new() };
            format!("power cuts: {candidate}: {of}{done} of {all} states examined")
        }
        FaultNews::CutsExamined(cuts) => describe_cuts(cuts),
        FaultNews::RotProgress { candidate, done, all } => {
            format!("rot: {candidate}: {done} of {all} rotten blocks looked at")
        }
        FaultNews::RotExamined(rotten) => describe_rot(rotten),
        FaultNews::Failed { fault: FaultKind::PowerCuts, candidate, error } => {
            format!("power cuts: {candidate}: not examined: {error}")
        }
        FaultNews::Failed { fault: FaultKind::Rot, candidate, error } => {
            format!("rot: {candidate}: not done: {error}")
        }
        FaultNews::TimeUp { fault, folder, candidates } => {
            let names: Vec<&str> = candidates.iter().map(|candidate| candidate.name.as_str()).collect();
            let fault = match fault {
                FaultKind::PowerCuts => "power cuts",
                FaultKind::Rot => "rot",
            };
            let what =
                format!("{fault}: not examined, because the time of the run is up: {}", names.join(", "));
            let run = quoted(&folder.path().to_string_lossy());
            Reason::new(what, format!("`fsverdict crash {run}` examines them without a limit")).to_string()
        }
    };
    print_line(&line);
}

fn describe_cuts(cuts: &PowerCuts) -> String {
    let each: Vec<String> =
        cuts.outcomes.iter().map(|(outcome, count)| format!("{count} {}", outcome.words())).collect();
    format!("power cuts: {}: {} states: {}", cuts.candidate, cuts.states, each.join(", "))
}

fn describe_rot(rotten: &RottenBlocks) -> String {
    let each: Vec<String> = RotOutcome::ALL
        .iter()
        .filter(|outcome| rotten.count(**outcome) > 0)
        .map(|outcome| format!("{} {}", rotten.count(*outcome), outcome.words()))
        .collect();
    let stopped = rotten.stopped.as_ref();
    let stopped =
        stopped.map_or(String::new(), |stopped| format!("; its layout was not read to its end ({stopped})"));
    format!("rot: {}: {} rotten blocks: {}{stopped}", rotten.candidate, rotten.looked, each.join(", "))
}
