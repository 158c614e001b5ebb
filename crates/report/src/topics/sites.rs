//! Topic: the results of a run at several sites, site by site and for all sites together: which candidate is ahead at
//! which site, and on which device.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};

use super::{ReportTopic, address_tables};
use crate::Report;
use crate::model::{Clause, ClauseKind};
use crate::page::figures::ratio;
use crate::page::{Media, PageBlock, RatioRow, RatioTable, Text};
use crate::wording::{TextTable, count, one_line, times};
use fsverdict_judgement::plan::once_each;
use fsverdict_judgement::verdict::{AtSites, Estimate, Judgement, SiteRatios};

pub(super) static TOPIC: ReportTopic = ReportTopic {
    add_data: |report, document| document.with_some("sites", report.judged.sites.as_ref()),
    build_tables: |report| {
        let brief = address_tables(Media::BRIEF.and(Media::MARKDOWN), build_table(&report.judged, false));
        brief.chain(address_tables(Media::DETAIL, build_table(&report.judged, true))).collect()
    },
    build_section,
    list_clauses: |judged| Clause::list(ClauseKind::Premise, describe_turn(judged)),
};

/// The most sites that are all shown at once.
const FEW: usize = 8;
/// The number of rivals, the closest ones, in the text table; the HTML page and the JSON have all.
const COLUMNS: usize = 5;

/// Where the leader is beaten most clearly, as the beginning of a sentence: a mean over devices that disagree misleads.
fn describe_turn(judged: &Judgement<'_>) -> Option<String> {
    let sites = judged.sites.as_ref()?;
    let (candidate, site, ratio) = sites.clearest_turn(judged.plan.protocol.tie)?;
    let (times, leader) = (times(ratio), &sites.leader);
    Some(format!(
        "It depends on the device: at {site}, {candidate} takes {times} times as long as {leader}. On the whole:"
    ))
}

/// The ratio of every rival at one site or over several sites, in the order of the rivals.
fn build_row(sites: &SiteRatios, title: &str, of: impl Fn(&AtSites) -> Option<Estimate>) -> RatioRow {
    RatioRow { words: vec![title.to_owned()], ratios: sites.rivals.iter().map(of).collect() }
}

/// All rows of the table.
#[derive(Debug, Clone, PartialEq)]
struct SiteRows {
    /// Rows for these sites and for similar sites; where there are many, also the smallest and the largest ratio at any
    /// site.
    together: Vec<RatioRow>,
    /// The sites that are shown at once: all where they are few, else those where a rival is ahead of the leader by
    /// more than noise.
    shown: Vec<RatioRow>,
    /// Every site, where not all are shown at once.
    all: Option<Vec<RatioRow>>,
}

impl SiteRows {
    fn from_ratios(sites: &SiteRatios) -> Self {
        let names =
            once_each(sites.rivals.iter().flat_map(|rival| &rival.each).map(|(site, _)| site.as_str()));
        let at = |rival: &AtSites, name: &str| {
            rival.each.iter().find(|(site, _)| site == name).map(|(_, found)| *found)
        };
        let own = |name: &&str| build_row(sites, name, |rival| at(rival, name));
        let mut together = vec![
            build_row(sites, "these sites", |rival| rival.these),
            build_row(sites, "sites like these", |rival| Some(rival.like_these)),
        ];
        let all: Vec<RatioRow> = names.iter().map(own).collect();
        if all.len() <= FEW {
            return Self { together, shown: all, all: None };
        }
        let extreme = |title: &str, most: bool| {
            build_row(sites, title, |rival| {
                let points = rival.each.iter().map(|(_, found)| found.point);
                let point = if most { points.reduce(f64::max) } else { points.reduce(f64::min) }?;
                Some(Estimate::without_interval(point, 1))
            })
        };
        together.extend([extreme("the least at one", false), extreme("the most at one", true)]);
        let ahead = |row: &&RatioRow| {
            let mut rivals = row.ratios.iter().zip(&sites.rivals);
            rivals.any(|(found, rival)| rival.depends && found.is_some_and(|found| found.point < 1.0))
        };
        Self { together, shown: all.iter().filter(ahead).cloned().collect(), all: Some(all) }
    }
}

/// A text table; `whole` includes every site, however many there are.
fn build_table(judged: &Judgement<'_>, whole: bool) -> Option<TextTable> {
    let sites = judged.sites.as_ref().filter(|sites| !sites.rivals.is_empty())?;
    let SiteRows { together, shown, all } = SiteRows::from_ratios(sites);
    let number = all.as_ref().map(Vec::len);
    let rows = all.filter(|_| whole).unwrap_or(shown).into_iter().chain(together);
    let rows = rows.map(|row| RatioRow { ratios: row.ratios.into_iter().take(COLUMNS).collect(), ..row });
    let title = match number.filter(|_| !whole) {
        Some(number) => format!(
            "At {}, how many times as long as {}; by itself where another is ahead (all: --all, the page, the JSON)",
            count(number, "site"),
            sites.leader
        ),
        None => format!("At each site: how many times as long as {}", sites.leader),
    };
    let columns = sites.rivals.iter().take(COLUMNS).map(|rival| rival.candidate.clone()).collect();
    Some(RatioTable { title, words: vec!["site"], columns, rows: rows.collect() }.to_text())
}

/// The blocks and the device of each site.
struct Places<'a> {
    sites: &'a SiteRatios,
    blocks: BTreeMap<&'a str, usize>,
    /// By site; nothing where all have the same.
    devices: BTreeMap<&'a str, String>,
}

fn build_section<'a>(report: &'a Report<'_>) -> Option<PageBlock<'a>> {
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
        let note = format!("It depends on the site, by more than blocks within sites differ: {depends}.");
        parts.push(PageBlock::Note(note.into()));
    }
    let SiteRows { together, shown, all } = SiteRows::from_ratios(sites);
    let places = || Places { sites, blocks: blocks.clone(), devices: devices.clone() };
    let (few, rows) = (places(), together.into_iter().chain(shown).collect::<Vec<RatioRow>>());
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

fn draw_picture(Places { sites, blocks, devices }: &Places<'_>, rows: &[RatioRow]) -> Markup {
    let differ = !devices.is_empty();
    html! { div.scroll { table.picture {
        caption.unseen { "Sites by candidates, as multiples of " (one_line(&sites.leader)) }
        thead { tr {
            th scope="col" { "site" } @if differ { th scope="col" { "device" } } th scope="col" { "blocks" }
            @for rival in &sites.rivals { th scope="col" { (one_line(&rival.candidate)) } }
        } }
        tbody { @for row in rows { tr {
            th scope="row" { span.name.whole { (one_line(&row.words[0])) } }
            @if differ { td.words { @if let Some(device) = devices.get(row.words[0].as_str()) { (device) } } }
            td { @if let Some(own) = blocks.get(row.words[0].as_str()) { (own) } }
            @for found in &row.ratios { (ratio(found.as_ref())) }
        } } }
    } } }
}

#[cfg(test)]
mod tests {
    use super::{RatioRow, SiteRows};
    use fsverdict_judgement::verdict::SiteRatios;

    /// `ahead` of so many sites find the second candidate a third faster than the first, the others a third slower.
    fn rows(sites: usize, ahead: usize) -> SiteRows {
        let by_site = |_: &str| {
            let found = |site: usize| {
                let log = if site <= ahead { -0.3 } else { 0.3 };
                (format!("lab{site}"), vec![log, log + 0.01, log - 0.01])
            };
            (1..=sites).map(found).collect()
        };
        SiteRows::from_ratios(&SiteRatios::compare_with_leader("ext4", ["xfs"].into_iter(), true, by_site))
    }

    #[test]
    fn of_many_sites_those_that_disagree_are_shown_and_how_far_all_lie_apart() {
        let titles =
            |rows: &[RatioRow]| -> Vec<String> { rows.iter().map(|row| row.words[0].clone()).collect() };
        let few = rows(8, 0);
        assert_eq!((few.shown.len(), few.together.len(), few.all), (8, 2, None));
        let many = rows(40, 2);
        assert_eq!(titles(&many.shown), ["lab1", "lab2"]);
        assert_eq!(
            titles(&many.together),
            ["these sites", "sites like these", "the least at one", "the most at one"]
        );
        let point = |at: usize| many.together[at].ratios[0].unwrap().point;
        assert!(point(2) < 0.75 && point(3) > 1.34, "{many:?}");
        assert_eq!(many.all.map(|all| all.len()), Some(40));
        assert!(rows(40, 0).shown.is_empty());
    }
}
