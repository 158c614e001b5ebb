//! The formats of a report: formats for people are made from its page, formats for programs are written directly.

use std::io;

use fsverdict_text::{DisplayForm, DisplayWriter, make_displayable};

use super::page::ReportPage;
use super::{Format, ReportError, html, markdown, terminal};

pub(super) trait Forms {
    /// The page for people.
    fn build_page(&self) -> ReportPage<'_>;

    /// The HTML page; without data of its own it needs no script.
    fn render_html(&self) -> Result<String, ReportError> {
        Ok(html::written(&self.build_page()))
    }

    fn write_json(&self, out: &mut dyn io::Write) -> Result<(), ReportError>;

    fn write_csv(&self, out: &mut dyn io::Write) -> Result<(), ReportError>;
}

/// Writes the report. All text leaves the program here, so control characters that steer a terminal or hide something
/// are removed here, in every format.
pub(super) fn write(report: &impl Forms, format: Format, out: &mut dyn io::Write) -> Result<(), ReportError> {
    let text = match format {
        // Styles are added last, after all text has been made safe.
        Format::Terminal(look) => {
            return Ok(out.write_all(terminal::written(&report.build_page(), look).as_bytes())?);
        }
        Format::Markdown => markdown::written(&report.build_page()),
        Format::Html => report.render_html()?,
        Format::Json => return report.write_json(&mut DisplayWriter::new(out, DisplayForm::Json)),
        Format::Csv => return report.write_csv(&mut DisplayWriter::new(out, DisplayForm::Plain)),
    };
    Ok(out.write_all(make_displayable(&text).as_bytes())?)
}
