//! The comparison as Markdown, to be pasted into a pull request.

use super::row::{Row, row, share};
use super::{ComparisonReport, word};
use crate::report::markdown::{code, escaped};
use crate::verdict::Comparison;
use crate::verdict::{ALPHA, Change};

pub(super) fn render(report: ComparisonReport<'_>) -> String {
    let found = report.found;
    let title = escaped(&report.before.header.title);
    let mut page = format!("## {title}: before and after\n\n**{}**\n\n", escaped(&report.sentence()));
    if !found.judged.is_empty() {
        page.push_str("| candidate | phase | before | after | change | 95% interval | outcome |\n");
        page.push_str("|:--|:--|--:|--:|--:|--:|:--|\n");
        for change in &found.judged {
            page.push_str(&line(change, &escaped(change.subject()), change.outcome().map_or("", shown)));
        }
        page.push_str(&format!(
            "\n*{}*: geometric means ± half their 95% interval. Worse or better: significant over all {} comparisons (Holm, {}) and beyond {}; same: the interval lies within it.\n\n",
            escaped(&found.goal.metric),
            found.judged.len(),
            share(ALPHA),
            share(found.tie)
        ));
    }
    for (title, entries) in [("Broken", &found.broken), ("Left out", &found.left_out)] {
        for left in entries {
            let (name, reason) = (escaped(&left.candidate), escaped(&left.reason));
            page.push_str(&format!("- **{title}**: {name}: {reason}\n"));
        }
    }
    for difference in &found.differences {
        let value = |value: &Option<String>| value.as_deref().map_or("none".to_owned(), escaped);
        let (before, after) = (value(&difference.before), value(&difference.after));
        page.push_str(&format!("- **Differs**: {}: {before} → {after}\n", escaped(&difference.what)));
    }
    for caution in &found.cautions {
        page.push_str(&format!("- **Caution**: {}\n", escaped(caution)));
    }
    if !found.costs.is_empty() {
        page.push_str("\n<details><summary>CPU, device writes and the steps around the phases (for information, not tested)</summary>\n\n");
        page.push_str("| candidate | phase | metric | before | after | change | 95% interval |\n");
        page.push_str("|:--|:--|:--|--:|--:|--:|--:|\n");
        for change in &found.costs {
            let subject = format!("{} | {}", escaped(change.subject()), escaped(&change.metric));
            page.push_str(&line(change, &subject, ""));
        }
        page.push_str("\n</details>\n");
    }
    let run = |name: &str, run: &crate::journal::Run| {
        format!(
            "{name} `{}` ({} blocks, plan `{}`)",
            code(&run.header.id),
            run.complete_blocks(),
            code(&run.header.plan_digest)
        )
    };
    page.push_str(&format!("\n{}, {}.\n", run("Before", report.before), run("after", report.after)));
    page
}

fn line(change: &Change, subject: &str, outcome: &str) -> String {
    let Row { before, after, change: ratio, interval } = row(change);
    let end = if change.outcome().is_some() { format!(" {outcome} |") } else { String::new() };
    format!(
        "| {} | {subject} | {before} | {after} | {ratio} | {interval} |{end}\n",
        escaped(&change.candidate)
    )
}

/// What must be seen is bold and has a sign; neither is lost on a screen reader.
fn shown(outcome: Comparison) -> &'static str {
    match outcome {
        Comparison::Worse => "▲ **worse**",
        Comparison::Better => "▼ **better**",
        other => word(other),
    }
}
