//! Topic: the outcomes of blocks with bit rot: tables by the use of the blocks, by the layer that detected them, and the
//! first silent losses; a picture with a bar for each candidate and use.

use maud::{Markup, html};

use super::{ReportTopic, address_tables};
use crate::Report;
use crate::model::{Clause, ClauseKind};
use crate::page::PageBlock;
use crate::topics::safety::audience_of_losses;
use crate::wording::{TextTable, one_line, percent_of_cases};
use fsverdict_judgement::journal::{
    BlockUse, PlacedRot, RotOutcome, RotTally, RotWitness, RottenBlocks, SyncAnswer,
};
use fsverdict_judgement::verdict::Judgement;

pub(super) static TOPIC: ReportTopic = ReportTopic {
    add_data: |report, document| document.with_list("rot", &report.judged.run.rotten),
    build_tables: |report| address_tables(audience_of_losses(report), build_tables(&report.judged)).collect(),
    build_section,
    list_clauses: |judged| Clause::list(ClauseKind::Note, write_sentences(judged)),
};

/// The most losses that are shown for each candidate.
const MOST_LOSSES: usize = 3;
/// The most characters of an observation that are shown.
const SEEN: usize = 90;

/// The tables by the use of the blocks, by the kind of corruption, and of the first losses, if there are any.
fn build_tables(judged: &Judgement<'_>) -> Vec<TextTable> {
    let all = judged.run.rotten.as_slice();
    if all.is_empty() {
        return Vec::new();
    }
    let shown = shown_outcomes(all);
    let mut header = vec!["candidate", "held", "rotten"];
    header.extend(shown.iter().map(|outcome| outcome.words()));
    header.extend(["lost, %", "unsaid, %", "noticed by"]);
    let by_use = all.iter().flat_map(|rotten| {
        rotten
            .held
            .iter()
            .filter(|(_, tally)| tally.looked > 0)
            .map(|(held, tally)| build_row(&rotten.candidate, held.words(), tally, &shown))
    });
    let title = "Rot: single blocks by what they held, and what became of the filesystem; unsaid: wrong content given for right, or a kernel that died";
    let mut tables = vec![TextTable::new(title, &header, by_use.collect())];
    if let Some(place) = header.get_mut(1) {
        *place = "was";
    }
    let by_decay = all.iter().flat_map(|rotten| {
        rotten.decays.iter().map(|(word, tally)| build_row(&rotten.candidate, word, tally, &shown))
    });
    let title = "Rot: the same blocks by what was wrong with them, controls left out";
    tables.push(TextTable::new(title, &header, by_decay.collect()));
    tables.extend(build_sync_table(all));
    let first = |rotten: &RottenBlocks| -> Vec<Vec<String>> {
        let describe = |PlacedRot { held, finding }: &PlacedRot| {
            vec![
                rotten.candidate.clone(),
                finding.state.clone(),
                held.words().to_owned(),
                finding.outcome.words().to_owned(),
                cut(&finding.seen),
            ]
        };
        rotten.first.iter().take(MOST_LOSSES).map(describe).collect()
    };
    let title = "Rotten blocks that lost something, the gravest first: fsverdict crash RUN CANDIDATE BLOCK makes the image of one";
    let header = ["candidate", "block", "held", "outcome", "seen"];
    tables.extend(TextTable::filled(title, &header, all.iter().flat_map(first)));
    tables
}

/// The answers of fsync about blocks that refused writes; `None` if none was tried.
fn build_sync_table(all: &[RottenBlocks]) -> Option<TextTable> {
    let mut header = vec!["candidate", "held", "unwritable"];
    header.extend(SyncAnswer::ALL.iter().map(|answer| answer.words()));
    let count = |number: u32| if number == 0 { "–".to_owned() } else { number.to_string() };
    let rows = all
        .iter()
        .flat_map(|rotten| rotten.held.iter().map(|(held, tally)| (&rotten.candidate, held, &tally.syncs)))
        .filter(|(_, _, syncs)| !syncs.is_empty())
        .map(|(candidate, held, syncs)| {
            let mut row = vec![candidate.clone(), held.words().to_owned(), count(syncs.values().sum())];
            row.extend(SyncAnswer::ALL.iter().map(|answer| count(syncs.get(answer).copied().unwrap_or(0))));
            row
        });
    let title = "Rot: blocks that took no writes, by what fsync said of files written over: whether it failed, whether a second one did, and whether the content was there after the next mount";
    TextTable::filled(title, &header, rows)
}

/// As much as a row takes; the JSON has more.
fn cut(seen: &str) -> String {
    let short: String = seen.chars().take(SEEN).collect();
    if short.len() < seen.len() { format!("{short}…") } else { short }
}

/// The outcomes that came up, and the plain ones.
fn shown_outcomes(all: &[RottenBlocks]) -> Vec<RotOutcome> {
    let is_shown = |outcome: &RotOutcome| {
        matches!(outcome, RotOutcome::Unharmed | RotOutcome::LossReported | RotOutcome::SilentLoss)
            || all.iter().any(|rotten| rotten.count(*outcome) > 0)
    };
    RotOutcome::ALL.into_iter().filter(is_shown).collect()
}

fn build_row(candidate: &str, what: &str, tally: &RotTally, shown: &[RotOutcome]) -> Vec<String> {
    let mut row = vec![candidate.to_owned(), what.to_owned(), tally.looked.to_string()];
    row.extend(shown.iter().map(|outcome| match tally.count(*outcome) {
        0 => "–".to_owned(),
        count => count.to_string(),
    }));
    row.push(percent_of_cases(tally.count_losses(), tally.looked));
    row.push(percent_of_cases(tally.count_grave(), tally.looked));
    let by: Vec<String> = RotWitness::ALL
        .iter()
        .filter_map(|witness| {
            let count = tally.noticed.get(witness)?;
            Some(format!("{} {count}", witness.words()))
        })
        .collect();
    row.push(if by.is_empty() { "–".to_owned() } else { by.join(", ") });
    row
}

/// The sentences about corrupted blocks, without full stops; none if no block was corrupted.
fn write_sentences(judged: &Judgement<'_>) -> Vec<String> {
    let all = judged.run.rotten.as_slice();
    let mut sentences = Vec::new();
    let controls = |rotten: &RottenBlocks| {
        let tally = rotten.held.get(&BlockUse::Unused)?;
        let hurt = tally.looked - tally.count(RotOutcome::Unharmed);
        (hurt > 0).then(|| {
            format!(
                "{}: of {} blocks that were taken for unused, something came of {hurt}: what is in use was not wholly told",
                rotten.candidate, tally.looked
            )
        })
    };
    sentences.extend(all.iter().filter_map(controls));
    let stopped = |rotten: &RottenBlocks| {
        rotten.stopped.as_ref().map(|stopped| {
            format!(
                "{}: the layout of its device was not read to its end ({stopped}): what the blocks behind that held is told by their content alone",
                rotten.candidate
            )
        })
    };
    sentences.extend(all.iter().filter_map(stopped));
    if !all.is_empty() {
        sentences.push(
            "blocks rot one at a time, alike many of each use however many there are of it: the shares are for such blocks, not for years or devices"
                .to_owned(),
        );
    }
    sentences
}

fn build_section<'a>(report: &'a Report<'_>) -> Option<PageBlock<'a>> {
    let all = report.judged.run.rotten.as_slice();
    if all.is_empty() {
        return None;
    }
    let mut blocks: Vec<PageBlock<'a>> = PageBlock::leads(write_sentences(&report.judged)).collect();
    blocks.push(PageBlock::picture(move || draw_picture(all)));
    blocks.extend(build_tables(&report.judged).into_iter().map(PageBlock::plain_table));
    Some(PageBlock::section("rot", "When blocks rot", blocks))
}

/// A row for each candidate and a column for each use, with a bar of the outcomes in each cell.
fn draw_picture(all: &[RottenBlocks]) -> Markup {
    let uses: Vec<BlockUse> = BlockUse::ALL
        .into_iter()
        .filter(|held| all.iter().any(|rotten| rotten.held.get(held).is_some_and(|tally| tally.looked > 0)))
        .collect();
    let shown = shown_outcomes(all);
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
