//! Ctrl-C: what was kept and how to go on, then the end that the signal means.

use std::thread;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

use crate::host::talk::say;
use crate::journal::{Run, TrialStanding};
use crate::plan::{Plan, quoted};
use crate::study::RunFolder;

/// From now on. What the run has open ends with the program, as it does when it is killed; there is nothing to undo here.
pub(super) fn explain(folder: &RunFolder, plan: &Plan) {
    let (folder, plan) = (folder.clone(), plan.clone());
    // Where signals cannot be had, they end the program without a word, which is no reason not to run.
    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM]) else { return };
    thread::spawn(move || {
        for signal in signals.forever() {
            say(&format!("\n{}", parting(&folder, &plan)));
            let _ = emulate_default_handler(signal);
        }
    });
}

fn parting(folder: &RunFolder, plan: &Plan) -> String {
    let run = quoted(&folder.path().to_string_lossy());
    let kept = Run::read(plan, &folder.journal()).map_or(0, |run| {
        run.trials.iter().filter(|trial| trial.standing != TrialStanding::Discarded).count()
    });
    let kept = match kept {
        0 => "no trial had ended".to_owned(),
        1 => format!("one finished trial is kept in {run}"),
        many => format!("{many} finished trials are kept in {run}"),
    };
    format!(
        "interrupted: {kept}\nhint: `fsverdict resume {run}` goes on, `fsverdict report {run}` shows what is known so far"
    )
}
