//! The tables of docs/results/error-rates.md.

use crate::tally::{TRUTHS, Tally, Truth};
use crate::world::{HARD, NOISES};
use crate::{CANDIDATES, CANDIDATES_HARD};

/// One line of the whole table.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) deviation: f64,
    pub(crate) kind: &'static str,
    pub(crate) truth: Truth,
    pub(crate) candidates: usize,
    pub(crate) tally: Tally,
}

impl Row {
    fn share(&self, count: u32) -> f64 {
        100.0 * f64::from(count) / f64::from(self.tally.runs)
    }

    fn wrong(&self) -> f64 {
        self.share(self.tally.wrong)
    }

    /// Of the recommendations that were given, those that are wrong.
    fn wrong_of_given(&self) -> f64 {
        100.0 * f64::from(self.tally.wrong) / f64::from((self.tally.runs - self.tally.undecided).max(1))
    }

    /// The share of intervals, of all rivals and of the closest, that hold the truth when a run ends.
    fn coverage(&self) -> [f64; 2] {
        let share =
            |cover: u32, all: u32| if all > 0 { 100.0 * f64::from(cover) / f64::from(all) } else { 100.0 };
        let tally = &self.tally;
        [share(tally.cover, tally.intervals), share(tally.closest_cover, tally.closest)]
    }

    fn undecided(&self) -> f64 {
        self.share(self.tally.undecided)
    }

    fn blocks(&self) -> f64 {
        self.tally.blocks as f64 / f64::from(self.tally.runs)
    }

    fn trials(&self) -> f64 {
        self.tally.trials as f64 / f64::from(self.tally.runs) / self.candidates as f64
    }
}

/// Normal noise: what it costs.
pub(crate) fn by_size(rows: &[Row]) {
    println!(
        "| noise | candidates | scattered by 20 %: undecided % | blocks | trials a candidate | all others worse by δ: wrong % | undecided % | blocks | all equal: undecided % | blocks |"
    );
    println!("|{}", "--:|".repeat(10));
    let normal = rows.iter().filter(|row| row.kind == NOISES[0].1);
    for row in normal.clone().filter(|row| row.truth == Truth::Scattered) {
        let same = |truth| {
            normal.clone().find(|other| {
                (other.truth, other.candidates) == (truth, row.candidates)
                    && other.deviation.to_bits() == row.deviation.to_bits()
            })
        };
        let (Some(hardest), Some(equal)) = (same(Truth::Hardest), same(Truth::Equal)) else { continue };
        println!(
            "| {:.0} % | {} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} |",
            100.0 * row.deviation,
            row.candidates,
            row.undecided(),
            row.blocks(),
            row.trials(),
            hardest.wrong(),
            hardest.undecided(),
            hardest.blocks(),
            equal.undecided(),
            equal.blocks()
        );
    }
}

/// Every kind of noise: the most wrong of all sizes and truths, and the most undecided where centres are scattered.
pub(crate) fn by_kind(rows: &[Row], deviations: &[f64]) {
    by_noise(rows, deviations, "wrong %, at most (undecided %, at most)", |here| {
        let wrong = here.iter().map(|row| row.wrong()).fold(0.0, f64::max);
        let scattered = here.iter().filter(|row| row.truth == Truth::Scattered);
        format!("{wrong:.1} ({:.1})", scattered.map(|row| row.undecided()).fold(0.0, f64::max))
    });
}

/// All are the same: how often somebody is called behind all the same, for each number of candidates.
pub(crate) fn by_chance(rows: &[Row], deviations: &[f64]) {
    let title = format!("somebody behind %, of {CANDIDATES:?} that are the same");
    by_noise(rows, deviations, &title, |here| {
        let equal = here.iter().filter(|row| row.truth == Truth::Equal);
        equal.map(|row| format!("{:.1}", row.share(row.tally.behind))).collect::<Vec<_>>().join(" ")
    });
}

/// How often the intervals hold the truth at the end: the least of all sizes, by truth.
pub(crate) fn coverage(rows: &[Row], deviations: &[f64]) {
    by_noise(rows, deviations, "intervals that hold the truth %, at least (the closest rival's)", |here| {
        let least = |which: usize| here.iter().map(|row| row.coverage()[which]).fold(100.0, f64::min);
        format!("{:.1} ({:.1})", least(0), least(1))
    });
}

/// What the rule is hard put to: the most of all truths, and of coverage the least.
pub(crate) fn hard(rows: &[Row], deviations: &[f64]) {
    println!(
        "| world | noise | candidates | false takes % | of recommendations % | false behinds % | false ties % | coverage % | of the closest % | scattered: undecided % | trials a candidate |"
    );
    println!("|---|{}", "--:|".repeat(10));
    for (_, kind) in HARD {
        for deviation in deviations {
            for candidates in CANDIDATES_HARD {
                let here: Vec<&Row> = rows
                    .iter()
                    .filter(|row| row.kind == kind && row.candidates == candidates)
                    .filter(|row| row.deviation.to_bits() == deviation.to_bits())
                    .collect();
                let most =
                    |share: &dyn Fn(&Row) -> f64| here.iter().map(|row| share(row)).fold(0.0, f64::max);
                let least = |which: usize| here.iter().map(|row| row.coverage()[which]).fold(100.0, f64::min);
                let Some(scattered) = here.iter().find(|row| row.truth == Truth::Scattered) else { continue };
                println!(
                    "| {kind} | {:.0} % | {candidates} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} |",
                    100.0 * deviation,
                    most(&Row::wrong),
                    most(&Row::wrong_of_given),
                    most(&|row| row.share(row.tally.falsely_behind)),
                    most(&|row| row.share(row.tally.falsely_tied)),
                    least(0),
                    least(1),
                    scattered.undecided(),
                    scattered.trials()
                );
            }
        }
    }
}

/// A table of every kind of noise by its deviation.
fn by_noise(rows: &[Row], deviations: &[f64], title: &str, cell: impl Fn(&[&Row]) -> String) {
    print!("\n| kind of noise: {title} |");
    deviations.iter().for_each(|deviation| print!(" {:.0} % |", 100.0 * deviation));
    println!("\n|---|{}", "--:|".repeat(deviations.len()));
    for (_, kind) in NOISES {
        print!("| {kind} |");
        for deviation in deviations {
            let same = |row: &&Row| row.kind == kind && row.deviation.to_bits() == deviation.to_bits();
            print!(" {} |", cell(&rows.iter().filter(same).collect::<Vec<_>>()));
        }
        println!();
    }
}

pub(crate) fn every(rows: &[Row]) {
    println!(
        "\n| noise | kind | truth | candidates | wrong % | of recommendations % | undecided % | blocks | trials a candidate | coverage % | of the closest % |"
    );
    println!("|--:|---|---|--:|--:|--:|--:|--:|--:|--:|--:|");
    for row in rows {
        let truth = TRUTHS.iter().find(|(truth, _)| *truth == row.truth).map_or("", |(_, name)| *name);
        println!(
            "| {:.0} % | {} | {truth} | {} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} |",
            100.0 * row.deviation,
            row.kind,
            row.candidates,
            row.wrong(),
            row.wrong_of_given(),
            row.undecided(),
            row.blocks(),
            row.trials(),
            row.coverage()[0],
            row.coverage()[1]
        );
    }
}
