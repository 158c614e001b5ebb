//! The outcomes of corrupted blocks: a bar for each candidate and use of the blocks, and the tables.

use maud::{Markup, html};

use super::words;
use crate::Report;
use crate::page::PageBlock;
use crate::text::one_line;
use fsverdict_judgement::journal::{BlockUse, RotOutcome, RotTally, RottenBlocks};

/// The section; `None` where no blocks were corrupted.
pub(super) fn build_section<'a>(report: &'a Report<'_>) -> Option<PageBlock<'a>> {
    let all = report.judged.run.rotten.as_slice();
    if all.is_empty() {
        return None;
    }
    let mut blocks: Vec<PageBlock<'a>> = PageBlock::leads(words::write_sentences(&report.judged)).collect();
    blocks.push(PageBlock::picture(move || draw_picture(all)));
    blocks.extend(words::build_tables(&report.judged).into_iter().map(PageBlock::plain_table));
    Some(PageBlock::section("rot", "When blocks rot", blocks))
}

/// A row for each candidate and a column for each use, with a bar of the outcomes in each cell.
fn draw_picture(all: &[RottenBlocks]) -> Markup {
    let uses: Vec<BlockUse> = BlockUse::ALL
        .into_iter()
        .filter(|held| all.iter().any(|rotten| rotten.held.get(held).is_some_and(|tally| tally.looked > 0)))
        .collect();
    let shown = words::outcomes(all);
    html! {
        p.outcomes { @for outcome in &shown {
            span.(class(*outcome)) {} " " (outcome.words()) " "
        } }
        div.scroll { table.rot {
            caption.unseen { "Outcomes of rotten blocks by candidate and by what the block held" }
            thead { tr { th scope="col" { "candidate" } @for held in &uses { th scope="col" { (held.words()) } } } }
            tbody { @for rotten in all { tr {
                th scope="row" { (one_line(&rotten.candidate)) }
                @for held in &uses { td { @if let Some(tally) = rotten.held.get(held) { (draw_bar(tally, &shown)) } } }
            } } }
        } }
    }
}

fn draw_bar(tally: &RotTally, shown: &[RotOutcome]) -> Markup {
    let of = f64::from(tally.looked.max(1));
    let counted = shown.iter().filter(|outcome| tally.count(**outcome) > 0);
    let words: Vec<String> =
        counted.clone().map(|outcome| format!("{} {}", tally.count(*outcome), outcome.words())).collect();
    html! {
        div.outcomes role="img" aria-label=(words.join(", ")) title=(words.join(", ")) {
            @for outcome in counted {
                span.(class(*outcome)) style=(format!("width:{:.2}%", 100.0 * f64::from(tally.count(*outcome)) / of)) {}
            }
        }
    }
}

/// The severity of an outcome, as a CSS class of the page.
const fn class(outcome: RotOutcome) -> &'static str {
    match outcome {
        RotOutcome::Unharmed => "unharmed",
        RotOutcome::Healed | RotOutcome::Repaired => "mended",
        RotOutcome::Impaired => "impaired",
        RotOutcome::LossReported => "reported",
        RotOutcome::Unmountable => "unmountable",
        RotOutcome::LossFound => "late",
        RotOutcome::SilentLoss => "silent",
        RotOutcome::Hang | RotOutcome::Panic => "dead",
    }
}
