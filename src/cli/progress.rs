//! How far a run has come: a bar on a terminal, plain lines elsewhere. All of it on standard error.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::study::{Observer, Outlook};
use fsverdict_judgement::journal::{Event, Status, TrialId};
use fsverdict_lab::trial::THE_KERNEL;
use fsverdict_linux::host::messages::{fit_to_screen, print_line};
use fsverdict_report::in_lines;
use fsverdict_text::{Reason, rough_duration_text};

use super::status::{name_leaders, time_to_go};

/// A bar over the trials with the current candidate and phase, or one line a trial where no terminal is.
#[derive(Debug)]
pub(super) struct Bar {
    bar: ProgressBar,
    plain: bool,
    done: u64,
    /// The trials that have begun and not ended, each with its step.
    underway: Vec<(TrialId, String)>,
    /// The remaining work and the leader, as of the last end of a trial.
    outlook: Outlook,
    /// Seconds that the run had been in progress when its block began, and when that was.
    worked_before: f64,
    block_began: Instant,
    /// The trial that was interrupted from outside every time; its end is reported next.
    ended_from_outside: Option<TrialId>,
}

impl Bar {
    /// On standard error.
    pub(super) fn new() -> Self {
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
        let plain = bar.is_hidden();
        // The message takes the rest of the line and is cut there: a line that wraps would not be redrawn but stay on
        // the screen.
        if let Ok(style) =
            ProgressStyle::with_template("{bar:12} {pos}/{len} trials, {elapsed} gone{prefix}\n{wide_msg}")
        {
            bar.set_style(style);
        }
        if !plain {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        Bar {
            bar,
            plain,
            done: 0,
            underway: Vec::new(),
            outlook: Outlook::default(),
            worked_before: 0.0,
            block_began: Instant::now(),
            ended_from_outside: None,
        }
    }

    /// The text of the bar beside the count: `, about 3m to go, 8m simulated`.
    fn beside_count(&self) -> String {
        let simulated =
            self.outlook.simulated.map(|seconds| format!("{} simulated", rough_duration_text(seconds)));
        let parts = [self.to_go(), simulated];
        parts.into_iter().flatten().map(|part| format!(", {part}")).collect()
    }

    /// The time that the run will still take; `None` before the first trial has ended, and after the last.
    fn to_go(&self) -> Option<String> {
        let seconds = self.outlook.seconds(std::iter::empty())?;
        (self.outlook.trials().least > 0).then(|| time_to_go(&seconds))
    }

    /// A line that stays.
    pub(super) fn say(&self, line: &str) {
        if self.plain { print_line(line) } else { self.bar.println(fit_to_screen(&in_lines(line))) }
    }

    /// The step a trial is at, or that it has ended; all that are under way are shown.
    fn step(&mut self, id: &TrialId, step: Option<String>) {
        match (self.underway.iter().position(|(known, _)| known == id), step) {
            (Some(at), Some(step)) => self.underway[at].1 = step,
            (Some(at), None) => drop(self.underway.remove(at)),
            (None, Some(step)) => self.underway.push((id.clone(), step)),
            (None, None) => {}
        }
        self.show_trials();
    }

    /// The line below the bar: the leader, and the trials in progress.
    fn show_trials(&self) {
        let lines: Vec<String> =
            self.underway.iter().map(|(id, step)| format!("{}{step}", id.candidate)).collect();
        let parts = [name_leaders(&self.outlook.leaders), lines.join(", ")];
        let parts: Vec<&str> = parts.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
        self.bar.set_message(in_lines(&parts.join("; ")));
    }

    fn trial_ended(&mut self, id: &TrialId, status: Status, reason: &str, hint: &str, wall: f64) {
        self.done += 1;
        self.bar.set_position(self.done);
        let length = self.bar.length().unwrap_or(self.done).max(self.done);
        self.outlook.worked = self.worked_before + self.block_began.elapsed().as_secs_f64();
        self.outlook.trial_ended(&id.candidate, wall);
        self.bar.set_prefix(self.beside_count());
        let to_go = self.to_go().map_or(String::new(), |text| format!(", {text}"));
        if self.plain {
            let outcome = match status {
                Status::Ok => "ok",
                Status::Failed if self.ended_from_outside.as_ref() == Some(id) => "NOT COMPLETED",
                Status::Failed => "FAILED",
            };
            print_line(&format!(
                "trial {}/{length}: block {} {} {outcome} in {wall:.1} s{to_go}",
                self.done, id.block, id.candidate
            ));
        }
        if status == Status::Failed {
            let first = reason.lines().next().unwrap_or_default();
            let what = match self.ended_from_outside.take_if(|interrupted| interrupted == id) {
                Some(_) => "is not judged, because its trial did not complete",
                None => "failed",
            };
            self.say(&format!("warning: {} {what} in block {}: {first}", id.candidate, id.block));
            reason.lines().filter(|line| line.starts_with(THE_KERNEL)).for_each(|line| self.say(line));
            if !hint.is_empty() {
                self.say(&format!("hint: {hint}"));
            }
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

impl Observer for Bar {
    fn expect_trials(&mut self, outlook: Outlook) {
        let trials = outlook.trials();
        self.bar.set_length(self.done + u64::from(trials.likely.unwrap_or(trials.least)));
        (self.worked_before, self.block_began) = (outlook.worked, Instant::now());
        self.outlook = outlook;
        self.bar.set_prefix(self.beside_count());
        let leaders = name_leaders(&self.outlook.leaders);
        if self.plain && !leaders.is_empty() {
            print_line(&leaders);
        }
        self.show_trials();
    }

    fn observe_event(&mut self, trial: Option<&TrialId>, event: &Event) {
        match (trial, event) {
            (Some(id), Event::TrialStarted {}) => {
                if self.underway.iter().any(|(known, _)| known == id) {
                    self.say(&format!(
                        "warning: {} was killed in block {} and is repeated",
                        id.candidate, id.block
                    ));
                }
                self.step(id, Some(String::new()));
            }
            (Some(id), Event::Surroundings(seen)) if seen.from_outside => {
                self.ended_from_outside = Some(id.clone());
            }
            (_, Event::Facts { learnt, .. }) => {
                // Of a trial that is still to end; the outlook of the next block counts those that succeeded.
                if let Some(seconds) = learnt.device_seconds {
                    *self.outlook.simulated.get_or_insert(0.0) += seconds;
                }
            }
            (Some(id), Event::StepStarted { step }) => self.step(id, Some(format!(": {step}"))),
            (Some(id), Event::TrialFinished { status, reason, hint, wall }) => {
                self.step(id, None);
                self.trial_ended(id, *status, reason, hint, *wall);
            }
            (_, Event::CandidateSkipped { candidate, reason, hint }) => {
                self.say(&Reason::new(format!("skipped {candidate}: {reason}"), hint.as_str()).to_string());
            }
            (_, Event::CandidateDropped { candidate, reason }) => {
                self.say(&format!("{candidate} gets no more trials: {reason}"));
            }
            (_, Event::BlockFinished { block, invalid: Some(rule), .. }) => {
                self.say(&format!("block {block} does not count and is repeated: {rule}"));
            }
            _ => {}
        }
    }
}
