//! Simulated trials: log times of candidates under noise of several kinds.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The share of trials that are odd, in the models that have odd ones.
const ODD_SHARE: f64 = 0.05;

/// How noisy a whole block is (standard deviation of the log): all candidates of it alike.
const BLOCK_NOISE: f64 = 0.01;

/// How trials vary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Noise {
    /// Normal.
    Normal,
    /// Student's t with three degrees of freedom, scaled to the same standard deviation.
    HeavyTails,
    /// Normal, but one trial in twenty takes three times as long.
    Outliers,
    /// Normal, but one trial in twenty is three times as noisy.
    Bursts,
    /// Normal, on a device that becomes slower by half a standard deviation in each block, and within it.
    Drift,
    /// Normal; the standard deviation of each candidate is drawn between half and twice the nominal one.
    PerCandidate,
    /// Normal; the first two candidates are twice as noisy as the others.
    NoisyBest,
}

/// Every noise model with its name in the table.
pub(crate) const NOISES: [(Noise, &str); 7] = [
    (Noise::Normal, "normal"),
    (Noise::HeavyTails, "heavy tails (t3)"),
    (Noise::Outliers, "5 % of trials x3 in time"),
    (Noise::Bursts, "5 % of trials x3 in noise"),
    (Noise::Drift, "drifting device"),
    (Noise::PerCandidate, "noise differs x4 by candidate"),
    (Noise::NoisyBest, "first two x2 in noise"),
];

/// Candidates with their true centres, tried on one device.
#[derive(Debug)]
pub(crate) struct World {
    random: Xoshiro256PlusPlus,
    centres: Vec<f64>,
    deviations: Vec<f64>,
    nominal: f64,
    noise: Noise,
    order: Vec<usize>,
    times: Vec<f64>,
    block: u32,
}

impl World {
    /// The same seed gives the same trials.
    pub(crate) fn new(centres: &[f64], noise: Noise, nominal: f64, seed: u64) -> World {
        let mut world = World {
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            centres: centres.to_vec(),
            deviations: vec![nominal; centres.len()],
            nominal,
            noise,
            order: (0..centres.len()).collect(),
            times: vec![0.0; centres.len()],
            block: 0,
        };
        if noise == Noise::PerCandidate {
            for place in 0..centres.len() {
                world.deviations[place] = nominal * 0.5 * libm::pow(4.0, world.uniform());
            }
        }
        if noise == Noise::NoisyBest {
            for deviation in world.deviations.iter_mut().skip(2) {
                *deviation *= 0.5;
            }
        }
        world
    }

    /// The standard deviation of each candidate's log times.
    pub(crate) fn deviations(&self) -> &[f64] {
        &self.deviations
    }

    /// The log times of one block, tried in random order.
    pub(crate) fn next_block(&mut self) -> &[f64] {
        let count = self.centres.len();
        for last in (1..count).rev() {
            let other = (self.uniform() * (last + 1) as f64) as usize;
            self.order.swap(last, other);
        }
        let shared = BLOCK_NOISE * self.normal();
        for place in 0..count {
            let candidate = self.order[place];
            let mut time = self.centres[candidate] + shared + self.deviations[candidate] * self.unit_noise();
            if self.noise == Noise::Outliers && self.uniform() < ODD_SHARE {
                time += libm::log(3.0);
            }
            if self.noise == Noise::Drift {
                time += 0.5 * self.nominal * (f64::from(self.block) + place as f64 / count as f64);
            }
            self.times[candidate] = time;
        }
        self.block += 1;
        &self.times
    }

    fn unit_noise(&mut self) -> f64 {
        let normal = self.normal();
        if self.noise == Noise::HeavyTails {
            let squares: f64 = (0..3).map(|_| self.normal()).map(|value| value * value).sum();
            // √3 of the t distribution against √3 of its standard deviation.
            normal / libm::sqrt(squares)
        } else if self.noise == Noise::Bursts && self.uniform() < ODD_SHARE {
            3.0 * normal
        } else {
            normal
        }
    }

    fn uniform(&mut self) -> f64 {
        ((self.random.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        let (radius, angle) = (self.uniform(), self.uniform());
        libm::sqrt(-2.0 * libm::log(radius)) * libm::cos(std::f64::consts::TAU * angle)
    }
}
