//! The comparison as Markdown, to be pasted into a pull request.

use super::{ComparisonReport, WORDS};
use crate::report::markdown::{code, escaped, text_table};

pub(super) fn render(report: ComparisonReport<'_>) -> String {
    let several = !report.found.steps.is_empty();
    let over = if several { "a history" } else { "before and after" };
    let title = escaped(&report.before.header.title);
    let mut page = format!("## {title}: {over}\n\n**{}**\n\n", escaped(&report.sentence()));
    let table = report.table();
    if !table.rows.is_empty() {
        // What must be seen is bold and has a sign; neither is lost on a screen reader.
        page.push_str(
            &text_table(&table, &WORDS)
                .replace("| worse |", "| ▲ **worse** |")
                .replace("| better |", "| ▼ **better** |"),
        );
        page.push_str(&format!("\n{}\n\n", escaped(&report.legend())));
    }
    for (label, text) in report.remarks() {
        page.push_str(&format!("- **{label}**: {}\n", escaped(&text)));
    }
    let costs = report.costs(true);
    if !costs.rows.is_empty() {
        let title = "CPU, device writes and the steps around the phases (for information, not tested)";
        page.push_str(&format!(
            "\n<details><summary>{title}</summary>\n\n{}\n</details>\n",
            text_table(&costs, &WORDS)
        ));
    }
    let run = |run: &crate::journal::Run| {
        let header = &run.header;
        format!(
            "`{}` ({} blocks, plan `{}`)",
            code(&header.id),
            run.complete_blocks(),
            code(&header.plan_digest)
        )
    };
    let runs: Vec<String> = report.runs().map(run).collect();
    page.push_str(&format!("\nRuns, the oldest first: {}.\n", runs.join(", ")));
    page
}
