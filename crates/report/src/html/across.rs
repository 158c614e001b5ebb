//! The picture of configurations × environments: which filesystem on which device.

use maud::{Markup, html};

use super::figures::ratio;
use crate::across::{SideBySide, build_tables, describe_changes};
use crate::page::{PageBlock, Text};
use crate::text::one_line;
use fsverdict_judgement::verdict::{Across, Estimate};

pub(super) fn build_section(across: &SideBySide) -> PageBlock<'_> {
    let found = &across.found;
    let facts = across.columns().map(|(column, said)| (Text::foreign(&column.title), Text::foreign(said)));
    let mut blocks = vec![
        PageBlock::Lead(Text::foreign(&describe_changes(found))),
        PageBlock::picture(move || draw_picture(found)),
        PageBlock::Facts(facts.collect()),
    ];
    // The first table is drawn as a picture.
    blocks.extend(build_tables(found).into_iter().skip(1).map(PageBlock::plain_table));
    PageBlock::section("across", "Which on what", blocks)
}

fn draw_picture(found: &Across) -> Markup {
    html! {
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
    }
}
