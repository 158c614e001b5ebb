//! Checks the numbers in the journal of a block: none may be one that no trial can measure, and none may be measured in
//! another unit or direction than the plan and this program have for its metric. A measurement states both, so that a
//! site could otherwise hide a negative time among sizes, or have a longer time count as the better one.

use fsverdict_judgement::journal::{Event, Learnt, Measurement, Observation, Unit, adapter_metric, metric};
use fsverdict_judgement::plan::Plan;

/// The maximum time of a trial in seconds: ten years, also of simulated time.
const LONGEST: f64 = 10.0 * 366.0 * 86400.0;
/// The maximum of every other quantity: a hundred times the bytes of the largest disks.
const LARGEST: f64 = 1e18;
/// The maximum number of calls of one kind in a trial.
const MOST_CALLS: u64 = 1 << 53;
/// The share by which a sum of times may differ by rounding.
const ROUNDING: f64 = 1e-9;

/// A number in the event that no trial of the plan can measure, as a sentence.
pub(super) fn find_impossible_number(event: &Event, plan: &Plan) -> Option<String> {
    match event {
        Event::TrialFinished { wall, .. } => check_time("the time of a trial in seconds", *wall),
        Event::Command(command) => check_time("the time of a program in seconds", command.seconds),
        Event::Observation(observation) => check_observation(observation, plan),
        Event::Surroundings(seen) => {
            let sentinel = seen.sentinel.map(|sentinel| [sentinel.cpu, sentinel.memory]);
            let times = [seen.cpu_time, seen.foreign_cpu, seen.steal, seen.slept].into_iter().flatten();
            let mut times = times.chain(sentinel.into_iter().flatten());
            times.find_map(|seconds| check_time("a time of its surroundings in seconds", seconds))
        }
        Event::Facts { learnt, .. } => check_learnt(learnt),
        _ => None,
    }
}

fn check_time(what: &str, seconds: f64) -> Option<String> {
    (!(0.0..=LONGEST).contains(&seconds)).then(|| impossible(what, seconds))
}

fn impossible(what: &str, number: f64) -> String {
    format!("it says that {what} is {number}")
}

fn check_learnt(learnt: &Learnt) -> Option<String> {
    learnt.device_seconds.and_then(|seconds| check_time("the simulated time of a trial in seconds", seconds))
}

fn check_observation(observation: &Observation, plan: &Plan) -> Option<String> {
    let phase = &observation.phase;
    if let Some(wrong) = observation.measurements.iter().find_map(|one| check_measurement(one, phase, plan)) {
        return Some(wrong);
    }
    if let (Some(returned), Some(durable)) = (observation.value("returned"), observation.value("durable"))
        && durable < returned * (1.0 - ROUNDING)
    {
        return Some(format!(
            "it says that {phase} was durable after {durable} s and returned after {returned} s"
        ));
    }
    let buckets = observation.histograms.iter().flat_map(|histogram| &histogram.buckets);
    let count = buckets.map(|(_, count)| *count).find(|count| *count > MOST_CALLS);
    if let Some(count) = count {
        return Some(impossible("a number of calls", count as f64));
    }
    let course = observation.course.as_ref()?;
    let mut rates = course.rates.iter().chain([&course.every]);
    rates.find(|rate| !(0.0..=LARGEST).contains(*rate)).map(|rate| impossible("a rate", *rate))
}

fn check_measurement(one: &Measurement, phase: &str, plan: &Plan) -> Option<String> {
    let least = if one.unit == Unit::Seconds { 0.0 } else { -LARGEST };
    let most = if one.unit == Unit::Seconds { LONGEST } else { LARGEST };
    if !(least..=most).contains(&one.value) {
        return Some(impossible(&format!("{} of {phase}", one.metric), one.value));
    }
    let of_plan = || plan.phases.iter().find(|known| known.name == phase)?.metrics.get(one.metric.as_ref());
    let (unit, better) = match metric(&one.metric).or_else(|| adapter_metric(&one.metric)) {
        Some(known) => (known.unit, None),
        None => match of_plan() {
            Some(own) => (own.kept_in(), Some(own.better)),
            // A metric of no known program has no direction but the one that its unit gives it.
            None => (one.unit, None),
        },
    };
    (one.unit != unit || one.better.is_some_and(|said| better != Some(said)))
        .then(|| format!("it measures {} of {phase} in another unit or direction than the plan", one.metric))
}
