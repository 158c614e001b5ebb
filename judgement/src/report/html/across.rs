//! The picture of configurations × circumstances: which filesystem on which device.

use maud::{Markup, html};

use super::figures::place;
use crate::report::across::Across;
use crate::report::number::times;
use crate::report::text::one_line;

/// From here on a cell is as deep as it gets.
const FARTHEST: f64 = 16.0;

pub(super) fn section(across: &Across) -> Markup {
    html! {
        section #across aria-labelledby="across-title" {
            h2 #across-title { "Which on what" }
            p.lead { (one_line(&across.change())) }
            div.scroll {
                table.picture {
                    caption.unseen { "Candidates by " (across.what) ", as multiples of the best of each" }
                    thead { tr {
                        th scope="col" { "candidate" }
                        @for column in &across.columns { th scope="col" { (one_line(&column.title)) } }
                    } }
                    tbody { @for (name, cells) in &across.rows {
                        tr {
                            th scope="row" { span.name { (one_line(name)) } }
                            @for cell in cells { (shown(*cell)) }
                        }
                    } }
                }
            }
            dl.facts { @for column in &across.columns {
                dt { (one_line(&column.title)) } dd { (one_line(&column.sentence)) }
            } }
            @for table in across.tables().iter().skip(1) { (super::then::laid_out(table, None)) }
        }
    }
}

/// How many times the best; the best has its sign.
fn shown(behind: Option<f64>) -> Markup {
    let Some(behind) = behind else { return html! { td.none { "–" } } };
    let best = behind <= 1.0;
    html! {
        td.cell.best[best].behind[!best] style=(format!("--heat:{:.0}%", place(behind, 1.0, FARTHEST))) {
            span.value {
                span.sign aria-hidden="true" { @if best { "►" } }
                @if best { span.unseen { "best: " } }
                (times(behind)) "×"
            }
        }
    }
}
