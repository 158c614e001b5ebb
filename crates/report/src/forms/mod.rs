//! The formats of a report: formats for people are made from its page, formats for programs from its data.

pub(crate) mod csv;
pub(crate) mod foreign;
pub(crate) mod html;
pub(crate) mod json;
pub(crate) mod markdown;
pub(crate) mod terminal;

use std::io;

use fsverdict_text::{DisplayForm, DisplayWriter, make_displayable};
use serde::Serialize;

use crate::page::ReportPage;
use crate::{ForeignFormat, Format, ReportError};

/// Rows of CSV, below a header.
pub(crate) type CsvRows<'a> = ::csv::Writer<&'a mut dyn io::Write>;

/// The parts that the writers of the formats ask of a report.
pub(crate) trait Forms {
    /// The page for people.
    fn build_page(&self) -> ReportPage<'_>;

    /// The HTML page; without data of its own it needs no script.
    fn render_html(&self) -> Result<String, ReportError> {
        Ok(html::written(&self.build_page()))
    }

    /// The document that JSON has.
    fn build_document(&self) -> impl Serialize + '_;

    /// Writes the header and the rows that CSV has.
    fn write_csv(&self, rows: &mut CsvRows<'_>) -> Result<(), ::csv::Error>;

    /// The text in a format of another tool; `None` if only the report of a run has one.
    fn write_foreign(&self, _: ForeignFormat) -> Option<String> {
        None
    }
}

/// Writes the report. All text leaves the program here, so control characters that steer a terminal or hide something
/// are removed here, in every format.
pub(crate) fn write(report: &impl Forms, format: Format, out: &mut dyn io::Write) -> Result<(), ReportError> {
    let text = match format {
        // Styles are added last, after all text has been made safe.
        Format::Terminal(look) => {
            return Ok(out.write_all(terminal::written(&report.build_page(), look).as_bytes())?);
        }
        Format::Markdown => markdown::written(&report.build_page()),
        Format::Html => report.render_html()?,
        Format::Foreign(format) => report.write_foreign(format).ok_or(ReportError::OnlyOfRun)?,
        Format::Json => {
            let mut out = DisplayWriter::new(out, DisplayForm::Json);
            serde_json::to_writer_pretty(&mut out, &report.build_document()).map_err(|error| {
                match error.is_io() {
                    // A closed pipe, or a full disk, must stay recognisable as one.
                    true => ReportError::Io(error.into()),
                    false => ReportError::Json(error),
                }
            })?;
            return Ok(io::Write::write_all(&mut out, b"\n")?);
        }
        Format::Csv => {
            let mut out = DisplayWriter::new(out, DisplayForm::Plain);
            let mut rows = CsvRows::from_writer(&mut out);
            report.write_csv(&mut rows).map_err(csv::unwrapped)?;
            return Ok(rows.flush()?);
        }
    };
    Ok(out.write_all(make_displayable(&text).as_bytes())?)
}
