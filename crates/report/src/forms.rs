//! The formats of a report: formats for people are made from its page, formats for programs are written directly.

use std::io;

use fsverdict_text::{DisplayForm, DisplayWriter, make_displayable};

use super::page::ReportPage;
use super::{Format, ReportError, html, markdown, terminal};

pub(super) trait Forms {
    /// The page for people.
    fn page(&self) -> ReportPage<'_>;

    /// The HTML page; without data of its own it needs no script.
    fn html(&self) -> Result<String, ReportError> {
        Ok(html::written(&self.page()))
    }

    fn json(&self, out: &mut dyn io::Write) -> Result<(), ReportError>;

    fn csv(&self, out: &mut dyn io::Write) -> Result<(), ReportError>;
}

/// Writes the report. All text leaves the program here, so control characters that steer a terminal or hide something
/// are removed here, in every format.
pub(super) fn write(report: &impl Forms, format: Format, out: &mut dyn io::Write) -> Result<(), ReportError> {
    let text = match format {
        // Styles are added last, after all text has been made safe.
        Format::Terminal(look) => {
            return Ok(out.write_all(terminal::written(&report.page(), look).as_bytes())?);
        }
        Format::Markdown => markdown::written(&report.page()),
        Format::Html => report.html()?,
        Format::Json => return report.json(&mut DisplayWriter::new(out, DisplayForm::Json)),
        Format::Csv => return report.csv(&mut DisplayWriter::new(out, DisplayForm::Plain)),
    };
    Ok(out.write_all(make_displayable(&text).as_bytes())?)
}
