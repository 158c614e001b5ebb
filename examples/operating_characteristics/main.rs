//! Measures the rule that ends a run: how often its recommendation is wrong, and what it costs.
//!
//!     cargo run --release --example operating_characteristics -- [--repetitions N] [--noise S,S] [--seed N] [--ranked] [--rows]
//!
//! The rule is the one that runs use. N simulated runs a row (default 500) at each noise S, the standard deviation of a
//! trial's log time (default 0.01,0.02,0.05,0.1,0.2). Prints the tables of docs/methodology.md, with --rows every row. A thread for each S;
//! same arguments, same table.

mod world;

use std::process::ExitCode;
use std::thread;

use fsverdict::statistics::{Race, Rule, Ruling};

use crate::world::{NOISES, Noise, World};

const CANDIDATES: [usize; 4] = [2, 5, 10, 16];
const TIE: f64 = 0.03;
const MOST_BLOCKS: u32 = 30;

/// What is true of the candidates.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Truth {
    /// Their log centres are normal with a standard deviation of 20 %.
    Scattered,
    /// One is best, and all others are worse by a hair more than δ: the most chances to be wrong.
    Hardest,
    /// All are the same.
    Equal,
}

const TRUTHS: [(Truth, &str); 3] = [
    (Truth::Scattered, "scattered by 20 %"),
    (Truth::Hardest, "all others worse by δ"),
    (Truth::Equal, "all equal"),
];

fn centres(truth: Truth, candidates: usize, normal: &mut dyn FnMut() -> f64) -> Vec<f64> {
    let hair = 1.001;
    let centre = |place: usize| match truth {
        Truth::Scattered => 0.2 * normal(),
        Truth::Hardest if place > 0 => libm::log1p(TIE) * hair,
        _ => 0.0,
    };
    (0..candidates).map(centre).collect()
}

/// Counts over many runs.
#[derive(Debug, Default)]
struct Tally {
    runs: u32,
    wrong: u32,
    /// Runs that end with somebody behind the leader.
    behind: u32,
    undecided: u32,
    blocks: u64,
    trials: u64,
}

fn simulate(
    truth: Truth,
    candidates: usize,
    noise: Noise,
    deviation: f64,
    stream: u64,
    request: &Request,
) -> Tally {
    let mut tally = Tally::default();
    let rule = Rule { tie: TIE, minimum: 3, maximum: MOST_BLOCKS, ranked: request.ranked, early: true };
    for repetition in 0..request.repetitions {
        let seed = stream << 24 | u64::from(repetition);
        let mut world = World::new(|normal| centres(truth, candidates, normal), noise, deviation, seed);
        let mut race = Race::new(rule, candidates);
        let look = loop {
            tally.trials += race.racing().len() as u64;
            let look = race.block(&world.next_block(&race.racing()));
            if look.outcome != Ruling::Continue {
                break look;
            }
        };
        tally.runs += 1;
        tally.behind += u32::from(look.rivals.iter().any(|rival| rival.behind && !rival.tied));
        tally.blocks += u64::from(look.block);
        let best = world.centres().iter().copied().fold(f64::INFINITY, f64::min);
        match (look.outcome, look.leader) {
            (Ruling::Recommended, Some(leader)) => {
                tally.wrong += u32::from(world.centres()[leader] - best > libm::log1p(TIE));
            }
            _ => tally.undecided += 1,
        }
    }
    tally
}

/// What the user asked for.
#[derive(Debug, Clone, PartialEq)]
struct Request {
    repetitions: u32,
    deviations: Vec<f64>,
    seed: u64,
    ranked: bool,
    all: bool,
}

impl Request {
    fn of(mut arguments: impl Iterator<Item = String>) -> Option<Request> {
        let deviations = vec![0.01, 0.02, 0.05, 0.1, 0.2];
        let mut request =
            Request { repetitions: 500, deviations, seed: 20_261_122, ranked: false, all: false };
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--ranked" => request.ranked = true,
                "--rows" => request.all = true,
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
            "usage: operating_characteristics [--repetitions N] [--noise S,S] [--seed N] [--ranked] [--rows]"
        );
        return ExitCode::from(2);
    };
    let rows: Vec<Row> = thread::scope(|scope| {
        let rows = |deviation: f64| scope.spawn(move || rows(request, deviation));
        let filling: Vec<_> = request.deviations.iter().copied().map(rows).collect();
        filling.into_iter().filter_map(|table| table.join().ok()).flatten().collect()
    });
    by_size(&rows);
    by_kind(&rows, &request.deviations);
    by_chance(&rows, &request.deviations);
    if request.all {
        every(&rows);
    }
    ExitCode::SUCCESS
}

/// One line of the whole table.
#[derive(Debug)]
struct Row {
    deviation: f64,
    kind: &'static str,
    truth: Truth,
    candidates: usize,
    tally: Tally,
}

impl Row {
    fn share(&self, count: u32) -> f64 {
        100.0 * f64::from(count) / f64::from(self.tally.runs)
    }

    fn wrong(&self) -> f64 {
        self.share(self.tally.wrong)
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

fn rows(request: &Request, deviation: f64) -> Vec<Row> {
    let mut rows = Vec::new();
    // No two rows share their random numbers, whatever else is asked for.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let mut stream = request.seed ^ ((deviation * 1e6) as u64) << 10;
    for (noise, kind) in NOISES {
        for (truth, _) in TRUTHS {
            for candidates in CANDIDATES {
                stream += 1;
                let tally = simulate(truth, candidates, noise, deviation, stream, request);
                rows.push(Row { deviation, kind, truth, candidates, tally });
            }
        }
    }
    rows
}

/// Normal noise: what it costs.
fn by_size(rows: &[Row]) {
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
fn by_kind(rows: &[Row], deviations: &[f64]) {
    by_noise(rows, deviations, "wrong %, at most (undecided %, at most)", |here| {
        let wrong = here.iter().map(|row| row.wrong()).fold(0.0, f64::max);
        let scattered = here.iter().filter(|row| row.truth == Truth::Scattered);
        format!("{wrong:.1} ({:.1})", scattered.map(|row| row.undecided()).fold(0.0, f64::max))
    });
}

/// All are the same: how often somebody is called behind all the same, for each number of candidates.
fn by_chance(rows: &[Row], deviations: &[f64]) {
    let title = format!("somebody behind %, of {CANDIDATES:?} that are the same");
    by_noise(rows, deviations, &title, |here| {
        let equal = here.iter().filter(|row| row.truth == Truth::Equal);
        equal.map(|row| format!("{:.1}", row.share(row.tally.behind))).collect::<Vec<_>>().join(" ")
    });
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

fn every(rows: &[Row]) {
    println!("\n| noise | kind | truth | candidates | wrong % | undecided % | blocks | trials a candidate |");
    println!("|--:|---|---|--:|--:|--:|--:|--:|");
    for row in rows {
        let truth = TRUTHS.iter().find(|(truth, _)| *truth == row.truth).map_or("", |(_, name)| *name);
        println!(
            "| {:.0} % | {} | {truth} | {} | {:.1} | {:.1} | {:.1} | {:.1} |",
            100.0 * row.deviation,
            row.kind,
            row.candidates,
            row.wrong(),
            row.undecided(),
            row.blocks(),
            row.trials()
        );
    }
}
