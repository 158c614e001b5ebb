//! Handles Ctrl-C: tells the user which results are kept and how to continue the run, then ends the program by the
//! signal.

use std::thread;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

use crate::study::RunFolder;
use fsverdict_judgement::journal::{Run, TrialStanding};
use fsverdict_judgement::plan::{DeviceSource, Plan};
use fsverdict_linux::host::messages::print_line;
use fsverdict_text::{Reason, quoted};

/// Handles signals from now on. Everything that the run has open ends with the program, as when it is killed; there is
/// nothing to undo here.
pub(super) fn explain_signals(folder: &RunFolder, plan: &Plan) {
    let (folder, plan) = (folder.clone(), plan.clone());
    // If no handler can be set, signals end the program without a message, which is no reason not to run.
    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM]) else { return };
    thread::spawn(move || {
        for signal in signals.forever() {
            print_line(&format!("\n{}", describe_interruption(&folder, &plan)));
            let _ = emulate_default_handler(signal);
        }
    });
}

fn describe_interruption(folder: &RunFolder, plan: &Plan) -> String {
    let run = quoted(&folder.path().to_string_lossy());
    let so_far = Run::read_in_folder(plan, &folder.journal()).ok();
    let trial_count = so_far.as_ref().map_or(0, |run| {
        run.trials.iter().filter(|trial| trial.standing != TrialStanding::Discarded).count()
    });
    // A device then holds a candidate's filesystem, so that resuming needs its identity. A device without one of its
    // own is named in the refusal.
    let fact = |name: String| so_far.as_ref()?.header.environment.get(&name).cloned();
    let erase = |(number, source): (usize, &DeviceSource)| {
        let name =
            if number > 1 { format!("device.{number}.identity") } else { "device.identity".to_owned() };
        let identity = fact(name).filter(|_| matches!(source, DeviceSource::Path(_)))?;
        Some(format!(" --erase {}", quoted(&identity)))
    };
    let erase: String = (1..).zip(plan.device.all_sources()).filter_map(erase).collect();
    let trials_kept = match trial_count {
        0 => "no trial had ended".to_owned(),
        1 => format!("one finished trial is saved in {run}"),
        many => format!("{many} finished trials are saved in {run}"),
    };
    let hint = format!(
        "continue with `fsverdict resume {run}{erase}`, or see the result so far with `fsverdict report {run}`"
    );
    Reason::new(format!("interrupted: {trials_kept}"), hint).to_string()
}
