//! What lies beside the ranking: costs other than time with the Pareto set, and how far the weights may move.

use maud::{Markup, html};

use super::then::laid_out;
use crate::report::{Report, besides};

/// Both tables, folded; nothing where nothing is ranked.
pub(super) fn folded(report: &Report<'_>) -> Markup {
    let tables = besides::tables(report);
    html! {
        @if !tables.is_empty() {
            details #besides {
                summary { "Besides time, and with other weights" }
                @for table in &tables { (laid_out(table)) }
            }
        }
    }
}
