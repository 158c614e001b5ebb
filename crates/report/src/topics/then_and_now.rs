//! Topic: the findings of a published study, then and now, and the study's own way to combine runs.

use super::{ReportTopic, address_tables};
use crate::Report;
use crate::page::{Finding, Media, PageBlock, Text};
use crate::wording::{NumberScale, TextTable, count, decimals, fixed, listing, percent, times};
use fsverdict_judgement::journal::Unit;
use fsverdict_judgement::plan::{Published, once_each};
use fsverdict_judgement::verdict::{
    FindingReason, FindingStatus, Judgement, PhaseEstimate, ThenAndNow, legacy_name, same_quantity,
};

pub(super) static TOPIC: ReportTopic = ReportTopic {
    build_tables: |report| address_tables(Media::FULL_TEXT, build_tables(&report.judged)).collect(),
    build_section,
    ..ReportTopic::EMPTY
};

/// The study's findings, then and now.
fn list_findings(judged: &Judgement<'_>) -> Vec<Finding> {
    judged.findings.iter().map(build_finding).collect()
}

fn describe_basis(judged: &Judgement<'_>) -> String {
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
        .filter_map(|estimate| Some(format!("{} {}", estimate.candidate, format_value(estimate, scale?))))
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

fn format_value(estimate: &PhaseEstimate, scale: NumberScale) -> String {
    let value = estimate.estimate.point / scale.divisor;
    fixed(value, decimals(value, None))
}

/// The published figures. A quantity of another kind than ours keeps its unit all the more.
fn describe_published(published: &Published, ours: Option<&PhaseEstimate>) -> String {
    let mut figures: Vec<(&String, &f64)> = published.figures.iter().collect();
    figures.sort_by(|figure, other| figure.1.total_cmp(other.1));
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
fn may_err(now: FindingStatus, error: f64) -> String {
    match now {
        FindingStatus::CannotTell if error > 1.0 => {
            format!("; with the errors of these models the ratio may be off by {} times", times(error))
        }
        _ => String::new(),
    }
}

fn explain_status(judged: &ThenAndNow) -> String {
    let missing = &judged.missing;
    let mut text = match &judged.because {
        FindingReason::Pair { one, other, ratio, bounds, limit, error } => {
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
        FindingReason::Share { candidate, of_metric, of_phase, share, bounds, limit, error } => {
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
        FindingReason::NotMeasured => "nothing to compare was measured".to_owned(),
        FindingReason::CpuIsFree => {
            "computation took no time here, and with it encryption and compression".to_owned()
        }
        FindingReason::NoDirection => {
            "the plan does not say which direction of this metric is better".to_owned()
        }
    };
    if !missing.is_empty() {
        text.push_str(&format!("; not measured: {}", listing(missing, 4)));
    }
    text
}

/// The findings as a folded part of a page of text, shortly and in full; nothing where the plan repeats no study.
pub(crate) fn build_folded_findings<'a>(report: &Report<'_>) -> Vec<(Media, PageBlock<'a>)> {
    let findings = list_findings(&report.judged);
    if findings.is_empty() {
        return Vec::new();
    }
    let fold = |blocks| PageBlock::fold(None, "Then and now", blocks);
    let basis = PageBlock::Paragraph(Text::foreign(&describe_basis(&report.judged)));
    let brief = findings.iter().map(Finding::without_reasons).collect();
    vec![
        (Media::BRIEF, fold(vec![PageBlock::Findings(brief)])),
        (Media::FULL_TEXT, fold(vec![basis, PageBlock::Findings(findings)])),
    ]
}

fn build_section<'a>(report: &Report<'_>) -> Option<PageBlock<'a>> {
    if !report.has_results() {
        return None;
    }
    let findings = list_findings(&report.judged);
    let mut blocks = Vec::new();
    if !findings.is_empty() {
        let lead = "What the study published, and whether this run bears it out. A finding that no longer holds is a result.";
        blocks.push(PageBlock::Lead(lead.into()));
        blocks.push(PageBlock::Note(Text::foreign(&describe_basis(&report.judged))));
        blocks.push(PageBlock::Findings(findings));
    }
    blocks.extend(build_tables(&report.judged).into_iter().map(PageBlock::plain_table));
    (!blocks.is_empty()).then(|| PageBlock::section("then", "Then and now", blocks))
}

fn build_tables(judged: &Judgement<'_>) -> Vec<TextTable> {
    [build_legacy_table(judged), build_raw_share_table(judged)].into_iter().flatten().collect()
}

fn build_legacy_table(judged: &Judgement<'_>) -> Option<TextTable> {
    let combined = judged.combined.as_ref()?;
    let estimates = &combined.estimates;
    let mut phases: Vec<&str> = judged.phases.iter().map(|phase| phase.name.as_str()).collect();
    phases.retain(|name| estimates.iter().any(|found| found.phase == *name));
    let most = estimates.iter().filter(|found| found.point.is_some()).map(|found| found.n).max()?;
    let title = format!(
        "As the study combined its runs: {} (of {} each), seconds until durable. The verdict does not rest on it.",
        legacy_name(combined.estimator),
        count(most, "run")
    );
    let scored = judged.candidates.iter().filter(|entry| entry.behind.is_some());
    let rows = scored.map(|entry| {
        let cells = phases.iter().map(|phase| {
            let estimate =
                estimates.iter().find(|found| found.candidate == entry.name && found.phase == *phase);
            estimate
                .and_then(|found| found.point)
                .map_or("–".to_owned(), |value| fixed(value, decimals(value, None)))
        });
        [entry.name.to_owned()].into_iter().chain(cells).collect()
    });
    Some(TextTable { title, header: build_header(&phases), rows: rows.collect() })
}

fn build_header<Name: ToString>(columns: &[Name]) -> Vec<String> {
    let columns = columns.iter().map(ToString::to_string);
    std::iter::once("candidate".to_owned()).chain(columns).collect()
}

fn build_raw_share_table(judged: &Judgement<'_>) -> Option<TextTable> {
    let shares = &judged.raw_shares;
    let columns = once_each(shares.iter().map(|found| (found.phase.as_str(), found.metric.as_str())));
    if columns.is_empty() {
        return None;
    }
    let names: Vec<String> = columns.iter().map(|(phase, metric)| format!("{phase} {metric}")).collect();
    let measured =
        judged.candidates.iter().filter(|entry| shares.iter().any(|found| found.candidate == entry.name));
    let rows = measured.map(|entry| {
        let cells = columns.iter().map(|(phase, metric)| {
            let raw_share = shares.iter().find(|found| {
                found.candidate == entry.name && found.phase == *phase && found.metric == *metric
            });
            raw_share.map_or("–".to_owned(), |found| percent(found.share))
        });
        [entry.name.to_owned()].into_iter().chain(cells).collect()
    });
    let rows = rows.collect();
    let title = "Rates as shares of the bare device's, measured before mkfs in the same trials".to_owned();
    Some(TextTable { title, header: build_header(&names), rows })
}
