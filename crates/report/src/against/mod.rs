//! A model against a measured trace: how far it is from it, by kind of request, as tables and as two curves.

mod data;
mod page;
mod picture;

use std::collections::BTreeMap;
use std::io;

use super::forms::{self, Forms};
use super::number::{fine_percent, signed_percent};
use super::page::ReportPage;
use super::text::listing;
use super::text_table::TextTable;
use super::{Format, ReportError};
use fsverdict_judgement::statistics::{Demerit, quantile};

/// What a model answered to the requests of a trace, or of a part of it.
#[derive(Debug, Clone)]
pub struct Answers {
    /// Which requests, and by which numbers: "all of it", "the rest, fitted".
    pub of: String,
    /// Measured and predicted times in nanoseconds, by kind of request.
    pub kinds: BTreeMap<String, Vec<(f64, f64)>>,
}

/// A model held against a trace.
#[derive(Debug)]
pub struct AgainstReport {
    model: String,
    trace: String,
    parts: Vec<TracePart>,
    /// What was fitted: the number's section and key, what the file says, and what the trace shows.
    fitted: Vec<[String; 3]>,
}

#[derive(Debug)]
struct TracePart {
    of: String,
    pairs: Vec<(f64, f64)>,
    all: Demerit,
    /// Within reads and writes.
    operations: f64,
    within: f64,
    kinds: Vec<(String, Demerit)>,
}

pub fn write_against(
    report: &AgainstReport,
    format: Format,
    out: &mut dyn io::Write,
) -> Result<(), ReportError> {
    forms::write(report, format, out)
}

impl AgainstReport {
    /// Parts without a request that took any time are left out.
    pub fn new(model: &str, trace: &str, answers: Vec<Answers>, fitted: Vec<[String; 3]>) -> Self {
        let parts = answers.into_iter().filter_map(TracePart::of).collect();
        AgainstReport { model: model.to_owned(), trace: trace.to_owned(), parts, fitted }
    }

    fn sentence(&self) -> String {
        let said = self.parts.iter().map(|part| {
            format!(
                "{}: {} of the mean, {} within reads and writes, {} within kinds of requests",
                part.of,
                fine_percent(part.all.share),
                fine_percent(part.operations),
                fine_percent(part.within)
            )
        });
        match said.collect::<Vec<_>>() {
            none if none.is_empty() => "Nothing in it could be compared.".to_owned(),
            said => format!("Demerit of {}.", said.join("; ")),
        }
    }

    fn kinds(&self, part: &TracePart) -> TextTable {
        let header =
            ["kind", "requests", "measured ms", "model ms", "bias", "demerit", "by request", "a constant"];
        let rows = part.kinds.iter().map(|(name, found)| row(name, found));
        let rows = rows.chain([row("all", &part.all)]).collect();
        TextTable::new(part.of.clone(), &header, rows)
    }

    fn quantiles(&self, part: &TracePart) -> TextTable {
        const SHARES: [(&str, f64); 7] = [
            ("5%", 0.05),
            ("25%", 0.25),
            ("50%", 0.5),
            ("75%", 0.75),
            ("90%", 0.9),
            ("95%", 0.95),
            ("99%", 0.99),
        ];
        let of = |name: &str, times: Vec<f64>| {
            let cells = SHARES.iter().map(|(_, share)| ms(quantile(&times, *share).unwrap_or_default()));
            std::iter::once(name.to_owned()).chain(cells).collect()
        };
        let (measured, predicted): (Vec<f64>, Vec<f64>) = part.pairs.iter().copied().unzip();
        let header: Vec<&str> = std::iter::once("ms").chain(SHARES.iter().map(|(name, _)| *name)).collect();
        let rows = vec![of("measured", measured), of("model", predicted)];
        TextTable::new(format!("{}: so many of the requests took no longer", part.of), &header, rows)
    }

    fn numbers(&self) -> TextTable {
        let rows = self.fitted.iter().map(|row| row.to_vec()).collect();
        TextTable::new("What the first fifth shows", &["number", "in the file", "fitted"], rows)
    }

    /// Which kinds are farthest off, where there are several.
    fn farthest(&self) -> Option<String> {
        let part = self.parts.last().filter(|part| part.kinds.len() > 1)?;
        let off = |(_, found): &&(String, Demerit)| found.share > 2.0 * part.all.share;
        let named: Vec<String> = part.kinds.iter().filter(off).map(|(name, _)| name.clone()).collect();
        let all: Vec<&str> = named.iter().map(String::as_str).collect();
        (!all.is_empty()).then(|| format!("Farther off than the whole lets see: {}.", listing(&all, 4)))
    }
}

impl TracePart {
    fn of(answers: Answers) -> Option<TracePart> {
        let pairs: Vec<(f64, f64)> = answers.kinds.values().flatten().copied().collect();
        let mut by_operation: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
        for (name, pairs) in &answers.kinds {
            // A kind's name begins with its operation.
            by_operation.entry(name.split(' ').next().unwrap_or_default()).or_default().extend(pairs);
        }
        let operations: Vec<Demerit> = by_operation.values().filter_map(|pairs| Demerit::of(pairs)).collect();
        let operations = Demerit::within(&operations);
        let kinds: Vec<(String, Demerit)> = answers
            .kinds
            .into_iter()
            .filter_map(|(name, pairs)| Some((name, Demerit::of(&pairs)?)))
            .collect();
        let within = Demerit::within(kinds.iter().map(|(_, found)| found));
        Some(TracePart { of: answers.of, all: Demerit::of(&pairs)?, pairs, operations, within, kinds })
    }
}

fn row(name: &str, found: &Demerit) -> Vec<String> {
    vec![
        name.to_owned(),
        found.n.to_string(),
        ms(found.measured),
        ms(found.predicted),
        signed_percent(found.bias, 1),
        fine_percent(found.share),
        fine_percent(found.error),
        fine_percent(found.constant),
    ]
}

/// Nanoseconds as milliseconds.
fn ms(ns: f64) -> String {
    format!("{:.3}", ns / 1e6)
}

impl Forms for AgainstReport {
    fn page(&self) -> ReportPage<'_> {
        page::page(self)
    }

    fn json(&self, out: &mut dyn io::Write) -> Result<(), ReportError> {
        data::json(self, out)
    }

    fn csv(&self, out: &mut dyn io::Write) -> Result<(), ReportError> {
        data::csv(self, out)
    }
}
