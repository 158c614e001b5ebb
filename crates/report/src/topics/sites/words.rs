//! The table of a run at several sites: one row per site, and rows for all sites together.

use crate::number::times_with_ends;
use crate::text::count;
use crate::text_table::TextTable;
use fsverdict_judgement::plan::once_each;
use fsverdict_judgement::verdict::{AtSites, Estimate, Judgement, SiteRatios};

/// The most sites that are all shown at once.
const FEW: usize = 8;
/// The number of rivals, the closest ones, in the text table; the HTML page and the JSON have all.
const COLUMNS: usize = 5;

/// The ratio of every rival at one site or over several sites, in the order of the rivals.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SiteRow {
    pub(crate) title: String,
    pub(crate) rivals: Vec<Option<Estimate>>,
}

impl SiteRow {
    fn new(sites: &SiteRatios, title: &str, of: impl Fn(&AtSites) -> Option<Estimate>) -> Self {
        Self { title: title.to_owned(), rivals: sites.rivals.iter().map(of).collect() }
    }
}

/// All rows of the table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Rows {
    /// Rows for these sites and for similar sites; where there are many, also the smallest and the largest ratio at any
    /// site.
    pub(crate) together: Vec<SiteRow>,
    /// The sites that are shown at once: all where they are few, else those where a rival is ahead of the leader by
    /// more than noise.
    pub(crate) shown: Vec<SiteRow>,
    /// Every site, where not all are shown at once.
    pub(crate) all: Option<Vec<SiteRow>>,
}

impl Rows {
    pub(crate) fn of(sites: &SiteRatios) -> Self {
        let names =
            once_each(sites.rivals.iter().flat_map(|rival| &rival.each).map(|(site, _)| site.as_str()));
        let at = |rival: &AtSites, name: &str| {
            rival.each.iter().find(|(site, _)| site == name).map(|(_, found)| *found)
        };
        let own = |name: &&str| SiteRow::new(sites, name, |rival| at(rival, name));
        let mut together = vec![
            SiteRow::new(sites, "these sites", |rival| rival.these),
            SiteRow::new(sites, "sites like these", |rival| Some(rival.like_these)),
        ];
        let all: Vec<SiteRow> = names.iter().map(own).collect();
        if all.len() <= FEW {
            return Self { together, shown: all, all: None };
        }
        let extreme = |title: &str, most: bool| {
            SiteRow::new(sites, title, |rival| {
                let points = rival.each.iter().map(|(_, found)| found.point);
                let point = if most { points.reduce(f64::max) } else { points.reduce(f64::min) }?;
                Some(Estimate::without_interval(point, 1))
            })
        };
        together.extend([extreme("the least at one", false), extreme("the most at one", true)]);
        let ahead = |row: &&SiteRow| {
            let mut rivals = row.rivals.iter().zip(&sites.rivals);
            rivals.any(|(found, rival)| rival.depends && found.is_some_and(|found| found.point < 1.0))
        };
        Self { together, shown: all.iter().filter(ahead).cloned().collect(), all: Some(all) }
    }
}

/// A text table; `whole` includes every site, however many there are.
pub(crate) fn build_table(judged: &Judgement<'_>, whole: bool) -> Option<TextTable> {
    let sites = judged.sites.as_ref().filter(|sites| !sites.rivals.is_empty())?;
    let Rows { together, shown, all } = Rows::of(sites);
    let number = all.as_ref().map(Vec::len);
    let mut header = vec!["site".to_owned()];
    header.extend(sites.rivals.iter().take(COLUMNS).map(|rival| rival.candidate.clone()));
    let cell = |found: &Option<Estimate>| found.map_or("–".to_owned(), |found| times_with_ends(&found));
    let rows = all.filter(|_| whole).unwrap_or(shown).into_iter().chain(together);
    let rows = rows.map(|row| {
        [row.title.clone()].into_iter().chain(row.rivals.iter().take(COLUMNS).map(cell)).collect()
    });
    let rows = rows.collect();
    let title = match number.filter(|_| !whole) {
        Some(number) => format!(
            "At {}, how many times as long as {}; by itself where another is ahead (all: --all, the page, the JSON)",
            count(number, "site"),
            sites.leader
        ),
        None => format!("At each site: how many times as long as {}", sites.leader),
    };
    Some(TextTable { title, header, rows })
}

#[cfg(test)]
mod tests {
    use super::Rows;
    use fsverdict_judgement::verdict::SiteRatios;

    /// `ahead` of so many sites find the second candidate a third faster than the first, the others a third slower.
    fn rows(sites: usize, ahead: usize) -> Rows {
        let by_site = |_: &str| {
            let found = |site: usize| {
                let log = if site <= ahead { -0.3 } else { 0.3 };
                (format!("lab{site}"), vec![log, log + 0.01, log - 0.01])
            };
            (1..=sites).map(found).collect()
        };
        Rows::of(&SiteRatios::compare_with_leader("ext4", ["xfs"].into_iter(), true, by_site))
    }

    #[test]
    fn of_many_sites_those_that_disagree_are_shown_and_how_far_all_lie_apart() {
        let titles =
            |rows: &[super::SiteRow]| -> Vec<String> { rows.iter().map(|row| row.title.clone()).collect() };
        let few = rows(8, 0);
        assert_eq!((few.shown.len(), few.together.len(), few.all), (8, 2, None));
        let many = rows(40, 2);
        assert_eq!(titles(&many.shown), ["lab1", "lab2"]);
        assert_eq!(
            titles(&many.together),
            ["these sites", "sites like these", "the least at one", "the most at one"]
        );
        let point = |at: usize| many.together[at].rivals[0].unwrap().point;
        assert!(point(2) < 0.75 && point(3) > 1.34, "{many:?}");
        assert_eq!(many.all.map(|all| all.len()), Some(40));
        assert!(rows(40, 0).shown.is_empty());
    }
}
