//! The tables that are printed.

use crate::tally::{Pair, Tally};
use crate::{CANDIDATES, Truth};

/// Six runs of three results each: what a magazine spends on each candidate.
const MAGAZINE_TRIALS: f64 = 18.0;

/// All rows at one noise.
#[derive(Debug)]
pub(crate) struct Table {
    deviation: f64,
    repetitions: u32,
    rows: Vec<(&'static str, Truth, Pair)>,
}

impl Table {
    pub(crate) fn new(deviation: f64, repetitions: u32) -> Table {
        Table { deviation, repetitions, rows: Vec::new() }
    }

    pub(crate) fn add(&mut self, noise: &'static str, truth: Truth, pair: Pair) {
        self.rows.push((noise, truth, pair));
    }

    fn of(&self, noise: &str, candidates: usize) -> Vec<&(&'static str, Truth, Pair)> {
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
fn worst<'a>(pairs: impl Iterator<Item = &'a Pair>, share: fn(&Tally) -> f64) -> f64 {
    pairs.map(|pair| share(&pair.library)).fold(0.0, f64::max)
}

fn best_out(tally: &Tally) -> f64 {
    tally.percent(tally.best_out)
}

fn false_tie(tally: &Tally) -> f64 {
    tally.percent(tally.false_tie)
}

/// One row per noise and number of candidates.
pub(crate) fn print_summary(table: &Table) {
    table.heading();
    println!(
        "| noise | candidates | best out %: all equal | one best | two best | false tie % | trials: one best, gap 5 % | 10 % | 20 % | 50 % | two best, gap 10 %: to separate | in all | all equal | baseline: one best, gap 10 % | 18 / n at 10 % | 20 % |"
    );
    println!("|---|{}", "--:|".repeat(15));
    let mut names: Vec<&str> = table.rows.iter().map(|(name, ..)| *name).collect();
    names.dedup();
    for name in names {
        for candidates in CANDIDATES {
            print_summary_row(&table.of(name, candidates), name, candidates);
        }
    }
    print_extremes(table);
}

fn print_summary_row(rows: &[&(&'static str, Truth, Pair)], name: &str, candidates: usize) {
    let with =
        |best: usize| rows.iter().filter(move |(_, truth, _)| truth.best == best).map(|(.., pair)| pair);
    let one = |best: usize, gap: f64| {
        rows.iter().find(|(_, truth, _)| truth.best == best && truth.gap == gap).map(|(.., pair)| pair)
    };
    let number = |value: Option<f64>| value.map_or("–".to_owned(), |value| format!("{value:.1}"));
    let trials = |best: usize, gap: f64| one(best, gap).map(|pair| pair.library.trials());
    let two_best = (candidates > 2).then(|| worst(with(2), best_out));
    let cells = [
        Some(worst(with(candidates), best_out)),
        Some(worst(with(1), best_out)),
        two_best,
        Some(worst(rows.iter().map(|(.., pair)| pair), false_tie)),
        trials(1, 0.05),
        trials(1, 0.10),
        trials(1, 0.20),
        trials(1, 0.50),
        one(2, 0.10).map(|pair| pair.library.trials_to_separate()),
        trials(2, 0.10),
        trials(candidates, 0.0),
        one(1, 0.10).map(|pair| pair.baseline.trials()),
        trials(1, 0.10).map(|trials| MAGAZINE_TRIALS / trials),
        trials(1, 0.20).map(|trials| MAGAZINE_TRIALS / trials),
    ];
    let cells: Vec<String> = cells.into_iter().map(number).collect();
    println!("| {name} | {candidates} | {} |", cells.join(" | "));
}

/// The rows that are worst, by name.
fn print_extremes(table: &Table) {
    let describe = |noise: &str, truth: &Truth| {
        let (candidates, best, gap) = (truth.candidates, truth.best, 100.0 * truth.gap);
        format!("{noise}, {candidates} candidates, {best} best, gap {gap:.0} %")
    };
    let largest = |measure: &dyn Fn(&Truth, &Pair) -> f64| {
        table
            .rows
            .iter()
            .map(|(noise, truth, pair)| (measure(truth, pair), describe(noise, truth)))
            .fold((f64::NEG_INFINITY, String::new()), |most, one| if one.0 > most.0 { one } else { most })
    };
    let rows = table.rows.len();
    let (error, place) = largest(&|_, pair| best_out(&pair.library));
    println!(
        "\nOf {rows} rows, the one that ruled out a best candidate most often did so in {error:.2} % of its runs ({place})."
    );
    let (error, place) = largest(&|_, pair| false_tie(&pair.library));
    println!("Most false ties: {error:.2} % ({place}).");
    let (excess, place) = largest(&|_, pair| pair.library.trials() - pair.baseline.trials());
    println!("Trials per candidate less the baseline's, at most: {excess:+.2} ({place}).");
    let large = |truth: &Truth| truth.gap >= 0.10 && truth.best == 1;
    let (trials, place) =
        largest(&|truth, pair| if large(truth) { pair.library.trials() } else { f64::NEG_INFINITY });
    println!("Most trials per candidate with one best and a gap of 10 % or more: {trials:.2} ({place}).");
    let of_large = || table.rows.iter().filter(|(_, truth, _)| large(truth));
    let met = of_large().filter(|(.., pair)| 3.0 * pair.library.trials() <= MAGAZINE_TRIALS).count();
    println!("Of {} such rows, {met} need at most a third of 18.\n", of_large().count());
}

/// Every row on its own.
pub(crate) fn print_every_row(table: &Table) {
    table.heading();
    println!(
        "| noise | candidates | best | gap | best out % | decided % | tied % | false tie % | trials | to separate | 18 / n | baseline: best out % | decided % | trials |"
    );
    println!("|---|{}", "--:|".repeat(13));
    for (noise, truth, Pair { library, baseline }) in &table.rows {
        println!(
            "| {noise} | {} | {} | {:.0} % | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} |",
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
            best_out(baseline),
            baseline.percent(baseline.decided),
            baseline.trials(),
        );
    }
    print_extremes(table);
}
