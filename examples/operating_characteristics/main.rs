//! Measures the stopping rule: how often it is wrong, and how many trials it needs.
//!
//!     cargo run --release --example operating_characteristics -- [--repetitions N] [--noise S,S] [--seed N] [--rows]
//!
//! N simulated runs per row (default 2000) at each noise S, the standard deviation of a log time (default
//! 0.02,0.04). Prints the Markdown tables of docs/methodology.md; with --rows, every row that they summarise.
//! A thread for each S; same arguments, same tables.

mod informed;
mod rules;
mod tables;
mod tally;
mod world;

use std::panic::resume_unwind;
use std::process::ExitCode;
use std::thread;

use crate::informed::Informed;
use crate::tables::{Table, print_every_row, print_levels, print_summary};
use crate::tally::{Row, simulate};
use crate::world::NOISES;

/// How many candidates.
const CANDIDATES: [usize; 5] = [2, 3, 4, 8, 16];

/// How much worse those that are not best are.
const GAPS: [f64; 7] = [0.01, 0.03, 0.05, 0.10, 0.20, 0.50, 1.00];

/// What is true of the candidates: how many, how many of them tied for best, how much worse the others are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Truth {
    pub(crate) candidates: usize,
    pub(crate) best: usize,
    pub(crate) gap: f64,
}

/// Every truth that is tried in every kind of noise.
fn truths() -> Vec<Truth> {
    let mut all = Vec::new();
    for candidates in CANDIDATES {
        all.push(Truth { candidates, best: candidates, gap: 0.0 });
        for best in 1..candidates.min(3) {
            all.extend(GAPS.map(|gap| Truth { candidates, best, gap }));
        }
    }
    all
}

/// What the user asked for.
#[derive(Debug, Clone, PartialEq)]
struct Request {
    repetitions: u32,
    deviations: Vec<f64>,
    seed: u64,
    rows: bool,
}

impl Request {
    fn of(arguments: impl Iterator<Item = String>) -> Option<Request> {
        let mut request =
            Request { repetitions: 2000, deviations: vec![0.02, 0.04], seed: 20_261_121, rows: false };
        let mut arguments = arguments;
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--rows" => request.rows = true,
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
        eprintln!("usage: operating_characteristics [--repetitions N] [--noise S,S] [--seed N] [--rows]");
        return ExitCode::from(2);
    };
    let tables: Vec<Table> = thread::scope(|scope| {
        let fill = |deviation| scope.spawn(move || filled_table(request, deviation));
        let filling: Vec<_> = request.deviations.iter().copied().map(fill).collect();
        filling.into_iter().map(|table| table.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    });
    for table in &tables {
        if request.rows {
            print_every_row(table);
        } else {
            print_summary(table);
        }
    }
    print_levels(&tables);
    ExitCode::SUCCESS
}

fn filled_table(request: &Request, deviation: f64) -> Table {
    let repetitions = request.repetitions;
    let mut table = Table::new(deviation, repetitions);
    for (place, (noise, name)) in NOISES.into_iter().enumerate() {
        let rules =
            CANDIDATES.map(|candidates| (candidates, Informed::for_noise(noise, candidates, deviation)));
        for (number, truth) in truths().into_iter().enumerate() {
            let informed = rules.iter().find(|(candidates, _)| *candidates == truth.candidates);
            // No two rows, noises or seeds share their random numbers.
            let stream = (request.seed << 16) + ((place as u64) << 8) + number as u64;
            let row = Row { truth, noise, deviation, repetitions, stream };
            table.add(name, truth, simulate(row, informed.and_then(|(_, rule)| *rule)));
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::{Request, truths};
    use crate::world::NOISES;

    #[test]
    fn the_documented_table_has_these_noises() {
        let methodology = include_str!("../../docs/methodology.md");
        for (_, name) in NOISES {
            assert!(methodology.contains(&format!("| {name} |")), "no row for {name}: run the example again");
        }
    }

    #[test]
    fn truths_are_those_the_documentation_names() {
        let all = truths();
        assert_eq!(all.len(), 5 + 5 * 7 + 4 * 7);
        assert!(
            all.iter().all(|truth| truth.best <= truth.candidates
                && (truth.gap > 0.0) == (truth.best < truth.candidates))
        );
    }

    #[test]
    fn arguments_are_read_or_refused() {
        let read = |text: &str| Request::of(text.split_whitespace().map(str::to_owned));
        let request = read("--repetitions 10 --noise 0.02,0.1 --rows").unwrap();
        assert_eq!((request.repetitions, request.deviations, request.rows), (10, vec![0.02, 0.1], true));
        assert_eq!(read("--repetitions 0"), None);
        assert_eq!(read("--noise much"), None);
        assert_eq!(read("2000"), None);
    }
}
