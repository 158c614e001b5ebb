//! Runs of one plan on several devices, whosever they are, as a table: a row for each device with its own verdict. Seconds of
//! different devices are never pooled; each device is one observation of what is asked about devices like these.

mod formats;
mod work;

use std::io;

use serde::Serialize;

use super::across::{Across, Column, Pair};
use super::number::{times, times_with_ends};
use super::text::{count, listing};
use super::text_table::TextTable;
use super::{Format, Report, ReportError};
use crate::journal::Run;
use crate::plan::{Bytes, Circumstances, DeviceSource, Plan, once_each};
use crate::statistics::{FEWEST, mean};
use crate::verdict::{Estimate, Sites, Verdict, Yardstick, by_site};

use work::obstacles;

/// A run that goes in, and what to call it: the name of its file.
#[derive(Debug)]
pub struct Source {
    pub name: String,
    pub plan: Plan,
    pub run: Run,
}

#[derive(Debug)]
pub struct DeviceReport {
    title: String,
    /// In the order in which any of them named it first.
    candidates: Vec<String>,
    rows: Vec<Row>,
    /// How many devices there are: two runs on the same count once.
    devices: usize,
    /// Who is best by what all devices together show, against everybody else who was tried on each; nothing below two devices.
    sites: Option<Sites>,
    /// Which to take on which, and where the order changes.
    across: Across,
    cautions: Vec<String>,
    tie: f64,
}

/// What was found on a device, in the order in which the JSON has it.
#[derive(Debug, Serialize)]
struct Row {
    /// What the device is called here: no two alike.
    device: String,
    /// Where it comes from: the run, and the site of it.
    source: String,
    /// The identity, or its pseudonym; empty where it has none.
    identity: String,
    size: String,
    kernel: String,
    processor: String,
    lab: String,
    fidelity: String,
    blocks: usize,
    #[serde(flatten, serialize_with = "formats::taken")]
    verdict: Verdict,
    sentence: String,
    /// How many times the best of this device, by candidate; none of those that were not measured.
    #[serde(rename = "candidates", serialize_with = "formats::by_candidate")]
    behind: Vec<(String, Estimate)>,
}

pub fn write_devices(
    report: &DeviceReport,
    format: Format,
    out: &mut dyn io::Write,
) -> Result<(), ReportError> {
    match format {
        Format::Terminal(look) => Ok(out.write_all(formats::terminal(report, look).as_bytes())?),
        Format::Markdown => Ok(out.write_all(formats::markdown(report).as_bytes())?),
        Format::Html => Ok(out.write_all(formats::html(report).as_bytes())?),
        Format::Json => formats::json(report, out),
        Format::Csv => formats::csv(report, out),
    }
}

impl DeviceReport {
    /// Of these runs.
    ///
    /// # Errors
    /// What forbids to set them side by side, each in a sentence.
    pub fn of(sources: &[Source]) -> Result<Self, Vec<String>> {
        let found = obstacles(sources);
        let (Some(first), []) = (sources.first(), found.as_slice()) else { return Err(found) };
        let mut parts: Vec<(String, &Plan, Run)> = Vec::new();
        for source in sources {
            let sites = by_site(&source.run);
            if sites.is_empty() {
                parts.push((source.name.clone(), &source.plan, source.run.clone()));
            }
            let named = |(site, run): (String, Run)| (format!("{}, {site}", source.name), &source.plan, run);
            parts.extend(sites.into_iter().map(named));
        }
        let reports: Vec<Report<'_>> =
            parts.iter().map(|(_, plan, run)| Report::new(plan, run, None)).collect();
        let mut rows: Vec<Row> = Vec::new();
        for ((source, ..), report) in parts.iter().zip(&reports) {
            let mut row = row(source, report);
            let alike = |known: &&Row| {
                known.device == row.device || known.device.starts_with(&format!("{} (", row.device))
            };
            let number = rows.iter().filter(alike).count() + 1;
            if number > 1 {
                row.device = format!("{} ({number})", row.device);
            }
            rows.push(row);
        }
        let named = parts.iter().flat_map(|(_, plan, _)| &plan.candidates);
        let candidates = once_each(named.map(|candidate| candidate.name.clone()));
        let across = across(&rows, &reports, &candidates, first.plan.protocol.tie);
        let mut table = DeviceReport {
            title: first.plan.title.clone(),
            devices: devices(&rows).len(),
            sites: None,
            cautions: Vec::new(),
            tie: first.plan.protocol.tie,
            candidates,
            rows,
            across,
        };
        table.sites = table.overall(&reports);
        table.cautions = table.limits();
        Ok(table)
    }

    /// Who is ahead by what all devices together show: the mean of the means on each.
    fn overall(&self, reports: &[Report<'_>]) -> Option<Sites> {
        let mut yardstick: Yardstick = reports.first()?.yardstick.clone();
        yardstick
            .weights
            .retain(|phase, _| reports.iter().all(|report| report.yardstick.weights.contains_key(phase)));
        let everywhere: Vec<&str> = self
            .candidates
            .iter()
            .map(String::as_str)
            .filter(|name| self.rows.iter().all(|row| row.behind.iter().any(|(known, _)| known == name)))
            .collect();
        // On each device the runs that were done on it, one after the other.
        let differences = |candidate: &str, other: &str| -> Vec<(String, Vec<f64>)> {
            let score = |trial: &crate::journal::Trial| yardstick.log_score(trial);
            let of = |rows: &Vec<usize>| {
                let runs = rows.iter().map(|at| reports[*at].blocks.differences(candidate, other, score));
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
        let found = Sites::against(leader, rivals, false, |name| differences(name, leader));
        (self.devices > 1 && !found.rivals.is_empty()).then_some(found)
    }

    /// What all of it comes to: that it depends on the device first, then which to take on which, then on others like them.
    fn sentence(&self) -> String {
        let turn = self.sites.as_ref().and_then(|sites| Some((sites, sites.turn(self.tie)?)));
        let depends = turn.map_or(String::new(), |(sites, (candidate, device, ratio))| {
            let (leader, ratio) = (&sites.leader, times(ratio));
            format!(
                "It depends on the device: on {device}, {candidate} takes {ratio} times as long as {leader}. "
            )
        });
        format!("{depends}{} {}", self.across.headline(), self.like_these())
    }

    /// What may be expected of other devices.
    fn like_these(&self) -> String {
        let n = count(self.devices, "device");
        let Some(sites) = &self.sites else { return format!("Of other devices nothing is known (n = {n}).") };
        if self.devices < FEWEST as usize {
            return format!("Of other devices nothing is concluded (n = {n}; {FEWEST} are needed).");
        }
        let better = |low: Option<f64>| low.is_some_and(|low| low > 1.0 / (1.0 + self.tie));
        let open: Vec<&str> = sites
            .rivals
            .iter()
            .filter(|rival| !better(rival.like_these.low))
            .map(|rival| rival.candidate.as_str())
            .collect();
        let leader = &sites.leader;
        match open.as_slice() {
            [] => format!(
                "On devices like these (n = {n}) take {leader}: nobody is better by more than {}.",
                super::number::percent(self.tie)
            ),
            open => format!(
                "On devices like these (n = {n}) {leader} is ahead on the mean, but {} may be better.",
                listing(open, 4)
            ),
        }
    }

    fn table(&self) -> TextTable {
        let mut header: Vec<String> = ["device", "kernel", "lab", "blocks", "take"].map(str::to_owned).into();
        header.extend(self.candidates.iter().cloned());
        let row = |row: &Row| {
            let take = row.verdict.recommended.clone().unwrap_or_else(|| "undecided".to_owned());
            let own = [row.device.clone(), row.kernel.clone(), row.lab.clone(), row.blocks.to_string(), take];
            own.into_iter().chain(self.candidates.iter().map(|name| row.cell(name))).collect()
        };
        let mut rows: Vec<Vec<String>> = self.rows.iter().map(row).collect();
        if let Some(sites) = &self.sites {
            let name = format!("devices like these (n = {})", self.devices);
            let of = |name: &String| match sites.rivals.iter().find(|rival| rival.candidate == *name) {
                Some(rival) => times_with_ends(&rival.like_these),
                None if *name == sites.leader => "1.00".to_owned(),
                None => "–".to_owned(),
            };
            let own = [name, String::new(), String::new(), String::new(), String::new()];
            rows.push(own.into_iter().chain(self.candidates.iter().map(of)).collect());
        }
        TextTable { title: "Times the best of each device, with the 95% interval".to_owned(), header, rows }
    }

    /// What else is not the same, and what may not be concluded.
    fn limits(&self) -> Vec<String> {
        let mut found = Vec::new();
        for (what, of) in
            [("kernel", (|row: &Row| &row.kernel) as fn(&Row) -> &String), ("lab", |row| &row.lab)]
        {
            let mut all: Vec<&str> = self.rows.iter().map(|row| of(row).as_str()).collect();
            all.sort_unstable();
            all.dedup();
            if all.len() > 1 {
                found.push(format!(
                    "the {what} is not the same on all devices ({}): what it does is part of the differences",
                    listing(&all, 6)
                ));
            }
        }
        let twice = self.rows.len() - self.devices;
        if twice > 0 {
            found.push(format!(
                "{} of a device that another one is of, too: each device counts once",
                count(twice, "run")
            ));
        }
        if self.sites.is_some() {
            found.push("who shares runs is no random sample of those who have such devices".to_owned());
        }
        found
    }
}

impl Row {
    fn cell(&self, candidate: &str) -> String {
        let found = self.behind.iter().find(|(name, _)| name == candidate);
        found.map_or("–".to_owned(), |(_, behind)| times_with_ends(behind))
    }
}

fn row(source: &str, report: &Report<'_>) -> Row {
    let environment = &report.run.header.environment;
    let of_trials = |key: &str| report.run.trials.iter().find_map(|trial| trial.facts.get(key));
    let fact = |key: &str| {
        environment.get(key).or_else(|| of_trials(key)).map_or(String::new(), |text| text.trim().to_owned())
    };
    let size = fact("device.size").parse().map(|size| Bytes(size).to_string()).unwrap_or_default();
    let model = [fact("device.vendor"), fact("device.model")].join(" ").trim().to_owned();
    let name = match &report.plan.device.source {
        DeviceSource::Model { name, .. } => format!("modelled {name}"),
        DeviceSource::Image(_) => "scratch image".to_owned(),
        DeviceSource::Folders => "folders".to_owned(),
        DeviceSource::Path(_) if model.is_empty() => "block device".to_owned(),
        DeviceSource::Path(_) => model,
    };
    let kernel = fact("lab.kernel_release");
    Row {
        device: if size.is_empty() { name } else { format!("{name}, {size}") },
        source: source.to_owned(),
        identity: fact("device.identity"),
        kernel: if kernel.is_empty() { fact("kernel.release") } else { kernel },
        processor: fact("cpu.model"),
        lab: report.run.header.lab.clone(),
        fidelity: report.run.header.fidelity.clone(),
        blocks: report.run.complete_blocks(),
        sentence: report.sentence.clone(),
        verdict: report.verdict.clone(),
        behind: report
            .candidates
            .iter()
            .filter_map(|entry| Some((entry.name.to_owned(), entry.behind?)))
            .collect(),
        size,
    }
}

/// The rows of each device, by identity; who has none is somebody else.
fn devices(rows: &[Row]) -> Vec<Vec<usize>> {
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

fn across(rows: &[Row], reports: &[Report<'_>], candidates: &[String], tie: f64) -> Across {
    let names: Vec<(String, String)> = candidates.iter().map(|name| (name.clone(), name.clone())).collect();
    let column = |(row, report): (&Row, &Report<'_>)| Column {
        title: row.device.clone(),
        sentence: row.sentence.clone(),
        under: Circumstances::default(),
        verdict: row.verdict.clone(),
        pairs: Pair::all(report, &names),
    };
    let point = |row: &Row, name: &String| Some(row.behind.iter().find(|(known, _)| known == name)?.1.point);
    let of = |name: &String| (name.clone(), rows.iter().map(|row| point(row, name)).collect());
    Across::on_devices(
        rows.iter().zip(reports).map(column).collect(),
        candidates.iter().map(of).collect(),
        tie,
    )
}
