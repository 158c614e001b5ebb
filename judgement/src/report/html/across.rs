//! The picture of configurations × circumstances: which filesystem on which device.

use maud::{Markup, html};

use super::figures::ratio;
use crate::report::across::Across;
use crate::report::text::one_line;
use crate::verdict::Estimate;

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
                            @for cell in cells { (ratio(cell.map(|times| Estimate::without_interval(times, 1)).as_ref())) }
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
