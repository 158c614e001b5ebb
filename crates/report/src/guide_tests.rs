//! The guide to reading a report shows pages as they are: the terminal's, the beginning of one in Markdown, and a verdict
//! in JSON.

use crate::Format;
use crate::examples::{ranked, recommended, undecided};
use crate::fixtures::{PLAIN, data_of, page_of};

const GUIDE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guides/reading-a-report.md");

/// The blocks of code in the guide that are marked with a language.
fn blocks(language: &str) -> Vec<String> {
    let guide = std::fs::read_to_string(GUIDE).unwrap();
    let fence = format!("```{language}\n");
    let parts = guide.split(&fence).skip(1);
    parts.map(|part| part.split_once("```\n").unwrap().0.to_owned()).collect()
}

/// As insta does, `INSTA_UPDATE=always` renews the blocks.
#[test]
fn the_guide_shows_these_pages() {
    const FENCE: &str = "```text\n";
    let guide = std::fs::read_to_string(GUIDE).unwrap();
    let mut parts = guide.split(FENCE);
    let mut renewed = parts.next().unwrap().to_owned();
    let stories = [recommended(), ranked(), undecided()];
    for (story, part) in stories.iter().zip(parts.by_ref()) {
        let page = page_of(story, None, Format::Terminal(PLAIN));
        let (verdict, _) = page.split_once("\nStands on").unwrap();
        let (_, after) = part.split_once("```\n").unwrap();
        renewed.push_str(&format!("{FENCE}{}\n```\n{after}", verdict.trim_end()));
    }
    assert_eq!(parts.next(), None, "a block of text that is no verdict");
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        std::fs::write(GUIDE, &renewed).unwrap();
    } else {
        assert_eq!(guide, renewed, "docs/guides/reading-a-report.md; INSTA_UPDATE=always renews it");
    }
}

#[test]
fn the_guide_shows_the_beginning_of_the_page_in_markdown() {
    let [shown] = &blocks("markdown")[..] else { panic!("one block of Markdown") };
    let page = page_of(&undecided(), None, Format::Markdown);
    assert!(shown.contains("| jfs |") && page.starts_with(shown.as_str()), "{page}");
}

#[test]
fn the_guide_shows_the_verdict_in_json() {
    let [shown] = &blocks("json")[..] else { panic!("one block of JSON") };
    let shown: serde_json::Value = serde_json::from_str(shown).unwrap();
    let verdict = &data_of(&recommended())["verdict"];
    let shown = shown.as_object().unwrap();
    assert!(shown.len() >= 5, "{shown:?}");
    for (key, value) in shown {
        assert_eq!(value, &verdict[key], "{key}");
    }
}
