//! A histogram of saved files by their age at a power cut, with the number of lost files in each bin.

use serde::{Deserialize, Serialize};

/// The upper end of each bin in nanoseconds: from 1 ms to 1000 s in steps of 1, 2 and 5. One more bin counts older
/// files.
const ENDS: [u64; 19] = {
    let (mut ends, mut at, mut decade) = ([0; 19], 0, 1_000_000);
    while at < 19 {
        ends[at] = decade * [1, 2, 5][at % 3];
        if at % 3 == 2 {
            decade *= 10;
        }
        at += 1;
    }
    ends
};

/// One bin of the histogram.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgeBin {
    /// Files of this age that were examined, each in every crash state.
    pub looked: u32,
    /// Files of this age for which a promise was broken.
    pub lost: u32,
}

/// Files by the time from the start of their last save to the cut, on the device's clock.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LossAges {
    /// The bins, youngest first, up to the last that is not empty.
    bins: Vec<AgeBin>,
}

impl LossAges {
    /// The maximum number of bins.
    pub const BINS: usize = ENDS.len() + 1;

    /// Removes bins beyond the maximum.
    pub(super) fn truncate(&mut self) {
        self.bins.truncate(Self::BINS);
    }

    /// Counts a file.
    pub fn count(&mut self, age_ns: u64, is_lost: bool) {
        let at = ENDS.partition_point(|end| *end <= age_ns);
        if self.bins.len() <= at {
            self.bins.resize(at + 1, AgeBin::default());
        }
        if let Some(bin) = self.bins.get_mut(at) {
            bin.looked = bin.looked.saturating_add(1);
            bin.lost = bin.lost.saturating_add(u32::from(is_lost));
        }
    }

    /// Adds the counts of another histogram, which may come from a stranger.
    pub fn merge(&mut self, other: &LossAges) {
        let most = other.bins.len().min(Self::BINS);
        if self.bins.len() < most {
            self.bins.resize(most, AgeBin::default());
        }
        for (own, more) in self.bins.iter_mut().zip(&other.bins) {
            own.looked = own.looked.saturating_add(more.looked);
            own.lost = own.lost.saturating_add(more.lost);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.bins.is_empty()
    }

    /// Whether any file was lost.
    pub fn has_losses(&self) -> bool {
        self.bins.iter().any(|bin| bin.lost > 0)
    }

    /// The bin with this index; 0 is the youngest.
    pub fn bin_at(&self, at: usize) -> AgeBin {
        self.bins.get(at).copied().filter(|_| at < Self::BINS).unwrap_or_default()
    }

    /// The limits of a bin in seconds; the last bin has no upper limit.
    pub fn seconds(at: usize) -> (f64, Option<f64>) {
        let end = |at: usize| ENDS.get(at).map(|end| *end as f64 / 1e9);
        (at.checked_sub(1).and_then(end).unwrap_or(0.0), end(at))
    }
}

#[cfg(test)]
mod tests {
    use super::{AgeBin, LossAges};

    #[test]
    fn each_age_is_counted_where_it_belongs_and_a_strangers_are_bounded() {
        let mut ages = LossAges::default();
        assert!(ages.is_empty() && !ages.has_losses());
        for (age_ns, is_lost) in [(0, false), (999_999, true), (1_000_000, true), (4_999_999_999, false)] {
            ages.count(age_ns, is_lost);
        }
        ages.count(u64::MAX, true);
        assert_eq!(ages.bin_at(0), AgeBin { looked: 2, lost: 1 });
        assert_eq!(ages.bin_at(1), AgeBin { looked: 1, lost: 1 });
        assert_eq!((LossAges::seconds(0), LossAges::seconds(1)), ((0.0, Some(0.001)), (0.001, Some(0.002))));
        let of_2_s = (0..LossAges::BINS).find(|at| LossAges::seconds(*at).0 == 2.0).unwrap();
        assert_eq!((LossAges::seconds(of_2_s).1, ages.bin_at(of_2_s).looked), (Some(5.0), 1));
        assert_eq!(LossAges::seconds(LossAges::BINS - 1), (1000.0, None));
        assert_eq!(ages.bin_at(LossAges::BINS - 1).lost, 1);
        let text = format!("[{}]", vec![r#"{"looked":1,"lost":0}"#; 1000].join(","));
        let strange: LossAges = serde_json::from_str(&text).unwrap();
        ages.merge(&strange);
        assert_eq!(ages.bin_at(0), AgeBin { looked: 3, lost: 1 });
        assert_eq!((ages.bins.len(), strange.bin_at(LossAges::BINS)), (LossAges::BINS, AgeBin::default()));
    }
}
