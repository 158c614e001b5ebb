//! Predicts how candidates compare on one device of a class, beside the interval of the mean over the class.
//!
//! Every block runs on another device of the class. The interval of a ratio gets narrower with each block, and says
//! nothing about a single device; a user has a single device. The same blocks give the range in which the ratio lies
//! on nine devices of ten ([`predicted_range`]). Where the devices differ much, the smallest and the largest ratio are
//! reported, too.

use serde::Serialize;

use crate::statistics::{FEWEST_PREDICTED, mean, predicted_range, predicted_range_of_kinds};
use crate::verdict::{Dependence, Rank, VerdictEvidence};
use fsverdict_text::DrawnNumbers;

/// A candidate compared with the first of the ranking, on one device of the class.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DevicePrediction {
    pub candidate: String,
    pub against: String,
    /// The number of devices on which both were tried.
    pub devices: usize,
    /// The geometric mean of the ratio over these devices, none left out.
    pub mean: f64,
    /// On nine devices of ten the ratio is from `low` to `high`; `None` where the devices are too few.
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// The number of further devices that a prediction needs; 0 where there is one.
    pub needs: usize,
    /// The numbers of devices on which it was better, and worse, by more than δ.
    pub better: usize,
    pub worse: usize,
    /// The ratio on each device, for a picture.
    #[serde(skip)]
    pub ratios: Vec<f64>,
}

impl DevicePrediction {
    /// Whether the candidate may be better by more than the tie on one device of ten or more.
    pub fn may_lead(&self, tie: f64) -> bool {
        self.low.is_some_and(|low| low < 1.0 / (1.0 + tie))
    }
}

/// A prediction for each rival of the first of the ranking, in the ranking's order; empty where every block had the
/// same device.
pub(crate) fn predict_rivals(
    evidence: &VerdictEvidence<'_>,
    ranking: &[Rank],
    depends: &[Dependence],
) -> Vec<DevicePrediction> {
    let Some((leader, rivals)) = ranking.split_first() else { return Vec::new() };
    let predict = |rival: &Rank| {
        let of_pair = |dependence: &&Dependence| {
            dependence.candidate == rival.candidate && dependence.against == leader.candidate
        };
        // The first is the number that explains most.
        let number = depends
            .iter()
            .filter(of_pair)
            .find_map(|dependence| dependence.two_values().map(|_| &*dependence.number));
        predict_pair(evidence, &rival.candidate, &leader.candidate, number)
    };
    rivals.iter().filter_map(predict).collect()
}

/// The prediction for a pair; `number` is a two-valued one on which its ratio depends.
fn predict_pair(
    evidence: &VerdictEvidence<'_>,
    candidate: &str,
    against: &str,
    number: Option<&str>,
) -> Option<DevicePrediction> {
    let on_devices = evidence.behind_on_devices(candidate, against);
    let logs: Vec<f64> = on_devices.iter().map(|(_, behind)| *behind).collect();
    let range = match number {
        None => predicted_range(&logs),
        Some(number) => {
            let value = |drawn: &DrawnNumbers| drawn.get(number).copied();
            let first = on_devices.first().and_then(|(drawn, _)| value(drawn));
            let (ones, others): (Vec<_>, Vec<_>) =
                on_devices.iter().partition(|(drawn, _)| value(drawn) == first);
            let kinds = [ones, others].map(|kind| kind.into_iter().map(|(_, log)| log).collect::<Vec<f64>>());
            predicted_range_of_kinds(&[&kinds[0], &kinds[1]])
        }
    };
    let tie = libm::log1p(evidence.tie());
    Some(DevicePrediction {
        candidate: candidate.to_owned(),
        against: against.to_owned(),
        devices: logs.len(),
        mean: libm::exp(mean(&logs)?),
        low: range.map(|range| libm::exp(range.low)),
        high: range.map(|range| libm::exp(range.high)),
        needs: FEWEST_PREDICTED.saturating_sub(logs.len()),
        better: logs.iter().filter(|log| **log < -tie).count(),
        worse: logs.iter().filter(|log| **log > tie).count(),
        ratios: logs.into_iter().map(libm::exp).collect(),
    })
}

/// The fewest devices that say something about a class.
const FEWEST_DEVICES: usize = 3;
/// Where the largest ratio is at most this multiple of the smallest, the interval is informative enough.
const MUCH: f64 = 1.5;

/// A candidate compared with the first of the ranking on each device that was drawn.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeviceSpread {
    pub candidate: String,
    pub against: String,
    /// The number of devices on which both were tried.
    pub devices: usize,
    /// The smallest ratio to the other candidate on any device; `most` is the largest.
    pub least: f64,
    pub most: f64,
    /// The number of devices on which it is better by more than δ.
    pub better: usize,
}

/// Candidates with a ratio to the first of the ranking that varies much between devices, the widest spread first.
pub(crate) fn device_spreads(predictions: &[DevicePrediction]) -> Vec<DeviceSpread> {
    let spread = |prediction: &DevicePrediction| {
        let find = |pick: fn(f64, f64) -> f64| prediction.ratios.iter().copied().reduce(pick);
        let (least, most) = (find(f64::min)?, find(f64::max)?);
        (prediction.devices >= FEWEST_DEVICES && most / least > MUCH).then(|| DeviceSpread {
            candidate: prediction.candidate.clone(),
            against: prediction.against.clone(),
            devices: prediction.devices,
            least,
            most,
            better: prediction.better,
        })
    };
    let mut spreads: Vec<DeviceSpread> = predictions.iter().filter_map(spread).collect();
    spreads.sort_by(|one, other| (other.most / other.least).total_cmp(&(one.most / one.least)));
    spreads
}
