//! How far a run has come: a bar on a terminal, plain lines elsewhere. All of it on standard error.

use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::host::talk::{say, screenful};
use crate::journal::{Event, Status, TrialId};
use crate::study::Observer;

/// A bar over the trials with the current candidate and phase, or one line a trial where no terminal is.
#[derive(Debug)]
pub(super) struct Bar {
    bar: ProgressBar,
    plain: bool,
    done: u64,
    started: Instant,
    /// The trials that have begun and not ended, each with its step.
    underway: Vec<(TrialId, String)>,
}

impl Bar {
    /// On standard error.
    pub(super) fn new() -> Self {
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
        let plain = bar.is_hidden();
        // The message takes what is left of the line and is cut there: a line that wraps is not redrawn but left standing.
        let template = "{bar:12} {pos}/{len} trials, {elapsed} gone{to_go}  {wide_msg}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.with_key("to_go", |state: &ProgressState, to: &mut dyn std::fmt::Write| {
                if (1..state.len().unwrap_or(0)).contains(&state.pos()) {
                    let _ = write!(to, ", {:#} at least to go", HumanDuration(state.eta()));
                }
            }));
        }
        if !plain {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        Bar { bar, plain, done: 0, started: Instant::now(), underway: Vec::new() }
    }

    /// A line that stays.
    pub(super) fn say(&self, line: &str) {
        if self.plain { say(line) } else { self.bar.println(screenful(line)) }
    }

    /// The step a trial is at, or that it has ended; all that are under way are shown.
    fn step(&mut self, id: &TrialId, step: Option<String>) {
        match (self.underway.iter().position(|(known, _)| known == id), step) {
            (Some(at), Some(step)) => self.underway[at].1 = step,
            (Some(at), None) => drop(self.underway.remove(at)),
            (None, Some(step)) => self.underway.push((id.clone(), step)),
            (None, None) => {}
        }
        let told: Vec<String> =
            self.underway.iter().map(|(id, step)| format!("{}{step}", id.candidate)).collect();
        self.bar.set_message(told.join(", "));
    }

    fn trial_ended(&mut self, id: &TrialId, status: Status, (reason, hint): (&str, &str), wall: f64) {
        self.done += 1;
        self.bar.set_position(self.done);
        let length = self.bar.length().unwrap_or(self.done).max(self.done);
        let to_go = self.started.elapsed().mul_f64((length - self.done) as f64 / self.done as f64);
        if self.plain {
            let outcome = if status == Status::Ok { "ok" } else { "FAILED" };
            // More blocks follow where what is wanted is not known by then.
            let to_go = if to_go.is_zero() {
                String::new()
            } else {
                format!(", {:#} at least to go", HumanDuration(to_go))
            };
            say(&format!(
                "trial {}/{length}: block {} {} {outcome} in {wall:.1} s{to_go}",
                self.done, id.block, id.candidate
            ));
        }
        if status == Status::Failed {
            let first = reason.lines().next().unwrap_or_default();
            self.say(&format!("warning: {} failed in block {}: {first}", id.candidate, id.block));
            if !hint.is_empty() {
                self.say(&format!("hint: {hint}"));
            }
        }
    }
}

impl Default for Bar {
    fn default() -> Self {
        Bar::new()
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

impl Observer for Bar {
    fn expect(&mut self, trials: u64) {
        self.bar.set_length(self.done + trials);
    }

    fn event(&mut self, trial: Option<&TrialId>, event: &Event) {
        match (trial, event) {
            (Some(id), Event::TrialStarted {}) => {
                if self.underway.iter().any(|(known, _)| known == id) {
                    self.say(&format!(
                        "warning: {} was killed in block {} and is tried again",
                        id.candidate, id.block
                    ));
                }
                self.step(id, Some(String::new()));
            }
            (Some(id), Event::StepStarted { step }) => self.step(id, Some(format!(": {step}"))),
            (Some(id), Event::TrialFinished { status, reason, hint, wall }) => {
                self.step(id, None);
                self.trial_ended(id, *status, (reason, hint), *wall);
            }
            (_, Event::CandidateSkipped { candidate, reason, hint }) => {
                self.say(&format!("skipped {candidate}: {reason}\nhint: {hint}"));
            }
            (_, Event::CandidateDropped { candidate, reason }) => {
                self.say(&format!("{candidate} is no longer tried: {reason}"));
            }
            (_, Event::BlockFinished { block, invalid: Some(rule), .. }) => {
                self.say(&format!("block {block} does not count and is repeated: {rule}"));
            }
            _ => {}
        }
    }
}
