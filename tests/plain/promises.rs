//! What SECURITY.md promises, a test holds: every promise names one, and every test and file that it names is there.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn page() -> String {
    std::fs::read_to_string(package().join("SECURITY.md")).unwrap()
}

fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The names of all tests, those of a macro's in `tests/plain/parsers.rs` left out.
fn tests() -> BTreeSet<String> {
    let mut folders: Vec<PathBuf> = ["tests", "src", "crates"].map(|folder| package().join(folder)).into();
    let mut found = BTreeSet::new();
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(path).unwrap();
                let after = text.split("#[test]").skip(1);
                let names = after.filter_map(|after| after.split_once("fn ")?.1.split_once('('));
                found.extend(names.map(|(name, _)| name.to_owned()));
            }
        }
    }
    found
}

/// What stands between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Tests have long names, and nothing else in the page is written so.
fn is_test(word: &str) -> bool {
    word.matches('_').count() >= 3
        && word.chars().all(|letter| letter.is_ascii_lowercase() || "_0123456789".contains(letter))
}

/// Promises: paragraphs and items that begin with what they promise, with the items below them.
fn promises(page: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut open = false;
    for line in page.lines() {
        let begins = ["**", "- **"].iter().any(|mark| line.starts_with(mark));
        if begins && !line.starts_with("**Not promised") {
            found.push(line.to_owned());
            open = true;
        } else if line.is_empty() || line.starts_with(['#', '-', '|']) {
            open = false;
        } else if let (true, Some(last)) = (open, found.last_mut()) {
            last.push_str(line);
        }
    }
    found
}

#[test]
fn every_promise_names_a_test() {
    let page = page();
    let found = promises(&page);
    assert!(found.len() > 35, "{found:#?}");
    let bare: Vec<&String> = found.iter().filter(|promise| !quoted(promise).any(is_test)).collect();
    assert!(bare.is_empty(), "{bare:#?}");
}

#[test]
fn every_test_that_is_named_is_there() {
    let (page, tests) = (page(), tests());
    let named: Vec<&str> = quoted(&page).filter(|word| is_test(word)).collect();
    assert!(named.len() > 40, "{named:?}");
    let missing: Vec<&&str> = named.iter().filter(|name| !tests.contains(**name)).collect();
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn every_file_that_is_named_is_there() {
    let page = page();
    let of_ours = |word: &&str| ["tests/", "src/", "crates/"].iter().any(|folder| word.starts_with(folder));
    let named: Vec<&str> = quoted(&page).filter(of_ours).collect();
    let missing: Vec<&&str> = named.iter().filter(|path| !package().join(path).exists()).collect();
    assert!(missing.is_empty(), "{missing:#?}");
}
