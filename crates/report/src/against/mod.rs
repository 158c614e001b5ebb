//! A model against a measured trace: how far it is from it, by kind of request, as tables and as two curves.

mod data;
mod page;
mod picture;

use std::io;

use serde::Serialize;

use super::forms::{self, Forms};
use super::number::{fine_percent, signed_percent};
use super::page::ReportPage;
use super::text::listing;
use super::text_table::TextTable;
use super::{Format, ReportError};
use fsverdict_judgement::statistics::quantile;

/// What a model answered to the requests of a trace, or of a part of it.
#[derive(Debug, Clone)]
pub struct TracePart {
    /// Which requests, and by which numbers: "all of it", "the rest, fitted".
    pub of: String,
    /// Measured and predicted times in nanoseconds.
    pub pairs: Vec<(f64, f64)>,
    pub all: Shares,
    /// As `within`, of reads and of writes.
    pub operations: f64,
    /// The root mean square of the demerits of the kinds, each counted as often as it came.
    pub within: f64,
    /// By kind of request.
    pub kinds: Vec<(String, Shares)>,
}

/// How far predicted times are from measured ones. Shares are of the measured mean.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Shares {
    pub n: usize,
    pub measured_ns: f64,
    pub predicted_ns: f64,
    /// The root mean square of the horizontal distance between the two distributions.
    pub demerit: f64,
    /// By how much the predicted mean is larger.
    pub bias: f64,
    /// The mean absolute error, request by request.
    pub error: f64,
    /// That of the best constant.
    pub constant: f64,
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

pub fn write_against(
    report: &AgainstReport,
    format: Format,
    out: &mut dyn io::Write,
) -> Result<(), ReportError> {
    forms::write(report, format, out)
}

impl AgainstReport {
    pub fn new(model: &str, trace: &str, parts: Vec<TracePart>, fitted: Vec<[String; 3]>) -> Self {
        AgainstReport { model: model.to_owned(), trace: trace.to_owned(), parts, fitted }
    }

    fn sentence(&self) -> String {
        let said = self.parts.iter().map(|part| {
            format!(
                "{}: {} of the mean, {} within reads and writes, {} within kinds of requests",
                part.of,
                fine_percent(part.all.demerit),
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
        let off = |(_, found): &&(String, Shares)| found.demerit > 2.0 * part.all.demerit;
        let named: Vec<String> = part.kinds.iter().filter(off).map(|(name, _)| name.clone()).collect();
        let all: Vec<&str> = named.iter().map(String::as_str).collect();
        (!all.is_empty()).then(|| format!("Farther off than the whole lets see: {}.", listing(&all, 4)))
    }
}

fn row(name: &str, found: &Shares) -> Vec<String> {
    vec![
        name.to_owned(),
        found.n.to_string(),
        ms(found.measured_ns),
        ms(found.predicted_ns),
        signed_percent(found.bias, 1),
        fine_percent(found.demerit),
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
