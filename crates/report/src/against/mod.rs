//! Compares a device model with a measured trace: the error by kind of request, as tables and as two distributions.

mod page;

use std::io;

use serde::Serialize;

use crate::forms::csv::cell;
use crate::forms::{self, CsvRows, Forms};
use crate::model::JsonObject;
use crate::page::ReportPage;
use crate::wording::{TextTable, fine_percent, listing, signed_percent};
use crate::{Format, ReportError};
use fsverdict_judgement::statistics::quantile;

/// A model's predictions for the requests of a trace, or of a part of it.
#[derive(Debug, Clone, Serialize)]
pub struct TracePart {
    /// The part of the trace and the numbers used, such as "all of it" or "the rest, fitted".
    pub of: String,
    /// Pairs of measured and predicted times in nanoseconds.
    #[serde(skip)]
    pub pairs: Vec<(f64, f64)>,
    #[serde(flatten)]
    pub all: Shares,
    /// As `within`, for the kinds read and write.
    pub operations: f64,
    /// The root mean square of the demerits of the kinds, weighted by the number of requests.
    pub within: f64,
    /// The errors by kind of request.
    pub kinds: Vec<KindShares>,
}

/// The errors within a kind of requests.
#[derive(Debug, Clone, Serialize)]
pub struct KindShares {
    pub kind: String,
    #[serde(flatten)]
    pub shares: Shares,
}

/// A number of a model that was fitted to a trace.
#[derive(Debug, Clone, Serialize)]
pub struct FittedNumber {
    /// Section and key.
    pub number: String,
    /// The value in the file.
    pub before: String,
    /// The value from the trace.
    pub fitted: String,
}

/// The errors of predicted times, as shares of the measured mean.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Shares {
    pub n: usize,
    pub measured_ns: f64,
    pub predicted_ns: f64,
    /// The root mean square of the horizontal distance between the two distributions.
    pub demerit: f64,
    /// By how much the predicted mean is larger.
    pub bias: f64,
    /// The mean absolute error of single requests.
    pub error: f64,
    /// The mean absolute error of the best constant prediction.
    pub constant: f64,
}

/// The comparison of a model with a trace.
#[derive(Debug)]
pub struct AgainstReport {
    model: String,
    trace: String,
    parts: Vec<TracePart>,
    fitted: Vec<FittedNumber>,
    /// Fitted numbers that lie at the end of their range: key and value.
    at_bound: Vec<String>,
}

impl FittedNumber {
    fn to_row(&self) -> Vec<String> {
        [&self.number, &self.before, &self.fitted].map(String::clone).to_vec()
    }
}

/// A fitted model that is farther off than this within kinds of requests does not describe the drive.
const DOES_NOT_FIT: f64 = 0.10;

impl AgainstReport {
    /// The comparison of a model as it is in its file.
    pub fn new(model: &str, trace: &str, parts: Vec<TracePart>) -> Self {
        let (model, trace) = (model.to_owned(), trace.to_owned());
        AgainstReport { model, trace, parts, fitted: Vec::new(), at_bound: Vec::new() }
    }

    /// Writes the comparison in this format.
    pub fn write(&self, format: Format, out: &mut dyn io::Write) -> Result<(), ReportError> {
        forms::write(self, format, out)
    }

    /// Adds the changes by a fit, and which of the numbers lie at the end of their range. The last part is that of the
    /// fitted model.
    #[must_use]
    pub fn with_fit(self, fitted: Vec<FittedNumber>, at_bound: Vec<String>) -> Self {
        AgainstReport { fitted, at_bound, ..self }
    }

    /// Why the fitted model may not describe the drive, as sentences.
    fn warnings(&self) -> Vec<String> {
        let bounds = self.at_bound.iter().map(|number| {
            format!("{number} is the end of its range: the model lacks what would explain these times.")
        });
        let last = self.parts.last().filter(|part| part.of.ends_with("fitted") && part.within > DOES_NOT_FIT);
        let far = last.map(|part| {
            format!(
                "The fitted model is off by {} within kinds of requests, more than {}: it does not describe this drive. Give \
                 its tracks, seeks and speed in the file, or begin with another model.",
                fine_percent(part.within),
                fine_percent(DOES_NOT_FIT)
            )
        });
        far.into_iter().chain(bounds).collect()
    }

    fn write_sentence(&self) -> String {
        let parts = self.parts.iter().map(|part| {
            format!(
                "{}: {} of the mean, {} within reads and writes, {} within kinds of requests",
                part.of,
                fine_percent(part.all.demerit),
                fine_percent(part.operations),
                fine_percent(part.within)
            )
        });
        match parts.collect::<Vec<_>>() {
            none if none.is_empty() => "Nothing in it could be compared.".to_owned(),
            parts => format!("Demerit of {}.", parts.join("; ")),
        }
    }

    fn kinds(&self, part: &TracePart) -> TextTable {
        let header =
            ["kind", "requests", "measured ms", "model ms", "bias", "demerit", "by request", "a constant"];
        let rows = part.kinds.iter().map(|kind| build_row(&kind.kind, &kind.shares));
        let rows = rows.chain([build_row("all", &part.all)]).collect();
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
        let rows = self.fitted.iter().map(FittedNumber::to_row).collect();
        TextTable::new("What the first fifth shows", &["number", "in the file", "fitted"], rows)
    }

    /// The kinds with the largest errors, where there are several kinds.
    fn farthest(&self) -> Option<String> {
        let part = self.parts.last().filter(|part| part.kinds.len() > 1)?;
        let is_far = |kind: &&KindShares| kind.shares.demerit > 2.0 * part.all.demerit;
        let all: Vec<&str> = part.kinds.iter().filter(is_far).map(|kind| kind.kind.as_str()).collect();
        (!all.is_empty()).then(|| format!("Farther off than the whole lets see: {}.", listing(&all, 4)))
    }
}

fn build_row(name: &str, found: &Shares) -> Vec<String> {
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

fn ms(ns: f64) -> String {
    format!("{:.3}", ns / 1e6)
}

/// Version of the JSON: raised when a field goes or changes its meaning.
const SCHEMA: u32 = 1;

/// The columns, documented in docs/reference/output-formats.md.
const COLUMNS: &str = "of,kind,n,measured_ns,predicted_ns,demerit,bias,error,constant";

impl Forms for AgainstReport {
    fn build_page(&self) -> ReportPage<'_> {
        page::build_page(self)
    }

    fn build_document(&self) -> impl Serialize + '_ {
        let warnings = self.warnings();
        JsonObject::new("schema", SCHEMA)
            .with("model", &self.model)
            .with("trace", &self.trace)
            .with("fitted", &self.fitted)
            .with("parts", &self.parts)
            .with_some("warnings", Some(warnings).filter(|warnings| !warnings.is_empty()))
    }

    fn write_csv(&self, rows: &mut CsvRows<'_>) -> Result<(), ::csv::Error> {
        rows.write_record(COLUMNS.split(','))?;
        for part in &self.parts {
            let all = KindShares { kind: "all".to_owned(), shares: part.all };
            for KindShares { kind, shares: found } in part.kinds.iter().chain([&all]) {
                let Shares { n, measured_ns, predicted_ns, demerit, bias, error, constant } = found;
                let numbers = [measured_ns, predicted_ns, demerit, bias, error, constant];
                let row = [cell(&part.of), cell(kind), n.to_string()];
                rows.write_record(row.into_iter().chain(numbers.map(ToString::to_string)))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{AgainstReport, KindShares, Shares, TracePart};

    fn report(within: f64, at_bound: &[&str]) -> AgainstReport {
        let all = Shares {
            n: 10,
            measured_ns: 1e6,
            predicted_ns: 1e6,
            demerit: 0.02,
            bias: 0.0,
            error: 0.1,
            constant: 0.3,
        };
        let part = TracePart {
            of: "the rest, fitted".to_owned(),
            pairs: vec![(1e6, 1e6)],
            all,
            operations: 0.03,
            within,
            kinds: vec![KindShares { kind: "read hit".to_owned(), shares: all }],
        };
        let at_bound = at_bound.iter().map(|key| (*key).to_owned()).collect();
        AgainstReport::new("disk v1", "trace", vec![part]).with_fit(Vec::new(), at_bound)
    }

    #[test]
    fn a_fit_that_does_not_fit_says_so() {
        assert!(report(0.08, &[]).warnings().is_empty());
        let warnings = report(0.17, &["[platter] hit_ms = 0"]).warnings();
        assert!(
            warnings[0].starts_with("The fitted model is off by 17% within kinds of requests, more than 10%")
        );
        assert!(warnings[1].starts_with("[platter] hit_ms = 0 is the end of its range"), "{warnings:?}");
    }
}
