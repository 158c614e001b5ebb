//! Finds phases that are left out of a run's comparison because of some of its sites alone. A phase counts only if every
//! candidate has a number in it in every trial, so a site could remove a phase from the verdict of all by measuring
//! nothing in it.

use std::collections::{BTreeMap, HashMap};

use fsverdict_judgement::journal::{Run, Trial};
use fsverdict_judgement::plan::Plan;
use fsverdict_judgement::verdict::Objective;

/// A sentence for each phase of the goal that some sites lack and others have.
pub(super) fn describe_omissions(plan: &Plan, run: &Run) -> Vec<String> {
    let site_of: HashMap<u32, &str> = run
        .blocks
        .iter()
        .filter_map(|block| Some((block.block, block.place.as_ref()?.site.as_str())))
        .collect();
    let mut trials_of: BTreeMap<&str, Vec<&Trial>> = BTreeMap::new();
    for trial in &run.trials {
        if let Some(site) = site_of.get(&trial.id.block) {
            trials_of.entry(site).or_default().push(trial);
        }
    }
    let sites = trials_of.len();
    let mut lacking: BTreeMap<String, Vec<(&str, String)>> = BTreeMap::new();
    for (site, trials) in trials_of {
        let mut objective = Objective::from_plan(plan);
        objective.add_trials(trials);
        for phase in objective.left_out {
            lacking.entry(phase.phase).or_default().push((site, phase.lacking.join(", ")));
        }
    }
    lacking.retain(|_, lacking| lacking.len() < sites);
    let describe = |(phase, lacking): (String, Vec<(&str, String)>)| {
        let names: Vec<&str> = lacking.iter().map(|(site, _)| *site).collect();
        let each: Vec<String> =
            lacking.iter().map(|(site, candidates)| format!("of {candidates} at {site}")).collect();
        let (metric, each, names) = (&plan.goal.metric, each.join(" and "), names.join(","));
        format!(
            "`{phase}` is left out of the comparison at all sites, since no {metric} that counts was measured in it {each}, and elsewhere it was: `fsverdict merge --without {names}` compares it"
        )
    };
    lacking.into_iter().map(describe).collect()
}
