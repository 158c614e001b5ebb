//! Notes for the reader of the numbers: cautions from the trials, each once, and those that follow from the run.

use crate::conclusion::clauses::is_stated;
use crate::model::{Clause, ClauseKind};
use crate::topics::TOPICS;
use crate::wording::{count, listing};
use fsverdict_judgement::journal::{CautionKind, TrialStanding};
use fsverdict_judgement::plan::group_by_key;
use fsverdict_judgement::statistics::FEWEST;
use fsverdict_judgement::verdict::{Judgement, Limit, TrialBasis};

/// A note, with how much of the run it concerns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageNote {
    /// A sentence without a full stop.
    pub text: String,
    /// The phases it concerns; empty for all.
    pub phases: Vec<String>,
    /// The number of trials it concerns; 0 when it is about the whole run.
    pub trials: usize,
    /// The total that `trials` is a part of.
    pub of: usize,
    /// The candidates it concerns, where they are not all.
    pub candidates: Vec<String>,
    /// Whether it is about details; then a terminal shows it only with all tables.
    pub detail: bool,
}

impl PageNote {
    pub(crate) fn about_the_run(text: String) -> Self {
        PageNote { text, phases: Vec::new(), trials: 0, of: 0, candidates: Vec::new(), detail: false }
    }

    /// The whole note on one line.
    pub fn line(&self) -> String {
        let names = |names: &[String], at_most| listing(names, at_most);
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

/// Gathers the notes: first the limits of the verdict, then the cautions of the trials, the most frequent first.
pub(crate) fn gather(judged: &Judgement<'_>) -> Vec<PageNote> {
    let run = judged.run;
    let mut clauses: Vec<Clause> = TOPICS.iter().flat_map(|topic| (topic.list_clauses)(judged)).collect();
    clauses.extend(Clause::list_limits(judged).into_iter().zip(&judged.verdict.limits).map(
        |(clause, limit)| {
            let is_reason = limit.may_change_decision()
                && !is_stated(judged, limit)
                && !is_of_level_beside(judged, limit);
            if is_reason { clause } else { Clause::new(ClauseKind::Note, clause.text) }
        },
    ));
    clauses.retain(|clause| clause.is_noted);
    // The notes of topics stand in the order of their tables.
    clauses.sort_by_key(|clause| match clause.kind {
        ClauseKind::TooLittle => 0,
        ClauseKind::Limit => 1,
        _ => 2,
    });
    let note = |clause: Clause| PageNote {
        detail: !clause.may_change_decision(),
        ..PageNote::about_the_run(clause.text)
    };
    let mut notes: Vec<PageNote> = clauses.into_iter().map(note).collect();
    notes.extend(sample_notes(judged).into_iter().map(PageNote::about_the_run));
    let invalid: Vec<_> = run.invalid_blocks().collect();
    for attempts in invalid.chunk_by(|(estimate, _), (next, _)| estimate.block == next.block) {
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
        notes.push(PageNote::about_the_run(text));
    }
    if run.torn {
        notes.push(PageNote::about_the_run(
            "the last line of the journal was torn by a crash and is left out".to_owned(),
        ));
    }
    let of = run.trials.iter().filter(|trial| trial.standing != TrialStanding::Discarded).count();
    let mut cautions = run.summarize_cautions();
    cautions.sort_by_key(|known| (known.trials != 0, usize::MAX - known.trials));
    notes.extend(cautions.into_iter().map(|known| {
        let is_counted = |phase: &String| judged.objective.weights.contains_key(phase);
        let is_beside = !known.phases.is_empty() && !known.phases.iter().any(is_counted);
        // A caution about all candidates favours none of them.
        let concerns_all = known.candidates.len() == run.candidates.len();
        PageNote {
            text: known.write_sentence(),
            phases: known.phases,
            trials: known.trials,
            of,
            candidates: if concerns_all { Vec::new() } else { known.candidates },
            detail: is_beside || concerns_all && known.kind == CautionKind::Other,
        }
    }));
    notes.extend(set_aside(judged));
    notes
}

/// Candidates with numbers in the goal's table that leave out trials as outliers, and so differ from the mean of all.
fn set_aside(judged: &Judgement<'_>) -> Vec<PageNote> {
    let metric = &judged.plan.goal.metric;
    let of_goal =
        |phase: &str| judged.phases.iter().any(|entry| entry.name == phase && judged.is_headline(entry));
    let found =
        judged.estimates.iter().filter(|estimate| estimate.metric == *metric && of_goal(&estimate.phase));
    // Candidates with the same note share it.
    let notes_of = found.filter(|estimate| estimate.set_aside > 0).map(|estimate| {
        let what = (estimate.phase.as_str(), estimate.set_aside, estimate.estimate.n);
        (what, estimate.candidate.as_str())
    });
    let note = |((phase, aside, of), names): ((&str, usize, usize), Vec<&str>)| {
        let each = if names.len() > 1 { " each" } else { "" };
        let (trials, names) = (count(of, "trial"), listing(&names, 4));
        PageNote {
            phases: vec![phase.to_owned()],
            detail: true,
            ..PageNote::about_the_run(format!(
                "{aside} of {trials} of {names}{each} set aside, too far from the others to count in the mean"
            ))
        }
    };
    group_by_key(notes_of).into_iter().map(note).collect()
}

/// Whether a limit is about the order of another protection level than the one that a candidate is taken from.
fn is_of_level_beside(judged: &Judgement<'_>, limit: &Limit) -> bool {
    let Limit::ModelsMayReverse { first, .. } = limit else { return false };
    judged.verdict.trades.first().is_some_and(|trade| trade.taken != *first)
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

#[cfg(test)]
mod tests {
    use crate::fixtures::{PLAIN, Story, id, page_of};
    use crate::{Format, TerminalLook};

    /// Five blocks of two candidates; in the third one of them takes four times as long to search.
    fn strayed(by: f64) -> Story {
        let mut story = Story::new(&["ext4", "xfs"], &["search"]);
        for block in 1..=5 {
            story.open_block(block, 1, &["ext4", "xfs"]);
            let wobble = 1.0 + 0.01 * f64::from(block * 2 % 5);
            let wild = if block == 3 { by } else { 1.0 };
            story.trial(&id(block, "ext4"), &[("search", 0.09 * wobble)]);
            story.trial(&id(block, "xfs"), &[("search", 0.1 * wild * (2.02 - wobble))]);
            story.close_block(block, 1, None);
        }
        story.finish();
        story
    }

    #[test]
    fn a_trial_that_a_number_leaves_out_is_said_wherever_every_table_is() {
        let page = |story: &Story, format: Format| {
            page_of(story, None, format).split_whitespace().collect::<Vec<_>>().join(" ")
        };
        let said = "search: 1 of 5 trials of xfs set aside, too far from the others to count in the mean";
        let (story, calm) = (strayed(4.0), strayed(1.0));
        let all = Format::Terminal(TerminalLook { detail: true, ..PLAIN });
        for format in [all, Format::Markdown, Format::Html, Format::Json] {
            assert!(page(&story, format).contains(said), "{}", page(&story, format));
            assert!(!page(&calm, format).contains("set aside, too far"), "{}", page(&calm, format));
        }
        assert!(!page(&story, Format::Terminal(PLAIN)).contains(said));
    }
}
