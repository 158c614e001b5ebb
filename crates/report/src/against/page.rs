//! A model against a trace as a page.

use crate::against::AgainstReport;
use crate::against::picture::draw_picture;
use crate::page::{Media, Opening, PageBlock, PageTable, ReportPage, Text, Tone, Top};
use crate::wording::text::{count, one_line};

/// Columns of words, which are set left.
const WORDS: [&str; 3] = ["kind", "number", "ms"];

pub(super) fn build_page(report: &AgainstReport) -> ReportPage<'_> {
    let mut page = ReportPage::new(build_opening(report));
    for warning in report.warnings() {
        page.add(Media::TEXT.and(Media::HTML), PageBlock::Paragraph(Text::foreign(&warning)));
    }
    if !report.fitted.is_empty() {
        page.add(Media::TEXT.and(Media::HTML), PageBlock::Table(build_table(report.numbers())));
    }
    for part in &report.parts {
        page.add(Media::TEXT.and(Media::HTML), PageBlock::Table(build_table(report.kinds(part))));
    }
    if let Some(part) = report.parts.last() {
        page.add(Media::TEXT, PageBlock::Table(build_table(report.quantiles(part))));
        let drawn = vec![
            PageBlock::Lead("How many of the requests took no longer, measured and by the model".into()),
            PageBlock::picture(move || draw_picture(&part.of, &part.pairs)),
        ];
        page.add(Media::HTML, PageBlock::section("picture", "The two distributions", drawn));
    }
    if let Some(said) = report.farthest() {
        page.add(Media::TEXT.and(Media::HTML), PageBlock::Paragraph(Text::foreign(&said)));
    }
    page.add(Media::TEXT.and(Media::HTML), PageBlock::Note(MEANING.into()));
    page
}

const MEANING: &str = "demerit: root mean square of the horizontal distance between the two distributions (Ruemmler and \
                       Wilkes 1994). by request: the mean absolute error of each request; a constant: that of the median, \
                       for somebody who knows nothing of a request. Shares are of the measured mean of their row.";

fn build_table(of: crate::wording::text::TextTable) -> PageTable {
    PageTable { words: &WORDS, ..PageTable::plain(of) }
}

fn build_opening(report: &AgainstReport) -> Opening {
    let requests = report.parts.first().map_or(0, |part| part.all.n);
    Opening {
        title: format!("{} against {}", one_line(&report.model), one_line(&report.trace)),
        subtitle: None,
        sentence: report.write_sentence(),
        tone: Some(Tone::Strong),
        top: Top {
            kicker: count(requests, "request"),
            class: "decided",
            tally: None,
            sentence: None,
            basis: Vec::new(),
            folds: None,
        },
    }
}
