//! A run whose blocks were done at several sites: which candidate is best on *these* devices, and which on devices *like*
//! these. The first pools all blocks; for the second each site is one observation, however many blocks it did.

use serde::Serialize;

use super::{Blocks, Rank, Yardstick};
use crate::journal::Run;
use crate::statistics::{Estimate, Evidence, fisher_tail, holm, mean};

/// From here on sites are said to differ: the probability of differences between them as large as these, by the noise
/// within sites alone, corrected for the number of rivals (Holm).
const DEPENDS: f64 = 0.01;

/// Every rival of the leader, site by site.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sites {
    pub leader: String,
    pub rivals: Vec<AtSites>,
}

/// How many times as much of the goal a rival takes as the leader.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AtSites {
    pub candidate: String,
    /// At each site, by name.
    pub each: Vec<(String, Estimate)>,
    /// At these sites: all blocks pooled.
    pub these: Estimate,
    /// At sites like these: as many observations as sites.
    pub like_these: Estimate,
    /// Whether it depends on the site.
    pub depends: bool,
}

impl Sites {
    /// Of a run of several sites; `None` of any other, and where nothing was compared.
    pub fn of(run: &Run, yardstick: &Yardstick, trials: &Blocks<'_>, ranking: &[Rank]) -> Option<Self> {
        let mut places: Vec<(&str, Vec<u32>)> = Vec::new();
        for block in run.prefix() {
            let site = block.place.as_ref()?.site.as_str();
            match places.iter_mut().find(|(known, _)| *known == site) {
                Some((_, blocks)) => blocks.push(block.block),
                None => places.push((site, vec![block.block])),
            }
        }
        let [leader, rivals @ ..] = ranking else { return None };
        if places.len() < 2 || rivals.is_empty() {
            return None;
        }
        let score = |block: u32, name: &str| yardstick.log_score(trials.trial(block, name)?);
        let differences = |name: &str, blocks: &[u32]| -> Vec<f64> {
            let within = |block: &u32| Some(score(*block, name)? - score(*block, &leader.candidate)?);
            blocks.iter().filter_map(within).collect()
        };
        let mut p_values = Vec::new();
        let mut found = Vec::new();
        for rival in rivals {
            let by_site: Vec<(&str, Vec<f64>)> = places
                .iter()
                .map(|(site, blocks)| (*site, differences(&rival.candidate, blocks)))
                .filter(|(_, values)| !values.is_empty())
                .collect();
            let groups: Vec<Vec<f64>> = by_site.iter().map(|(_, values)| values.clone()).collect();
            let means: Vec<f64> = groups.iter().filter_map(|values| mean(values)).collect();
            let (Some(these), Some(like_these)) = (Evidence::of(&groups.concat()), Evidence::of_all(&means))
            else {
                continue;
            };
            p_values.push(p_same(&groups));
            let each = by_site
                .iter()
                .filter_map(|(site, values)| Some(((*site).to_owned(), Evidence::of(values)?.ratio())));
            found.push(AtSites {
                candidate: rival.candidate.clone(),
                each: each.collect(),
                these: these.ratio(),
                like_these: like_these.ratio(),
                depends: false,
            });
        }
        for (rival, p) in found.iter_mut().zip(holm(&p_values)) {
            rival.depends = p <= DEPENDS;
        }
        Some(Sites { leader: leader.candidate.clone(), rivals: found })
    }
}

/// p that all groups have one mean (one-way analysis of variance, Fisher 1925); 1 where too few blocks tell.
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
    // Without any noise within sites there is no doubt.
    if within > 0.0 { fisher_tail(between / above / (within / below), above, below) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::p_same;

    #[test]
    fn sites_differ_when_they_do_so_more_than_their_blocks() {
        let apart = [vec![0.1, 0.11, 0.09], vec![-0.1, -0.11, -0.09]];
        let alike = [vec![0.1, 0.11, 0.09], vec![0.1, 0.09, 0.105]];
        assert!(p_same(&apart) < 1e-4 && p_same(&alike) > 0.2);
        // One block each says nothing; blocks that agree to the last digit leave no doubt.
        assert_eq!((p_same(&[vec![0.1], vec![0.2]]), p_same(&[])), (1.0, 1.0));
        assert!(p_same(&[vec![0.1; 3], vec![0.2; 3]]) < 1e-9);
    }
}
