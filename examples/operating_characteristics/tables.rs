//! The tables that are printed.

use crate::tally::{Tallies, Tally};
use crate::{CANDIDATES, Truth};

/// Six runs of three results each: what a magazine spends on each candidate.
const MAGAZINE_TRIALS: f64 = 18.0;

/// All rows at one noise.
#[derive(Debug)]
pub(crate) struct Table {
    deviation: f64,
    repetitions: u32,
    rows: Vec<(&'static str, Truth, Tallies)>,
}

impl Table {
    pub(crate) fn new(deviation: f64, repetitions: u32) -> Table {
        Table { deviation, repetitions, rows: Vec::new() }
    }

    pub(crate) fn add(&mut self, noise: &'static str, truth: Truth, tallies: Tallies) {
        self.rows.push((noise, truth, tallies));
    }

    fn of(&self, noise: &str, candidates: usize) -> Vec<&(&'static str, Truth, Tallies)> {
        self.rows.iter().filter(|(name, truth, _)| *name == noise && truth.candidates == candidates).collect()
    }

    fn heading(&self) {
        println!(
            "Noise {} %, {} runs a row; *18 / n* is how many times fewer trials than six runs of three:\n",
            100.0 * self.deviation,
            self.repetitions
        );
    }
}

/// A tally of the library's rule as a whole, in percent; the largest of several.
fn worst<'a>(rows: impl Iterator<Item = &'a Tallies>, share: fn(&Tally) -> f64) -> f64 {
    rows.map(|tallies| share(&tallies.library)).fold(0.0, f64::max)
}

fn best_out(tally: &Tally) -> f64 {
    tally.percent(tally.best_out)
}

fn false_tie(tally: &Tally) -> f64 {
    tally.percent(tally.false_tie)
}

/// One best, and a gap that is not small.
fn clear(truth: &Truth) -> bool {
    truth.best == 1 && truth.gap >= 0.10
}

/// The smallest share of runs that ended with one candidate, in percent, of rows in which that is the truth.
fn least_decided<'a>(rows: impl Iterator<Item = &'a (&'static str, Truth, Tallies)>) -> f64 {
    rows.filter(|(_, truth, _)| clear(truth))
        .map(|(.., tallies)| tallies.library.percent(tallies.library.decided))
        .fold(100.0, f64::min)
}

/// One row per noise and number of candidates.
pub(crate) fn print_summary(table: &Table) {
    table.heading();
    println!(
        "| noise | candidates | best out %: all equal | one best | two best | false tie % | decided %: one best, gap 10 % or more | trials: one best, gap 5 % | 10 % | 20 % | 50 % | two best, gap 10 %: to separate | in all | all equal | told the noise: one best, gap 10 % | 18 / n at 10 % | 20 % |"
    );
    println!("|---|{}", "--:|".repeat(16));
    let mut names: Vec<&str> = table.rows.iter().map(|(name, ..)| *name).collect();
    names.dedup();
    for name in names {
        for candidates in CANDIDATES {
            print_summary_row(&table.of(name, candidates), name, candidates);
        }
    }
    print_extremes(table);
}

fn print_summary_row(rows: &[&(&'static str, Truth, Tallies)], name: &str, candidates: usize) {
    let with = |best: usize| {
        rows.iter().filter(move |(_, truth, _)| truth.best == best).map(|(.., tallies)| tallies)
    };
    let one = |best: usize, gap: f64| {
        rows.iter().find(|(_, truth, _)| truth.best == best && truth.gap == gap).map(|(.., tallies)| tallies)
    };
    let number = |value: Option<f64>| value.map_or("–".to_owned(), |value| format!("{value:.1}"));
    let trials = |best: usize, gap: f64| one(best, gap).map(|tallies| tallies.library.trials());
    let two_best = (candidates > 2).then(|| worst(with(2), best_out));
    let cells = [
        Some(worst(with(candidates), best_out)),
        Some(worst(with(1), best_out)),
        two_best,
        Some(worst(rows.iter().map(|(.., tallies)| tallies), false_tie)),
        Some(least_decided(rows.iter().copied())),
        trials(1, 0.05),
        trials(1, 0.10),
        trials(1, 0.20),
        trials(1, 0.50),
        one(2, 0.10).map(|tallies| tallies.library.trials_to_separate()),
        trials(2, 0.10),
        trials(candidates, 0.0),
        one(1, 0.10).and_then(|tallies| Some(tallies.informed.as_ref()?.trials())),
        trials(1, 0.10).map(|trials| MAGAZINE_TRIALS / trials),
        trials(1, 0.20).map(|trials| MAGAZINE_TRIALS / trials),
    ];
    let cells: Vec<String> = cells.into_iter().map(number).collect();
    println!("| {name} | {candidates} | {} |", cells.join(" | "));
}

/// The rows that are worst, each with its name.
#[derive(Debug)]
struct Extremes {
    best_out: (f64, String),
    false_tie: (f64, String),
    /// Trials per candidate with one best and a clear gap.
    trials: (f64, String),
    decided: f64,
    clear: usize,
    /// So many of those need at most a third of the magazine's trials.
    met: usize,
}

impl Extremes {
    fn of(table: &Table) -> Extremes {
        let largest = |measure: &dyn Fn(&Truth, &Tallies) -> f64| {
            table
                .rows
                .iter()
                .map(|(noise, truth, tallies)| (measure(truth, tallies), noise, truth))
                .max_by(|a, b| a.0.total_cmp(&b.0))
                .map_or((f64::NAN, String::new()), |(value, noise, truth)| (value, describe(noise, truth)))
        };
        let trials = |truth: &Truth, tallies: &Tallies| {
            if clear(truth) { tallies.library.trials() } else { f64::NEG_INFINITY }
        };
        let of_clear = || table.rows.iter().filter(|(_, truth, _)| clear(truth));
        Extremes {
            best_out: largest(&|_, tallies| best_out(&tallies.library)),
            false_tie: largest(&|_, tallies| false_tie(&tallies.library)),
            trials: largest(&trials),
            decided: least_decided(table.rows.iter()),
            clear: of_clear().count(),
            met: of_clear().filter(|(.., one)| 3.0 * one.library.trials() <= MAGAZINE_TRIALS).count(),
        }
    }
}

fn describe(noise: &str, truth: &Truth) -> String {
    let (candidates, best, gap) = (truth.candidates, truth.best, 100.0 * truth.gap);
    format!("{noise}, {candidates} candidates, {best} best, gap {gap:.0} %")
}

fn print_extremes(table: &Table) {
    let Extremes { best_out, false_tie, trials, decided, clear, met } = Extremes::of(table);
    println!(
        "\nOf {} rows, the one that ruled out a best candidate most often did so in {:.2} % of its runs ({}).",
        table.rows.len(),
        best_out.0,
        best_out.1
    );
    println!("Most false ties: {:.2} % ({}).", false_tie.0, false_tie.1);
    println!(
        "Most trials per candidate with one best and a gap of 10 % or more: {:.2} ({}).",
        trials.0, trials.1
    );
    println!(
        "Of {clear} such rows, {met} need at most a third of 18; at least {decided:.1} % of their runs are decided.\n"
    );
}

/// The worst rows at each noise, side by side.
pub(crate) fn print_levels(tables: &[Table]) {
    println!(
        "| noise | best out %, at most | false tie %, at most | one best, gap 10 % or more: decided %, at least | trials, at most | rows with at most 18 / 3 trials |"
    );
    println!("|{}", "--:|".repeat(6));
    for table in tables {
        let Extremes { best_out, false_tie, trials, decided, clear, met } = Extremes::of(table);
        println!(
            "| {} % | {:.2} | {:.2} | {decided:.1} | {:.2} | {met} of {clear} |",
            100.0 * table.deviation,
            best_out.0,
            false_tie.0,
            trials.0
        );
    }
}

/// Every row on its own.
pub(crate) fn print_every_row(table: &Table) {
    table.heading();
    println!(
        "| noise | candidates | best | gap | best out % | decided % | tied % | false tie % | trials | to separate | 18 / n |"
    );
    println!("|---|{}", "--:|".repeat(10));
    for (noise, truth, Tallies { library, .. }) in &table.rows {
        println!(
            "| {noise} | {} | {} | {:.0} % | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} |",
            truth.candidates,
            truth.best,
            100.0 * truth.gap,
            best_out(library),
            library.percent(library.decided),
            library.percent(library.tied),
            false_tie(library),
            library.trials(),
            library.trials_to_separate(),
            MAGAZINE_TRIALS / library.trials(),
        );
    }
    print_extremes(table);
}
