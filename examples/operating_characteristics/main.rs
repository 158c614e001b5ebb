//! Measures the rule that ends a run: how often its recommendation is wrong, and what it costs.
//!
//!     cargo run --release --example operating_characteristics -- [--repetitions N] [--noise S,S] [--seed N] [--ranked] [--rows] [--hard]
//!
//! The rule is the one that runs use. N simulated runs a row (default 500) at each noise S, the standard deviation of a
//! trial's log time (default 0.01,0.02,0.05,0.1,0.2). Prints the tables of docs/results/error-rates.md, with --rows every row, with --hard
//! the table of what the rule is hard put to. A thread for each S; same arguments, same table.

mod tables;
mod tally;
mod world;

use std::process::ExitCode;
use std::thread;

use crate::tables::{Row, by_chance, by_kind, by_size, coverage, every, hard};
use crate::tally::{TRUTHS, simulate};
use crate::world::{HARD, NOISES};

const CANDIDATES: [usize; 4] = [2, 5, 10, 16];
const CANDIDATES_HARD: [usize; 5] = [2, 3, 5, 16, 40];
const TIE: f64 = 0.03;
const MOST_BLOCKS: u32 = 30;

/// What the user asked for.
#[derive(Debug, Clone, PartialEq)]
struct Request {
    repetitions: u32,
    deviations: Vec<f64>,
    seed: u64,
    ranked: bool,
    all: bool,
    hard: bool,
}

impl Request {
    fn of(mut arguments: impl Iterator<Item = String>) -> Option<Request> {
        let deviations = vec![0.01, 0.02, 0.05, 0.1, 0.2];
        let mut request = Request {
            repetitions: 500,
            deviations,
            seed: 20_261_122,
            ranked: false,
            all: false,
            hard: false,
        };
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--ranked" => request.ranked = true,
                "--rows" => request.all = true,
                "--hard" => request.hard = true,
                "--repetitions" => request.repetitions = arguments.next()?.parse().ok().filter(|n| *n > 0)?,
                "--seed" => request.seed = arguments.next()?.parse().ok()?,
                "--noise" => {
                    let parsed: Result<Vec<f64>, _> = arguments.next()?.split(',').map(str::parse).collect();
                    request.deviations = parsed.ok()?;
                }
                _ => return None,
            }
        }
        Some(request)
    }
}

fn main() -> ExitCode {
    let Some(ref request) = Request::of(std::env::args().skip(1)) else {
        eprintln!(
            "usage: operating_characteristics [--repetitions N] [--noise S,S] [--seed N] [--ranked] [--rows] [--hard]"
        );
        return ExitCode::from(2);
    };
    let rows: Vec<Row> = thread::scope(|scope| {
        let rows = |deviation: f64| scope.spawn(move || rows(request, deviation));
        let filling: Vec<_> = request.deviations.iter().copied().map(rows).collect();
        filling.into_iter().filter_map(|table| table.join().ok()).flatten().collect()
    });
    if request.hard {
        hard(&rows, &request.deviations);
    } else {
        by_size(&rows);
        by_kind(&rows, &request.deviations);
        by_chance(&rows, &request.deviations);
        coverage(&rows, &request.deviations);
    }
    if request.all {
        every(&rows);
    }
    ExitCode::SUCCESS
}

fn rows(request: &Request, deviation: f64) -> Vec<Row> {
    let mut rows = Vec::new();
    // No two rows share their random numbers, whatever else is asked for.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let mut stream = request.seed ^ ((deviation * 1e6) as u64) << 10;
    let (kinds, sizes) =
        if request.hard { (&HARD[..], &CANDIDATES_HARD[..]) } else { (&NOISES[..], &CANDIDATES[..]) };
    for &(noise, kind) in kinds {
        for (truth, _) in TRUTHS {
            for &candidates in sizes {
                stream += 1;
                let tally = simulate(truth, candidates, noise, deviation, stream, request);
                rows.push(Row { deviation, kind, truth, candidates, tally });
            }
        }
    }
    rows
}
