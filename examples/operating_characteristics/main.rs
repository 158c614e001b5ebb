//! Measures the stopping rule: how often it is wrong, and how many trials it needs.
//!
//!     cargo run --release --example operating_characteristics -- [REPETITIONS [NOISE [GAP]]]
//!
//! REPETITIONS simulated runs per row (default 2000), NOISE the standard deviation of a log time (default
//! 0.04). With a GAP (0.1), only the rows with that gap. Prints the Markdown table of docs/methodology.md. Same
//! arguments, same table.

mod rules;
mod world;

use std::process::ExitCode;

use fsverdict::statistics::{Outcome, Stopping, StoppingRule};

use crate::rules::{Ending, MOST_BLOCKS, TIE, run_baseline, run_library};
use crate::world::{NOISES, Noise, World};

/// Six runs of three results each: what a magazine spends on each candidate.
const MAGAZINE_TRIALS: f64 = 18.0;

/// Seeds below this many rows were used while the rule was being tuned; the table is made from others.
const ROWS_OF_TUNING: u64 = 1_000_000;

/// What is true of the candidates: how many, how many of them tied for best, how much worse the others are.
#[derive(Debug, Clone, Copy)]
struct Truth {
    candidates: usize,
    best: usize,
    gap: f64,
}

/// Counts over many runs of one rule.
#[derive(Debug, Default)]
struct Tally {
    best_out: usize,
    wrong_winner: usize,
    decided: usize,
    tied: usize,
    false_tie: usize,
    trials: usize,
}

impl Tally {
    fn add(&mut self, ending: &Ending, truth: Truth) {
        let lost = ending.surviving[..truth.best].iter().filter(|still| !**still).count();
        self.best_out += usize::from(lost > 0);
        self.decided += usize::from(ending.outcome == Outcome::Decided);
        self.wrong_winner += usize::from(ending.outcome == Outcome::Decided && lost == truth.best);
        self.tied += usize::from(ending.outcome == Outcome::Tied);
        let apart = ending.tied.iter().any(|one| *one < truth.best)
            && ending.tied.iter().any(|one| *one >= truth.best);
        self.false_tie += usize::from(apart && truth.gap > TIE);
        self.trials += ending.trials;
    }
}

/// Both rules on the same truth and noise.
fn simulate(truth: Truth, noise: Noise, nominal: f64, repetitions: usize, row: u64) -> (Tally, Tally) {
    let centres: Vec<f64> = (0..truth.candidates)
        .map(|place| if place < truth.best { 0.0 } else { libm::log1p(truth.gap) })
        .collect();
    let prepared = Stopping::new(StoppingRule::new(3, MOST_BLOCKS, TIE), truth.candidates);
    let (mut library, mut baseline) = (Tally::default(), Tally::default());
    for repetition in 0..repetitions as u64 {
        // Both rules see the same trials.
        let seed = (ROWS_OF_TUNING + row) << 32 | repetition;
        let ending =
            run_library(&prepared, &mut World::new(&centres, noise, nominal, seed), truth.candidates);
        library.add(&ending, truth);
        let ending = run_baseline(&mut World::new(&centres, noise, nominal, seed), truth.candidates);
        baseline.add(&ending, truth);
    }
    (library, baseline)
}

fn truths(only_gap: Option<f64>) -> Vec<Truth> {
    let mut all = Vec::new();
    for candidates in [2, 3, 4, 8, 16] {
        all.push(Truth { candidates, best: candidates, gap: 0.0 });
        for gap in [0.01, 0.02, 0.05, 0.10, 0.20, 0.50, 1.00] {
            all.push(Truth { candidates, best: 1, gap });
        }
        if candidates > 2 {
            for gap in [0.05, 0.10, 0.50] {
                all.push(Truth { candidates, best: 2, gap });
            }
        }
    }
    all.retain(|truth| only_gap.is_none_or(|gap| (truth.gap - gap).abs() < 1e-9));
    all
}

fn arguments() -> Option<(usize, f64, Option<f64>)> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let repetitions = given.first().map_or(Some(2000), |text| text.parse().ok())?;
    let nominal = given.get(1).map_or(Some(0.04), |text| text.parse().ok())?;
    let gap = match given.get(2) {
        Some(text) => Some(text.parse().ok()?),
        None => None,
    };
    Some((repetitions, nominal, gap))
}

fn main() -> ExitCode {
    let Some((repetitions, nominal, gap)) = arguments() else {
        eprintln!("usage: operating_characteristics [REPETITIONS [NOISE [GAP]]], e.g. 2000 0.04 0.1");
        return ExitCode::from(2);
    };
    let truths = truths(gap);
    println!(
        "| noise | candidates | best | gap | best one out % | wrong winner % | decided % | tied % | false tie % | trials | 18 / trials | baseline: best one out % | decided % | trials |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
    let (mut worst_error, mut worst_excess) = (0.0f64, f64::NEG_INFINITY);
    for (place, (noise, name)) in NOISES.into_iter().enumerate() {
        let rows: Vec<(Tally, Tally)> = std::thread::scope(|scope| {
            let handles: Vec<_> = truths
                .iter()
                .enumerate()
                .map(|(number, truth)| {
                    scope.spawn(move || {
                        simulate(*truth, noise, nominal, repetitions, (place * 1000 + number) as u64)
                    })
                })
                .collect();
            handles.into_iter().filter_map(|handle| handle.join().ok()).collect()
        });
        for (truth, (library, baseline)) in truths.iter().zip(&rows) {
            let percent = |count: usize| 100.0 * count as f64 / repetitions as f64;
            let per_candidate = |tally: &Tally| tally.trials as f64 / (repetitions * truth.candidates) as f64;
            let (trials, baseline_trials) = (per_candidate(library), per_candidate(baseline));
            worst_error = worst_error.max(percent(library.best_out));
            worst_excess = worst_excess.max(trials - baseline_trials);
            println!(
                "| {name} | {} | {} | {:.0} % | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} |",
                truth.candidates,
                truth.best,
                100.0 * truth.gap,
                percent(library.best_out),
                percent(library.wrong_winner),
                percent(library.decided),
                percent(library.tied),
                percent(library.false_tie),
                trials,
                MAGAZINE_TRIALS / trials,
                percent(baseline.best_out),
                percent(baseline.decided),
                baseline_trials,
            );
        }
    }
    println!();
    println!("Largest share of runs that ruled a best candidate out: {worst_error:.2} %.");
    println!("Largest excess of trials per candidate over the baseline: {worst_excess:+.2}.");
    ExitCode::SUCCESS
}
