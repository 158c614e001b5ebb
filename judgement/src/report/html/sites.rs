//! A run of several sites, site by site: who is ahead where, and on what device.

use maud::{Markup, html};

use super::figures::ratio;
use crate::report::Report;
use crate::report::text::{count, one_line};
use crate::verdict::{AtSites, Estimate};

/// The section; nothing where one site did it all.
pub(super) fn section(report: &Report<'_>) -> Markup {
    let Some(sites) = &report.sites else { return html! {} };
    let mut blocks: Vec<(&str, usize)> = Vec::new();
    for place in report.run.prefix().filter_map(|block| block.place.as_ref()) {
        match blocks.iter_mut().find(|(site, _)| *site == place.site) {
            Some((_, count)) => *count += 1,
            None => blocks.push((&place.site, 1)),
        }
    }
    let facts = &report.run.header.environment;
    let device = |site: &str| {
        let fact = |name: &str| facts.get(&format!("site.{site}.{name}")).or_else(|| facts.get(name));
        fact("device.description")
            .or_else(|| fact("device.kind"))
            .map_or(String::new(), |text| one_line(text))
    };
    let row = |title: &str, device: &str, blocks: String, of: &dyn Fn(&AtSites) -> Option<Estimate>| {
        html! { tr {
            th scope="row" { span.name { (one_line(title)) } } td { (device) } td { (blocks) }
            @for rival in &sites.rivals { (ratio(of(rival).as_ref())) }
        } }
    };
    let all: usize = blocks.iter().map(|(_, count)| count).sum();
    html! {
        section #sites aria-labelledby="sites-title" {
            h2 #sites-title { "Site by site" }
            p.lead { "How many times as long as " b { (one_line(&sites.leader)) } " each takes at " (count(blocks.len(), "site")) "; ► where it takes no longer. A cell gives its 95% interval when pointed at." }
            @let depends: Vec<String> = sites.rivals.iter().filter(|rival| rival.depends).map(|rival| one_line(&rival.candidate)).collect();
            @if !depends.is_empty() { p.note { "It depends on the site, by more than blocks within sites differ: " (depends.join(", ")) "." } }
            div.scroll { table.picture {
                caption.unseen { "Sites by candidates, as multiples of " (one_line(&sites.leader)) }
                thead { tr {
                    th scope="col" { "site" } th scope="col" { "device" } th scope="col" { "blocks" }
                    @for rival in &sites.rivals { th scope="col" { (one_line(&rival.candidate)) } }
                } }
                tbody {
                    (row("sites like these", "", count(blocks.len(), "site"), &|rival| Some(rival.like_these)))
                    (row("these sites", "", all.to_string(), &|rival| rival.these))
                    @for (site, count) in &blocks {
                        (row(site, &device(site), count.to_string(), &|rival| {
                            rival.each.iter().find(|(known, _)| known == site).map(|(_, found)| *found)
                        }))
                    }
                }
            } }
        }
    }
}
