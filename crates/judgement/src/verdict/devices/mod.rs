//! Compares runs of one plan on several devices, also from different machines. Each device has its own verdict. Times
//! of different devices are never pooled: each device is one observation of similar devices.

mod across;
mod dependence;
mod device_stratum;
mod prediction;
mod same_work;
mod sites;

pub use across::{Across, AcrossColumn, Order};
pub(crate) use dependence::find_dependences;
pub use dependence::{Dependence, DeviceSide};
pub(crate) use device_stratum::device_strata;
pub use device_stratum::{DeviceStratum, StratumRival};
pub use prediction::{DevicePrediction, DeviceSpread};
pub(crate) use prediction::{device_spreads, predict_rivals};
pub use sites::{AtSites, SiteRatios};

use serde::Serialize;

use super::{Judgement, Objective, Slice, SliceVerdict, slice_by_site};
use crate::journal::Trial;
use crate::plan::{DeviceSource, Environment, once_each};
use crate::statistics::{FEWEST, mean};
use fsverdict_text::Bytes;

use same_work::list_obstacles;

#[derive(Debug)]
pub struct DeviceTable {
    pub title: String,
    /// The candidates in the order in which the runs first name them.
    pub candidates: Vec<String>,
    pub rows: Vec<OnDevice>,
    /// The number of different devices: two runs on the same device count once.
    pub devices: usize,
    /// The best candidate over all devices together, against every other candidate that was tried on each device;
    /// `None` below two devices.
    pub sites: Option<SiteRatios>,
    /// How the ranking changes between the devices.
    pub across: Across,
    pub tie: f64,
}

/// The results on one device, in the order in which the JSON report has them.
#[derive(Debug, Serialize)]
pub struct OnDevice {
    /// A title for the device, unique in the table.
    pub device: String,
    /// The run, and the site within it if there are several.
    pub source: String,
    /// The device's identity or its pseudonym; empty where it has none.
    pub identity: String,
    pub size: String,
    pub kernel: String,
    pub processor: String,
    pub lab: String,
    pub fidelity: String,
    #[serde(flatten)]
    pub result: SliceVerdict,
}

/// The conclusion about similar devices.
#[derive(Debug, Clone, PartialEq)]
pub enum SimilarDevices<'a> {
    /// There is only one device, or no other candidate to compare.
    Unknown,
    /// There are fewer devices than a conclusion needs.
    TooFew,
    Take(&'a str),
    /// The first candidate leads on the mean, but the listed ones may be better.
    Open(&'a str, Vec<&'a str>),
}

/// Splits the named runs into one part per device, named by the run, and the site within it if there are several.
///
/// # Errors
/// Every reason why the runs cannot be compared, one sentence each.
pub fn slice_by_device(runs: Vec<Slice>) -> Result<Vec<Slice>, Vec<String>> {
    let obstacles = list_obstacles(&runs);
    if runs.is_empty() || !obstacles.is_empty() {
        return Err(obstacles);
    }
    let mut parts = Vec::new();
    for run in runs {
        let sites = slice_by_site(&run.plan, &run.run);
        if sites.is_empty() {
            parts.push(run);
        } else {
            parts.extend(sites.into_iter().map(|site| site.map_key(|site| format!("{}, {site}", run.key))));
        }
    }
    Ok(parts)
}

impl DeviceTable {
    /// Compares these parts, each with its own judgement; `None` where there are none.
    pub fn from_parts(parts: &[Slice], judged: &[Judgement<'_>]) -> Option<Self> {
        let first = &parts.first()?.plan;
        let mut rows: Vec<OnDevice> = Vec::new();
        for (part, judged) in parts.iter().zip(judged) {
            let mut row = build_row(&part.key, judged);
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
        let column = |(row, one): (&OnDevice, &Judgement<'_>)| {
            AcrossColumn::new(row.device.clone(), Environment::default(), one, &candidates)
        };
        let across = Across {
            what: "device",
            candidates: candidates.clone(),
            columns: rows.iter().zip(judged).map(column).collect(),
            tie,
            kernels: Vec::new(),
        };
        let mut table = Self {
            title: first.title.clone(),
            devices: group_by_device(&rows).len(),
            sites: None,
            across,
            tie,
            candidates,
            rows,
        };
        table.sites = table.pooled_ratios(judged);
        Some(table)
    }

    /// Compares the candidates over all devices: the leader has the best mean of the devices' means.
    fn pooled_ratios(&self, judged: &[Judgement<'_>]) -> Option<SiteRatios> {
        let mut objective: Objective = judged.first()?.objective.clone();
        objective.weights.retain(|phase, _| {
            judged.iter().all(|judgement| judgement.objective.weights.contains_key(phase))
        });
        let everywhere: Vec<&str> = self
            .candidates
            .iter()
            .map(String::as_str)
            .filter(|name| self.rows.iter().all(|row| row.result.find_ratio(name).is_some()))
            .collect();
        // Combines all runs on the same device into one sample.
        let differences = |candidate: &str, other: &str| -> Vec<(String, Vec<f64>)> {
            let score = |trial: &Trial| objective.log_score(trial);
            let of = |rows: &Vec<usize>| {
                let runs = rows.iter().map(|at| judged[*at].blocks.differences(candidate, other, score));
                (self.rows[rows[0]].device.clone(), runs.flatten().collect())
            };
            group_by_device(&self.rows).iter().map(of).collect()
        };
        let leader = everywhere.iter().copied().min_by(|one, other| {
            let means: Vec<f64> =
                differences(one, other).iter().filter_map(|(_, values)| mean(values)).collect();
            mean(&means).unwrap_or(0.0).total_cmp(&0.0)
        })?;
        let is_told = |name: &str| !judged.iter().any(|one| one.free.hides_order(name, leader));
        let rivals = everywhere.iter().copied().filter(|name| *name != leader && is_told(name));
        let ratios = SiteRatios::compare_with_leader(leader, rivals, false, |name| differences(name, leader));
        (self.devices > 1 && !ratios.rivals.is_empty()).then_some(ratios)
    }

    pub fn like_these(&self) -> SimilarDevices<'_> {
        let Some(sites) = &self.sites else { return SimilarDevices::Unknown };
        if self.devices < FEWEST as usize {
            return SimilarDevices::TooFew;
        }
        let better = |low: Option<f64>| low.is_some_and(|low| low > 1.0 / (1.0 + self.tie));
        let open: Vec<&str> = sites
            .rivals
            .iter()
            .filter(|rival| !better(rival.like_these.low))
            .map(|rival| rival.candidate.as_str())
            .collect();
        if open.is_empty() {
            SimilarDevices::Take(&sites.leader)
        } else {
            SimilarDevices::Open(&sites.leader, open)
        }
    }
}

fn build_row(source: &str, judged: &Judgement<'_>) -> OnDevice {
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
        result: SliceVerdict::from_judgement(judged),
        size,
    }
}

/// The rows of each device, grouped by identity; a row without an identity counts as a device of its own.
fn group_by_device(rows: &[OnDevice]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        let same =
            |known: &&mut Vec<usize>| !row.identity.is_empty() && rows[known[0]].identity == row.identity;
        match groups.iter_mut().find(same) {
            Some(known) => known.push(at),
            None => groups.push(vec![at]),
        }
    }
    groups
}
