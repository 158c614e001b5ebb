//! How far a run has come: a bar on a terminal, plain lines elsewhere. All of it on standard error.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::study::Observer;
use fsverdict_judgement::journal::{Event, Status, TrialId};
use fsverdict_lab::trial::THE_KERNEL;
use fsverdict_linux::host::talk::{fit_to_screen, print_line};
use fsverdict_report::in_lines;
use fsverdict_text::{Reason, rough_duration_text};

/// A bar over the trials with the current candidate and phase, or one line a trial where no terminal is.
#[derive(Debug)]
pub(super) struct Bar {
    bar: ProgressBar,
    plain: bool,
    done: u64,
    started: Instant,
    /// The trials that have begun and not ended, each with its step.
    underway: Vec<(TrialId, String)>,
    /// The candidates of the trials that have not ended, each as often as it is still to be tried.
    to_come: Vec<String>,
    /// How many trials of each candidate have ended, and how many seconds they took.
    taken: BTreeMap<String, (u32, f64)>,
    /// The trial that something outside ended each time, and whose end is said next.
    ended_from_outside: Option<TrialId>,
}

impl Bar {
    /// On standard error.
    pub(super) fn new() -> Self {
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
        let plain = bar.is_hidden();
        // The message takes what is left of the line and is cut there: a line that wraps is not redrawn but left standing.
        if let Ok(style) =
            ProgressStyle::with_template("{bar:12} {pos}/{len} trials, {elapsed} gone{prefix}  {wide_msg}")
        {
            bar.set_style(style);
        }
        if !plain {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        let (underway, to_come, taken) = (Vec::new(), Vec::new(), BTreeMap::new());
        let (done, started) = (0, Instant::now());
        Bar { bar, plain, done, started, underway, to_come, taken, ended_from_outside: None }
    }

    /// `, 3m at least to go`: more blocks follow where what is wanted is not known by then. Each trial to come as long as
    /// its candidate's took so far, what lies between trials included; nothing before the first has ended.
    fn to_go(&self) -> String {
        let (trials, seconds) =
            self.taken.values().fold((0, 0.0), |(all, sum), (trials, taken)| (all + trials, sum + taken));
        if trials == 0 || self.to_come.is_empty() {
            return String::new();
        }
        let one = |name: &String| {
            self.taken
                .get(name)
                .map_or(seconds / f64::from(trials), |(trials, taken)| taken / f64::from(*trials))
        };
        let ahead: f64 = self.to_come.iter().map(one).sum();
        // Several may be under way at once, and something is done between two.
        let pace = self.started.elapsed().as_secs_f64() / seconds.max(1e-3);
        format!(", {} at least to go", rough_duration_text((ahead * pace).max(1.0)))
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
        let told: Vec<String> =
            self.underway.iter().map(|(id, step)| format!("{}{step}", id.candidate)).collect();
        self.bar.set_message(in_lines(&told.join(", ")));
    }

    fn trial_ended(&mut self, id: &TrialId, status: Status, reason: &str, hint: &str, wall: f64) {
        self.done += 1;
        self.bar.set_position(self.done);
        let length = self.bar.length().unwrap_or(self.done).max(self.done);
        if let Some(at) = self.to_come.iter().position(|name| *name == id.candidate) {
            self.to_come.swap_remove(at);
        }
        let (trials, seconds) = self.taken.entry(id.candidate.clone()).or_default();
        (*trials, *seconds) = (*trials + 1, *seconds + wall);
        let to_go = self.to_go();
        self.bar.set_prefix(to_go.clone());
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
    fn expect_trials(&mut self, trials: Vec<String>) {
        self.bar.set_length(self.done + trials.len() as u64);
        self.to_come = trials;
        self.bar.set_prefix(self.to_go());
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
