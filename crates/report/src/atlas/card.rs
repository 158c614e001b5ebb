//! Cards: an answer as a picture of 1200×630 pixels, which a forum shows beside a link: question, verdict, bars, and
//! its basis, in letters that stay readable at a third of the size.

use std::sync::Arc;

use maud::{Markup, html};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb::Database};

use super::answers::{describe_answer, mark_words};
use super::computed_cell::{CandidateBar, ComputedCell};
use super::picture::farthest;
use crate::ReportError;
use crate::wording::{one_line, shorten, shorten_to_clauses, times, wrap};

const WIDTH: u32 = 1200;
const HEIGHT: u32 = 630;
/// The most bars, and the columns of question and verdict in their sizes of letters.
const MOST_BARS: usize = 5;
const QUESTION: usize = 50;
const VERDICT: usize = 66;

/// The letters of a card, so that it looks the same on every machine. They are a part of DejaVu, which is free.
const FONTS: [&[u8]; 2] =
    [include_bytes!("../../fonts/DejaVuSans.ttf"), include_bytes!("../../fonts/DejaVuSans-Bold.ttf")];

/// The words and numbers of a card.
pub struct Card<'a> {
    pub question: &'a str,
    pub cell: &'a ComputedCell,
}

impl Card<'_> {
    /// The card as a PNG.
    ///
    /// # Errors
    /// When it cannot be drawn.
    pub fn render_png(&self) -> Result<Vec<u8>, ReportError> {
        let mut fonts = Database::new();
        FONTS.iter().for_each(|font| fonts.load_font_data(font.to_vec()));
        let options =
            Options { fontdb: Arc::new(fonts), font_family: "DejaVu Sans".to_owned(), ..Options::default() };
        let svg = self.draw_svg().into_string();
        let failed = |error: String| ReportError::Io(std::io::Error::other(error));
        let tree = Tree::from_str(&svg, &options).map_err(|error| failed(error.to_string()))?;
        let mut pixels =
            Pixmap::new(WIDTH, HEIGHT).ok_or_else(|| failed("no room for a picture".to_owned()))?;
        resvg::render(&tree, Transform::identity(), &mut pixels.as_mut());
        pixels.encode_png().map_err(|error| failed(error.to_string()))
    }

    fn draw_svg(&self) -> Markup {
        let question = wrap(&one_line(self.question), QUESTION);
        let (mark, verdict) = match self.cell.answer() {
            Some(answer) => (Some(mark_words(answer.mark)), describe_answer(answer)),
            None => (None, one_line(&self.cell.sentence)),
        };
        let verdict = wrap(&verdict, VERDICT);
        let bars = &self.cell.bars[..self.cell.bars.len().min(MOST_BARS)];
        let top = 70.0 + 52.0 * question.len().min(2) as f64 + 40.0 * verdict.len().min(3) as f64;
        html! {
            svg xmlns="http://www.w3.org/2000/svg" width=(WIDTH) height=(HEIGHT) {
                rect width=(WIDTH) height=(HEIGHT) fill="#fcfcfa" {}
                rect width="16" height=(HEIGHT) fill=(if mark.as_ref().is_some_and(|mark| mark.class == "holds") { "#2a6f9e" } else { "#c8641b" }) {}
                @for (at, line) in question.iter().take(2).enumerate() {
                    text x="56" y=(82 + 52 * at) font-size="42" font-weight="bold" fill="#1c2429" { (line) }
                }
                @for (at, line) in verdict.iter().take(3).enumerate() {
                    text x="56" y=(top - 40.0 * (verdict.len().min(3) - at) as f64 + 22.0) font-size="31" fill="#1c2429" { (line) }
                }
                @for (at, bar) in bars.iter().enumerate() { (draw_bar(bar, at, top + 22.0 + 56.0 * at as f64, farthest(bars))) }
                text x="56" y="600" font-size="23" fill="#56636b" { (shorten(&self.describe_basis(), 94, "…")) }
            }
        }
    }

    fn describe_basis(&self) -> String {
        let stands = self.cell.basis.iter().find(|(label, _)| *label == "Device and clock");
        let stands = stands.map_or(String::new(), |(_, text)| shorten_to_clauses(text, 56));
        let blocks = self.cell.bars.first().map_or(0, |bar| bar.times.n);
        format!("{stands}; {blocks} blocks; Linux {}; {} – fsverdict", self.cell.kernel, self.cell.day)
    }
}

fn draw_bar(bar: &CandidateBar, at: usize, y: f64, end: f64) -> Markup {
    let width = (bar.times.point / end).min(1.0) * 560.0;
    let number = match (&bar.total, at) {
        (Some(total), 0) => total.clone(),
        (_, 0) => "1".to_owned(),
        _ => format!("{}×", times(bar.times.point)),
    };
    html! {
        text x="290" y=(y + 34.0) font-size="28" text-anchor="end" fill="#1c2429" { (shorten(&one_line(&bar.name), 15, "…")) }
        rect x="308" y=(y + 6.0) width=(format!("{width:.1}")) height="38" rx="4" fill=(if at == 0 { "#2a6f9e" } else { "#9aa5ab" }) {}
        text x=(format!("{:.1}", 308.0 + width + 16.0)) y=(y + 34.0) font-size="28" fill="#1c2429" { (number) }
    }
}
