//! Simulated trials: log times of candidates under noise of several kinds, tried in the order in which a run tries them.

use fsverdict::study::draw_order;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The share of trials that are odd, in the models that have odd ones.
const ODD_SHARE: f64 = 0.05;

/// How noisy a whole block is (standard deviation of the log): all candidates of it alike.
const BLOCK_NOISE: f64 = 0.02;

/// How trials vary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Noise {
    /// Normal.
    Normal,
    /// Student's t with three degrees of freedom, scaled to the same standard deviation.
    HeavyTails,
    /// Normal, but one trial in twenty takes three times as long.
    Outliers,
    /// Normal; the standard deviation of each candidate is drawn between half and twice the nominal one.
    Unequal,
    /// Two modes 1.8 standard deviations apart, each trial in one of them by chance.
    Modes,
    /// Normal, on a device that becomes slower by half a standard deviation in each block.
    Drift,
    /// Normal; each block becomes slower by 5 % from its first trial to its last.
    DriftWithin,
    /// Normal; who is tried after the first candidate is slower by 5 %.
    CarryOver,
    /// Each candidate's trials follow one another with a correlation of 0.7.
    Correlated,
    /// None at all, but whoever is not the best takes 9 in some trials and 12 in the others, against always 9.
    Steps,
    /// Normal; that of one candidate is twenty times the nominal one.
    OneLoud,
    /// Normal; that of half the candidates is twenty times the nominal one.
    HalfLoud,
    /// Normal, and trials of which one in ten fails.
    Failing,
    /// Normal, and the best fails in block 5.
    BestFails,
    /// Each candidate's trials follow one another with a correlation of 0.3.
    Resembling,
    /// Normal, and an offset of 2 % by candidate that stays as it is for the whole run.
    Offset,
}

/// Every noise model with its name in the table.
pub(crate) const NOISES: [(Noise, &str); 9] = [
    (Noise::Normal, "normal"),
    (Noise::HeavyTails, "heavy tails (t3)"),
    (Noise::Outliers, "5 % of trials x3 in time"),
    (Noise::Unequal, "noise differs x4 by candidate"),
    (Noise::Modes, "two modes"),
    (Noise::Drift, "drift from block to block"),
    (Noise::DriftWithin, "drift within blocks"),
    (Noise::CarryOver, "carry-over"),
    (Noise::Correlated, "lag-1 correlation 0.7"),
];

/// What the rule is hard put to, with its name in the table.
pub(crate) const HARD: [(Noise, &str); 7] = [
    (Noise::Steps, "steps: 9 or 12 (30 %), against always 9"),
    (Noise::OneLoud, "one candidate x20 as noisy"),
    (Noise::HalfLoud, "half of them x20 as noisy"),
    (Noise::Failing, "one trial in ten fails"),
    (Noise::BestFails, "the best fails in block 5"),
    (Noise::Resembling, "lag-1 correlation 0.3"),
    (Noise::Offset, "an offset held fixed, 2 %"),
];

/// How often a step comes, and how high it is.
const STEP_SHARE: f64 = 0.3;
const STEP: [f64; 2] = [9.0, 12.0];

/// When the best fails, and how often others do.
const FAILS_IN: u32 = 5;
const FAILING_SHARE: f64 = 0.1;

/// How many times as noisy as the others the loud ones are, and what an offset strays by.
const LOUD: f64 = 20.0;
const OFFSET: f64 = 0.02;

/// Candidates with their true centres, tried on one device.
#[derive(Debug)]
pub(crate) struct World {
    random: Xoshiro256PlusPlus,
    centres: Vec<f64>,
    deviations: Vec<f64>,
    noise: Noise,
    nominal: f64,
    seed: u64,
    last: Vec<f64>,
    offsets: Vec<f64>,
    failed: Vec<bool>,
    block: u32,
}

impl World {
    /// The same seed gives the same trials.
    pub(crate) fn new(
        centres: impl Fn(&mut dyn FnMut() -> f64) -> Vec<f64>,
        noise: Noise,
        nominal: f64,
        seed: u64,
    ) -> World {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut centres = centres(&mut || normal(&mut random));
        // Who is in no way like the others is anywhere among them.
        let odd = match noise {
            Noise::Steps | Noise::OneLoud | Noise::HalfLoud => random.next_u64() as usize % centres.len(),
            _ => 0,
        };
        if noise == Noise::Steps {
            let mean = STEP_SHARE * libm::log(STEP[1] / STEP[0]);
            centres = (0..centres.len()).map(|at| if at == odd { 0.0 } else { mean }).collect();
        }
        let deviation = |(at, random): (usize, &mut Xoshiro256PlusPlus)| match noise {
            Noise::Unequal => nominal * 0.5 * libm::pow(4.0, uniform(random)),
            Noise::OneLoud if at == odd => LOUD * nominal,
            Noise::HalfLoud if (at + odd) % 2 == 0 => LOUD * nominal,
            _ => nominal,
        };
        let deviations = (0..centres.len()).map(|at| deviation((at, &mut random))).collect();
        let last = centres.iter().map(|_| normal(&mut random)).collect();
        let offset = |random: &mut Xoshiro256PlusPlus| match noise {
            Noise::Offset => OFFSET * normal(random),
            _ => 0.0,
        };
        let offsets = centres.iter().map(|_| offset(&mut random)).collect();
        let failed = vec![false; centres.len()];
        World { random, deviations, noise, nominal, seed, last, offsets, failed, block: 0, centres }
    }

    pub(crate) fn centres(&self) -> &[f64] {
        &self.centres
    }

    /// The centre of the best of those that have not failed.
    pub(crate) fn best(&self) -> f64 {
        let left = self.centres.iter().zip(&self.failed).filter(|(_, failed)| !**failed);
        left.map(|(centre, _)| *centre).fold(f64::INFINITY, f64::min)
    }

    /// The log times of one block of those still racing.
    pub(crate) fn next_block(&mut self, racing: &[usize]) -> Vec<Option<f64>> {
        let order = draw_order(self.seed, self.block + 1, self.centres.len(), |candidate| {
            racing.contains(&candidate)
        });
        let shared = BLOCK_NOISE * normal(&mut self.random);
        let mut times = vec![None; self.centres.len()];
        let mut before = None;
        for (place, candidate) in order.into_iter().enumerate() {
            let mut time = self.offsets[candidate]
                + match self.noise {
                    Noise::Steps => self.step(candidate),
                    _ => {
                        self.centres[candidate]
                            + shared
                            + self.deviations[candidate] * self.unit_noise(candidate)
                    }
                };
            time += match self.noise {
                Noise::Outliers if uniform(&mut self.random) < ODD_SHARE => libm::log(3.0),
                Noise::Drift => 0.5 * self.nominal * f64::from(self.block),
                Noise::DriftWithin => 0.05 * place as f64 / (racing.len() - 1).max(1) as f64,
                Noise::CarryOver if before == Some(0) => 0.05,
                _ => 0.0,
            };
            before = Some(candidate);
            let fails = match self.noise {
                Noise::Failing => uniform(&mut self.random) < FAILING_SHARE,
                Noise::BestFails if self.block + 1 == FAILS_IN => {
                    !self.failed.contains(&true) && self.centres[candidate] <= self.best()
                }
                _ => false,
            };
            self.failed[candidate] |= fails;
            times[candidate] = Some(if fails { f64::NAN } else { time });
        }
        self.block += 1;
        times
    }

    fn unit_noise(&mut self, candidate: usize) -> f64 {
        let value = normal(&mut self.random);
        match self.noise {
            Noise::HeavyTails => {
                let squares: f64 = (0..3).map(|_| normal(&mut self.random)).map(|value| value * value).sum();
                // √3 of the t distribution against √3 of its standard deviation.
                value / libm::sqrt(squares)
            }
            Noise::Modes => 0.436 * value + if uniform(&mut self.random) < 0.5 { 0.9 } else { -0.9 },
            Noise::Correlated => self.after_the_last(candidate, 0.7, value),
            Noise::Resembling => self.after_the_last(candidate, 0.3, value),
            _ => value,
        }
    }

    fn after_the_last(&mut self, candidate: usize, correlation: f64, value: f64) -> f64 {
        let own = libm::sqrt(1.0 - correlation * correlation);
        self.last[candidate] = correlation * self.last[candidate] + own * value;
        self.last[candidate]
    }

    fn step(&mut self, candidate: usize) -> f64 {
        let steps = self.centres[candidate] > 0.0 && uniform(&mut self.random) < STEP_SHARE;
        libm::log(STEP[usize::from(steps)])
    }
}

fn uniform(random: &mut Xoshiro256PlusPlus) -> f64 {
    ((random.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
}

fn normal(random: &mut Xoshiro256PlusPlus) -> f64 {
    let (radius, angle) = (uniform(random), uniform(random));
    libm::sqrt(-2.0 * libm::log(radius)) * libm::cos(std::f64::consts::TAU * angle)
}
