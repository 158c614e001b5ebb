//! Topic: the I/O requests of one trial on a modelled device, aggregated to a size that can be drawn. The pictures show
//! time from left to right and addresses upwards, one picture per candidate.

use std::fmt::Write;

use maud::{Markup, PreEscaped, html};
use serde::{Deserialize, Serialize};

use super::ReportTopic;
use crate::Report;
use crate::page::{PageBlock, Span, Text};
use crate::wording::one_line;

pub(super) static TOPIC: ReportTopic = ReportTopic { build_section, ..ReportTopic::EMPTY };

/// The requests of a trial, in columns of equal time and rows of equal size on the device.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Requests {
    pub candidate: String,
    /// The block of the trial.
    pub block: u32,
    /// The range of time in seconds, on the clock that `began` of the phases uses.
    pub from: f64,
    pub to: f64,
    /// The range of addresses on the device in bytes.
    pub lowest: u64,
    pub highest: u64,
    /// The numbers of columns and rows.
    pub columns: u16,
    pub rows: u16,
    /// Column and row of the cells with reads, and of those with writes; each cell once, row by row.
    pub cells: [Vec<(u16, u16)>; 2],
    /// Bytes per second that were read, and that were written, by column.
    pub rates: [Vec<f64>; 2],
    /// The mean number of requests inside the device, by column.
    pub depth: Vec<f64>,
}

impl Requests {
    /// The same picture at half the resolution.
    fn halved(&self) -> Self {
        let halve = |cells: &Vec<(u16, u16)>| {
            let mut halved: Vec<(u16, u16)> =
                cells.iter().map(|(column, row)| (column / 2, row / 2)).collect();
            halved.sort_unstable_by_key(|(column, row)| (*row, *column));
            halved.dedup();
            halved
        };
        let pairs = |values: &Vec<f64>| {
            values.chunks(2).map(|pair| pair.iter().sum::<f64>() / pair.len() as f64).collect::<Vec<f64>>()
        };
        Self {
            columns: self.columns.div_ceil(2),
            rows: self.rows.div_ceil(2),
            cells: self.cells.each_ref().map(halve),
            rates: self.rates.each_ref().map(pairs),
            depth: pairs(&self.depth),
            ..self.clone()
        }
    }
}

/// The most bytes that all pictures of a page may take together.
const ALL: usize = 250_000;
/// The most bytes that one picture may take.
const EACH: usize = 30_000;
const WIDTH: f64 = 480.0;
/// The heights of the map, of a strip below it, and of the gap between them.
const MAP: f64 = 192.0;
const STRIP: f64 = 40.0;
const GAP: f64 = 10.0;

fn build_section<'a>(report: &'a Report<'a>) -> Option<PageBlock<'a>> {
    if report.requests.is_empty() || !report.has_results() {
        return None;
    }
    let lead = Text::ours(
        "Each picture is one trial: time from left to right, the device from its first to its last place used, a mark \
         where something was ",
    )
    .with(Span::Marked("reads", "read".to_owned()))
    .plain(" or ")
    .with(Span::Marked("writes", "written".to_owned()))
    .plain(
        ". Below it bytes per second, and requests inside the device, from zero to the number beside them. Long lines are sequential work, \
         clouds are seeks; a device that moves an arm is slow in clouds.",
    );
    let blocks = vec![PageBlock::Lead(lead), PageBlock::picture(move || draw_pictures(report))];
    Some(PageBlock::section("requests", "What the device was asked for", blocks))
}

fn draw_pictures(report: &Report<'_>) -> Markup {
    let limit = (ALL / report.requests.len().max(1)).min(EACH);
    // Strips have the same scale in every picture.
    let most = |of: fn(&Requests) -> f64| report.requests.iter().map(of).fold(0.0, f64::max);
    let scale = ChartScale {
        rate: most(|requests| peak(requests.rates.iter().flatten())),
        depth: most(|requests| peak(&requests.depth)),
    };
    html! {
        div.requests { @for requests in &report.requests {
            figure.requests data-requests=(one_line(&requests.candidate)) {
                figcaption {
                    strong { (one_line(&requests.candidate)) } " block " (requests.block) " · "
                    (format!("{:.3} s", requests.to - requests.from)) " · "
                    (format!("{:.1}–{:.1} GB", requests.lowest as f64 / 1e9, requests.highest as f64 / 1e9))
                    " · ≤ " (format!("{:.0} MB/s", peak(requests.rates.iter().flatten()) / 1e6))
                }
                (PreEscaped(draw_svg(requests, &phases(report, requests), &scale, limit)))
            }
        } }
    }
}

struct ChartScale {
    rate: f64,
    depth: f64,
}

fn peak<'a>(values: impl IntoIterator<Item = &'a f64>) -> f64 {
    values.into_iter().copied().fold(0.0, f64::max)
}

/// The phases of the trial in the picture, and when each began.
fn phases<'a>(report: &Report<'a>, requests: &Requests) -> Vec<(&'a str, f64)> {
    let trial = report
        .judged
        .trials
        .iter()
        .find(|trial| trial.id.candidate == requests.candidate && trial.id.block == requests.block);
    let began = |phase: &'a str| Some((phase, trial?.value(phase, "began")?));
    report.judged.plan.phases.iter().filter_map(|phase| began(&phase.name)).collect()
}

/// The picture as an image that is embedded in the page, within this many bytes.
fn draw_svg(requests: &Requests, phases: &[(&str, f64)], scale: &ChartScale, limit: usize) -> String {
    let mut fitting = requests.clone();
    loop {
        let image = image(&fitting, phases, scale);
        if image.len() <= limit || fitting.columns < 16 {
            return image;
        }
        fitting = fitting.halved();
    }
}

fn image(requests: &Requests, phases: &[(&str, f64)], scale: &ChartScale) -> String {
    let height = MAP + 2.0 * (GAP + STRIP);
    let mut image = format!(
        "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\"><title>{}</title>",
        escaped(&format!("Requests of {} over time", requests.candidate))
    );
    for (name, began) in phases {
        let at = (began - requests.from) / (requests.to - requests.from).max(f64::MIN_POSITIVE) * WIDTH;
        let _ = write!(
            image,
            "<path class=\"phase\" d=\"M{at:.1} 0V{height}\"/><text x=\"{:.1}\" y=\"9\">{}</text>",
            at + 2.0,
            escaped(name)
        );
    }
    for (class, cells) in ["reads", "writes"].into_iter().zip(&requests.cells) {
        let (width, row) = (WIDTH / f64::from(requests.columns), MAP / f64::from(requests.rows));
        let _ = write!(
            image,
            "<path class=\"{class}\" stroke-width=\"1\" transform=\"translate(0 {:.2}) scale({width:.4} {:.4})\" d=\"{}\"/>",
            MAP - row / 2.0,
            -row,
            marks(cells)
        );
    }
    let mut label = |y: f64, text: &str| {
        let _ = write!(image, "<text x=\"2\" y=\"{y:.0}\">{text}</text>");
    };
    let top = MAP + GAP;
    label(top + 9.0, &format!("up to {:.0} MB/s", scale.rate / 1e6));
    label(top + STRIP + GAP + 9.0, &format!("up to {:.0} requests inside", scale.depth.ceil()));
    for (class, rates) in ["reads", "writes"].into_iter().zip(&requests.rates) {
        let _ = write!(image, "<path class=\"line {class}\" d=\"{}\"/>", line(rates, scale.rate, top));
    }
    let _ = write!(
        image,
        "<path class=\"line\" d=\"{}\"/></svg>",
        line(&requests.depth, scale.depth, top + STRIP + GAP)
    );
    image
}

/// Joins adjacent marks; units are columns and rows.
fn marks(cells: &[(u16, u16)]) -> String {
    let mut path = String::new();
    let mut cells = cells.iter().copied().peekable();
    while let Some((column, row)) = cells.next() {
        let mut length = 1;
        while cells.next_if_eq(&(column + length, row)).is_some() {
            length += 1;
        }
        let _ = write!(path, "M{column} {row}h{length}");
    }
    path
}

/// A strip, scaled to the largest value in any picture.
fn line(values: &[f64], most: f64, top: f64) -> String {
    let mut path = String::new();
    for (column, value) in values.iter().enumerate() {
        let x = column as f64 / values.len() as f64 * WIDTH;
        let y = top + STRIP * (1.0 - value / most.max(f64::MIN_POSITIVE));
        let _ = write!(path, "{}{x:.0} {y:.0}", if column == 0 { 'M' } else { 'L' });
    }
    path
}

fn escaped(text: &str) -> String {
    html! { (one_line(text)) }.into_string()
}

#[cfg(test)]
mod tests {
    use super::{ALL, ChartScale, draw_svg, marks};
    use crate::Requests;

    #[test]
    fn a_picture_of_anything_fits_its_page() {
        let cells: Vec<(u16, u16)> =
            (0..96).flat_map(|row| (0..240).step_by(2).map(move |column| (column + row % 2, row))).collect();
        let noise = Requests {
            to: 1.0,
            columns: 240,
            rows: 96,
            cells: [cells.clone(), cells],
            rates: [vec![1e7; 240], vec![5e6; 240]],
            depth: vec![1.0; 240],
            ..Requests::default()
        };
        let limit = ALL / 18;
        let drawn =
            draw_svg(&noise, &[("write", 0.0), ("a<b", 0.5)], &ChartScale { rate: 1e7, depth: 1.0 }, limit);
        assert!(drawn.len() <= limit && drawn.len() > limit / 16, "{}", drawn.len());
        assert!(drawn.contains("a&lt;b") && drawn.contains("class=\"writes\""));
        assert_eq!(marks(&[(1, 0), (2, 0), (3, 0), (7, 0), (0, 1)]), "M1 0h3M7 0h1M0 1h1");
    }
}
