//! The documents: every link and every path named in the repository leads somewhere, the index lists every page, and no
//! line of text is wider than 120 characters.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const WIDEST_LINE: usize = 120;

fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every file below the folders and files named, in order.
fn files_below(names: &[&str]) -> Vec<PathBuf> {
    let mut found = BTreeSet::new();
    let mut open: Vec<PathBuf> = names.iter().map(|name| package().join(name)).collect();
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        } else {
            found.insert(path);
        }
    }
    found.into_iter().collect()
}

fn documents() -> Vec<(PathBuf, String)> {
    let names =
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "docs", "crates"];
    let is_document = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "md");
    let documents: Vec<(PathBuf, String)> = files_below(&names)
        .into_iter()
        .filter(is_document)
        .map(|path| (path.clone(), std::fs::read_to_string(path).unwrap()))
        .collect();
    assert!(documents.len() > 20, "{documents:?}");
    documents
}

/// The lines of a document outside of blocks of code, each with its number.
fn prose(text: &str) -> Vec<(usize, &str)> {
    let mut fenced = false;
    let mut lines = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if line.starts_with("```") {
            fenced = !fenced;
        } else if !fenced && !line.starts_with("    ") {
            lines.push((number, line));
        }
    }
    assert!(!fenced, "a block of code is not closed");
    lines
}

/// The anchor that GitHub gives to a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = kept.chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
    kept.map(|letter| if letter == ' ' { '-' } else { letter }).collect()
}

fn anchors(text: &str) -> BTreeSet<String> {
    prose(text).iter().filter(|(_, line)| line.starts_with('#')).map(|(_, line)| anchor(line)).collect()
}

/// The targets of the links in a document, those of web pages left out.
fn links(text: &str) -> Vec<String> {
    let text = prose(text).iter().map(|(_, line)| *line).collect::<Vec<_>>().join("\n");
    let targets = text.split("](").skip(1).filter_map(|after| after.split_once(')'));
    targets.map(|(target, _)| target.to_owned()).filter(|target| !target.contains("://")).collect()
}

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    let mut broken = Vec::new();
    let mut checked = 0;
    for (path, text) in documents() {
        for link in links(&text) {
            let (file, heading) =
                link.split_once('#').map_or((link.as_str(), None), |(file, name)| (file, Some(name)));
            let target = if file.is_empty() { path.clone() } else { path.parent().unwrap().join(file) };
            let leads = match heading {
                None => target.exists(),
                Some(name) => std::fs::read_to_string(target).is_ok_and(|text| anchors(&text).contains(name)),
            };
            checked += 1;
            if !leads {
                broken.push(format!("{}: {link}", path.display()));
            }
        }
    }
    assert!(checked > 100, "{checked}");
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn every_document_named_in_the_repository_is_there() {
    let folders =
        ["src", "crates", "tests", "presets", "examples", "scripts", "docs", "Makefile", "Cargo.toml"];
    let pages = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"];
    let is_path = |letter: char| letter.is_ascii_alphanumeric() || "-_/.".contains(letter);
    let (mut named, mut missing) = (0, Vec::new());
    for path in files_below(&[&folders[..], &pages[..]].concat()) {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        for after in text.split("docs/").skip(1) {
            let name = after.split(|letter| !is_path(letter)).next().unwrap().trim_end_matches('.');
            if Path::new(name).extension().is_some_and(|extension| extension == "md") {
                named += 1;
                if !package().join("docs").join(name).exists() {
                    missing.push(format!("{}: docs/{name}", path.display()));
                }
            }
        }
    }
    assert!(named > 50, "{named}");
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn the_index_lists_every_page() {
    let folder = package().join("docs");
    let index = std::fs::read_to_string(folder.join("README.md")).unwrap();
    let linked: BTreeSet<PathBuf> =
        links(&index).iter().map(|link| folder.join(link.split('#').next().unwrap())).collect();
    let pages = files_below(&["docs/guides", "docs/reference", "docs/background", "docs/results"]);
    assert!(pages.len() > 15, "{pages:?}");
    let lacking: Vec<&PathBuf> = pages.iter().filter(|page| !linked.contains(*page)).collect();
    assert!(lacking.is_empty(), "docs/README.md does not link {lacking:#?}");
}

#[test]
fn no_line_of_text_is_wide() {
    let mut wide = Vec::new();
    for (path, text) in documents() {
        for (number, line) in prose(&text) {
            if line.chars().count() > WIDEST_LINE && !line.starts_with('|') {
                wide.push(format!("{}:{number}: {line}", path.display()));
            }
        }
    }
    assert!(wide.is_empty(), "{wide:#?}");
}
