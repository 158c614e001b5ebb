//! Runs of one plan on several devices, whosever they are: each device with its own verdict. Seconds of different devices are
//! never pooled; each device is one observation of what is asked about devices like these.

mod work;

use serde::Serialize;

use super::{Across, AcrossColumn, Estimate, Judgement, Objective, SiteRatios, Verdict, by_site};
use crate::journal::{Run, Trial};
use crate::plan::{DeviceSource, Plan, once_each};
use crate::statistics::{FEWEST, mean};
use fsverdict_text::Bytes;

use work::obstacles;

/// A run that goes in, and what to call it: the name of its file.
#[derive(Debug)]
pub struct DeviceRun {
    pub name: String,
    pub plan: Plan,
    pub run: Run,
}

/// What was done on one device: a run, or a site's part of one.
#[derive(Debug)]
pub struct DevicePart<'a> {
    /// Where it comes from: the run, and the site of it.
    source: String,
    pub plan: &'a Plan,
    pub run: Run,
}

#[derive(Debug)]
pub struct DeviceTable {
    pub title: String,
    /// In the order in which any of them named it first.
    pub candidates: Vec<String>,
    pub rows: Vec<OnDevice>,
    /// How many devices there are: two runs on the same count once.
    pub devices: usize,
    /// Who is best by what all devices together show, against everybody else who was tried on each; nothing below two devices.
    pub sites: Option<SiteRatios>,
    /// Where the order changes.
    pub across: Across,
    pub tie: f64,
}

/// What was found on a device, in the order in which the JSON has it.
#[derive(Debug, Serialize)]
pub struct OnDevice {
    /// What the device is called here: no two alike.
    pub device: String,
    /// Where it comes from: the run, and the site of it.
    pub source: String,
    /// The identity, or its pseudonym; empty where it has none.
    pub identity: String,
    pub size: String,
    pub kernel: String,
    pub processor: String,
    pub lab: String,
    pub fidelity: String,
    pub blocks: usize,
    #[serde(skip)]
    pub verdict: Verdict,
    /// How many times the best of this device, by candidate; none of those that were not measured.
    #[serde(skip)]
    pub behind: Vec<(String, Estimate)>,
}

/// What may be expected of other devices.
#[derive(Debug, Clone, PartialEq)]
pub enum LikeThese<'a> {
    /// There is one device alone, or nobody to compare.
    Unknown,
    /// Fewer devices than what anything is concluded from.
    TooFew,
    Take(&'a str),
    /// The first is ahead on the mean, and these may be better.
    Open(&'a str, Vec<&'a str>),
}

/// The runs taken apart by device.
///
/// # Errors
/// What forbids to set them side by side, each in a sentence.
pub fn device_parts(sources: &[DeviceRun]) -> Result<Vec<DevicePart<'_>>, Vec<String>> {
    let found = obstacles(sources);
    if sources.is_empty() || !found.is_empty() {
        return Err(found);
    }
    let mut parts = Vec::new();
    for DeviceRun { name, plan, run } in sources {
        let sites = by_site(run);
        if sites.is_empty() {
            parts.push(DevicePart { source: name.clone(), plan, run: run.clone() });
        }
        let of = |(site, run): (String, Run)| DevicePart { source: format!("{name}, {site}"), plan, run };
        parts.extend(sites.into_iter().map(of));
    }
    Ok(parts)
}

impl DeviceTable {
    /// Of these parts, each as judged by itself; nothing of none.
    pub fn of(parts: &[DevicePart<'_>], judged: &[Judgement<'_>]) -> Option<Self> {
        let first = parts.first()?.plan;
        let mut rows: Vec<OnDevice> = Vec::new();
        for (part, judged) in parts.iter().zip(judged) {
            let mut row = row(&part.source, judged);
            let alike = |known: &&OnDevice| {
                known.device == row.device || known.device.starts_with(&format!("{} (", row.device))
            };
            let number = rows.iter().filter(alike).count() + 1;
            if number > 1 {
                row.device = format!("{} ({number})", row.device);
            }
            rows.push(row);
        }
        let named = parts.iter().flat_map(|part| &part.plan.candidates);
        let candidates = once_each(named.map(|candidate| candidate.name.clone()));
        let tie = first.protocol.tie;
        let mut table = Self {
            title: first.title.clone(),
            devices: devices(&rows).len(),
            sites: None,
            across: across(&rows, judged, &candidates, tie),
            tie,
            candidates,
            rows,
        };
        table.sites = table.overall(judged);
        Some(table)
    }

    /// Who is ahead by what all devices together show: the mean of the means on each.
    fn overall(&self, judged: &[Judgement<'_>]) -> Option<SiteRatios> {
        let mut objective: Objective = judged.first()?.objective.clone();
        objective
            .weights
            .retain(|phase, _| judged.iter().all(|one| one.objective.weights.contains_key(phase)));
        let everywhere: Vec<&str> = self
            .candidates
            .iter()
            .map(String::as_str)
            .filter(|name| self.rows.iter().all(|row| row.behind.iter().any(|(known, _)| known == name)))
            .collect();
        // On each device the runs that were done on it, one after the other.
        let differences = |candidate: &str, other: &str| -> Vec<(String, Vec<f64>)> {
            let score = |trial: &Trial| objective.log_score(trial);
            let of = |rows: &Vec<usize>| {
                let runs = rows.iter().map(|at| judged[*at].blocks.differences(candidate, other, score));
                (self.rows[rows[0]].device.clone(), runs.flatten().collect())
            };
            devices(&self.rows).iter().map(of).collect()
        };
        let leader = everywhere.iter().copied().min_by(|one, other| {
            let means: Vec<f64> =
                differences(one, other).iter().filter_map(|(_, values)| mean(values)).collect();
            mean(&means).unwrap_or(0.0).total_cmp(&0.0)
        })?;
        let rivals = everywhere.iter().copied().filter(|name| *name != leader);
        let found = SiteRatios::against(leader, rivals, false, |name| differences(name, leader));
        (self.devices > 1 && !found.rivals.is_empty()).then_some(found)
    }

    pub fn like_these(&self) -> LikeThese<'_> {
        let Some(sites) = &self.sites else { return LikeThese::Unknown };
        if self.devices < FEWEST as usize {
            return LikeThese::TooFew;
        }
        let better = |low: Option<f64>| low.is_some_and(|low| low > 1.0 / (1.0 + self.tie));
        let open: Vec<&str> = sites
            .rivals
            .iter()
            .filter(|rival| !better(rival.like_these.low))
            .map(|rival| rival.candidate.as_str())
            .collect();
        if open.is_empty() { LikeThese::Take(&sites.leader) } else { LikeThese::Open(&sites.leader, open) }
    }
}

fn row(source: &str, judged: &Judgement<'_>) -> OnDevice {
    let environment = &judged.run.header.environment;
    let of_trials = |key: &str| judged.run.trials.iter().find_map(|trial| trial.facts.get(key));
    let fact = |key: &str| {
        environment.get(key).or_else(|| of_trials(key)).map_or(String::new(), |text| text.trim().to_owned())
    };
    let size = fact("device.size").parse().map(|size| Bytes(size).to_string()).unwrap_or_default();
    let model = [fact("device.vendor"), fact("device.model")].join(" ").trim().to_owned();
    let name = match &judged.plan.device.source {
        DeviceSource::Model { name, .. } => format!("modelled {name}"),
        DeviceSource::Image(_) => "scratch image".to_owned(),
        DeviceSource::Folders => "folders".to_owned(),
        DeviceSource::Path(_) if model.is_empty() => "block device".to_owned(),
        DeviceSource::Path(_) => model,
    };
    let name = match judged.plan.device.count() {
        1 => name,
        many => format!("{many} × {name}"),
    };
    let kernel = fact("lab.kernel_release");
    OnDevice {
        device: if size.is_empty() { name } else { format!("{name}, {size}") },
        source: source.to_owned(),
        identity: fact("device.identity"),
        kernel: if kernel.is_empty() { fact("kernel.release") } else { kernel },
        processor: fact("cpu.model"),
        lab: judged.run.header.lab.clone(),
        fidelity: judged.run.header.fidelity.clone(),
        blocks: judged.run.complete_blocks(),
        verdict: judged.verdict.clone(),
        behind: judged
            .candidates
            .iter()
            .filter_map(|entry| Some((entry.name.to_owned(), entry.behind?)))
            .collect(),
        size,
    }
}

/// The rows of each device, by identity; who has none is somebody else.
fn devices(rows: &[OnDevice]) -> Vec<Vec<usize>> {
    let mut found: Vec<Vec<usize>> = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        let same =
            |known: &&mut Vec<usize>| !row.identity.is_empty() && rows[known[0]].identity == row.identity;
        match found.iter_mut().find(same) {
            Some(known) => known.push(at),
            None => found.push(vec![at]),
        }
    }
    found
}

fn across(rows: &[OnDevice], judged: &[Judgement<'_>], candidates: &[String], tie: f64) -> Across {
    let names: Vec<(String, String)> = candidates.iter().map(|name| (name.clone(), name.clone())).collect();
    let column = |(row, one): (&OnDevice, &Judgement<'_>)| AcrossColumn::of(&row.device, one, &names);
    let point =
        |row: &OnDevice, name: &String| Some(row.behind.iter().find(|(known, _)| known == name)?.1.point);
    let of = |name: &String| (name.clone(), rows.iter().map(|row| point(row, name)).collect());
    Across {
        what: "device",
        columns: rows.iter().zip(judged).map(column).collect(),
        rows: candidates.iter().map(of).collect(),
        tie,
        kernels: Vec::new(),
    }
}
