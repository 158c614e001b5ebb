//! A model against a trace as a page.

use crate::against::AgainstReport;
use crate::page::{Media, Opening, PageBlock, PageTable, ReportPage, Text, Tone, Top};
use crate::wording::{TextTable, count, one_line};
use fsverdict_judgement::statistics::quantile;
use maud::{Markup, PreEscaped, html};
use std::fmt::Write;

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

fn build_table(of: TextTable) -> PageTable {
    PageTable { words: &WORDS, ..PageTable::plain(of) }
}

fn build_opening(report: &AgainstReport) -> Opening {
    let requests = report.parts.first().map_or(0, |part| part.all.n);
    Opening {
        title: format!("{} against {}", one_line(&report.model), one_line(&report.trace)),
        subtitle: None,
        sentence: report.write_sentence(),
        tone: Some(Tone::Strong),
        top: Top { kicker: count(requests, "request"), class: "decided", ..Top::default() },
    }
}

const WIDTH: f64 = 480.0;
const HEIGHT: f64 = 240.0;
/// Room for the numbers at the axes.
const LEFT: f64 = 34.0;
const FOOT: f64 = 16.0;
/// Steps of a curve.
const STEPS: u32 = 200;
/// Beyond this share of the longer of the two the axis ends, lest one request take most of it.
const SHOWN: f64 = 0.998;

fn draw_picture(of: &str, pairs: &[(f64, f64)]) -> Markup {
    let (measured, predicted): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let end = |times: &[f64]| quantile(times, SHOWN).unwrap_or_default();
    let longest = end(&measured).max(end(&predicted)).max(1.0);
    html! { div.requests { figure.requests {
        figcaption { strong { (one_line(of)) } " · measured in cool colour, the model in warm" }
        (PreEscaped(draw_svg(&measured, &predicted, longest)))
    } } }
}

fn draw_svg(measured: &[f64], predicted: &[f64], longest: f64) -> String {
    let mut image = format!(
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"Distributions of the times, measured and predicted\">"
    );
    for step in 0..=4_u32 {
        let share = f64::from(step) / 4.0;
        let (x, y) = (across(share), up(share));
        // Writing to a string cannot fail.
        let _ = write!(
            image,
            "<path class=\"phase\" d=\"M{LEFT} {y:.1}H{WIDTH}\"/><text x=\"2\" y=\"{:.1}\">{:.0}%</text>\
             <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"{}\">{:.1} ms</text>",
            y + 3.0,
            share * 100.0,
            HEIGHT - 4.0,
            if step == 4 { "end" } else { "start" },
            share * longest / 1e6
        );
    }
    for (class, times) in [("reads", measured), ("writes", predicted)] {
        let _ = write!(image, "<path class=\"{class}\" d=\"{}\"/>", curve(times, longest));
    }
    image + "</svg>"
}

fn across(share: f64) -> f64 {
    LEFT + share * (WIDTH - LEFT)
}

fn up(share: f64) -> f64 {
    4.0 + (1.0 - share) * (HEIGHT - FOOT - 8.0)
}

fn curve(times: &[f64], longest: f64) -> String {
    let mut ordered = times.to_vec();
    ordered.sort_by(f64::total_cmp);
    let mut path = String::new();
    for step in 0..=STEPS {
        let share = f64::from(step) / f64::from(STEPS);
        let at = (share * ordered.len().saturating_sub(1) as f64) as usize;
        let time = ordered.get(at).copied().unwrap_or_default().min(longest);
        let _ = write!(
            path,
            "{}{:.1} {:.1}",
            if step == 0 { 'M' } else { 'L' },
            across(time / longest),
            up(share)
        );
    }
    path
}
