//! The results of a run at several sites, site by site: which candidate is ahead at which site, and on which device.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};

use super::words::{Rows, SiteRow};
use crate::Report;
use crate::html::figures::ratio;
use crate::page::{PageBlock, Text};
use crate::text::{count, one_line};
use fsverdict_judgement::verdict::SiteRatios;

/// The blocks and the device of each site.
struct Places<'a> {
    sites: &'a SiteRatios,
    blocks: BTreeMap<&'a str, usize>,
    /// By site; nothing where all have the same.
    devices: BTreeMap<&'a str, String>,
}

/// The section; `None` where the run has no more than one site.
pub(super) fn build_section<'a>(report: &'a Report<'_>) -> Option<PageBlock<'a>> {
    let sites = report.judged.sites.as_ref()?;
    let mut blocks: BTreeMap<&str, usize> = BTreeMap::new();
    for place in report.judged.run.counted_blocks().filter_map(|block| block.place.as_ref()) {
        *blocks.entry(&place.site).or_default() += 1;
    }
    let facts = &report.judged.run.header.environment;
    let device = |site: &str| {
        let fact = |name: &str| facts.get(&format!("site.{site}.{name}")).or_else(|| facts.get(name));
        fact("device.description")
            .or_else(|| fact("device.kind"))
            .map_or(String::new(), |text| one_line(text))
    };
    let devices_found: BTreeSet<String> = blocks.keys().map(|site| device(site)).collect();
    let mut lead = Text::ours("How many times as long as ")
        .strong(&sites.leader)
        .plain(format!(" each takes at {}", count(blocks.len(), "site")));
    let mut devices = BTreeMap::new();
    if devices_found.len() > 1 {
        devices.extend(blocks.keys().map(|site| (*site, device(site))));
    } else if let Some(device) = devices_found.first().filter(|device| !device.is_empty()) {
        lead = lead.plain(format!(", each on: {device}"));
    }
    lead = lead.plain("; ► where it takes no longer. A cell gives its 95% interval when pointed at.");
    let mut parts = vec![PageBlock::Lead(lead)];
    let depends: Vec<String> =
        sites.rivals.iter().filter(|rival| rival.depends).map(|rival| one_line(&rival.candidate)).collect();
    if !depends.is_empty() {
        let depends = depends.join(", ");
        let said = format!("It depends on the site, by more than blocks within sites differ: {depends}.");
        parts.push(PageBlock::Note(said.into()));
    }
    let Rows { together, shown, all } = Rows::of(sites);
    let places = || Places { sites, blocks: blocks.clone(), devices: devices.clone() };
    let (few, rows) = (places(), together.into_iter().chain(shown).collect::<Vec<SiteRow>>());
    parts.push(PageBlock::picture(move || draw_picture(&few, &rows)));
    if let Some(all) = all {
        let (title, places) = (format!("All {}", count(all.len(), "site")), places());
        parts.push(PageBlock::fold(
            None,
            title,
            vec![PageBlock::picture(move || draw_picture(&places, &all))],
        ));
    }
    Some(PageBlock::section("sites", "Site by site", parts))
}

fn draw_picture(Places { sites, blocks, devices }: &Places<'_>, rows: &[SiteRow]) -> Markup {
    let differ = !devices.is_empty();
    html! { div.scroll { table.picture {
        caption.unseen { "Sites by candidates, as multiples of " (one_line(&sites.leader)) }
        thead { tr {
            th scope="col" { "site" } @if differ { th scope="col" { "device" } } th scope="col" { "blocks" }
            @for rival in &sites.rivals { th scope="col" { (one_line(&rival.candidate)) } }
        } }
        tbody { @for row in rows { tr {
            th scope="row" { span.name.whole { (one_line(&row.title)) } }
            @if differ { td.words { @if let Some(device) = devices.get(row.title.as_str()) { (device) } } }
            td { @if let Some(own) = blocks.get(row.title.as_str()) { (own) } }
            @for found in &row.rivals { (ratio(found.as_ref())) }
        } } }
    } } }
}
