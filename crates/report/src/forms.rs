//! The forms of a report: what people read is made of its page, what programs read it writes itself.

use std::io;

use fsverdict_text::{DisplayForm, DisplayWriter, displayable};

use super::page::ReportPage;
use super::{Format, ReportError, html, markdown, terminal};

pub(super) trait Forms {
    /// As people read it.
    fn page(&self) -> ReportPage<'_>;

    /// The page of HTML; without data of its own it needs no script.
    fn html(&self) -> Result<String, ReportError> {
        Ok(html::written(&self.page()))
    }

    fn json(&self, out: &mut dyn io::Write) -> Result<(), ReportError>;

    fn csv(&self, out: &mut dyn io::Write) -> Result<(), ReportError>;
}

/// Writes the report. This is the border where its text leaves for a terminal, a page or a file: whatever a run has brought along,
/// nothing that steers a terminal or hides something passes here, in any form.
pub(super) fn write(report: &impl Forms, format: Format, out: &mut dyn io::Write) -> Result<(), ReportError> {
    let text = match format {
        // Its styles are set last, when all else has been made safe.
        Format::Terminal(look) => {
            return Ok(out.write_all(terminal::written(&report.page(), look).as_bytes())?);
        }
        Format::Markdown => markdown::written(&report.page()),
        Format::Html => report.html()?,
        Format::Json => return report.json(&mut DisplayWriter::new(out, DisplayForm::Json)),
        Format::Csv => return report.csv(&mut DisplayWriter::new(out, DisplayForm::Plain)),
    };
    Ok(out.write_all(displayable(&text).as_bytes())?)
}
