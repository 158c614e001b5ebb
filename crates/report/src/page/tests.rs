//! Tests that no writer omits a block of its medium.

use maud::html as markup;

use crate::fixtures::PLAIN;
use crate::forms::{html, markdown, terminal};
use crate::page::{
    CandidateWithoutResult, FoldedPart, Media, Opening, PageBlock, Remark, ReportPage, Span, Text, Tone, Top,
};
use crate::wording::TextTable;

const EVERYBODY: Media = Media::TEXT.and(Media::HTML);

fn page() -> ReportPage<'static> {
    let text = |words: &str| Text::ours(words);
    let table = TextTable::new(
        "the-table",
        &["the-head", "the-column"],
        vec![vec!["the-row".to_owned(), "the-cell".to_owned()]],
    );
    let inside = |words: &'static str| vec![PageBlock::Paragraph(words.into())];
    let fold = |title: &str, words| FoldedPart { id: None, title: title.into(), blocks: inside(words) };
    let remark = Remark { label: "label", text: "the-remark".to_owned(), tone: None, is_cut: true };
    let (what, lines) =
        ("the-2-gists".to_owned(), vec!["the-gist-one".to_owned(), "the-gist-two".to_owned()]);
    let top = Top {
        kicker: String::new(),
        class: "nothing",
        tally: None,
        sentence: None,
        basis: vec![],
        folds: None,
    };
    let mut page = ReportPage::new(Opening {
        title: "the-title".to_owned(),
        subtitle: None,
        sentence: "the-sentence".to_owned(),
        tone: None,
        top,
    });
    for block in [
        PageBlock::section("the-id", "the-section", inside("within-section")),
        PageBlock::Fold(fold("the-fold", "within-fold")),
        PageBlock::Folded(fold("the-away", "within-away")),
        PageBlock::Heading(text("the-heading")),
        PageBlock::Lead(text("the-lead").with(Span::Break).small("the-small").strong("the-strong")),
        PageBlock::Sentences(vec!["the-said-one".to_owned(), "the-said-two".to_owned()]),
        PageBlock::Note(
            text("the-note")
                .code("the-code")
                .meant(None, "the-meant")
                .with(Span::Marked("class", "the-marked".to_owned())),
        ),
        PageBlock::plain_table(table),
        PageBlock::Commands(vec!["the-command".to_owned()]),
        PageBlock::Next("next", vec![("the-to-type".to_owned(), Some("what for"))]),
        PageBlock::Labelled("label", "the-labelled".to_owned()),
        PageBlock::Bullets(vec![text("the-bullet")], Some(Tone::Faint)),
        PageBlock::Remarks(vec![remark]),
        PageBlock::Gist { id: None, what, lines },
        PageBlock::Facts(vec![(text("the-fact"), text("the-value"))]),
    ] {
        page.add(EVERYBODY, block);
    }
    page
}

#[test]
fn every_writer_has_words_for_every_block() {
    let page = page();
    for (form, shown) in [
        ("terminal", terminal::written(&page, PLAIN)),
        ("markdown", markdown::written(&page)),
        ("html", html::written(&page)),
    ] {
        for words in [
            "the-title",
            "the-sentence",
            "the-section",
            "within-section",
            "the-fold",
            "within-fold",
            "the-away",
            "within-away",
            "the-heading",
            "the-lead",
            "the-small",
            "the-strong",
            "the-said-one",
            "the-said-two",
            "the-note",
            "the-code",
            "the-meant",
            "the-marked",
            "the-table",
            "the-head",
            "the-cell",
            "the-command",
            "the-to-type",
            "the-labelled",
            "the-bullet",
            "the-remark",
            "the-gist-one",
            "the-gist-two",
            "the-fact",
            "the-value",
        ] {
            assert!(shown.contains(words), "{words} is not in {form}:\n{shown}");
        }
    }
}

#[test]
fn a_block_is_shown_to_whom_it_is_meant_for_and_a_picture_is_drawn_on_a_page_only() {
    let mut page = page();
    for (shown, words) in [
        (Media::BRIEF, "for-brief"),
        (Media::DETAIL, "for-detail"),
        (Media::MARKDOWN, "for-markdown"),
        (Media::HTML, "for-html"),
    ] {
        page.add(shown, PageBlock::Paragraph(words.into()));
    }
    page.add(EVERYBODY, PageBlock::picture(|| markup! { p { "drawn" } }));
    let missing = |name| CandidateWithoutResult {
        name,
        status: "failed",
        reason: "why".to_owned(),
        hint: "",
        tone: Tone::Bad,
    };
    page.add(Media::TEXT, PageBlock::Missing(vec![missing("absent")]));
    let detail = crate::TerminalLook { detail: true, ..PLAIN };
    for (shown, words) in [
        (terminal::written(&page, PLAIN), &["for-brief", "absent"][..]),
        (terminal::written(&page, detail), &["for-detail", "absent"]),
        (markdown::written(&page), &["for-markdown", "absent"]),
        (html::written(&page), &["for-html", "drawn"]),
    ] {
        for known in ["for-brief", "for-detail", "for-markdown", "for-html", "drawn", "absent"] {
            assert_eq!(shown.contains(known), words.contains(&known), "{known} in:\n{shown}");
        }
    }
}
