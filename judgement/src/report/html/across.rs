//! The picture of configurations × circumstances: which filesystem on which device.

use maud::{Markup, html};

use super::figures::ratio;
use crate::report::across::{SideBySide, change, tables};
use crate::report::text::one_line;
use crate::verdict::Estimate;

pub(super) fn section(across: &SideBySide) -> Markup {
    let found = &across.found;
    html! {
        section #across aria-labelledby="across-title" {
            h2 #across-title { "Which on what" }
            p.lead { (one_line(&change(found))) }
            div.scroll {
                table.picture {
                    caption.unseen { "Candidates by " (found.what) ", as multiples of the best of each" }
                    thead { tr {
                        th scope="col" { "candidate" }
                        @for column in &found.columns { th scope="col" { (one_line(&column.title)) } }
                    } }
                    tbody { @for (name, cells) in &found.rows {
                        tr {
                            th scope="row" { span.name { (one_line(name)) } }
                            @for cell in cells { (ratio(cell.map(|times| Estimate::without_interval(times, 1)).as_ref())) }
                        }
                    } }
                }
            }
            dl.facts { @for (column, sentence) in across.columns() {
                dt { (one_line(&column.title)) } dd { (one_line(sentence)) }
            } }
            @for table in tables(found).iter().skip(1) { (super::then::laid_out(table, None)) }
        }
    }
}
