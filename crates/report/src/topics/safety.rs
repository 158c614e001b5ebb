//! Topic: the price of safety: a candidate's time beside its losses. The pictures show time from left to right and the
//! rate of loss upwards; the Pareto set is filled.

use maud::{Markup, html};

use super::{ReportTopic, address_tables};
use crate::Report;
use crate::conclusion::losses::MOST_NAMES;
use crate::page::{Media, PageBlock, PageTable};
use crate::wording::{TextTable, one_line, plain_number, times, times_with_ends};
use fsverdict_judgement::verdict::{LossShare, SafetyPoint};

pub(super) static TOPIC: ReportTopic = ReportTopic {
    add_data: |report, document| document.with_list("safety", &report.safety),
    build_tables: |report| address_tables(audience_of_table(report), build_table(&report.safety)).collect(),
    build_section,
    ..ReportTopic::EMPTY
};

/// The media of the table: those that show everything, where the sentence on the outcome has all losses.
fn audience_of_table(report: &Report<'_>) -> Media {
    let choice = report.judged.verdict.by_losses.as_ref();
    match choice.is_some_and(|choice| choice.others.len() <= MOST_NAMES) {
        true => Media::FULL_TEXT,
        false => Media::TEXT,
    }
}

/// The media of the tables of all losses: those that show everything, where the price of safety sums the losses up.
pub(super) fn audience_of_losses(report: &Report<'_>) -> Media {
    if build_table(&report.safety).is_some() { Media::FULL_TEXT } else { Media::TEXT }
}

/// Time and losses side by side; nothing where nothing was looked at, or one candidate alone.
fn build_table(points: &[SafetyPoint]) -> Option<TextTable> {
    if points.len() < 2 {
        return None;
    }
    let columns = list_columns(points);
    let mut header = vec!["candidate", "time, ×"];
    header.extend(columns.iter().map(|column| column.title));
    header.push("beaten by");
    let row = |point: &SafetyPoint| {
        let time = point.time;
        let mut row = vec![
            point.candidate.clone(),
            if time.low.is_some() { times_with_ends(&time) } else { times(time.point) },
        ];
        row.extend(
            columns
                .iter()
                .map(|column| (column.of)(point).map_or("–".to_owned(), |loss| format_share(&loss))),
        );
        row.push(point.beaten_by.clone().unwrap_or_else(|| "none".to_owned()));
        row
    };
    let title = "The price of safety: time beside what was lost; \"beaten by\": no worse in any number";
    Some(TextTable::new(title, &header, points.iter().map(row).collect()))
}

/// A kind of loss.
struct LossColumn {
    title: &'static str,
    of: fn(&SafetyPoint) -> Option<LossShare>,
}

fn list_columns(points: &[SafetyPoint]) -> Vec<LossColumn> {
    let all = [
        LossColumn { title: "lost after a cut, %", of: |point| point.cuts },
        LossColumn { title: "lost to rot, %", of: |point| point.rot },
        LossColumn { title: "… unsaid, %", of: |point| point.rot_unsaid },
    ];
    all.into_iter().filter(|column| points.iter().any(|point| (column.of)(point).is_some())).collect()
}

fn format_share(loss: &LossShare) -> String {
    let per_cent = |share: f64| plain_number(share * 100.0);
    format!("{} ({}–{})", per_cent(loss.share()), per_cent(loss.low), per_cent(loss.high))
}

const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 240.0;
/// The free space around the marks, and for names to their right.
const MARGIN: f64 = 18.0;
const NAMES: f64 = 110.0;

fn build_section<'a>(report: &'a Report<'_>) -> Option<PageBlock<'a>> {
    let points = &report.safety;
    let table = build_table(points)?;
    let lead = "Left and low is best: across, how many times as long as the fastest that is not excluded; up, the share of states in which something was \
                lost, with its 95% interval. Filled: no other candidate is as good in time and in every kind of loss, and better in one. Candidates that are ruled out are drawn, too.";
    let pictures = move || {
        html! { div.depends { @for column in list_columns(points) { (draw_picture(points, &column)) } } }
    };
    let blocks = vec![
        PageBlock::Lead(lead.into()),
        PageBlock::picture(pictures),
        PageBlock::Table(PageTable { by_candidate: true, ..PageTable::plain(table) }),
    ];
    Some(PageBlock::section("safety", "The price of safety", blocks))
}

fn draw_picture(points: &[SafetyPoint], column: &LossColumn) -> Markup {
    let least = points.iter().map(|point| point.time.point).fold(1.0, f64::min);
    let distance = |point: &SafetyPoint| libm::log(point.time.point / least).max(0.0);
    let most = points.iter().map(distance).fold(0.01, f64::max);
    let x = |point: &SafetyPoint| MARGIN + distance(point) / most * (WIDTH - 2.0 * MARGIN - NAMES);
    let y = |share: f64| HEIGHT - MARGIN - share * (HEIGHT - 2.0 * MARGIN);
    let title = format!("Time against {}", column.title);
    html! {
        figure.depends {
            figcaption { "Time against " strong { (column.title) } }
            svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" {
                title { (one_line(&title)) }
                path.equal d=(format!("M0 {:.1}H{WIDTH}", y(0.0))) {}
                @for point in points { @if let Some(loss) = (column.of)(point) {
                    path.reach d=(format!("M{:.1} {:.1}V{:.1}", x(point), y(loss.low), y(loss.high))) {}
                    circle.(if point.beaten_by.is_some() { "hollow" } else { "full" })
                        cx=(format!("{:.1}", x(point))) cy=(format!("{:.1}", y(loss.share()))) r="4" {
                        title {
                            (one_line(&point.candidate)) ": " (times(point.time.point)) "×, "
                            (loss.lost) " of " (loss.of)
                        }
                    }
                    text x=(format!("{:.1}", x(point) + 7.0)) y=(format!("{:.1}", y(loss.share()) + 4.0)) {
                        (one_line(&point.candidate))
                    }
                } }
            }
        }
    }
}
