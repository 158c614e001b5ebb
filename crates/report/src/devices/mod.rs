//! Runs of one plan on several devices as a table: a row for each device with its own verdict.

mod data;
mod page;

use std::io;

use crate::conclusion::levels::{describe_outcome, list_recommended};
use crate::forms;
use crate::topics::across::write_headline;
use crate::wording::number::{percent, times, times_with_ends};
use crate::wording::text::{TextTable, count, listing};
use crate::{Format, ReportError};
use fsverdict_judgement::statistics::FEWEST;
use fsverdict_judgement::verdict::{
    DeviceTable, Judgement, OnDevice, SimilarDevices, Slice, slice_by_device,
};

#[derive(Debug)]
pub struct DeviceReport {
    found: DeviceTable,
    /// The results on each device, row by row.
    sentences: Vec<String>,
    cautions: Vec<String>,
}

impl DeviceReport {
    /// Of these runs.
    ///
    /// # Errors The reasons why the runs cannot be compared, each in a sentence.
    pub fn of(runs: Vec<Slice>) -> Result<Self, Vec<String>> {
        let parts = slice_by_device(runs)?;
        let judged: Vec<Judgement<'_>> = parts.iter().map(Slice::judge).collect();
        let found = DeviceTable::from_parts(&parts, &judged).ok_or_else(Vec::new)?;
        let cautions = limits(&found);
        Ok(Self { found, sentences: judged.iter().map(describe_outcome).collect(), cautions })
    }

    /// Writes the table in this format.
    pub fn write(&self, format: Format, out: &mut dyn io::Write) -> Result<(), ReportError> {
        forms::write(self, format, out)
    }

    /// Each device with its sentence.
    fn rows(&self) -> impl Iterator<Item = (&OnDevice, &str)> {
        self.found.rows.iter().zip(self.sentences.iter().map(String::as_str))
    }

    /// The conclusion: first that it depends on the device, then which candidate to take on which, then on similar
    /// devices.
    fn write_sentence(&self) -> String {
        let found = &self.found;
        let turn = found.sites.as_ref().and_then(|sites| Some((sites, sites.clearest_turn(found.tie)?)));
        let depends = turn.map_or(String::new(), |(sites, (candidate, device, ratio))| {
            let (leader, ratio) = (&sites.leader, times(ratio));
            format!(
                "It depends on the device: on {device}, {candidate} takes {ratio} times as long as {leader}. "
            )
        });
        format!("{depends}{} {}", write_headline(&found.across), self.like_these())
    }

    /// The conclusion about similar devices.
    fn like_these(&self) -> String {
        let n = count(self.found.devices, "device");
        match self.found.like_these() {
            SimilarDevices::Unknown => format!("Of other devices nothing is known (n = {n})."),
            SimilarDevices::TooFew => {
                format!("This allows no conclusion about other devices (n = {n}; {FEWEST} are needed).")
            }
            SimilarDevices::Take(leader) => format!(
                "On devices like these (n = {n}) take {leader}: no other candidate is better by more than {}.",
                percent(self.found.tie)
            ),
            SimilarDevices::Open(leader, open) => format!(
                "On devices like these (n = {n}) {leader} is ahead on the mean, but {} may be better.",
                listing(&open, 4)
            ),
        }
    }

    fn build_table(&self) -> TextTable {
        let found = &self.found;
        let mut header: Vec<String> = ["device", "kernel", "lab", "blocks", "take"].map(str::to_owned).into();
        header.extend(found.candidates.iter().cloned());
        let row = |row: &OnDevice| {
            let take = list_recommended(&row.verdict);
            let own = [row.device.clone(), row.kernel.clone(), row.lab.clone(), row.blocks.to_string(), take];
            own.into_iter().chain(found.candidates.iter().map(|name| cell(row, name))).collect()
        };
        let mut rows: Vec<Vec<String>> = found.rows.iter().map(row).collect();
        if let Some(sites) = &found.sites {
            let name = format!("devices like these (n = {})", found.devices);
            let of = |name: &String| match sites.rivals.iter().find(|rival| rival.candidate == *name) {
                Some(rival) => times_with_ends(&rival.like_these),
                None if *name == sites.leader => "1.00".to_owned(),
                None => "–".to_owned(),
            };
            let own = [name, String::new(), String::new(), String::new(), String::new()];
            rows.push(own.into_iter().chain(found.candidates.iter().map(of)).collect());
        }
        TextTable { title: "Times the best of each device, with the 95% interval".to_owned(), header, rows }
    }
}

fn cell(row: &OnDevice, candidate: &str) -> String {
    let found = row.behind.iter().find(|(name, _)| name == candidate);
    found.map_or("–".to_owned(), |(_, behind)| times_with_ends(behind))
}

/// Other differences between the runs, and the conclusions that they do not allow.
fn limits(table: &DeviceTable) -> Vec<String> {
    let mut found = Vec::new();
    for (what, of) in
        [("kernel", (|row: &OnDevice| &row.kernel) as fn(&OnDevice) -> &String), ("lab", |row| &row.lab)]
    {
        let mut all: Vec<&str> = table.rows.iter().map(|row| of(row).as_str()).collect();
        all.sort_unstable();
        all.dedup();
        if all.len() > 1 {
            found.push(format!(
                "the {what} is not the same on all devices ({}): what it does is part of the differences",
                listing(&all, 6)
            ));
        }
    }
    let twice = table.rows.len() - table.devices;
    if twice > 0 {
        found.push(format!(
            "{} of a device that another one is of, too: each device counts once",
            count(twice, "run")
        ));
    }
    if table.sites.is_some() {
        found.push("people who share runs are no random sample of those who have such devices".to_owned());
    }
    found
}
