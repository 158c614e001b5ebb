//! Two runs against each other, for people and programs: one renderer per file.

mod json;
mod markdown;
mod row;
mod terminal;
#[cfg(test)]
mod tests;

use std::io;

use super::text::{count, listing};
use super::{Look, ReportError};
use crate::journal::Run;
use crate::verdict::Comparison;
use crate::verdict::{Change, RunComparison};

#[derive(Debug, Clone, Copy)]
pub struct ComparisonReport<'a> {
    pub before: &'a Run,
    pub after: &'a Run,
    pub found: &'a RunComparison,
}

/// The forms a comparison can take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComparisonFormat {
    /// A page of text, for this look.
    Terminal(Look),
    /// A table for a pull request.
    Markdown,
    /// The stable, versioned data format.
    Json,
}

/// Writes the comparison in the given format.
///
/// # Errors
/// When `out` does not take it; a closed pipe shows as [`io::ErrorKind::BrokenPipe`].
pub fn write_comparison(
    report: ComparisonReport<'_>,
    format: ComparisonFormat,
    out: &mut dyn io::Write,
) -> Result<(), ReportError> {
    match format {
        ComparisonFormat::Terminal(look) => Ok(out.write_all(terminal::render(report, look).as_bytes())?),
        ComparisonFormat::Markdown => Ok(out.write_all(markdown::render(report).as_bytes())?),
        ComparisonFormat::Json => json::render(report, out),
    }
}

impl ComparisonReport<'_> {
    /// The outcome in a sentence or two. Names in it are as the plan has them.
    fn sentence(&self) -> String {
        let found = self.found;
        let mut parts = Vec::new();
        if !found.broken.is_empty() {
            let names: Vec<&str> = found.broken.iter().map(|left| left.candidate.as_str()).collect();
            parts.push(format!("{} went well before and failed after", listing(&names, 4)));
        }
        for (outcome, word) in [(Comparison::Worse, "worse"), (Comparison::Better, "better")] {
            let changes: Vec<String> = found.judged_as(outcome).map(within_a_sentence).collect();
            let changes: Vec<&str> = changes.iter().map(String::as_str).collect();
            if !changes.is_empty() {
                parts.push(format!("{word}: {}", listing(&changes, 6)));
            }
        }
        let same = found.judged_as(Comparison::Same).count();
        let unknown = found.judged_as(Comparison::Undecided).count();
        if same > 0 {
            let within = row::share(found.tie);
            parts.push(format!("{} the same within {within}", count(same, "comparison")));
        }
        if unknown > 0 {
            parts.push(format!("{} undecided", count(unknown, "comparison")));
        }
        let verdict = match found.has_regression() {
            true => "Regression",
            // Not having seen one is no news where nothing could be seen.
            false if unknown == found.judged.len() => "Neither a change nor its absence could be shown",
            false => "No regression was found",
        };
        format!("{verdict}: {}.", parts.join("; "))
    }
}

/// A change within a sentence: `ext4 write +12%`.
fn within_a_sentence(change: &Change) -> String {
    format!("{} {} {}", change.candidate, change.subject(), row::change(change.ratio.point, &change.ratio))
}

fn word(outcome: Comparison) -> &'static str {
    match outcome {
        Comparison::Better => "better",
        Comparison::Worse => "worse",
        Comparison::Same => "same",
        Comparison::Undecided => "undecided",
    }
}
