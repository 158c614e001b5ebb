//! The forms of a report: what people read is made of its page, what programs read it writes itself.

use std::io;

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

pub(super) fn write(report: &impl Forms, format: Format, out: &mut dyn io::Write) -> Result<(), ReportError> {
    let text = match format {
        Format::Terminal(look) => terminal::written(&report.page(), look),
        Format::Markdown => markdown::written(&report.page()),
        Format::Html => report.html()?,
        Format::Json => return report.json(out),
        Format::Csv => return report.csv(out),
    };
    Ok(out.write_all(text.as_bytes())?)
}
