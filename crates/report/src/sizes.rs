//! Runs of one plan with more and more data, in words and tables.

use std::io;

use serde::Serialize;

use crate::conclusion::levels::list_recommended;
use crate::forms::csv::{cell, estimate_cells};
use crate::forms::{self, CsvRows, Forms};
use crate::model::JsonObject;
use crate::page::{Media, Opening, PageBlock, PageTable, RatioRow, RatioTable, ReportPage, Text, Tone, Top};
use crate::wording::{TextTable, count, listing, percent};
use crate::{Format, ReportError};
use fsverdict_judgement::verdict::{AtSize, SizeTable, Slice};
use fsverdict_text::Bytes;

/// Version of the JSON: raised when a field goes or changes its meaning.
const SCHEMA: u32 = 1;

#[derive(Debug)]
pub struct SizeReport {
    found: SizeTable,
    /// Why no larger size was tried; nothing where the answer had settled.
    ended: Option<String>,
}

impl Forms for SizeReport {
    fn build_page(&self) -> ReportPage<'_> {
        let settled = self.found.settled_from().is_some();
        let mut page = ReportPage::new(Opening {
            title: self.found.title.clone(),
            subtitle: None,
            sentence: self.write_sentence(),
            tone: Some(if settled { Tone::Good } else { Tone::Strong }),
            top: Top {
                kicker: count(self.found.sizes.len(), "size"),
                class: if settled { "decided" } else { "undecided" },
                ..Top::default()
            },
        });
        let table = |table| PageTable { words: &["take"], title: Tone::Faint, ..PageTable::plain(table) };
        page.add(Media::TEXT, PageBlock::Table(table(self.build_ratio_table())));
        if !self.found.costs.is_empty() {
            page.add(Media::TEXT, PageBlock::Table(table(self.build_cost_table())));
        }
        let cautions = self.list_cautions().iter().map(|text| Text::ours(text.clone())).collect();
        page.add(Media::TEXT, PageBlock::Bullets(cautions, Some(Tone::Faint)));
        page
    }

    fn build_document(&self) -> impl Serialize + '_ {
        JsonObject::new("schema", SCHEMA)
            .with("sentence", self.write_sentence())
            .with("settled_from", self.found.settled_from().map(|size| size.times))
            .with("cautions", self.list_cautions())
            .around(&self.found, JsonObject::default())
    }

    fn write_csv(&self, rows: &mut CsvRows<'_>) -> Result<(), ::csv::Error> {
        rows.write_record(["times", "bytes", "blocks", "candidate", "ratio", "low", "high"])?;
        for size in &self.found.sizes {
            for (name, behind) in &size.result.behind {
                let place = [size.times.to_string(), size.bytes.to_string(), size.result.blocks.to_string()];
                let cells = place.into_iter().chain([cell(name)]).chain(estimate_cells(behind));
                rows.write_record(cells)?;
            }
        }
        Ok(())
    }
}

impl SizeReport {
    /// Of these runs, the smallest first; `ended` is why there is no larger one.
    pub fn of(runs: &[Slice<f64>], ended: Option<String>) -> Option<Self> {
        Some(SizeReport { found: SizeTable::from_runs(runs)?, ended })
    }

    /// Writes the sizes in this format.
    pub fn write(&self, format: Format, out: &mut dyn io::Write) -> Result<(), ReportError> {
        forms::write(self, format, out)
    }

    /// Whether the last two sizes agree.
    pub fn is_settled(&self) -> bool {
        self.found.settled_from().is_some()
    }

    fn write_sentence(&self) -> String {
        let last = self.found.sizes.last();
        let verdict = last.map(|size| &size.result.verdict);
        let take = verdict.filter(|verdict| verdict.recommended.is_some()).map(list_recommended);
        match (self.found.settled_from(), take) {
            (Some(from), Some(take)) => {
                format!(
                    "Take {take}: from {} on, the order and ratios stay as they are.",
                    describe_size(from)
                )
            }
            (None, Some(take)) => format!(
                "With {}, take {take}; but the answer still moves with the size of the data, and what holds for more is not known.",
                last.map_or(String::new(), describe_size)
            ),
            _ => "Undecided at the largest size that was tried, so that nothing has settled.".to_owned(),
        }
    }

    fn build_ratio_table(&self) -> TextTable {
        let candidates = &self.found.candidates;
        let row = |size: &AtSize| {
            let take = list_recommended(&size.result.verdict);
            RatioRow {
                words: vec![describe_size(size), size.result.blocks.to_string(), take],
                ratios: candidates.iter().map(|name| size.result.find_ratio(name).copied()).collect(),
            }
        };
        let table = RatioTable {
            title: "Times the best of each size, with the 95% interval".to_owned(),
            words: vec!["data", "blocks", "take"],
            columns: candidates.clone(),
            rows: self.found.sizes.iter().map(row).collect(),
        };
        table.to_text()
    }

    fn build_cost_table(&self) -> TextTable {
        let rows = self.found.costs.iter().map(|cost| {
            vec![
                cost.candidate.clone(),
                format!("{:.3}", cost.mounting),
                format!("{:.3}", cost.fixed),
                format!("{:.3}", cost.per_gib),
            ]
        });
        let header = ["candidate", "mount and unmount, s", "without data, s", "each GiB, s"];
        TextTable::new(
            "What the goal's phases cost whatever there is to do, and by the byte (a line through the two largest sizes)",
            &header,
            rows.collect(),
        )
    }

    fn list_cautions(&self) -> Vec<String> {
        let mut cautions = Vec::new();
        if !self.is_settled() {
            let why = self.ended.clone().unwrap_or_else(|| "no larger size was tried".to_owned());
            cautions.push(format!("two sizes that agree were not reached: {why}"));
        }
        for (step, pair) in self.found.steps.iter().zip(self.found.sizes.windows(2)) {
            let [one, other] = pair else { continue };
            let between = format!("from {} to {}", describe_size(one), describe_size(other));
            if !step.same_leader {
                cautions.push(format!("{between}: the recommended candidate changes, or is not decided"));
            }
            for moved in &step.moved {
                cautions.push(format!(
                    "{between}: {} goes from {:.2} to {:.2} times the best",
                    moved.candidate, moved.before, moved.after
                ));
            }
            if !step.unknown.is_empty() {
                cautions.push(format!("{between}: {} cannot be compared", listing(&step.unknown, 6)));
            }
            if step.is_settled() && step.hidden > 0.0 {
                cautions.push(format!(
                    "{between}: ratios differ by up to {}, which their intervals leave open; more blocks would tell",
                    percent(step.hidden)
                ));
            }
        }
        if self.found.costs.iter().any(|cost| cost.fixed < 0.0) {
            cautions
                .push("a cost without data below 0 means that cost grows faster than the data".to_owned());
        }
        cautions
    }
}

fn describe_size(size: &AtSize) -> String {
    match size.bytes {
        0 => format!("{} times the data", size.times),
        bytes => Bytes(bytes).to_string(),
    }
}
