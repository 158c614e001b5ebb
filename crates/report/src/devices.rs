//! Runs of one plan on several devices as a table: a row for each device with its own verdict.

use std::io;

use serde::Serialize;

use crate::conclusion::levels::{describe_outcome, list_recommended};
use crate::forms::csv::{cell, estimate_cells};
use crate::forms::{CsvRows, Forms};
use crate::model::JsonObject;
use crate::page::{Media, Opening, PageBlock, PageTable, RatioRow, RatioTable, ReportPage, Text, Tone, Top};
use crate::topics::across::write_headline;
use crate::wording::{count, listing, one_line, percent, times};
use crate::{Format, ReportError, forms};
use fsverdict_judgement::statistics::FEWEST;
use fsverdict_judgement::verdict::{
    DeviceTable, Estimate, Judgement, OnDevice, SimilarDevices, Slice, slice_by_device,
};

#[derive(Debug)]
pub struct DeviceReport {
    found: DeviceTable,
    /// The results on each device, row by row.
    sentences: Vec<String>,
    cautions: Vec<String>,
}

/// The title of the table of ratios.
const RATIOS: &str = "Times the best of each device, with the 95% interval";

/// A column of words about a device, with its title.
type DeviceWord = (&'static str, fn(&OnDevice) -> String);

const KERNEL: DeviceWord = ("kernel", |row| row.kernel.clone());
const LAB: DeviceWord = ("lab", |row| row.lab.clone());
const BLOCKS: DeviceWord = ("blocks", |row| row.result.blocks.to_string());
const TAKE: DeviceWord = ("take", |row| list_recommended(&row.result.verdict));

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

    /// The ratios on each device, and on similar devices, with columns of these words besides the device.
    fn build_table(&self, words: &[DeviceWord]) -> RatioTable {
        let found = &self.found;
        let row = |row: &OnDevice| RatioRow {
            words: std::iter::once(row.device.clone())
                .chain(words.iter().map(|(_, word)| word(row)))
                .collect(),
            ratios: found.candidates.iter().map(|name| row.result.find_ratio(name).copied()).collect(),
        };
        let mut rows: Vec<RatioRow> = found.rows.iter().map(row).collect();
        if let Some(sites) = &found.sites {
            let of = |name: &String| match sites.rivals.iter().find(|rival| rival.candidate == *name) {
                None if *name == sites.leader => Some(Estimate::without_interval(1.0, found.devices)),
                rival => rival.map(|rival| rival.like_these),
            };
            let mut words = vec![String::new(); 1 + words.len()];
            words[0] = format!("devices like these (n = {})", found.devices);
            rows.push(RatioRow { words, ratios: found.candidates.iter().map(of).collect() });
        }
        RatioTable {
            title: RATIOS.to_owned(),
            words: std::iter::once("device").chain(words.iter().map(|(title, _)| *title)).collect(),
            columns: found.candidates.clone(),
            rows,
        }
    }
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

/// Columns of words, which are aligned to the left.
const WORDS: [&str; 4] = ["kernel", "lab", "take", "device"];

fn build_page(report: &DeviceReport) -> ReportPage<'_> {
    let mut page = ReportPage::new(build_opening(report));
    let text = report.build_table(&[KERNEL, LAB, BLOCKS, TAKE]).to_text();
    let table = PageTable { words: &WORDS, title: Tone::Faint, ..PageTable::plain(text) };
    page.add(Media::TEXT, PageBlock::Table(table));
    let row = report.rows().map(|(row, sentence)| {
        Text::foreign(&row.device).plain(": ").said(sentence).plain(" (").code(&row.source).plain(")")
    });
    page.add(Media::TEXT, PageBlock::Bullets(row.collect(), None));
    let cautions = || report.cautions.iter().map(|text| Text::foreign(text)).collect();
    page.add(Media::TEXT, PageBlock::Bullets(cautions(), Some(Tone::Faint)));
    let drawn = vec![
        PageBlock::Lead(RATIOS.into()),
        PageBlock::picture(move || report.build_table(&[KERNEL, TAKE]).draw("Devices by candidates")),
    ];
    page.add(Media::HTML, PageBlock::section("picture", "Device by device", drawn));
    let all = vec![PageBlock::Facts(facts(report)), PageBlock::Bullets(cautions(), None)];
    page.add(Media::HTML, PageBlock::section("devices", "The devices", all));
    page
}

fn build_opening(report: &DeviceReport) -> Opening {
    let is_decided = report.found.across.is_decided();
    Opening {
        title: report.found.title.clone(),
        subtitle: None,
        sentence: report.write_sentence(),
        tone: Some(if is_decided { Tone::Good } else { Tone::Strong }),
        top: Top {
            kicker: count(report.found.devices, "device"),
            class: if is_decided { "decided" } else { "undecided" },
            ..Top::default()
        },
    }
}

fn facts(report: &DeviceReport) -> Vec<(Text, Text)> {
    let fact = report.rows().map(|(row, sentence)| {
        let place = format!(
            "{} ({}: {}, lab {}, Linux {}, {}; {})",
            one_line(sentence),
            one_line(&row.source),
            count(row.result.blocks, "block"),
            one_line(&row.lab),
            one_line(&row.kernel),
            one_line(&row.processor),
            one_line(&row.fidelity)
        );
        (Text::foreign(&row.device), Text::ours(place))
    });
    fact.collect()
}

/// Version of the JSON: raised when a field goes or changes its meaning.
const SCHEMA: u32 = 1;

/// The columns, documented in docs/reference/output-formats.md.
const COLUMNS: &str = "device,source,identity,kernel,lab,candidate,recommended,behind,low,high,n";

impl Forms for DeviceReport {
    fn build_page(&self) -> ReportPage<'_> {
        build_page(self)
    }

    fn build_document(&self) -> impl Serialize + '_ {
        let devices = self.rows().map(|(row, sentence)| describe_row(row, sentence));
        JsonObject::new("schema", SCHEMA)
            .with("title", &self.found.title)
            .with("sentence", self.write_sentence())
            .with("n", self.found.devices)
            .with("devices", devices.collect::<Vec<_>>())
            .with("like_these", &self.found.sites)
            .with("cautions", &self.cautions)
    }

    fn write_csv(&self, rows: &mut CsvRows<'_>) -> Result<(), ::csv::Error> {
        rows.write_record(COLUMNS.split(','))?;
        for row in &self.found.rows {
            for (candidate, behind) in &row.result.behind {
                let taken = row.result.verdict.recommended.as_ref() == Some(candidate);
                let names = [&row.device, &row.source, &row.identity, &row.kernel, &row.lab, candidate];
                let numbers = estimate_cells(behind).into_iter().chain([behind.n.to_string()]);
                let all = names.into_iter().map(|name| cell(name)).chain([taken.to_string()]).chain(numbers);
                rows.write_record(all)?;
            }
        }
        Ok(())
    }
}

fn describe_row<'a>(row: &'a OnDevice, sentence: &'a str) -> impl Serialize + 'a {
    let verdict = &row.result.verdict;
    let candidates = row.result.behind.iter();
    let candidates =
        candidates.map(|(name, behind)| JsonObject::new("candidate", name).with("behind", behind));
    let rest = JsonObject::new("outcome", verdict.outcome)
        .with("recommended", &verdict.recommended)
        .with("tied", &verdict.tied)
        .with("sentence", sentence)
        .with("candidates", candidates.collect::<Vec<_>>());
    JsonObject::default().around(row, rest)
}
