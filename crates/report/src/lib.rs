//! Reports of a run: turns its judgement into words and tables on a page of blocks, which one writer per format lays
//! out.

// The layers, the lowest first: a module imports only from those above it here.

mod wording;

mod model;

mod page;

mod topics;

mod conclusion;

mod forms;

mod run;

mod against;
mod compare;
mod devices;
mod sizes;

mod atlas;

#[cfg(test)]
mod claims_tests;
#[cfg(test)]
mod examples;
#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod free_computation_tests;
#[cfg(test)]
mod guide_tests;
#[cfg(test)]
mod study_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod verdict_tests;

use std::io;

use crate::forms::{CsvRows, Forms};
use crate::page::ReportPage;
use crate::run::page_of_run;
use serde::Serialize;

pub use crate::against::{AgainstReport, FittedNumber, KindShares, Shares, TracePart};
pub use crate::atlas::{
    Atlas, AtlasCell, AtlasFilter, AtlasKind, AtlasStudy, AtlasWork, Card, Catalogue, CataloguedCandidate,
    CataloguedStudy, ComputedCell, SiteFile, StrangersAnswer, base_name, bundle_path, safe_name,
};
pub use crate::compare::ComparisonReport;
pub use crate::conclusion::notes::PageNote;
pub use crate::devices::DeviceReport;
pub use crate::forms::foreign::ForeignFormat;
pub use crate::forms::html::packed_rows;
pub use crate::forms::json::SCHEMA as JSON_SCHEMA;
pub use crate::forms::terminal::TerminalLook;
pub use crate::model::{Report, ToUse, shell_word};
pub use crate::page::embedded_plan::{EmbeddedPlanError, LONGEST_PAGE, plan_in_page};
pub use crate::sizes::SizeReport;
pub use crate::topics::guarantees::Guarantees;
pub use crate::topics::requests::Requests;
pub use crate::wording::{count, describe_number, in_lines, listing, wrap};

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
    /// The format of another tool.
    Foreign(ForeignFormat),
}

#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    #[error("cannot write the report: {0}")]
    Io(#[from] io::Error),
    #[error("cannot write the report as JSON: {0}")]
    Json(serde_json::Error),
    #[error("only the report of a run has this format")]
    OnlyOfRun,
}

impl From<serde_json::Error> for ReportError {
    /// An error of the output is one in every format.
    fn from(error: serde_json::Error) -> Self {
        if error.is_io() { ReportError::Io(error.into()) } else { ReportError::Json(error) }
    }
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
        forms::html::render(self, &self.build_page())
    }

    fn build_document(&self) -> impl Serialize + '_ {
        forms::json::build_document(self)
    }

    fn write_csv(&self, rows: &mut CsvRows<'_>) -> Result<(), ::csv::Error> {
        forms::csv::write_rows(self, rows)
    }

    fn write_foreign(&self, format: ForeignFormat) -> Option<String> {
        Some(forms::foreign::write(self, format))
    }
}
