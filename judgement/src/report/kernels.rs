//! What another kernel does with the same work: time, requests, bytes and flushes of each configuration and phase, as
//! regressions (more) and gains (less).

use std::path::PathBuf;

use serde::Serialize;

use super::Report;
use super::number::{Scale, decimals, fixed};
use super::text_table::TextTable;
use crate::journal::{Trial, Unit};
use crate::plan::{Candidate, Circumstances};
use crate::statistics::{Estimate, Evidence, median};

/// What is compared: its title, its unit, and the metrics it is the sum of. All but the first are exact in simulated time.
type Measure = (&'static str, Unit, &'static [&'static str]);

const TIME: &str = "time";
const MEASURES: [Measure; 4] = [
    (TIME, Unit::Seconds, &["durable"]),
    ("requests", Unit::Count, &["device_reads", "device_writes"]),
    ("bytes", Unit::Bytes, &["device_read", "device_written"]),
    ("flushes", Unit::Count, &["device_flushes"]),
];

/// How many of a kind are named in a sentence.
const NAMED: usize = 4;

/// A kernel of a plan against the one before it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Kernels {
    kernel: PathBuf,
    against: PathBuf,
    /// Smaller changes do not matter.
    tie: f64,
    phases: Vec<Phase>,
}

/// A phase of a configuration that was tried under both.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Phase {
    /// Named without what it was tried under.
    candidate: String,
    /// What else that was.
    #[serde(skip_serializing_if = "Circumstances::is_plain")]
    under: Circumstances,
    phase: String,
    changes: Vec<Change>,
}

/// The medians over all blocks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
struct Change {
    measure: &'static str,
    unit: Unit,
    before: f64,
    after: f64,
    /// After over before within blocks; `None` where one of them is nothing.
    ratio: Option<Estimate>,
    outcome: Outcome,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Outcome {
    /// More, beyond a tie, and no chance as far as the blocks can tell.
    Regression,
    /// Less, likewise.
    Gain,
    Unchanged,
}

impl Change {
    fn of((measure, unit, _): Measure, values: [Vec<f64>; 2], differences: &[f64], tie: f64) -> Option<Self> {
        let [before, after] = values.map(|values| median(&values));
        let (before, after) = (before?, after?);
        let ratio = Evidence::of(differences).map(|evidence| evidence.ratio());
        let chance = ratio.is_some_and(|ratio| {
            ratio.low.zip(ratio.high).is_some_and(|(low, high)| low <= 1.0 && high >= 1.0)
        });
        let beyond = if before > 0.0 { (after / before - 1.0).abs() > tie } else { after > 0.0 };
        let outcome = match beyond && !chance {
            true if after > before => Outcome::Regression,
            true => Outcome::Gain,
            false => Outcome::Unchanged,
        };
        Some(Change { measure, unit, before, after, ratio, outcome })
    }

    /// `+72%`.
    fn share(&self) -> String {
        let share = (self.after / self.before - 1.0) * 100.0;
        if !share.is_finite() {
            return "from none".to_owned();
        }
        let digits = usize::from(share.abs() < 9.95);
        format!("{}{:.digits$}%", if share < 0.0 { '−' } else { '+' }, share.abs())
    }

    /// `638 → 1096 ms, +72%`; one value where it stayed as it was.
    fn shown(&self) -> String {
        let scale = Scale::suited(self.unit, [self.before, self.after].into_iter());
        let shown = |value: f64| {
            let value = value / scale.divisor;
            let digits = if self.unit == Unit::Count { 0 } else { decimals(value, Some(0.01)).max(0) };
            fixed(value, digits)
        };
        let label = if scale.label.is_empty() { String::new() } else { format!(" {}", scale.label) };
        match self.outcome {
            Outcome::Unchanged => format!("{}{label}", shown(self.after)),
            _ => format!("{} → {}{label}, {}", shown(self.before), shown(self.after), self.share()),
        }
    }
}

impl Phase {
    /// `ext2 (usb-stick), write`.
    fn title(&self) -> String {
        let under = Some(self.under.title()).filter(|under| !under.is_empty());
        let under = under.map_or(String::new(), |under| format!(" ({under})"));
        format!("{}{under}, {}", self.candidate, self.phase)
    }

    fn change(&self, measure: &str) -> Option<&Change> {
        self.changes.iter().find(|change| change.measure == measure)
    }

    fn has_changed(&self) -> bool {
        self.changes.iter().any(|change| change.outcome != Outcome::Unchanged)
    }

    /// `regression: time, requests; gain: bytes`.
    fn verdict(&self) -> String {
        let parts = [("regression", Outcome::Regression), ("gain", Outcome::Gain)].map(|(word, outcome)| {
            let so = self.changes.iter().filter(|change| change.outcome == outcome);
            let titles: Vec<&str> = so.map(|change| change.measure).collect();
            (!titles.is_empty()).then(|| format!("{word}: {}", titles.join(", ")))
        });
        parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }
}

impl Kernels {
    /// Each kernel of a plan against the one before it, in the plan's order; nothing where there are not two.
    pub(super) fn of(report: &Report<'_>) -> Vec<Self> {
        let candidates = &report.plan.candidates;
        let mut named: Vec<&PathBuf> = Vec::new();
        for kernel in candidates.iter().filter_map(|candidate| candidate.under.kernel.as_ref()) {
            if !named.contains(&kernel) {
                named.push(kernel);
            }
        }
        let pairs = named.iter().zip(named.iter().skip(1));
        let compared = pairs.map(|(against, kernel)| {
            let old = candidates.iter().filter(|old| old.under.kernel.as_ref() == Some(against));
            let both = old.filter_map(|old| {
                let same = Circumstances { kernel: Some(kernel.to_path_buf()), ..old.under.clone() };
                let name = old.under.without(&old.name);
                let is_it = |new: &&Candidate| new.under == same && new.under.without(&new.name) == name;
                Some([old, candidates.iter().find(is_it)?])
            });
            Kernels {
                kernel: kernel.to_path_buf(),
                against: against.to_path_buf(),
                tie: report.plan.protocol.tie,
                phases: both.flat_map(|pair| phases(report, pair)).collect(),
            }
        });
        compared.filter(|kernels| !kernels.phases.is_empty()).collect()
    }

    /// `Linux 6.12 against 6.1`.
    fn title(&self) -> String {
        format!("Linux {} against {}", self.kernel.display(), self.against.display())
    }

    /// In how many phases there is what, and where most.
    pub(super) fn sentence(&self) -> String {
        let timed = |outcome: Outcome| {
            let mut found: Vec<(f64, String)> = self
                .phases
                .iter()
                .filter_map(|phase| {
                    let time = phase.change(TIME).filter(|change| change.outcome == outcome)?;
                    let size = libm::fabs(libm::log(time.after / time.before));
                    Some((size, format!("{} {}", phase.title(), time.share())))
                })
                .collect();
            found.sort_by(|one, other| other.0.total_cmp(&one.0));
            let most: Vec<&str> = found.iter().take(NAMED).map(|(_, text)| text.as_str()).collect();
            (found.len(), most.join("; "))
        };
        let (slower, faster) = (timed(Outcome::Regression), timed(Outcome::Gain));
        let (all, changed) =
            (self.phases.len(), self.phases.iter().filter(|phase| phase.has_changed()).count());
        let parts = [
            ("slower", slower.0, slower.1),
            ("faster", faster.0, faster.1),
            ("as fast with other requests", changed - slower.0 - faster.0, String::new()),
            ("unchanged", all - changed, String::new()),
        ];
        let parts: Vec<String> = parts
            .into_iter()
            .filter(|(_, count, _)| *count > 0)
            .map(|(word, count, most)| match most.as_str() {
                "" => format!("{count} {word}"),
                most if count > NAMED => format!("{count} {word} (most: {most})"),
                most => format!("{count} {word} ({most})"),
            })
            .collect();
        format!("{}, of {all} phases: {}.", self.title(), parts.join(", "))
    }

    pub(super) fn table(&self) -> TextTable {
        let rows = self.phases.iter().filter(|phase| phase.has_changed()).map(|phase| {
            let cells = MEASURES.map(|(title, ..)| phase.change(title).map_or("–".to_owned(), Change::shown));
            [phase.title(), phase.verdict()].into_iter().chain(cells).collect()
        });
        let title = format!("{}: what changed by more than {:.0}%", self.title(), self.tie * 100.0);
        let header = ["candidate, phase", "regression or gain"].into_iter();
        let header: Vec<&str> = header.chain(MEASURES.map(|(title, ..)| title)).collect();
        TextTable::new(title, &header, rows.collect())
    }
}

/// The plan's phases of a configuration under both kernels.
fn phases(report: &Report<'_>, [old, new]: [&Candidate; 2]) -> Vec<Phase> {
    let planned = report.phases.iter().filter(|phase| phase.planned);
    let all = planned.map(|phase| {
        let change = |measure: Measure| {
            let sum = |trial: &Trial| {
                measure.2.iter().map(|metric| trial.value(&phase.name, metric)).sum::<Option<f64>>()
            };
            let values = [old, new].map(|one| report.blocks.of(&one.name).filter_map(sum).collect());
            let logs = |trial: &Trial| sum(trial).map(libm::log);
            let differences = report.blocks.differences(&new.name, &old.name, logs);
            Change::of(measure, values, &differences, report.plan.protocol.tie)
        };
        Phase {
            candidate: old.under.without(&old.name),
            under: Circumstances { kernel: None, ..old.under.clone() },
            phase: phase.name.clone(),
            changes: MEASURES.into_iter().filter_map(change).collect(),
        }
    });
    all.filter(|phase| !phase.changes.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::Report;
    use super::super::examples::under_kernels;
    use super::{Change, Kernels, MEASURES, Outcome};

    #[test]
    fn what_became_slower_and_faster_under_each_next_kernel_is_named() {
        let story = under_kernels();
        let run = story.run();
        let found = Kernels::of(&Report::new(&story.plan, &run, None));
        let cases = [
            (
                "Linux 6.12 against 6.1",
                "1 slower (ext2, write +72%), 1 faster (xfs, read −50%), 2 unchanged.",
                [
                    ["ext2, write", "regression: time", "1.00 → 1.72 s, +72%", "–", "–", "–"],
                    ["xfs, read", "gain: time", "2.00 → 1.00 s, −50%", "–", "–", "–"],
                ],
            ),
            (
                "Linux 6.18 against 6.12",
                "1 slower (xfs, read +100%), 1 faster (ext2, write −42%), 2 unchanged.",
                [
                    ["ext2, write", "gain: time", "1.72 → 1.00 s, −42%", "–", "–", "–"],
                    ["xfs, read", "regression: time", "1.00 → 2.00 s, +100%", "–", "–", "–"],
                ],
            ),
        ];
        assert_eq!(found.len(), cases.len());
        for (kernels, (title, sentence, rows)) in found.iter().zip(cases) {
            assert_eq!(kernels.sentence(), format!("{title}, of 4 phases: {sentence}"));
            let table = kernels.table();
            assert_eq!(table.title, format!("{title}: what changed by more than 3%"));
            assert_eq!(table.rows, rows.map(|row| row.map(str::to_owned).to_vec()).to_vec());
        }
    }

    #[test]
    fn more_requests_are_a_regression_and_fewer_a_gain() {
        let of = |values| Change::of(MEASURES[1], values, &[], 0.03);
        for (before, after, shown, outcome) in [
            (200.0, 220.0, "200 → 220, +10%", Outcome::Regression),
            (200.0, 150.0, "200 → 150, −25%", Outcome::Gain),
            (200.0, 201.0, "201", Outcome::Unchanged),
            (0.0, 3.0, "0 → 3, from none", Outcome::Regression),
            (0.0, 0.0, "0", Outcome::Unchanged),
        ] {
            let change = of([vec![before], vec![after]]).unwrap();
            assert_eq!((change.shown().as_str(), change.outcome), (shown, outcome));
        }
        assert_eq!(of([vec![], vec![1.0]]), None);
    }
}
