//! The table of devices in each form.

use std::io;

use maud::{Markup, html};
use serde::Serialize;

use super::DeviceReport;
use crate::report::csv::{cell, or_empty, unwrapped};
use crate::report::html::{ratio, shell};
use crate::report::markdown::{code, escaped, text_table};
use crate::report::terminal::{Page, Tone, aligned};
use crate::report::text::{count, one_line};
use crate::report::{ReportError, TerminalLook};
use crate::verdict::{Estimate, OnDevice, Outcome, Sites};

/// Version of the JSON: raised when a field goes or changes its meaning.
const SCHEMA: u32 = 1;
/// Columns of words, which are set left.
const WORDS: [&str; 4] = ["kernel", "lab", "take", "device"];

pub(super) fn terminal(report: &DeviceReport, look: TerminalLook) -> String {
    let (mut page, signs) = Page::begin(look, &report.found.title);
    page.text(if report.found.across.is_decided() { Tone::Good } else { Tone::Strong }, &report.sentence());
    page.blank();
    let table = report.table();
    page.text(Tone::Faint, &table.title);
    page.lines.extend(aligned(&table, look.columns, &WORDS));
    page.blank();
    for (row, sentence) in report.rows() {
        page.beside(
            &format!("{} ", signs.bullet),
            2,
            None,
            &format!("{}: {sentence} ({})", row.device, row.source),
        );
    }
    for text in &report.cautions {
        page.beside(&format!("{} ", signs.bullet), 2, Some(Tone::Faint), text);
    }
    page.finished()
}

pub(super) fn markdown(report: &DeviceReport) -> String {
    let mut page = format!("## {}\n\n**{}**\n\n", escaped(&report.found.title), escaped(&report.sentence()));
    let table = report.table();
    page.push_str(&format!("{}\n\n{}\n", escaped(&table.title), text_table(&table, &WORDS)));
    for (row, sentence) in report.rows() {
        let (device, sentence) = (escaped(&row.device), escaped(sentence));
        page.push_str(&format!("- {device}: {sentence} (`{}`)\n", code(&row.source)));
    }
    report.cautions.iter().for_each(|text| page.push_str(&format!("- {}\n", escaped(text))));
    page
}

pub(super) fn html(report: &DeviceReport) -> String {
    let title = one_line(&report.found.title);
    let body = html! {
        header.opening {
            div.title { h1 { (title) } p.kicker { "fsverdict · " (count(report.found.devices, "device")) } }
            section.verdict.decided[report.found.across.is_decided()].undecided[!report.found.across.is_decided()] aria-labelledby="verdict" {
                p #verdict.sentence { (one_line(&report.sentence())) }
            }
        }
        section #picture aria-labelledby="picture-title" {
            h2 #picture-title { "Device by device" }
            p.lead { "Times the best of each device, with the 95% interval" }
            div.scroll { (picture(report)) }
        }
        section #devices aria-labelledby="devices-title" {
            h2 #devices-title { "The devices" }
            dl.facts { @for (row, sentence) in report.rows() {
                dt { (one_line(&row.device)) }
                dd { (one_line(sentence)) " (" (one_line(&row.source)) ": " (count(row.blocks, "block")) ", lab " (one_line(&row.lab)) ", Linux " (one_line(&row.kernel)) ", " (one_line(&row.processor)) "; " (one_line(&row.fidelity)) ")" }
            } }
            @if !report.cautions.is_empty() { ul { @for text in &report.cautions { li { (one_line(text)) } } } }
        }
    };
    shell(&title, None, &body, &html! {}).into_string()
}

fn picture(report: &DeviceReport) -> Markup {
    html! {
        table.picture {
            caption.unseen { "Devices by candidates" }
            thead { tr {
                th scope="col" { "device" } th scope="col" { "kernel" } th scope="col" { "take" }
                @for name in &report.found.candidates { th scope="col" { (one_line(name)) } }
            } }
            tbody {
                @for row in &report.found.rows { tr {
                    th scope="row" { span.name { (one_line(&row.device)) } }
                    td { (one_line(&row.kernel)) }
                    td { (row.verdict.recommended.as_deref().map_or("undecided".to_owned(), one_line)) }
                    @for name in &report.found.candidates {
                        (ratio(row.behind.iter().find(|(known, _)| known == name).map(|(_, found)| found)))
                    }
                } }
                @if let Some(sites) = &report.found.sites { tr {
                    th scope="row" { "devices like these (n = " (report.found.devices) ")" } td {} td {}
                    @for name in &report.found.candidates {
                        @if *name == sites.leader { (ratio(Some(&Estimate::without_interval(1.0, report.found.devices)))) }
                        @else { (ratio(sites.rivals.iter().find(|rival| rival.candidate == *name).map(|rival| &rival.like_these))) }
                    }
                } }
            }
        }
    }
}

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    title: &'a str,
    sentence: String,
    n: usize,
    devices: Vec<RowPart<'a>>,
    like_these: Option<&'a Sites>,
    cautions: &'a [String],
}

/// What of a verdict is data here.
#[derive(Serialize)]
struct Taken<'a> {
    outcome: Outcome,
    recommended: Option<&'a str>,
    tied: &'a [String],
}

#[derive(Serialize)]
struct CandidatePart<'a> {
    candidate: &'a str,
    behind: &'a Estimate,
}

/// A device, in the order in which its fields stand.
#[derive(Serialize)]
struct RowPart<'a> {
    #[serde(flatten)]
    row: &'a OnDevice,
    #[serde(flatten)]
    verdict: Taken<'a>,
    sentence: &'a str,
    candidates: Vec<CandidatePart<'a>>,
}

fn row_part<'a>((row, sentence): (&'a OnDevice, &'a str)) -> RowPart<'a> {
    let verdict = &row.verdict;
    let recommended = verdict.recommended.as_deref();
    let candidates = row.behind.iter().map(|(candidate, behind)| CandidatePart { candidate, behind });
    RowPart {
        row,
        verdict: Taken { outcome: verdict.outcome, recommended, tied: &verdict.tied },
        sentence,
        candidates: candidates.collect(),
    }
}

pub(super) fn json(report: &DeviceReport, out: &mut dyn io::Write) -> Result<(), ReportError> {
    let text = serde_json::to_string_pretty(&Document {
        schema: SCHEMA,
        title: &report.found.title,
        sentence: report.sentence(),
        n: report.found.devices,
        devices: report.rows().map(row_part).collect(),
        like_these: report.found.sites.as_ref(),
        cautions: &report.cautions,
    })?;
    Ok(writeln!(out, "{text}")?)
}

/// The columns, documented in docs/output-formats.md.
const COLUMNS: &str = "device,source,identity,kernel,lab,candidate,recommended,behind,low,high,n";

pub(super) fn csv(report: &DeviceReport, out: &mut dyn io::Write) -> Result<(), ReportError> {
    let mut rows = ::csv::Writer::from_writer(out);
    rows.write_record(COLUMNS.split(',')).map_err(unwrapped)?;
    for row in &report.found.rows {
        for (candidate, behind) in &row.behind {
            let taken = row.verdict.recommended.as_ref() == Some(candidate);
            let names = [&row.device, &row.source, &row.identity, &row.kernel, &row.lab, candidate];
            let numbers =
                [behind.point.to_string(), or_empty(behind.low), or_empty(behind.high), behind.n.to_string()];
            let all = names.into_iter().map(|name| cell(name)).chain([taken.to_string()]).chain(numbers);
            rows.write_record(all).map_err(unwrapped)?;
        }
    }
    Ok(rows.flush()?)
}
