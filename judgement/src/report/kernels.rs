//! What another kernel does with the same work: time, requests, bytes and flushes of each configuration and phase, as
//! regressions (more) and gains (less).

mod change;

use std::path::PathBuf;

use serde::Serialize;

use super::Report;
use super::text_table::TextTable;
use crate::journal::Trial;
use crate::plan::{Candidate, Circumstances};
use crate::statistics::FEWEST;

use change::{Change, MEASURES, Measure, Outcome, TIME, judge, weigh};

/// How many of a kind are named in a sentence.
const NAMED: usize = 4;

/// A kernel of a plan against the one before it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Kernels {
    kernel: PathBuf,
    against: PathBuf,
    /// Smaller changes do not matter.
    tie: f64,
    #[serde(skip)]
    blocks: usize,
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
        let so = |change: &Change| matches!(change.outcome, Outcome::Regression | Outcome::Gain);
        self.changes.iter().any(so)
    }

    /// Its time, or unchanged where that was not measured.
    fn time(&self) -> Outcome {
        self.change(TIME).map_or(Outcome::Unchanged, |time| time.outcome)
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
                blocks: report.verdict.blocks,
                phases: both.flat_map(|pair| phases(report, pair)).collect(),
            }
        });
        let mut found: Vec<Self> = compared.filter(|kernels| !kernels.phases.is_empty()).collect();
        for kernels in &mut found {
            for (measure, ..) in MEASURES {
                let all = kernels.phases.iter_mut().flat_map(|phase| &mut phase.changes);
                weigh(&mut all.filter(|change| change.measure == measure).collect::<Vec<_>>());
            }
        }
        let all = found.iter_mut().flat_map(|kernels| &mut kernels.phases);
        let mut all: Vec<&mut Change> = all.flat_map(|phase| &mut phase.changes).collect();
        judge(&mut all, report.plan.protocol.tie);
        found
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
                    Some((time.size(), format!("{} {}", phase.title(), time.share())))
                })
                .collect();
            found.sort_by(|one, other| other.0.total_cmp(&one.0));
            let most: Vec<&str> = found.iter().take(NAMED).map(|(_, text)| text.as_str()).collect();
            (found.len(), most.join("; "))
        };
        let (slower, faster) = (timed(Outcome::Regression), timed(Outcome::Gain));
        let all = self.phases.len();
        let of = |outcome: Outcome, changed: bool| {
            let is = |phase: &&Phase| phase.time() == outcome && phase.has_changed() == changed;
            self.phases.iter().filter(is).count()
        };
        let untold = of(Outcome::Untold, false) + of(Outcome::Untold, true);
        let why = if self.blocks < FEWEST as usize {
            format!("nothing is below {FEWEST} blocks")
        } else {
            String::new()
        };
        let parts = [
            ("slower", slower.0, slower.1),
            ("faster", faster.0, faster.1),
            ("as fast with other requests", of(Outcome::Unchanged, true), String::new()),
            ("unchanged", of(Outcome::Unchanged, false), String::new()),
            ("not told", untold, why),
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
            Change::of(measure, report.blocks.pairs(&new.name, &old.name, sum))
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
    use super::super::fixtures::{Story, id};
    use super::Kernels;
    use crate::plan::Circumstances;

    #[test]
    fn what_became_slower_and_faster_under_each_next_kernel_is_named() {
        let story = under_kernels();
        let run = story.run();
        let found = Kernels::of(&Report::new(&story.plan, &run, None));
        let cases = [
            (
                "Linux 6.12 against 6.1",
                "1 slower (ext2, write +72%), 1 faster (xfs, read −50%), 1 unchanged, 1 not told.",
                [
                    ["ext2, write", "regression: time", "1.00 → 1.72 s, +72%", "–", "–", "–"],
                    ["xfs, read", "gain: time", "2.00 → 1.00 s, −50%", "–", "–", "–"],
                ],
            ),
            (
                "Linux 6.18 against 6.12",
                "1 slower (xfs, read +100%), 1 faster (ext2, write −42%), 1 unchanged, 1 not told.",
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

    /// What so many blocks of two kernels show, by the seconds of a phase and kernel in a block.
    fn shown(phases: &[&str], blocks: u32, mut seconds: impl FnMut(u32, usize) -> f64) -> String {
        let names = ["ext4-under-6.1", "ext4-under-6.12"];
        let mut story = Story::new(&names, phases);
        for (candidate, kernel) in story.plan.candidates.iter_mut().zip(["6.1", "6.12"]) {
            candidate.under = Circumstances { kernel: Some(kernel.into()), ..Circumstances::default() };
        }
        for block in 1..=blocks {
            story.open_block(block, 1, &names);
            for (at, name) in names.iter().enumerate() {
                let found: Vec<_> = phases.iter().map(|phase| (*phase, seconds(block, at))).collect();
                story.trial(&id(block, name), &found);
            }
            story.close_block(block, 1, None);
        }
        story.finish();
        let run = story.run();
        Kernels::of(&Report::new(&story.plan, &run, None))[0].sentence()
    }

    #[test]
    fn one_block_tells_nothing_and_a_wide_interval_is_not_unchanged() {
        let title = "Linux 6.12 against 6.1, of 1 phases: 1 not told";
        let one = shown(&["write"], 1, |_, kernel| [1.0, 1.11][kernel]);
        assert_eq!(one, format!("{title} (nothing is below 3 blocks)."));
        // 1.27 times, between 0.68 and 2.38.
        let wide = shown(&["write"], 3, |block, kernel| [1.0, [1.0, 1.27, 1.6][block as usize - 1]][kernel]);
        assert_eq!(wide, format!("{title}."));
    }

    #[test]
    fn of_many_phases_that_are_the_same_hardly_ever_one_is_called_slower_or_faster() {
        let names: Vec<String> = (0..24).map(|at| format!("phase{at}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut normal = super::super::fixtures::normals(11);
        let mut wrong = 0;
        for _ in 0..40 {
            let sentence = shown(&names, 3, |_, _| libm::exp(0.05 * normal()));
            wrong += u32::from(sentence.contains("slower") || sentence.contains("faster"));
        }
        assert!(wrong <= 2, "{wrong} of 40");
    }
}
