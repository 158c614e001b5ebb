//! A run of several sites, site by site: who is ahead where, and on what device.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};

use super::figures::ratio;
use crate::report::Report;
use crate::report::sites::{Row, Rows};
use crate::report::text::{count, one_line};

/// The section; nothing where one site did it all.
pub(super) fn section(report: &Report<'_>) -> Markup {
    let Some(sites) = &report.judged.sites else { return html! {} };
    let mut blocks: BTreeMap<&str, usize> = BTreeMap::new();
    for place in report.judged.run.prefix().filter_map(|block| block.place.as_ref()) {
        *blocks.entry(&place.site).or_default() += 1;
    }
    let facts = &report.judged.run.header.environment;
    let device = |site: &str| {
        let fact = |name: &str| facts.get(&format!("site.{site}.{name}")).or_else(|| facts.get(name));
        fact("device.description")
            .or_else(|| fact("device.kind"))
            .map_or(String::new(), |text| one_line(text))
    };
    let devices: BTreeSet<String> = blocks.keys().map(|site| device(site)).collect();
    let differ = devices.len() > 1;
    let table = |rows: &[&Row]| {
        html! { div.scroll { table.picture {
            caption.unseen { "Sites by candidates, as multiples of " (one_line(&sites.leader)) }
            thead { tr {
                th scope="col" { "site" } @if differ { th scope="col" { "device" } } th scope="col" { "blocks" }
                @for rival in &sites.rivals { th scope="col" { (one_line(&rival.candidate)) } }
            } }
            tbody { @for row in rows { tr {
                th scope="row" { span.name.whole { (one_line(&row.title)) } }
                @let own = blocks.get(row.title.as_str());
                @if differ { td.words { @if own.is_some() { (device(&row.title)) } } }
                td { @if let Some(own) = own { (own) } }
                @for found in &row.rivals { (ratio(found.as_ref())) }
            } } }
        } } }
    };
    let rows = Rows::of(sites);
    let depends: Vec<String> =
        sites.rivals.iter().filter(|rival| rival.depends).map(|rival| one_line(&rival.candidate)).collect();
    html! {
        section #sites aria-labelledby="sites-title" {
            h2 #sites-title { "Site by site" }
            p.lead {
                "How many times as long as " b { (one_line(&sites.leader)) } " each takes at " (count(blocks.len(), "site"))
                @if let (false, Some(device)) = (differ, devices.first().filter(|device| !device.is_empty())) { ", each on: " (device) }
                "; ► where it takes no longer. A cell gives its 95% interval when pointed at."
            }
            @if !depends.is_empty() { p.note { "It depends on the site, by more than blocks within sites differ: " (depends.join(", ")) "." } }
            (table(&rows.together.iter().chain(&rows.shown).collect::<Vec<_>>()))
            @if let Some(all) = &rows.all { details { summary { "All " (count(all.len(), "site")) } (table(&all.iter().collect::<Vec<_>>())) } }
        }
    }
}
