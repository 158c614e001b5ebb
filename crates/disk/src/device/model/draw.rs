//! A draw selects the device of a class that a block of trials meets.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// A draw from a class of devices, which is the same for all candidates of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Draw {
    pub seed: u64,
    /// Whether every position is mirrored: a number that is high in a draw is low in its mirror image.
    pub mirrored: bool,
}

impl Draw {
    /// Position of this key's number in its range, from 0 to 1. Each key is drawn independently, so that an
    /// additional key in a model changes no other.
    pub fn place(&self, key: &str) -> f64 {
        let place =
            ((xxh3_64_with_seed(key.as_bytes(), self.seed) >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
        if self.mirrored { 1.0 - place } else { place }
    }
}

#[cfg(test)]
mod tests {
    use super::Draw;

    #[test]
    fn keys_are_drawn_each_by_itself_and_evenly() {
        let places = |key: &str| -> Vec<f64> {
            (0..1000).map(|seed| Draw { seed, mirrored: false }.place(key)).collect()
        };
        let (one, other) = (places("platter.read_ahead"), places("platter.segments"));
        for places in [&one, &other] {
            let mean = places.iter().sum::<f64>() / 1000.0;
            assert!(
                (mean - 0.5).abs() < 0.03 && places.iter().all(|place| (0.0..1.0).contains(place)),
                "{mean}"
            );
        }
        let together: f64 = one.iter().zip(&other).map(|(one, other)| (one - 0.5) * (other - 0.5)).sum();
        assert!((together / 1000.0 * 12.0).abs() < 0.1, "{together}");
        let draw = Draw { seed: 5, mirrored: false };
        let opposite = Draw { mirrored: true, ..draw };
        assert!((draw.place("a") + opposite.place("a") - 1.0).abs() < 1e-12);
    }
}
