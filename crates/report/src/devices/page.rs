//! The table of devices as a page.

use maud::{Markup, html};

use crate::conclusion::levels::list_recommended;
use crate::devices::DeviceReport;
use crate::page::figures::ratio;
use crate::page::{Media, Opening, PageBlock, PageTable, ReportPage, Text, Tone, Top};
use crate::wording::text::{count, one_line};
use fsverdict_judgement::verdict::Estimate;

/// Columns of words, which are aligned to the left.
const WORDS: [&str; 4] = ["kernel", "lab", "take", "device"];

pub(super) fn build_page(report: &DeviceReport) -> ReportPage<'_> {
    let mut page = ReportPage::new(build_opening(report));
    let table = PageTable { words: &WORDS, title: Tone::Faint, ..PageTable::plain(report.build_table()) };
    page.add(Media::TEXT, PageBlock::Table(table));
    let row = report.rows().map(|(row, sentence)| {
        Text::foreign(&row.device).plain(": ").said(sentence).plain(" (").code(&row.source).plain(")")
    });
    page.add(Media::TEXT, PageBlock::Bullets(row.collect(), None));
    let cautions = || report.cautions.iter().map(|text| Text::foreign(text)).collect();
    page.add(Media::TEXT, PageBlock::Bullets(cautions(), Some(Tone::Faint)));
    let drawn = vec![
        PageBlock::Lead("Times the best of each device, with the 95% interval".into()),
        PageBlock::picture(move || draw_picture(report)),
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
            count(row.blocks, "block"),
            one_line(&row.lab),
            one_line(&row.kernel),
            one_line(&row.processor),
            one_line(&row.fidelity)
        );
        (Text::foreign(&row.device), Text::ours(place))
    });
    fact.collect()
}

fn draw_picture(report: &DeviceReport) -> Markup {
    html! { div.scroll {
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
                    td { (one_line(&list_recommended(&row.verdict))) }
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
    } }
}
