//! Reports of a comparison of runs, for people and programs: one renderer per file.

mod data;
mod page;
mod picture;
mod row;
#[cfg(test)]
mod tests;

use std::io;

use crate::compare::row::{CompareRow, Trend, build_row};
use crate::forms;
use crate::wording::{TextTable, count, listing};
use crate::{Format, ReportError};
use fsverdict_judgement::journal::Run;
use fsverdict_judgement::verdict::{ALPHA, ContrastOutcome, History, MetricChange, RunComparison};

/// Columns of words, which are aligned to the left.
const WORDS: [&str; 4] = ["phase", "outcome", "trend", "last step"];

/// Two or more runs in order, with the result of comparing them.
#[derive(Debug, Clone, Copy)]
pub struct ComparisonReport<'a> {
    pub before: &'a Run,
    /// The runs between the first and the last.
    pub between: &'a [&'a Run],
    pub after: &'a Run,
    pub found: &'a History,
}

impl<'a> ComparisonReport<'a> {
    /// Writes the comparison in this format.
    pub fn write(&self, format: Format, out: &mut dyn io::Write) -> Result<(), ReportError> {
        forms::write(self, format, out)
    }

    fn runs(&self) -> impl Iterator<Item = &'a Run> {
        [self.before].into_iter().chain(self.between.iter().copied()).chain([self.after])
    }

    fn steps(&self) -> impl Iterator<Item = (&'a Run, &'a Run, &'a RunComparison)> {
        let pairs = self.runs().zip(self.runs().skip(1));
        pairs.zip(&self.found.steps).map(|((from, to), found)| (from, to, found))
    }

    /// The outcome in a sentence or two, with names as the plan has them.
    fn write_sentence(&self) -> String {
        let whole = outcome(&self.found.whole);
        let (earlier, later) = (self.before.header.kernel(), self.after.header.kernel());
        let kernels = earlier.zip(later).filter(|(earlier, later)| earlier != later);
        let kernels = kernels.map(|(earlier, later)| format!("Linux {later} against {earlier}"));
        let Some(last) = self.found.steps.last() else {
            return kernels.map_or_else(|| whole.clone(), |kernels| format!("{whole} That is {kernels}."));
        };
        let kernels = kernels.map_or(String::new(), |kernels| format!(", {kernels}"));
        let since = match changed(last).as_slice() {
            [] => "nothing was shown to change".to_owned(),
            parts => parts.join("; "),
        };
        format!(
            "{whole} That is since the first of {} runs{kernels}; since the one before, {since}.",
            self.runs().count()
        )
    }

    fn write_legend(&self) -> String {
        let found = &self.found.whole;
        let steps = if self.found.steps.is_empty() {
            String::new()
        } else {
            format!(
                " trend: each run, the lowest to the highest of its row, or of {} where that is more.",
                row::share(found.tie)
            )
        };
        let allowed = match found.between_runs {
            none if none <= 0.0 => String::new(),
            some => format!(
                ", with a standard deviation of {} between the times of two runs of the same allowed for (--between-runs)",
                row::share(some)
            ),
        };
        let pairs =
            if found.paired { " in the same block, which drew the same device in both runs" } else { "" };
        format!(
            "{}: geometric means ± half their 95% interval. change: after against before{pairs}. worse, better: significant over all {} comparisons (Holm, {}) and beyond {}{allowed}; same: the interval, of these two runs, lies within it.{steps}",
            found.goal.metric,
            self.found.count_comparisons(),
            row::share(ALPHA),
            row::share(found.tie)
        )
    }

    /// The changes that are judged between the first and the last run, with the trend between them where there are more
    /// runs.
    fn build_table(&self) -> TextTable {
        let several = !self.found.steps.is_empty();
        let mut header = vec!["candidate", "phase", "before", "after", "change", "95% interval", "outcome"];
        if several {
            header.extend(["trend", "last step"]);
        }
        let rows = self.found.whole.judged.iter().map(|change| {
            let mut cells = numbers(change, change.subject().to_owned());
            cells.push(change.outcome().map_or("", ContrastOutcome::as_change).to_owned());
            if several {
                let trend = Trend::of(self, change);
                cells.push(trend.spark());
                cells.push(trend.last_step().map_or("–", ContrastOutcome::as_change).to_owned());
            }
            cells
        });
        TextTable::new("", &header, rows.collect())
    }

    /// The changes shown for information: costs, and the steps around the phases; without `all`, only those larger than
    /// the tie.
    fn costs(&self, all: bool) -> TextTable {
        let header = ["candidate", "phase", "before", "after", "change", "95% interval"];
        let tie = 1.0 + self.found.whole.tie;
        let shown = |change: &&MetricChange| all || !(1.0 / tie..=tie).contains(&change.ratio.point);
        let rows = self
            .found
            .whole
            .costs
            .iter()
            .filter(shown)
            .map(|change| numbers(change, format!("{} {}", change.subject(), change.metric)));
        let changed = if all {
            String::new()
        } else {
            format!(", where it changed by more than {}", row::share(self.found.whole.tie))
        };
        let title = format!("For information{changed}: not tested, and no part of the outcome");
        TextTable::new(title, &header, rows.collect())
    }

    /// Remarks that a reader must know: a label and a sentence each.
    fn write_remarks(&self) -> Vec<(&'static str, String)> {
        let whole = &self.found.whole;
        let mut remarks: Vec<(&str, String)> = Vec::new();
        for (label, entries) in [("Broken", &whole.broken), ("Left out", &whole.left_out)] {
            remarks
                .extend(entries.iter().map(|left| (label, format!("{}: {}", left.candidate, left.reason))));
        }
        for (from, to, step) in self.steps() {
            let parts = changed(step);
            if !parts.is_empty() {
                let differs = match differences(step) {
                    none if none.is_empty() => "nothing that is recorded differs".to_owned(),
                    some => some.join("; "),
                };
                remarks.push((
                    "Step",
                    format!("{} → {}: {}. {differs}", from.header.id, to.header.id, parts.join("; ")),
                ));
            }
        }
        let differs = differences(whole);
        if differs.is_empty() {
            let none = "nothing that is recorded: this compares two times, not two configurations";
            remarks.push(("Differs", none.to_owned()));
        }
        remarks.extend(differs.into_iter().map(|text| ("Differs", text)));
        remarks.extend(whole.cautions.iter().map(|text| ("Caution", text.clone())));
        remarks
    }
}

/// The changes: candidates that broke, got worse or got better.
fn changed(found: &RunComparison) -> Vec<String> {
    let mut parts = Vec::new();
    if !found.broken.is_empty() {
        let names: Vec<&str> = found.broken.iter().map(|left| left.candidate.as_str()).collect();
        parts.push(format!("{} went well before and failed after", listing(&names, 4)));
    }
    for (outcome, word) in [(ContrastOutcome::Behind, "worse"), (ContrastOutcome::Better, "better")] {
        let changes: Vec<String> = found.judged_as(outcome).map(within_a_sentence).collect();
        if !changes.is_empty() {
            parts.push(format!("{word}: {}", listing(&changes, 6)));
        }
    }
    parts
}

fn outcome(found: &RunComparison) -> String {
    let mut parts = changed(found);
    let apart: Vec<String> =
        found.judged.iter().filter(|change| is_apart(change)).map(within_a_sentence).collect();
    if !apart.is_empty() {
        parts.push(format!("no more than two runs of the same may differ by: {}", listing(&apart, 6)));
    }
    let same = found.judged_as(ContrastOutcome::Tied).count();
    let unknown = found.judged_as(ContrastOutcome::Undecided).count();
    if same > 0 {
        parts.push(format!("{} the same within {}", count(same, "comparison"), row::share(found.tie)));
    }
    if unknown > apart.len() {
        parts.push(format!("{} undecided", count(unknown - apart.len(), "comparison")));
    }
    let verdict = match found.has_regression() {
        true => "Regression",
        // Finding no regression means nothing where no change could be decided.
        false if unknown == found.judged.len() => "Neither a change nor its absence could be shown",
        false => "No regression was found",
    };
    format!("{verdict}: {}.", parts.join("; "))
}

/// The other differences between two runs.
fn differences(found: &RunComparison) -> Vec<String> {
    let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "none".to_owned());
    let differences = found.differences.iter();
    differences
        .map(|difference| {
            format!("{}: {} → {}", difference.what, value(&difference.before), value(&difference.after))
        })
        .collect()
}

fn numbers(change: &MetricChange, subject: String) -> Vec<String> {
    let CompareRow { before, after, change: ratio, interval } = build_row(change);
    vec![change.candidate.clone(), subject, before, after, ratio, interval]
}

/// Whether the two runs differ, but not by more than two runs of the same plan may.
fn is_apart(change: &MetricChange) -> bool {
    change.judged.is_some_and(|judged| judged.apart)
}

/// A change for use in a sentence: `ext4 write +12%`; `ext4 write appeared (0 → 5 MiB)`.
fn within_a_sentence(change: &MetricChange) -> String {
    if change.ratio.point.is_infinite() || change.ratio.point == 0.0 {
        let CompareRow { before, after, change: what, .. } = build_row(change);
        return format!("{} {} {what} ({before} → {after})", change.candidate, change.subject());
    }
    format!("{} {} {}", change.candidate, change.subject(), row::change(change.ratio.point, &change.ratio))
}
