//! The page of a filesystem: where it leads, where it is worst, the worth of its options, and its losses in power cuts
//! and bit rot.

use maud::{Markup, html};

use super::answers::describe_answer;
use super::catalogue::CataloguedFilesystem;
use super::computed_cell::{CandidateBar, ComputedCell, OptionWorth};
use super::shell::{link, page};
use super::{Atlas, AtlasCell};
use crate::wording::{one_line, times};
use fsverdict_judgement::plan::group_by_key;

pub(super) fn name(filesystem: &str) -> String {
    format!("filesystem-{filesystem}.html")
}

/// The most cells in which it is worst that are listed.
const MOST_WORST: usize = 8;

/// The filesystem in a cell: its plain candidate.
fn own_bar<'a>(cell: &'a ComputedCell, filesystem: &str) -> Option<&'a CandidateBar> {
    cell.bars.iter().find(|bar| bar.name == filesystem)
}

fn list_led_cells<'a>(
    atlas: &'a Atlas,
    facts: &'a CataloguedFilesystem,
) -> impl Iterator<Item = (&'a AtlasCell, &'a ComputedCell)> {
    let is_first = |cell: &ComputedCell| cell.answer().is_some_and(|answer| answer.first == facts.name);
    atlas.computed().filter(move |(_, cell)| is_first(cell))
}

pub(super) fn render(atlas: &Atlas, facts: &CataloguedFilesystem) -> Markup {
    let leads: Vec<(&AtlasCell, &ComputedCell)> = list_led_cells(atlas, facts).collect();
    let mut tried: Vec<(&AtlasCell, f64)> = atlas
        .computed()
        .filter_map(|(cell, computed)| Some((cell, own_bar(computed, &facts.name)?.times.point)))
        .collect();
    tried.sort_by(|one, other| other.1.total_cmp(&one.1).then_with(|| one.0.slug.cmp(&other.0.slug)));
    let worst = tried.iter().filter(|(_, ratio)| *ratio > 1.0).take(MOST_WORST);
    let title = format!("{}: where it leads and where it is worst", facts.title);
    let description = format!(
        "{} is first in {} of {} cells in which it was measured.",
        facts.title,
        leads.len(),
        tried.len()
    );
    let body = html! {
        h1 { (one_line(&title)) }
        p.lead { (description) }
        h2 #leads { "Where it is first" }
        @if leads.is_empty() { p { "In no cell that was computed." } }
        ul { @for (cell, computed) in &leads {
            li { (link(&cell.page(), &atlas.question(cell))) " "
                @if let Some(answer) = computed.answer() { (describe_answer(answer)) } }
        } }
        h2 #worst { "Where it is worst" }
        ul { @for (cell, ratio) in worst {
            li { (link(&cell.page(), &atlas.question(cell))) " " (times(*ratio)) " times as much as the first." }
        } }
        h2 #options { "What its options are worth" }
        (render_options(atlas, &facts.name))
        h2 #safety { "What it lost" }
        dl {
            dt { "Power cuts" } dd { @if facts.power_cuts.is_empty() { "Not examined." } @else { (facts.power_cuts) } }
            dt { "Bit rot" } dd { @if facts.rot.is_empty() { "Not examined." } @else { (facts.rot) } }
        }
        p.note { "From docs/results/power-cuts.md and docs/results/bit-rot.md, 24 and 25 November 2026, Linux 6.12.117." }
    };
    page(atlas, &title, &description, &body)
}

/// Each option with the cells in which it was tried: from how many to how many times as much as without it.
fn render_options(atlas: &Atlas, filesystem: &str) -> Markup {
    let all =
        atlas.computed().flat_map(|(cell, computed)| computed.options.iter().map(move |worth| (cell, worth)));
    let own = all.filter(|(_, worth)| worth.filesystem == filesystem);
    let mut groups = group_by_key(own.map(|(cell, worth)| (worth.option.clone(), (cell, worth))));
    for (_, tried) in &mut groups {
        tried.sort_by(|one: &(&AtlasCell, &OptionWorth), other| {
            one.1.times.point.total_cmp(&other.1.times.point)
        });
    }
    html! {
        @if groups.is_empty() { p { "None was tried in the cells that were computed." } }
        @for (option, tried) in &groups {
            h3 { code { (one_line(option)) } }
            @if let (Some((least_cell, least)), Some((most_cell, most))) = (tried.first(), tried.last()) {
                p { "In " (tried.len()) " cells it took between " b { (times(least.times.point)) } " times as much as without it ("
                    (link(&least_cell.page(), &atlas.question(least_cell))) ") and " b { (times(most.times.point)) } " times ("
                    (link(&most_cell.page(), &atlas.question(most_cell))) ")." }
            }
        }
    }
}

pub(super) fn render_list(atlas: &Atlas) -> Markup {
    let title = "Filesystems";
    let body = html! {
        h1 { (title) }
        @for facts in &atlas.catalogue.filesystems {
            @let first = list_led_cells(atlas, facts).count();
            h2 { (link(&name(&facts.name), &facts.title)) }
            p { "First in " (first) " cells. " (facts.power_cuts) }
        }
    };
    let description =
        "Where each filesystem leads, where it is worst, and what it lost in power cuts and bit rot.";
    page(atlas, title, description, &body)
}
