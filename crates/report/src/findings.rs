//! Words for the findings of a published study, then and now.

use super::number::{NumberScale, decimals, fixed, percent, times};
use super::text::listing;
use fsverdict_judgement::journal::Unit;
use fsverdict_judgement::plan::Published;
use fsverdict_judgement::verdict::{Because, Judgement, Now, PhaseEstimate, ThenAndNow, same_quantity};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) now_as: Now,
    pub(super) finding: String,
    pub(super) source: String,
    /// The published figures; empty where there are none.
    pub(super) then: String,
    /// Ours; empty where there are none.
    pub(super) now: String,
    pub(super) why: String,
}

/// The study's findings, then and now.
pub(super) fn in_words(judged: &Judgement<'_>) -> Vec<Finding> {
    judged.findings.iter().map(build_finding).collect()
}

/// The basis of all findings, in a sentence.
pub(super) fn describe_basis(judged: &Judgement<'_>) -> String {
    let data = judged.plan.scale.map_or(String::new(), |scale| format!(", with {scale} of the data"));
    format!("Now: {}{data}", judged.run.header.fidelity)
}

fn build_finding(judged: &ThenAndNow) -> Finding {
    let published = &judged.published;
    let scale = judged.measured.first().map(|first| {
        NumberScale::suited(first.unit, judged.measured.iter().map(|found| found.estimate.point))
    });
    let now: Vec<String> = judged
        .measured
        .iter()
        .filter_map(|found| Some(format!("{} {}", found.candidate, value(found, scale?))))
        .collect();
    let unit = scale.map(|scale| scale.label).filter(|label| !label.is_empty());
    let mut now = now.join(", ");
    if let (Some(unit), false) = (unit, now.is_empty()) {
        now.push_str(&format!(" ({unit})"));
    }
    Finding {
        now_as: judged.now,
        finding: published.finding.clone(),
        source: published.source.clone(),
        then: describe_published(published, judged.measured.first()),
        now,
        why: explain_status(judged),
    }
}

fn value(found: &PhaseEstimate, scale: NumberScale) -> String {
    let value = found.estimate.point / scale.divisor;
    fixed(value, decimals(value, None))
}

/// The published figures. A quantity of another kind than ours keeps its unit all the more.
fn describe_published(published: &Published, ours: Option<&PhaseEstimate>) -> String {
    let mut figures: Vec<(&String, &f64)> = published.figures.iter().collect();
    figures.sort_by(|one, other| one.1.total_cmp(other.1));
    let listed: Vec<String> = figures.iter().map(|(name, value)| format!("{name} {value}")).collect();
    if listed.is_empty() {
        return String::new();
    }
    let other_kind =
        ours.is_some_and(|ours| !same_quantity(published, ours.unit) && !published.unit.contains(' '));
    let remark = if other_kind { ", another quantity than ours" } else { "" };
    format!("{} ({}{remark})", listed.join(", "), published.unit)
}

/// A caution where the finding is open: the model's own error may decide it.
fn may_err(now: Now, error: f64) -> String {
    match now {
        Now::CannotTell if error > 1.0 => {
            format!("; with the errors of these models the ratio may be off by {} times", times(error))
        }
        _ => String::new(),
    }
}

fn explain_status(judged: &ThenAndNow) -> String {
    let missing: Vec<&str> = judged.missing.iter().map(String::as_str).collect();
    let mut text = match &judged.because {
        Because::Pair { one, other, ratio, bounds, limit, error } => {
            let range = bounds.ends().map_or("too few trials for a range".to_owned(), |(low, high)| {
                format!("{} to {} times", times(low), times(high))
            });
            let asked = if *limit > 1.0 { format!("; {} in question", times(*limit)) } else { String::new() };
            let asked = asked + &may_err(judged.now, *error);
            let (one, other) = if one == other {
                ("it", format!("{other} in the other phase"))
            } else {
                (one.as_str(), other.clone())
            };
            let ratio = times(*ratio);
            if judged.published.claim.denominator().is_some_and(|of| !of.is_none()) {
                format!("{other}'s multiple is {ratio} times that of {one} ({range}{asked})")
            } else if judged.measured.iter().all(|found| found.unit == Unit::Seconds) {
                format!("{other} takes {ratio} times as long as {one} ({range}{asked})")
            } else {
                format!("{other} is worse than {one} by a factor of {ratio} ({range}{asked})")
            }
        }
        Because::Share { candidate, of_metric, of_phase, share, bounds, limit, error } => {
            let range = bounds.ends().map_or("too few trials for a range".to_owned(), |(low, high)| {
                format!("{} to {}", percent(low), percent(high))
            });
            let whole = if of_phase == &judged.published.phase {
                of_metric.clone()
            } else {
                format!("the {of_metric} of {of_phase}")
            };
            let (share, limit) = (percent(*share), percent(*limit));
            let may = may_err(judged.now, *error);
            let metric = &judged.published.metric;
            format!("{candidate}: {metric} is {share} of {whole} ({range}; {limit} in question{may})")
        }
        Because::NotMeasured => "nothing to compare was measured".to_owned(),
        Because::CpuIsFree => {
            "simulated time takes CPU as free, and with it encryption and compression".to_owned()
        }
        Because::NoDirection => "the plan does not say which direction of this metric is better".to_owned(),
    };
    if !missing.is_empty() {
        text.push_str(&format!("; not measured: {}", listing(&missing, 4)));
    }
    text
}
