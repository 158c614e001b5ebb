//! Compares candidates in a run at several sites: which is best on *these* devices, and which on *similar* devices. The
//! first question pools all blocks; for the second, each site is one observation however many blocks it has.

use std::iter::repeat_n;

use serde::Serialize;

use crate::journal::BlockState;
use crate::plan::group_by_key;
use crate::statistics::{Estimate, Evidence, adjust_by_holm, fisher_tail, mean};
use crate::verdict::{Rank, VerdictEvidence};

/// Significance level for differences between sites: the probability of site differences at least this large from the
/// noise within sites alone, corrected for the number of rivals (Holm).
const DEPENDS: f64 = 0.01;

/// Every rival compared with the leader, site by site.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SiteRatios {
    pub leader: String,
    pub rivals: Vec<AtSites>,
}

/// The ratio of a rival's goal to the leader's.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AtSites {
    pub candidate: String,
    pub each: Vec<(String, Estimate)>,
    /// The estimate for these sites, with all blocks pooled; left out for devices of different owners, which ran
    /// arbitrary numbers of blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub these: Option<Estimate>,
    /// The estimate for similar sites: each site is one observation.
    pub like_these: Estimate,
    pub depends: bool,
}

impl SiteRatios {
    /// Compares the sites of a run; `None` where it has fewer than two, and where there are no rivals.
    pub(crate) fn from_run(evidence: &VerdictEvidence<'_>, ranking: &[Rank]) -> Option<Self> {
        let place = |block: &BlockState| Some((block.place.as_ref()?.site.clone(), block.block));
        let places = group_by_key(evidence.run.counted_blocks().map(place).collect::<Option<Vec<_>>>()?);
        let [leader, rivals @ ..] = ranking else { return None };
        if places.len() < 2 || rivals.is_empty() {
            return None;
        }
        let score = |block: u32, name: &str| evidence.score(evidence.trials.find_trial(block, name)?);
        let differences = |name: &str, blocks: &[u32]| -> Vec<f64> {
            let within = |block: &u32| Some(score(*block, name)? - score(*block, &leader.candidate)?);
            blocks.iter().filter_map(within).collect()
        };
        let by_site = |name: &str| {
            places.iter().map(|(site, blocks)| (site.clone(), differences(name, blocks))).collect()
        };
        let rivals = rivals.iter().map(|rival| rival.candidate.as_str());
        Some(Self::compare_with_leader(&leader.candidate, rivals, true, by_site))
    }

    /// Compares rivals with a leader; `by_site` gives the logarithm of the ratio to the leader, block by block, at each
    /// site.
    pub fn compare_with_leader<'a>(
        leader: &str,
        rivals: impl Iterator<Item = &'a str>,
        pooled: bool,
        by_site: impl Fn(&str) -> Vec<(String, Vec<f64>)>,
    ) -> Self {
        let mut p_values = Vec::new();
        let mut site_ratios = Vec::new();
        for rival in rivals {
            let mut by_site = by_site(rival);
            by_site.retain(|(_, values)| !values.is_empty());
            let groups: Vec<Vec<f64>> = by_site.iter().map(|(_, values)| values.clone()).collect();
            let means: Vec<f64> = groups.iter().filter_map(|values| mean(values)).collect();
            let Some(like_these) = Evidence::of_all(&means) else { continue };
            p_values.push(p_same(&groups));
            let each = by_site.iter().filter_map(|(site, values)| {
                Some((site.clone(), Evidence::from_sample(values)?.ratio_after_stopping_rule()))
            });
            site_ratios.push(AtSites {
                candidate: rival.to_owned(),
                each: each.collect(),
                these: pooled_estimate(&groups).filter(|_| pooled),
                like_these: like_these.ratio(),
                depends: false,
            });
        }
        for (rival, p) in site_ratios.iter_mut().zip(adjust_by_holm(&p_values)) {
            rival.depends = p <= DEPENDS;
        }
        SiteRatios { leader: leader.to_owned(), rivals: site_ratios }
    }

    /// The rival that beats the leader most clearly at some site by more than `tie`, among those with a ratio that
    /// depends on the site; with that site and the ratio there.
    pub fn clearest_turn(&self, tie: f64) -> Option<(&str, &str, f64)> {
        let depends = self.rivals.iter().filter(|rival| rival.depends);
        let cells = depends.flat_map(|rival| {
            rival.each.iter().map(|(site, found)| (rival.candidate.as_str(), site.as_str(), found.point))
        });
        cells.min_by(|one, other| one.2.total_cmp(&other.2)).filter(|(.., ratio)| *ratio < 1.0 / (1.0 + tie))
    }
}

/// The estimate from all sites together; no site's blocks are set aside as a whole.
fn pooled_estimate(groups: &[Vec<f64>]) -> Option<Estimate> {
    let sites = groups.iter().enumerate().flat_map(|(at, values)| repeat_n(at, values.len()));
    let (values, sites) = (groups.concat(), sites.collect());
    let evidence = if values.is_empty() { None } else { Evidence::at_sites(&[values], &[sites]).pop() };
    evidence.map(|found| found.ratio_after_stopping_rule())
}

/// The p-value for equal means of all groups (one-way analysis of variance, Fisher 1925); 1 where there are too few
/// blocks.
fn p_same(groups: &[Vec<f64>]) -> f64 {
    let Some(grand) = mean(&groups.concat()) else { return 1.0 };
    let (mut between, mut within, mut count) = (0.0, 0.0, 0.0);
    for group in groups {
        let centre = mean(group).unwrap_or(grand);
        between += group.len() as f64 * (centre - grand) * (centre - grand);
        within += group.iter().map(|value| (value - centre) * (value - centre)).sum::<f64>();
        count += group.len() as f64;
    }
    let (above, below) = (groups.len() as f64 - 1.0, count - groups.len() as f64);
    if above < 1.0 || below < 1.0 || between <= 0.0 {
        return 1.0;
    }
    // Without any noise within sites, any difference between them is certain.
    if within > 0.0 { fisher_tail(between / above / (within / below), above, below) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::{SiteRatios, p_same};

    #[test]
    fn sites_differ_when_they_do_so_more_than_their_blocks() {
        let apart = [vec![0.1, 0.11, 0.09], vec![-0.1, -0.11, -0.09]];
        let alike = [vec![0.1, 0.11, 0.09], vec![0.1, 0.09, 0.105]];
        assert!(p_same(&apart) < 1e-4 && p_same(&alike) > 0.2);
        // One block each says nothing; blocks that agree to the last digit leave no doubt.
        assert_eq!((p_same(&[vec![0.1], vec![0.2]]), p_same(&[])), (1.0, 1.0));
        assert!(p_same(&[vec![0.1; 3], vec![0.2; 3]]) < 1e-9);
    }

    #[test]
    fn together_no_site_is_left_out() {
        let apart = [("here", vec![0.10, 0.11, 0.09, 0.10, 0.12, 0.11]), ("there", vec![-0.50, -0.51])];
        let by_site = |_: &str| apart.clone().map(|(site, values)| (site.to_owned(), values)).to_vec();
        let found = SiteRatios::compare_with_leader("ext4", ["xfs"].into_iter(), true, by_site);
        assert_eq!(found.rivals[0].these.map(|these| these.n), Some(8));
    }
}
