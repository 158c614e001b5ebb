//! The comparison as a page: the results of each candidate in each phase, run by run.

use crate::compare::picture::draw_picture;
use crate::compare::{ComparisonReport, WORDS, differences, outcome, row};
use crate::page::{
    FoldedPart, Keys, Media, Opening, PageBlock, PageTable, Remark, ReportPage, Span, Text, Tone, Top,
    build_gist,
};
use crate::wording::{TextTable, count, one_line};
use fsverdict_judgement::journal::{Run, metric};
use fsverdict_judgement::verdict::ContrastOutcome;

pub(super) fn build_page<'a>(report: &'a ComparisonReport<'a>) -> ReportPage<'a> {
    let mut page = ReportPage::new(build_opening(report));
    let judged = report.build_table();
    let is_empty = judged.rows.is_empty();
    let with_table = if is_empty { Media::TERMINAL } else { Media::TEXT };
    let tones = report.found.whole.judged.iter().map(|change| match change.outcome() {
        Some(ContrastOutcome::Behind) => Some(Tone::Bad),
        Some(ContrastOutcome::Better) => Some(Tone::Good),
        _ => None,
    });
    page.add(with_table, PageBlock::Table(PageTable { changes: Some(tones.collect()), ..changes(judged) }));
    page.add(with_table, PageBlock::Note(Text::foreign(&report.write_legend())));
    let costs = report.costs(false);
    if !costs.rows.is_empty() {
        page.add(
            Media::TERMINAL,
            PageBlock::Table(PageTable { changes: Some(Vec::new()), ..changes(costs) }),
        );
    }
    ends(report).into_iter().for_each(|line| page.add(Media::TERMINAL, line));
    page.add(Media::TEXT, write_remarks(report));
    let costs = report.costs(true);
    if !costs.rows.is_empty() {
        let title = "CPU, device writes and the steps around the phases (for information, not tested)";
        let table = PageBlock::Table(changes(TextTable { title: String::new(), ..costs }));
        page.add(
            Media::MARKDOWN,
            PageBlock::Folded(FoldedPart { id: None, title: title.into(), blocks: vec![table] }),
        );
    }
    page.add(Media::MARKDOWN, PageBlock::Paragraph(runs_in_a_line(report)));
    build_sections(report).into_iter().for_each(|section| page.add(Media::HTML, section));
    page
}

fn changes(table: TextTable) -> PageTable {
    PageTable { words: &WORDS, ..PageTable::plain(table) }
}

fn dated(run: &Run) -> String {
    run.header.started.strftime("%Y-%m-%d %H:%M UTC").to_string()
}

fn build_opening(report: &ComparisonReport<'_>) -> Opening {
    let (badge, class, tone) = match report.found.has_regression() {
        true => ("regression", "undecided", Tone::Bad),
        false => ("no regression", "decided", Tone::Good),
    };
    let remarks = report.write_remarks();
    let of = |wanted: &'static str| {
        let own = remarks.iter().filter(move |(label, _)| *label == wanted);
        own.map(|(_, text)| text.clone()).collect::<Vec<String>>()
    };
    let left_out = of("Left out");
    let (before, after) = (one_line(&report.before.header.id), one_line(&report.after.header.id));
    Opening {
        title: report.before.header.title.clone(),
        subtitle: Some(if report.found.steps.is_empty() { "before and after" } else { "a history" }),
        sentence: report.write_sentence(),
        tone: Some(tone),
        top: Top {
            kicker: format!(
                "{}, {} to {}",
                count(report.runs().count(), "run"),
                dated(report.before),
                dated(report.after)
            ),
            class,
            tally: Some((badge, format!("{before} → {after}"))),
            sentence: None,
            basis: of("Broken").iter().map(|text| ("Broken", Text::foreign(text))).collect(),
            folds: Some(vec![
                build_gist(None, "caution", of("Caution").into_iter()),
                build_gist(None, "difference", of("Differs").into_iter()),
                PageBlock::Gist { id: None, what: format!("{} left out", left_out.len()), lines: left_out },
            ]),
        },
    }
}

fn ends(report: &ComparisonReport<'_>) -> Vec<PageBlock<'static>> {
    let last = report.runs().count() - 1;
    let line = |(at, run): (usize, &Run)| {
        let label = match at {
            0 => "Before",
            at if at == last => "After",
            _ => "",
        };
        let (id, lab) = (&run.header.id, &run.header.lab);
        PageBlock::Labelled(
            label,
            format!("{id}, {}, {} blocks, lab {lab}", dated(run), run.complete_blocks()),
        )
    };
    report.runs().enumerate().map(line).collect()
}

fn write_remarks(report: &ComparisonReport<'_>) -> PageBlock<'static> {
    let remark = |(label, text): (&'static str, String)| {
        let tone = (label == "Broken").then_some(Tone::Bad);
        Remark { label, text, tone, is_cut: false }
    };
    PageBlock::Remarks(report.write_remarks().into_iter().map(remark).collect())
}

fn runs_in_a_line(report: &ComparisonReport<'_>) -> Text {
    let mut text = Text::ours("Runs, the oldest first: ");
    for (at, run) in report.runs().enumerate() {
        let header = &run.header;
        text = text.plain(if at == 0 { "" } else { ", " }).code(&header.id);
        text = text.plain(format!(" ({} blocks, plan ", run.complete_blocks()));
        text = text.code(&header.plan_digest).plain(")");
    }
    text.plain(".")
}

fn build_sections<'a>(report: &'a ComparisonReport<'a>) -> Vec<PageBlock<'a>> {
    let found = &report.found.whole;
    let goal = found.goal.metric.as_str();
    let title = metric(goal).map_or(goal, |known| known.title);
    let keys = Keys {
        lead: format!("the last run against the first ({title}), and every run between them").into(),
        keys: vec![
            ("best", "▼ better".to_owned()),
            ("behind", "▲ worse".to_owned()),
            ("", format!("= same within {}", row::share(found.tie))),
            ("", "? undecided".to_owned()),
        ],
        has_switch: false,
    };
    let legend = Text::foreign(&report.write_legend()).plain(" All lines have one scale. Band: differences that do not matter. Vertical bars: 95 % intervals. Filled points: significant changes.");
    let drawn = vec![PageBlock::picture(move || draw_picture(report)), PageBlock::Note(legend)];
    let mut sections =
        vec![PageBlock::Section { id: "picture", title: "The picture", keys: Some(keys), blocks: drawn }];
    if !report.found.steps.is_empty() {
        sections.push(PageBlock::section("steps", "Step by step", vec![steps(report)]));
    }
    let mut numbers = Vec::new();
    if !found.costs.is_empty() || !found.judged.is_empty() {
        let table = |table| vec![PageBlock::Table(changes(table))];
        numbers.push(PageBlock::fold(None, "What was judged", table(report.build_table())));
        if !found.costs.is_empty() {
            let title = "Costs, and the steps around the phases";
            numbers.push(PageBlock::fold(None, title, table(report.costs(true))));
        }
        sections.push(PageBlock::section("numbers", "The numbers", numbers));
    }
    let runs = report.runs().map(|run| {
        let (lab, fidelity) = (&run.header.lab, &run.header.fidelity);
        let place = format!(
            "{}, {}, lab {}: {}",
            dated(run),
            count(run.complete_blocks(), "block"),
            one_line(lab),
            one_line(fidelity)
        );
        (Text::foreign(&run.header.id), Text::ours(place))
    });
    sections.push(PageBlock::section("runs", "The runs", vec![PageBlock::Facts(runs.collect())]));
    sections
}

fn steps<'a>(report: &ComparisonReport<'_>) -> PageBlock<'a> {
    let step = report.steps().map(|(from, to, found)| {
        let what = Text::foreign(&from.header.id).plain(" → ").said(&to.header.id);
        let differs = differences(found);
        let said = differs
            .iter()
            .fold(Text::foreign(&outcome(found)), |said, text| said.with(Span::Break).small(text));
        (what, said)
    });
    PageBlock::Facts(step.collect())
}
