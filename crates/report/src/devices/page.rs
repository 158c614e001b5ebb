//! The table of devices as a page.

use crate::devices::{BLOCKS, DeviceReport, KERNEL, LAB, RATIOS, TAKE};
use crate::page::{Media, Opening, PageBlock, PageTable, ReportPage, Text, Tone, Top};
use crate::wording::{count, one_line};

/// Columns of words, which are aligned to the left.
const WORDS: [&str; 4] = ["kernel", "lab", "take", "device"];

pub(super) fn build_page(report: &DeviceReport) -> ReportPage<'_> {
    let mut page = ReportPage::new(build_opening(report));
    let text = report.build_table(&[KERNEL, LAB, BLOCKS, TAKE]).to_text();
    let table = PageTable { words: &WORDS, title: Tone::Faint, ..PageTable::plain(text) };
    page.add(Media::TEXT, PageBlock::Table(table));
    let row = report.rows().map(|(row, sentence)| {
        Text::foreign(&row.device).plain(": ").said(sentence).plain(" (").code(&row.source).plain(")")
    });
    page.add(Media::TEXT, PageBlock::Bullets(row.collect(), None));
    let cautions = || report.cautions.iter().map(|text| Text::foreign(text)).collect();
    page.add(Media::TEXT, PageBlock::Bullets(cautions(), Some(Tone::Faint)));
    let drawn = vec![
        PageBlock::Lead(RATIOS.into()),
        PageBlock::picture(move || report.build_table(&[KERNEL, TAKE]).draw("Devices by candidates")),
    ];
    page.add(Media::HTML, PageBlock::section("picture", "Device by device", drawn));
    let all = vec![PageBlock::Facts(facts(report)), PageBlock::Bullets(cautions(), None)];
    page.add(Media::HTML, PageBlock::section("devices", "The devices", all));
    page
}

fn build_opening(report: &DeviceReport) -> Opening {
    let is_decided = report.found.across.is_decided();
    Opening {
        title: report.found.title.clone(),
        subtitle: None,
        sentence: report.write_sentence(),
        tone: Some(if is_decided { Tone::Good } else { Tone::Strong }),
        top: Top {
            kicker: count(report.found.devices, "device"),
            class: if is_decided { "decided" } else { "undecided" },
            ..Top::default()
        },
    }
}

fn facts(report: &DeviceReport) -> Vec<(Text, Text)> {
    let fact = report.rows().map(|(row, sentence)| {
        let place = format!(
            "{} ({}: {}, lab {}, Linux {}, {}; {})",
            one_line(sentence),
            one_line(&row.source),
            count(row.result.blocks, "block"),
            one_line(&row.lab),
            one_line(&row.kernel),
            one_line(&row.processor),
            one_line(&row.fidelity)
        );
        (Text::foreign(&row.device), Text::ours(place))
    });
    fact.collect()
}
