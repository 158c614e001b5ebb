//! A table of ratios in rows such as devices or sizes of data: as text, and drawn with a colour for each ratio.

use maud::{Markup, html};

use crate::page::figures::ratio;
use crate::wording::{TextTable, one_line, times_with_ends};
use fsverdict_judgement::verdict::Estimate;

pub(crate) struct RatioTable {
    pub(crate) title: String,
    /// The titles of the columns of words; the first names the row.
    pub(crate) words: Vec<&'static str>,
    /// The titles of the columns of ratios.
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<RatioRow>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RatioRow {
    pub(crate) words: Vec<String>,
    pub(crate) ratios: Vec<Option<Estimate>>,
}

impl RatioTable {
    pub(crate) fn to_text(&self) -> TextTable {
        let words = self.words.iter().map(|title| (*title).to_owned());
        let row = |row: &RatioRow| {
            let ratios = row.ratios.iter();
            let ratios = ratios.map(|found| found.as_ref().map_or("–".to_owned(), times_with_ends));
            row.words.iter().cloned().chain(ratios).collect()
        };
        TextTable {
            title: self.title.clone(),
            header: words.chain(self.columns.iter().cloned()).collect(),
            rows: self.rows.iter().map(row).collect(),
        }
    }

    /// The table for an HTML page, under a caption for screen readers.
    pub(crate) fn draw(&self, caption: &str) -> Markup {
        html! { div.scroll { table.picture {
            caption.unseen { (one_line(caption)) }
            thead { tr {
                @for title in &self.words { th scope="col" { (title) } }
                @for title in &self.columns { th scope="col" { (one_line(title)) } }
            } }
            tbody { @for row in &self.rows { tr {
                @for (at, words) in row.words.iter().enumerate() {
                    @if at == 0 { th scope="row" { span.name { (one_line(words)) } } } @else { td { (one_line(words)) } }
                }
                @for found in &row.ratios { (ratio(found.as_ref())) }
            } } }
        } } }
    }
}
