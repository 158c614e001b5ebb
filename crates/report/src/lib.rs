//! Reports of a run: turns its judgement into words and tables on a page of blocks, which one writer per format lays
//! out.

mod across;
mod against;
#[cfg(test)]
mod claims_tests;
mod clause;
mod compare;
mod csv;
mod device_number;
mod devices;
#[cfg(test)]
mod examples;
mod factors;
#[cfg(test)]
mod fixtures;
mod forms;
mod goal_words;
mod groups;
mod guarantees;
#[cfg(test)]
mod guide_tests;
mod harness;
mod html;
mod index;
mod json;
mod kernels;
mod markdown;
mod matrix;
mod model;
mod noise;
mod notes;
mod number;
mod page;
mod plain_words;
mod requests;
mod run;
mod sentence;
mod sizes;
#[cfg(test)]
mod study_tests;
mod terminal;
#[cfg(test)]
mod tests;
mod text;
mod text_table;
mod to_use;
mod topics;
mod unevaluated;
#[cfg(test)]
mod verdict_tests;
mod words;

use std::io;

use erased_serde::Serialize;
use forms::{CsvRows, Forms};
use page::ReportPage;
use run::page_of_run;

pub use against::{AgainstReport, FittedNumber, KindShares, Shares, TracePart, write_against};
pub use compare::{ComparisonReport, write_comparison};
pub use device_number::describe_number;
pub use devices::{DeviceReport, write_devices};
pub use guarantees::Guarantees;
pub use html::{EmbeddedPlanError, LONGEST_PAGE, packed_rows, plan_in_page};
pub use json::SCHEMA as JSON_SCHEMA;
pub use model::Report;
pub use notes::PageNote;
pub use requests::Requests;
pub use sizes::{SizeReport, write_sizes};
pub use terminal::TerminalLook;
pub use text::{count, in_lines, listing, wrap};
pub use to_use::{ToUse, shell_word};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Text for a terminal with this look.
    Terminal(TerminalLook),
    /// The stable, versioned data format.
    Json,
    /// One row per observation and metric.
    Csv,
    /// Tables for a pull request or a forum.
    Markdown,
    /// One self-contained page with pictures.
    Html,
}

#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    #[error("cannot write the report: {0}")]
    Io(#[from] io::Error),
    #[error("cannot write the report as JSON: {0}")]
    Json(#[from] serde_json::Error),
}

/// Writes the report in the given format.
///
/// # Errors
/// When `out` does not take it; a closed pipe shows as [`io::ErrorKind::BrokenPipe`].
pub fn write(report: &Report<'_>, format: Format, out: &mut dyn io::Write) -> Result<(), ReportError> {
    forms::write(report, format, out)
}

impl Forms for Report<'_> {
    fn build_page(&self) -> ReportPage<'_> {
        page_of_run(self)
    }

    fn render_html(&self) -> Result<String, ReportError> {
        html::render(self, &self.build_page())
    }

    fn build_document(&self) -> Box<dyn Serialize + '_> {
        Box::new(json::build_document(self))
    }

    fn write_csv(&self, rows: &mut CsvRows<'_>) -> Result<(), ::csv::Error> {
        csv::write_rows(self, rows)
    }
}
