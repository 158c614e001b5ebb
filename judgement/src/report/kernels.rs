//! What another kernel does with the same work: time, requests, bytes and flushes of each configuration and phase, as
//! regressions (more) and gains (less).

use super::Report;
use super::number::{Scale, decimals, fixed};
use super::text_table::TextTable;
use crate::journal::{Trial, Unit};
use crate::plan::{Candidate, Circumstances};
use crate::statistics::{Evidence, median};

/// What is compared: its title, its unit, and the metrics it is the sum of. All but the first are exact in simulated time.
type Measure = (&'static str, Unit, &'static [&'static str]);

const MEASURES: [Measure; 4] = [
    ("time", Unit::Seconds, &["durable"]),
    ("requests", Unit::Count, &["device_reads", "device_writes"]),
    ("bytes", Unit::Bytes, &["device_read", "device_written"]),
    ("flushes", Unit::Count, &["device_flushes"]),
];

/// How many of a kind are named in a sentence.
const NAMED: usize = 4;

/// The last kernel of a plan against its first.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Kernels {
    /// `Linux 6.12 against 6.1`.
    title: String,
    /// Configurations with their phases.
    compared: Vec<(String, Vec<Phase>)>,
    /// Smaller changes do not matter.
    tie: f64,
}

#[derive(Debug, Clone, PartialEq)]
struct Phase {
    name: String,
    /// By measure.
    changes: [Option<Change>; MEASURES.len()],
}

/// The medians over all blocks.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Change {
    old: f64,
    new: f64,
    /// Beyond a tie, and no chance as far as the blocks can tell.
    certain: bool,
}

impl Change {
    fn of(values: [Vec<f64>; 2], differences: &[f64], tie: f64) -> Option<Self> {
        let [old, new] = values.map(|values| median(&values));
        let (old, new) = (old?, new?);
        let chance = Evidence::of(differences).map(|evidence| evidence.ratio());
        let chance = chance.is_some_and(|ratio| {
            ratio.low.zip(ratio.high).is_some_and(|(low, high)| low <= 1.0 && high >= 1.0)
        });
        let beyond = if old > 0.0 { (new / old - 1.0).abs() > tie } else { new > 0.0 };
        Some(Change { old, new, certain: beyond && !chance })
    }

    fn is_regression(self) -> bool {
        self.certain && self.new > self.old
    }

    fn is_gain(self) -> bool {
        self.certain && self.new < self.old
    }

    /// `+72%`.
    fn share(self) -> String {
        let share = (self.new / self.old - 1.0) * 100.0;
        if !share.is_finite() {
            return "from none".to_owned();
        }
        let digits = usize::from(share.abs() < 9.95);
        format!("{}{:.digits$}%", if share < 0.0 { '−' } else { '+' }, share.abs())
    }

    /// `638 → 1096 ms, +72%`; one value where it stayed as it was.
    fn shown(self, unit: Unit) -> String {
        let scale = Scale::suited(unit, [self.old, self.new].into_iter());
        let shown = |value: f64| {
            let value = value / scale.divisor;
            let digits = if unit == Unit::Count { 0 } else { decimals(value, Some(0.01)).max(0) };
            fixed(value, digits)
        };
        let label = if scale.label.is_empty() { String::new() } else { format!(" {}", scale.label) };
        if self.certain {
            format!("{} → {}{label}, {}", shown(self.old), shown(self.new), self.share())
        } else {
            format!("{}{label}", shown(self.new))
        }
    }
}

impl Phase {
    /// The titles of the measures that changed so.
    fn titles(&self, so: fn(Change) -> bool) -> Vec<&'static str> {
        let all = MEASURES.iter().zip(self.changes);
        all.filter(|(_, change)| change.is_some_and(so)).map(|((title, ..), _)| *title).collect()
    }

    /// `regression: time, requests; gain: bytes`; empty where nothing changed.
    fn verdict(&self) -> String {
        let of = [("regression", self.titles(Change::is_regression)), ("gain", self.titles(Change::is_gain))];
        let parts = of.iter().filter(|(_, titles)| !titles.is_empty());
        parts.map(|(word, titles)| format!("{word}: {}", titles.join(", "))).collect::<Vec<_>>().join("; ")
    }
}

impl Kernels {
    /// Of a report whose plan names several kernels.
    pub(super) fn of(report: &Report<'_>) -> Option<Self> {
        let candidates = &report.plan.candidates;
        let mut named = candidates.iter().filter_map(|candidate| candidate.under.kernel.as_deref());
        let (first, last) = (named.next()?, named.next_back()?);
        let pair = |old: &Candidate| {
            let same = Circumstances { kernel: Some(last.to_owned()), ..old.under.clone() };
            let name = old.under.without(&old.name);
            let new =
                candidates.iter().find(|new| new.under == same && new.under.without(&new.name) == name)?;
            let rest = Circumstances { kernel: None, ..same.clone() }.title();
            let phases = phases(report, [&old.name, &new.name]);
            let name = if rest.is_empty() { name } else { format!("{name} ({rest})") };
            (!phases.is_empty()).then_some((name, phases))
        };
        let old = candidates.iter().filter(|old| old.under.kernel.as_deref() == Some(first));
        let compared: Vec<_> = old.filter_map(pair).collect();
        let title = format!("Linux {} against {}", last.display(), first.display());
        (first != last && !compared.is_empty()).then_some(Kernels {
            title,
            compared,
            tie: report.plan.protocol.tie,
        })
    }

    /// In how many phases there is what, and where most.
    pub(super) fn sentence(&self) -> String {
        let all =
            || self.compared.iter().flat_map(|(name, phases)| phases.iter().map(move |one| (name, one)));
        let timed = |so: fn(Change) -> bool| {
            let mut found: Vec<(f64, String)> = all()
                .filter_map(|(name, phase)| {
                    let time = phase.changes[0].filter(|change| so(*change))?;
                    let size = libm::fabs(libm::log(time.new / time.old));
                    Some((size, format!("{name}, {} {}", phase.name, time.share())))
                })
                .collect();
            found.sort_by(|one, other| other.0.total_cmp(&one.0));
            let most: Vec<&str> = found.iter().take(NAMED).map(|(_, text)| text.as_str()).collect();
            (found.len(), most.join("; "))
        };
        let (slower, faster) = (timed(Change::is_regression), timed(Change::is_gain));
        let changed = all().filter(|(_, phase)| !phase.verdict().is_empty()).count();
        let parts = [
            ("slower", slower.0, slower.1),
            ("faster", faster.0, faster.1),
            ("as fast with other requests", changed - slower.0 - faster.0, String::new()),
            ("unchanged", all().count() - changed, String::new()),
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
        format!("{}, of {} phases: {}.", self.title, all().count(), parts.join(", "))
    }

    /// The phases in which something changed.
    pub(super) fn table(&self) -> TextTable {
        let rows = self.compared.iter().flat_map(|(name, phases)| {
            let changed = phases.iter().filter(|phase| !phase.verdict().is_empty());
            changed.map(move |phase| {
                let cells = MEASURES.iter().zip(phase.changes).map(|((_, unit, _), change)| {
                    change.map_or("–".to_owned(), |change| change.shown(*unit))
                });
                [format!("{name}, {}", phase.name), phase.verdict()].into_iter().chain(cells).collect()
            })
        });
        let title = format!("{}: what changed by more than {:.0}%", self.title, self.tie * 100.0);
        let header = ["candidate, phase", "regression or gain"].into_iter();
        let header: Vec<&str> = header.chain(MEASURES.map(|(title, ..)| title)).collect();
        TextTable::new(title, &header, rows.collect())
    }
}

/// The plan's phases under both kernels.
fn phases(report: &Report<'_>, pair: [&str; 2]) -> Vec<Phase> {
    let planned = report.phases.iter().filter(|phase| phase.planned);
    let all = planned.map(|phase| Phase {
        name: phase.name.clone(),
        changes: MEASURES.map(|(_, _, metrics)| {
            let sum = |trial: &Trial| {
                metrics.iter().map(|metric| trial.value(&phase.name, metric)).sum::<Option<f64>>()
            };
            let values = pair.map(|name| report.blocks.of(name).filter_map(sum).collect());
            let [old, new] = pair;
            let differences = report.blocks.differences(new, old, |trial| sum(trial).map(libm::log));
            Change::of(values, &differences, report.plan.protocol.tie)
        }),
    });
    all.filter(|phase| phase.changes.iter().any(Option::is_some)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::Report;
    use super::super::fixtures::{Story, id};
    use super::{Change, Kernels};
    use crate::journal::Unit;
    use crate::plan::Circumstances;

    #[test]
    fn what_became_slower_and_faster_under_the_other_kernel_is_named() {
        let names = ["ext2-under-6.1", "ext2-under-6.12", "xfs-under-6.1", "xfs-under-6.12"];
        let mut story = Story::new(&names, &["write", "read"]);
        for (candidate, kernel) in story.plan.candidates.iter_mut().zip(["6.1", "6.12"].iter().cycle()) {
            candidate.under = Circumstances { kernel: Some(kernel.into()), ..Circumstances::default() };
        }
        for block in 1..=3 {
            story.open_block(block, 1, &names);
            // Reading ext2 differs between blocks by more than between kernels.
            let wobble = f64::from(block * block);
            for (name, write, read) in [
                (names[0], 1.0, 2.0 + wobble),
                (names[1], 1.72, 3.0 - wobble / 9.0),
                (names[2], 1.0, 2.0),
                (names[3], 1.001, 1.0),
            ] {
                story.trial(&id(block, name), &[("write", write), ("read", read)]);
            }
            story.close_block(block, 1, None);
        }
        story.finish();
        let run = story.run();
        let kernels = Kernels::of(&Report::new(&story.plan, &run, None)).unwrap();
        assert_eq!(
            kernels.sentence(),
            "Linux 6.12 against 6.1, of 4 phases: 1 slower (ext2, write +72%), 1 faster (xfs, read −50%), 2 unchanged."
        );
        let table = kernels.table();
        assert_eq!(table.title, "Linux 6.12 against 6.1: what changed by more than 3%");
        let expected = [
            ["ext2, write", "regression: time", "1.00 → 1.72 s, +72%", "–", "–", "–"],
            ["xfs, read", "gain: time", "2.00 → 1.00 s, −50%", "–", "–", "–"],
        ];
        assert_eq!(table.rows, expected.map(|row| row.map(str::to_owned).to_vec()).to_vec());
    }

    #[test]
    fn more_requests_are_a_regression_and_fewer_a_gain() {
        for (old, new, shown, regression, gain) in [
            (200.0, 220.0, "200 → 220, +10%", true, false),
            (200.0, 150.0, "200 → 150, −25%", false, true),
            (200.0, 201.0, "201", false, false),
            (0.0, 3.0, "0 → 3, from none", true, false),
            (0.0, 0.0, "0", false, false),
        ] {
            let change = Change::of([vec![old], vec![new]], &[], 0.03).unwrap();
            assert_eq!(change.shown(Unit::Count), shown);
            assert_eq!((change.is_regression(), change.is_gain()), (regression, gain), "{shown}");
        }
        assert_eq!(Change::of([vec![], vec![1.0]], &[], 0.03), None);
    }
}
