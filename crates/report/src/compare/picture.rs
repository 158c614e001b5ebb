//! The picture of a comparison: the results of each candidate in each phase, run by run. Nothing in it needs a script.

use std::fmt::Write;

use libm::log;
use maud::{Markup, PreEscaped, html};

use crate::compare::ComparisonReport;
use crate::compare::row::{self, Trend};
use crate::page::figures::place;
use crate::wording::one_line;
use fsverdict_judgement::plan::once_each;
use fsverdict_judgement::verdict::{ContrastOutcome, MetricChange};

/// A course is drawn this large, and shows at least this factor and at most the other.
const WIDTH: f64 = 112.0;
const HEIGHT: f64 = 26.0;
const NARROWEST: f64 = 1.1;
const WIDEST: f64 = 4.0;

/// Candidates by phases, in the order in which they were judged.
pub(super) fn draw_picture(report: &ComparisonReport<'_>) -> Markup {
    let judged = &report.found.whole.judged;
    let names = once_each(judged.iter().map(|change| change.candidate.as_str()));
    let phases = once_each(judged.iter().map(MetricChange::subject));
    let trends: Vec<Trend<'_>> = judged.iter().map(|change| Trend::of(report, change)).collect();
    let reach = trends.iter().map(Trend::reach).fold(NARROWEST, f64::max).min(WIDEST);
    let at = |name: &str, phase: &str| {
        judged.iter().position(|change| change.candidate == name && change.subject() == phase)
    };
    html! { div.scroll {
        table.picture {
            caption.unseen { "What changed, by candidate and phase" }
            thead { tr { th scope="col" { "candidate" } @for phase in &phases { th scope="col" { (one_line(phase)) } } } }
            tbody { @for name in &names { tr {
                th scope="row" { span.name { (one_line(name)) } }
                @for phase in &phases {
                    @match at(name, phase) {
                        Some(at) => { (cell(&judged[at], &trends[at], reach)) }
                        None => { td.none { "–" } }
                    }
                }
            } } }
        }
    } }
}

fn cell(change: &MetricChange, trend: &Trend<'_>, reach: f64) -> Markup {
    let judged = change.outcome().unwrap_or(ContrastOutcome::Undecided);
    let (class, sign) = match judged {
        ContrastOutcome::Better => ("best", "▼"),
        ContrastOutcome::Behind => ("behind", "▲"),
        ContrastOutcome::Tied => ("once", "="),
        ContrastOutcome::Undecided | ContrastOutcome::NotBetter => ("unclear", "?"),
    };
    let shown = row::build_row(change);
    let heat = place(change.ratio.point.max(1.0 / change.ratio.point).min(reach), 1.0, reach);
    let hover = format!("{} → {} ({}), {}", shown.before, shown.after, shown.interval, judged.as_change());
    html! {
        td.cell.(class) style=(format!("--heat:{heat:.0}%")) title=(hover) {
            div.beside {
                span.value { span.sign aria-hidden="true" { (sign) } span.unseen { (judged.as_change()) ": " } (shown.change) }
                (PreEscaped(course(trend, reach)))
            }
        }
    }
}

/// Each run's number as a multiple of the first that is known.
fn course(trend: &Trend<'_>, reach: f64) -> String {
    let mut points = trend.values.iter().flatten().map(|estimate| estimate.point);
    let Some(base) = points.find(|point| *point > 0.0) else {
        return String::new();
    };
    let last = (trend.values.len() - 1).max(1) as f64;
    let across = |at: usize| 4.0 + at as f64 / last * (WIDTH - 8.0);
    let up = |value: f64| HEIGHT / 2.0 * (1.0 - (log(value / base) / log(reach)).clamp(-1.0, 1.0) * 0.8);
    let band = (up(base * (1.0 + trend.tie)), up(base / (1.0 + trend.tie)));
    let mut image = format!(
        "<svg class=\"course\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" aria-hidden=\"true\"><rect y=\"{:.1}\" width=\"{WIDTH}\" height=\"{:.1}\"/>",
        band.0,
        band.1 - band.0
    );
    let (mut line, mut points) = (String::new(), String::new());
    for (at, value) in trend.values.iter().enumerate() {
        let Some(value) = value else { continue };
        let (x, y) = (across(at), up(value.point));
        let _ = write!(line, "{}{x:.1} {y:.1}", if line.is_empty() { 'M' } else { 'L' });
        if let Some((low, high)) = value.ends() {
            let _ = write!(points, "<path d=\"M{x:.1} {:.1}V{:.1}\"/>", up(low), up(high));
        }
        let step = at.checked_sub(1).and_then(|at| trend.steps.get(at)?.as_ref()?.outcome());
        let class = step.map_or("", ContrastOutcome::as_change);
        let _ = write!(points, "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.2\"/>");
    }
    let _ = write!(image, "<path d=\"{line}\"/>{points}</svg>");
    image
}
