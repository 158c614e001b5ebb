//! Simulated trials: log times of candidates under noise of several kinds, tried in the order in which a run tries them.

use fsverdict::study::order;
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
        let centres = centres(&mut || normal(&mut random));
        let deviation = |random: &mut Xoshiro256PlusPlus| match noise {
            Noise::Unequal => nominal * 0.5 * libm::pow(4.0, uniform(random)),
            _ => nominal,
        };
        let deviations = centres.iter().map(|_| deviation(&mut random)).collect();
        let last = centres.iter().map(|_| normal(&mut random)).collect();
        World { random, deviations, noise, nominal, seed, last, block: 0, centres }
    }

    pub(crate) fn centres(&self) -> &[f64] {
        &self.centres
    }

    /// The log times of one block of those still racing.
    pub(crate) fn next_block(&mut self, racing: &[usize]) -> Vec<Option<f64>> {
        let order =
            order(self.seed, self.block + 1, self.centres.len(), |candidate| racing.contains(&candidate));
        let shared = BLOCK_NOISE * normal(&mut self.random);
        let mut times = vec![None; self.centres.len()];
        let mut before = None;
        for (place, candidate) in order.into_iter().enumerate() {
            let mut time =
                self.centres[candidate] + shared + self.deviations[candidate] * self.unit_noise(candidate);
            time += match self.noise {
                Noise::Outliers if uniform(&mut self.random) < ODD_SHARE => libm::log(3.0),
                Noise::Drift => 0.5 * self.nominal * f64::from(self.block),
                Noise::DriftWithin => 0.05 * place as f64 / (racing.len() - 1).max(1) as f64,
                Noise::CarryOver if before == Some(0) => 0.05,
                _ => 0.0,
            };
            before = Some(candidate);
            times[candidate] = Some(time);
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
            Noise::Correlated => {
                self.last[candidate] = 0.7 * self.last[candidate] + libm::sqrt(0.51) * value;
                self.last[candidate]
            }
            _ => value,
        }
    }
}

fn uniform(random: &mut Xoshiro256PlusPlus) -> f64 {
    ((random.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
}

fn normal(random: &mut Xoshiro256PlusPlus) -> f64 {
    let (radius, angle) = (uniform(random), uniform(random));
    libm::sqrt(-2.0 * libm::log(radius)) * libm::cos(std::f64::consts::TAU * angle)
}
