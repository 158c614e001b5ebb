//! Pages of an atlas that was made by hand: what they say, where their links lead, and that foreign text stays text.

use std::collections::BTreeSet;

use super::{Atlas, AtlasCell, AtlasFilter, AtlasWork, Catalogue, ComputedCell, SiteFile, StrangersAnswer};
use crate::Report;
use crate::fixtures::{Story, demo, id};
use fsverdict_judgement::plan::DeviceSource;
use fsverdict_judgement::verdict::{Answer, AnswerMark};
use fsverdict_text::{Bytes, DrawnNumber};

const HOSTILE: &str = "a\"><script>alert(1)</script><img src=x onerror=y>'\u{202e}\u{1b}[2J";

/// Six blocks, each on another device of a class: the second candidate takes as many times as long as `slower` says.
fn story(slower: [f64; 6]) -> Story {
    let mut story = Story::new(&["xfs", "ext4"], &["write"]);
    story.plan.device.source = DeviceSource::Model { name: "sata-ssd".to_owned(), size: Bytes(1 << 30) };
    for (block, slower) in (1..).zip(slower) {
        story.drawn = [("flash.read_us".to_owned(), DrawnNumber::Number(f64::from(block)))].into();
        story.open_block(block, 1, &["xfs", "ext4"]);
        let own = 10.0 + f64::from(block % 3) * 0.01;
        story.trial(&id(block, "xfs"), &[("write", own)]);
        story.trial(&id(block, "ext4"), &[("write", own * slower)]);
        story.close_block(block, 1, None);
    }
    story
}

fn answer(story: &Story) -> Answer {
    let run = story.run();
    Answer::from_judgement(&Report::new(&story.plan, &run, None).judged).unwrap()
}

#[test]
fn a_mark_says_whether_the_answer_holds_on_a_single_drive() {
    let holds = answer(&story([1.70, 1.71, 1.69, 1.70, 1.72, 1.68]));
    assert_eq!((holds.mark, holds.first.as_str()), (AnswerMark::NineOfTen, "xfs"), "{holds:?}");
    let next = holds.next.unwrap();
    assert!(next.name == "ext4" && (1.69..1.71).contains(&next.times.point));
    let depends = answer(&story([1.04, 1.14, 1.07, 1.12, 1.03, 1.15]));
    assert_eq!((depends.mark, depends.rivals), (AnswerMark::DependsOnDrive, vec!["ext4".to_owned()]));
    let open = answer(&story([1.5, 0.6, 1.4, 0.7, 1.3, 0.8]));
    assert_eq!(open.mark, AnswerMark::Undecided, "{open:?}");
}

fn computed(story: &Story) -> ComputedCell {
    let run = story.run();
    let report = Report::new(&story.plan, &run, None);
    let answer = Answer::from_judgement(&report.judged);
    ComputedCell::new(&report, &Report::new(&story.plan, &run, None), vec![answer, None])
}

fn atlas(title: &str) -> Atlas {
    let catalogue = Catalogue::built_in().unwrap();
    let mut story = story([1.70, 1.71, 1.69, 1.70, 1.72, 1.68]);
    story.plan.title = title.to_owned();
    story.plan.candidates[1].mount = vec![title.to_owned()];
    let filter = |slug, title| AtlasFilter { slug, title, lead: "A lead." };
    let strangers = StrangersAnswer {
        device: title.to_owned(),
        kernel: title.to_owned(),
        answer: Answer { first: title.to_owned(), ..answer(&story) },
        disagrees: true,
    };
    let mut content = computed(&story);
    content.bars[1].name = title.to_owned();
    content.missing = vec![(title.to_owned(), title.to_owned())];
    let cell = |kind, content: Result<Box<ComputedCell>, String>, strangers| AtlasCell {
        work: 0,
        kind,
        slug: format!("work@{kind}"),
        identity: format!("digest-{kind}"),
        bundle: content.is_ok().then(|| b"bundle".to_vec()),
        content,
        strangers,
    };
    Atlas {
        works: vec![AtlasWork {
            slug: "work".to_owned(),
            about: title.to_owned(),
            summary: title.to_owned(),
            words: vec![title.to_owned()],
        }],
        kinds: catalogue.kinds[..2].to_vec(),
        filters: vec![filter("index", "no requirement"), filter("checksums", "checksums")],
        cells: vec![
            cell(0, Ok(Box::new(content)), vec![strangers]),
            cell(1, Err(format!("its run did not end: {title}")), Vec::new()),
        ],
        studies: Vec::new(),
        catalogue,
    }
}

fn text(files: &[SiteFile], name: &str) -> String {
    let file = files.iter().find(|file| file.name == name).unwrap();
    String::from_utf8(file.content.clone()).unwrap()
}

#[test]
fn a_matrix_says_the_answer_its_lead_and_its_mark_in_words() {
    let files = atlas("a title").render().unwrap();
    let index = text(&files, "index.html");
    for words in ["<b>xfs</b>, 1.7 times", "then ext4", "holds on nine drives of ten", "its run did not end"]
    {
        assert!(index.contains(words), "{words}: {index}");
    }
    let cell = text(&files, "work@0.html");
    for words in [
        "Which filesystem for a title on an NVMe SSD?",
        "name=\"description\" content=\"xfs; ext4 takes 1.7 times as much; this holds on nine drives of ten.\"",
        "fsverdict run work@0.toml",
        "≠",
        "disagrees",
    ] {
        assert!(cell.contains(words), "{words}: {cell}");
    }
    assert!(text(&files, "checksums.html").contains("no candidate has it"));
}

#[test]
fn foreign_text_stays_text() {
    for file in atlas(HOSTILE).render().unwrap() {
        let Ok(text) = String::from_utf8(file.content) else { continue };
        let is_page = file.name.ends_with(".html");
        for tag in ["<script", "<img"] {
            let at = text.find(tag).filter(|_| is_page);
            assert!(at.is_none(), "{}", file.name);
        }
        let is_data = file.name == "atlas.json";
        assert!(is_data || !text.contains("\u{1b}") && !text.contains("\u{202e}"), "{}", file.name);
    }
}

/// The addresses that a page leads to.
fn links(page: &str) -> BTreeSet<String> {
    let after = |mark: &str| {
        page.split(mark)
            .skip(1)
            .filter_map(|rest| rest.split('"').next())
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    after("href=\"")
        .into_iter()
        .chain(after("property=\"og:image\" content=\""))
        .filter(|link| !link.starts_with('#'))
        .collect()
}

#[test]
fn every_link_leads_to_a_file_of_the_site_and_no_page_needs_the_network() {
    let files = atlas("a title").render().unwrap();
    let known: BTreeSet<String> = files.iter().map(SiteFile::path).collect();
    for file in files.iter().filter(|file| file.name.ends_with(".html")) {
        let page = String::from_utf8(file.content.clone()).unwrap();
        for link in links(&page) {
            let target = link.split('#').next().unwrap();
            assert!(known.contains(target), "{}: {link}", file.name);
        }
        assert!(
            !page.contains("<script") && !page.contains("http://") && !page.contains("https://"),
            "{}",
            file.name
        );
    }
}

#[test]
fn the_same_cells_give_the_same_bytes() {
    let bytes =
        |atlas: &Atlas| atlas.render().unwrap().into_iter().map(|file| file.content).collect::<Vec<_>>();
    assert_eq!(bytes(&atlas("a title")), bytes(&atlas("a title")));
}

#[test]
fn numbers_can_be_read_by_other_programs() {
    let files = atlas("a \"title\"\\").render().unwrap();
    let json: serde_json::Value = serde_json::from_str(&text(&files, "atlas.json")).unwrap();
    assert_eq!(json["cells"][0]["answers"][0]["first"], "xfs");
    assert!(json["cells"][1]["empty"].as_str().unwrap().starts_with("its run did not end"));
    let csv = text(&files, "atlas.csv");
    assert_eq!(csv.lines().count(), 3, "{csv}");
    let metrics = text(&files, "atlas.prom");
    assert!(
        metrics.ends_with("# EOF\n") && metrics.contains("candidate=\"a \\\"title\\\"\\\\\""),
        "{metrics}"
    );
}

#[test]
fn a_card_is_a_picture_of_the_size_that_forums_show() {
    for title in ["photos", HOSTILE, &"w".repeat(500)] {
        let files = atlas(title).render().unwrap();
        let card = files.iter().find(|file| file.folder == Some("cards")).unwrap();
        assert_eq!(&card.content[1..4], b"PNG");
        let size = |at: usize| u32::from_be_bytes(card.content[at..at + 4].try_into().unwrap());
        assert_eq!((size(16), size(20)), (1200, 630));
    }
}

#[test]
fn a_run_without_a_result_has_no_answer() {
    let mut story = demo(0);
    let run = story.finish().run();
    assert!(Answer::from_judgement(&Report::new(&story.plan, &run, None).judged).is_none());
}
