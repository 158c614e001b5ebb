//! What a reader of the numbers must know: cautions from the trials, each once, and those that follow from the run.

use super::text::{count, listing};
use crate::journal::TrialStanding;
use crate::statistics::FEWEST;
use crate::verdict::{Judgement, TrialBasis};

/// One thing to know, with how much of the run it concerns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// In a sentence, without a full stop.
    pub text: String,
    /// The phases it concerns; empty for all.
    pub phases: Vec<String>,
    /// How many trials it concerns; 0 when it is about the run.
    pub trials: usize,
    /// Of how many.
    pub of: usize,
    /// The candidates it concerns, where they are not all.
    pub candidates: Vec<String>,
}

impl Note {
    /// The whole note on one line.
    pub fn line(&self) -> String {
        let names = |names: &[String], at_most| {
            listing(&names.iter().map(String::as_str).collect::<Vec<_>>(), at_most)
        };
        let mut line = match self.phases.as_slice() {
            [] => self.text.clone(),
            _ => format!("{}: {}", names(&self.phases, 6), self.text),
        };
        match (self.trials, self.candidates.as_slice()) {
            (0, _) => {}
            (all, _) if all == self.of => line.push_str(" (all trials)"),
            (some, []) => line.push_str(&format!(" ({some} of {})", count(self.of, "trial"))),
            (some, _) => {
                let of = count(self.of, "trial");
                line.push_str(&format!(" ({some} of {of}: {})", names(&self.candidates, 3)));
            }
        }
        line
    }
}

/// Gathers the notes: first what limits the verdict, then what the trials said, the most frequent first.
pub(super) fn gather(judged: &Judgement<'_>) -> Vec<Note> {
    let run = judged.run;
    let mut notes: Vec<Note> =
        judged.verdict.limits.iter().map(|limit| about_the_run(limit.to_string())).collect();
    notes.extend(sample_notes(judged).into_iter().map(about_the_run));
    let invalid: Vec<_> = run.invalid_blocks().collect();
    for attempts in invalid.chunk_by(|(one, _), (next, _)| one.block == next.block) {
        let text = match attempts {
            [] => continue,
            [(block, rule)] => {
                format!("block {} (attempt {}) was thrown out: {rule}", block.block, block.attempt)
            }
            [.., (block, rule)] => {
                format!(
                    "block {} was thrown out {} times, the last time: {rule}",
                    block.block,
                    attempts.len()
                )
            }
        };
        notes.push(about_the_run(text));
    }
    if run.torn {
        notes.push(about_the_run(
            "the last line of the journal was torn by a crash and is left out".to_owned(),
        ));
    }
    let of = run.trials.iter().filter(|trial| trial.standing != TrialStanding::Discarded).count();
    let mut held = run.held_cautions();
    held.sort_by_key(|known| (known.trials != 0, usize::MAX - known.trials));
    notes.extend(held.into_iter().map(|known| Note {
        text: known.text,
        phases: known.phases,
        trials: known.trials,
        of,
        candidates: if known.candidates.len() == run.candidates.len() {
            Vec::new()
        } else {
            known.candidates
        },
    }));
    notes
}

fn sample_notes(judged: &Judgement<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    if let TrialBasis::OpenBlock(block) = judged.basis {
        notes.push(format!(
            "block {block} is not complete: its numbers are provisional and may be thrown out with it"
        ));
    }
    match judged.sample_sizes() {
        Some((_, 1)) => {
            notes.push("one trial each: how far a repetition would differ is not known".to_owned());
        }
        Some((few, _)) if few < FEWEST as usize => {
            notes.push(format!("as few as {}: below {FEWEST} there is no interval", count(few, "trial")));
        }
        _ => {}
    }
    if judged.run.finished.is_none() {
        notes.push("the run has not ended".to_owned());
    }
    notes
}

fn about_the_run(text: String) -> Note {
    Note { text, phases: Vec::new(), trials: 0, of: 0, candidates: Vec::new() }
}
