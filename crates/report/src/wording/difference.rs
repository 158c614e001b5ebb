//! Words for how a candidate compares with the leader: seconds and percent where the goal is a total time, a ratio
//! where it is one phase, and a score where it is the mean of several phases' ratios.

use crate::wording::number::{NumberScale, decimals, fixed, percent, signed_percent, times, times_within};
use crate::wording::text::{capitalize, listing};
use fsverdict_judgement::journal::Unit;
use fsverdict_judgement::verdict::{ContrastOutcome, Cost, Estimate, Judgement};
use fsverdict_text::join_names;

/// The width, as a factor, from which an interval only tells on which side of the leader a candidate is.
const WIDE: f64 = 2.0;

/// Whether the goal's metric is a time; words such as "takes" do not suit a rate.
pub(crate) fn is_of_time(judged: &Judgement<'_>) -> bool {
    goal_unit(judged).is_none_or(|unit| unit == Unit::Seconds)
}

fn goal_unit(judged: &Judgement<'_>) -> Option<Unit> {
    let metric = &judged.plan.goal.metric;
    judged.estimates.iter().find(|estimate| estimate.metric == *metric).map(|estimate| estimate.unit)
}

/// Whether the goal as a whole is a duration: a sum of times or the time of one phase, and not a mean of ratios.
fn is_duration(judged: &Judgement<'_>) -> bool {
    is_of_time(judged) && (judged.objective.is_total() || judged.objective.weights.len() < 2)
}

/// The goal of a candidate in its unit, such as `17.1 s`; `None` where the goal is a score.
pub(crate) fn describe_total(judged: &Judgement<'_>, candidate: &str) -> Option<String> {
    let rank = judged.verdict.find_rank(candidate)?;
    format_goal(judged, rank.total?)
}

/// A number in the unit of the goal, in the scale of its totals.
pub(crate) fn format_goal(judged: &Judgement<'_>, number: f64) -> Option<String> {
    let totals = judged.verdict.ranking.iter().filter_map(|rank| rank.total);
    let scale = NumberScale::suited(goal_unit(judged)?, totals);
    let value = number / scale.divisor;
    Some(format!("{} {}", fixed(value, decimals(value, Some(0.01))), scale.label).trim_end().to_owned())
}

/// The phase that makes nearly all of the lead over another candidate, as a sentence behind others; empty if there is none.
pub(crate) fn describe_origin_of_lead(judged: &Judgement<'_>, other: &str) -> String {
    let describe = || {
        let origin = judged.origin_of_lead(other)?;
        let format = |number: f64| format_goal(judged, number);
        let leader = &judged.verdict.ranking.first()?.candidate;
        let [own, theirs] = origin.rest.map(format);
        let (phase, of_phase) = (&origin.phase, format(origin.of_phase)?);
        let lead = match origin.of_phase >= origin.of_all {
            true => format!("All of this lead is `{phase}` ({of_phase})"),
            false => {
                format!("Nearly all of this lead is `{phase}` ({of_phase} of {})", format(origin.of_all)?)
            }
        };
        Some(format!(" {lead}: all else takes {leader} {}, and {other} {}.", own?, theirs?))
    };
    describe().unwrap_or_default()
}

/// The goal of a candidate that leads, with how far other trials of it may lie from that: `17.1 s ±4%`; `about 17.1 s` where
/// its trials are too few or too different to say.
pub(crate) fn describe_leading_total(judged: &Judgement<'_>, candidate: &str) -> Option<String> {
    let total = describe_total(judged, candidate)?;
    let found = judged.total_over_trials(candidate);
    let share = found.and_then(|found| {
        let (low, high) = found.ends()?;
        (high / low <= WIDE).then(|| (high - low) / 2.0 / found.point)
    });
    Some(match share {
        None => format!("about {total}"),
        Some(exact) if exact < 0.005 => total,
        Some(share) => format!("{total} ±{}", percent(share)),
    })
}

/// The same with what it is for, between `before` and the rest of a sentence: `: 17.1 s ±4% for write`; empty where the goal is
/// a score.
pub(crate) fn with_leading_total(judged: &Judgement<'_>, before: &str, candidate: &str) -> String {
    let total = describe_leading_total(judged, candidate);
    total.map_or(String::new(), |total| format!("{before}{total} {}", of_what(judged)))
}

/// Whether a candidate is so much better or worse as matters, where its trials do not tell: `whether xfs is slower than that
/// by more than 3% is open: +15% measured, −5% to +38% possible`.
pub(crate) fn describe_open(judged: &Judgement<'_>, subject: &str, how: &str, ratio: &Estimate) -> String {
    let tie = percent(judged.plan.protocol.tie);
    let measured = match ratio.ends() {
        None => format!("{} measured, in too few blocks", describe_difference(judged, ratio)),
        Some((low, high)) => {
            let alone = |value: f64| describe_difference(judged, &Estimate::without_interval(value, ratio.n));
            format!("{} measured, {} to {} possible", alone(ratio.point), alone(low), alone(high))
        }
    };
    format!("whether {subject} is {how} by more than {tie} is open: {measured}")
}

/// The most characters of a job that a sentence names.
const LONGEST_JOB: usize = 60;

/// The phases that the leader's total covers, such as `for a week at a laptop (boot, upgrade and search)`, or `for the whole job
/// (write, read and remove)` where the plan names none, or scales its data.
pub(crate) fn of_what(judged: &Judgement<'_>) -> String {
    match judged.goal_phases().as_slice() {
        [only] => format!("for {only}"),
        some => {
            let work = judged.plan.work.as_ref().filter(|_| judged.plan.scale.is_none());
            let job = work.and_then(|work| work.job.as_deref());
            let job = job.filter(|job| job.chars().count() <= LONGEST_JOB).unwrap_or("the whole job");
            format!("for {job} ({})", listing(some, 4))
        }
    }
}

/// `Take btrfs: 16.2 s for the whole job (write and read). No other candidate is more than 3% faster`; or which candidates
/// may be, where one that is protected better was preferred to the leader.
pub(crate) fn recommend_leader(judged: &Judgement<'_>, leader: &str) -> String {
    let within = percent(judged.plan.protocol.tie);
    let open = judged.verdict.standings.iter();
    let open = open.filter(|standing| standing.outcome == ContrastOutcome::Undecided);
    let open: Vec<&str> = open.map(|standing| standing.of.as_str()).collect();
    let more = |better: &str| match open.as_slice() {
        [] => format!("no other candidate is more than {within} {better}"),
        some => format!("{} may be more than {within} {better}", join_names(some, 3, "or")),
    };
    match describe_leading_total(judged, leader) {
        Some(total) => {
            let claim = more(if is_of_time(judged) { "faster" } else { "better" });
            let claim = if open.is_empty() { capitalize(&claim) } else { claim };
            format!("Take {leader}: {total} {}. {claim}", of_what(judged))
        }
        None => format!("Take {leader}: {}", more("better")),
    }
}

/// How a candidate compares, as a verb and its object: `takes 17.1 s (+5%, +2% to +8%)`.
pub(crate) fn compare_with_leader(judged: &Judgement<'_>, candidate: &str, ratio: &Estimate) -> String {
    let total = describe_total(judged, candidate);
    if let Some(why) = cannot_be_told(ratio) {
        return match total {
            Some(total) => format!("{} about {total} ({why})", cost_verb(judged)),
            None => format!("is not placed: the difference {why}"),
        };
    }
    match total {
        Some(total) => format!("{} {total} ({})", cost_verb(judged), describe_difference(judged, ratio)),
        None if is_duration(judged) => format!("takes {} times as long", bounded_times(ratio)),
        None => {
            let verb = if judged.objective.weights.len() > 1 { "scores" } else { "is" };
            match invert_if_ahead(ratio) {
                Some(ahead) => format!("{verb} better by a factor of {}", bounded_times(&ahead)),
                None => format!("{verb} worse by a factor of {}", bounded_times(ratio)),
            }
        }
    }
}

/// How many times better a candidate is that is ahead of the leader by the estimate; `None` of one that is not.
fn invert_if_ahead(ratio: &Estimate) -> Option<Estimate> {
    let invert = |value: f64| 1.0 / value;
    (ratio.point < 1.0).then(|| Estimate {
        point: invert(ratio.point),
        low: ratio.high.map(invert),
        high: ratio.low.map(invert),
        n: ratio.n,
    })
}

/// The words of [`compare_with_leader`] without the verb, for later entries of a list.
pub(crate) fn compares_too(judged: &Judgement<'_>, candidate: &str, ratio: &Estimate) -> String {
    if let Some(why) = cannot_be_told(ratio) {
        return why;
    }
    match describe_total(judged, candidate) {
        Some(total) => format!("{total} ({})", describe_difference(judged, ratio)),
        None => format!("{} times", bounded_times(ratio)),
    }
}

fn cost_verb(judged: &Judgement<'_>) -> &'static str {
    if is_of_time(judged) { "takes" } else { "comes to" }
}

/// `+5%, +2% to +8%`, or a multiple where the ratio is two or more.
pub(crate) fn describe_difference(judged: &Judgement<'_>, ratio: &Estimate) -> String {
    let as_much = if is_of_time(judged) { "as long" } else { "as much" };
    let is_far = |value: f64| !(0.5..WIDE).contains(&value);
    let (low, high) = match ratio.ends() {
        None if is_far(ratio.point) => return format!("{} times {as_much}", times(ratio.point)),
        None => return signed_percent(ratio.point - 1.0, 0),
        Some((low, high)) if low > 1.0 && high / low > WIDE => {
            return format!("at least {} times {as_much}", times(low));
        }
        Some(ends) => ends,
    };
    if is_far(ratio.point) || is_far(low) || is_far(high) {
        return format!("{} times {as_much}, {} to {}", times(ratio.point), times(low), times(high));
    }
    // The last digit is no finer than a tenth of half the interval, and no share has more than two significant digits.
    let by_interval: usize = match (high - low) / 2.0 {
        wide if wide >= 0.01 => 0,
        middle if middle >= 0.001 => 1,
        _ => 2,
    };
    let by_size = match (ratio.point - 1.0).abs() {
        large if large >= 0.1 => 0,
        middle if middle >= 0.01 => 1,
        _ => 2,
    };
    let digits = by_interval.min(by_size);
    let signed = |value: f64| signed_percent(value - 1.0, digits);
    match (signed(low), signed(high)) {
        (low, high) if low == high => low,
        (low, high) => format!("{}, {low} to {high}", signed(ratio.point)),
    }
}

/// A ratio with its interval, or only its lower bound where the interval is wide.
fn bounded_times(ratio: &Estimate) -> String {
    match ratio.ends() {
        Some((low, high)) if low > 1.0 && high / low > WIDE => format!("at least {}", times(low)),
        _ => times_within(ratio),
    }
}

/// `cannot be told from 3 trials`, where the interval is wider than a factor of 2 and includes 1.
pub(crate) fn cannot_be_told(ratio: &Estimate) -> Option<String> {
    let (low, high) = ratio.ends()?;
    let is_wide = high / low.max(f64::MIN_POSITIVE) > WIDE && (low..=high).contains(&1.0);
    is_wide.then(|| format!("cannot be told from {} trials", ratio.n))
}

/// The cost in a sentence about how much of it a candidate takes.
pub(crate) fn name_cost(cost: Cost) -> &'static str {
    match cost {
        Cost::Cpu => "CPU time",
        Cost::Space => "space",
        Cost::Lost => "lost space",
        Cost::Written => "device writes",
    }
}

#[cfg(test)]
mod tests {
    use super::invert_if_ahead;
    use crate::Format;
    use crate::examples::{one, run_of};
    use crate::fixtures::{PLAIN, page_of};
    use fsverdict_judgement::plan::WorkSource;
    use fsverdict_judgement::verdict::Estimate;

    #[test]
    fn the_first_sentence_names_the_job_unless_its_data_are_scaled_or_its_name_is_long() {
        let first = |job: &str, scale: Option<f64>| {
            let mut story = run_of(&[one("ext4", 4.0, 1.0, 0.01), one("xfs", 8.0, 2.0, 0.01)], 5);
            let job = Some(job.to_owned());
            story.plan.work = Some(WorkSource { source: "assumed".to_owned(), job, ..WorkSource::default() });
            story.plan.scale = scale;
            story.finish_for("recommended after 5 blocks");
            page_of(&story, None, Format::Terminal(PLAIN)).split_whitespace().collect::<Vec<_>>().join(" ")
        };
        let named = first("a week at a laptop", None);
        assert!(named.contains(" for a week at a laptop (write and read)"), "{named}");
        for unnamed in [first("a week at a laptop", Some(0.3)), first(&"week ".repeat(20), None)] {
            assert!(unnamed.contains(" for the whole job (write and read)"), "{unnamed}");
        }
    }

    #[test]
    fn a_candidate_that_is_ahead_is_better_and_not_worse_by_less_than_one() {
        let ahead =
            invert_if_ahead(&Estimate { point: 0.8, low: Some(0.5), high: Some(1.25), n: 3 }).unwrap();
        assert_eq!((ahead.point, ahead.low, ahead.high), (1.25, Some(0.8), Some(2.0)));
        assert!(invert_if_ahead(&Estimate::without_interval(1.0, 3)).is_none());
    }
}
