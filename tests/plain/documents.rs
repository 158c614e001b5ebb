//! The documents: every link and every path named in the repository leads somewhere, the index lists every page, no line
//! of text is wider than 120 characters, and commands, options and plans in them are such as the program takes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use fsverdict::cli::with_vocabulary;
use fsverdict_judgement::plan::{Overrides, read_with};

use crate::common::PROGRAM;

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

/// The command lines of this program in a document: in blocks of code, and between backticks.
fn command_lines(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut fenced = false;
    for line in text.lines() {
        if line.starts_with("```") {
            fenced = !fenced;
        } else if fenced || line.starts_with("    ") {
            lines.push(line.trim().trim_start_matches("sudo ").to_owned());
        }
    }
    let text = prose(text).iter().map(|(_, line)| line.trim()).collect::<Vec<_>>().join(" ");
    lines.extend(text.split('`').skip(1).step_by(2).map(str::to_owned));
    lines.retain(|line| line.starts_with("fsverdict "));
    lines
}

#[test]
fn every_command_and_option_in_the_documents_is_known() {
    let help = |arguments: &[&str]| {
        let shown = std::process::Command::new(PROGRAM).args(arguments).arg("--help").output().unwrap();
        shown.status.success().then(|| String::from_utf8(shown.stdout).unwrap())
    };
    let mut known: BTreeMap<Vec<String>, Option<String>> = BTreeMap::new();
    let (mut checked, mut wrong) = (0, Vec::new());
    // What used to be there is in the changelog, and what users do not start in the architecture.
    let not_of_users = ["CHANGELOG.md", "ARCHITECTURE.md"];
    for (path, text) in documents() {
        if not_of_users.iter().any(|name| path.ends_with(name)) {
            continue;
        }
        for line in command_lines(&text) {
            let line = line.split(" #").next().unwrap();
            let words: Vec<&str> = line.split_whitespace().skip(1).collect();
            let depth = if words.first().is_some_and(|first| ["kernel", "tools", "atlas"].contains(first)) {
                2
            } else {
                1
            };
            let command: Vec<String> = words.iter().take(depth).map(|word| (*word).to_owned()).collect();
            if command.iter().any(|word| !word.bytes().all(|letter| letter.is_ascii_lowercase())) {
                continue;
            }
            let page = known
                .entry(command.clone())
                .or_insert_with(|| help(&command.iter().map(String::as_str).collect::<Vec<_>>()));
            let options = words.iter().map(|word| word.trim_start_matches('[')).filter_map(|word| {
                let name = word.strip_prefix("--")?;
                Some(name.split(|letter: char| !letter.is_ascii_lowercase() && letter != '-').next().unwrap())
            });
            let unknown: Vec<&str> = options
                .filter(|name| !page.as_ref().is_some_and(|page| page.contains(&format!("--{name}"))))
                .collect();
            checked += 1;
            if page.is_none() || !unknown.is_empty() {
                wrong.push(format!("{}: {line} {unknown:?}", path.display()));
            }
        }
    }
    assert!(checked > 100, "{checked}");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_whole_plan_in_the_documents_is_right() {
    let mut plans = 0;
    for (path, text) in documents() {
        for block in text.split("```toml\n").skip(1) {
            let block = block.split("```").next().unwrap();
            // Whole plans have a title and phases; the other blocks show a few lines.
            if block.starts_with("title") && block.contains("[[phase]]") {
                let name = path.to_string_lossy();
                with_vocabulary(|vocabulary| read_with(block, &name, &Overrides::default(), vocabulary))
                    .unwrap_or_else(|error| panic!("{error}"));
                plans += 1;
            }
        }
    }
    assert!(plans > 1, "{plans}");
}

#[test]
fn the_sentence_on_findings_counts_the_rows_of_its_table() {
    let page = std::fs::read_to_string(package().join("docs/results/then-and-now.md")).unwrap();
    let table = page.split("| *root-on-flash:*").nth(1).unwrap().split("\n\n").next().unwrap();
    let count = |verdict: &str| table.matches(&format!("**{verdict}**")).count();
    let [holds, gone, untold] = ["holds", "no longer holds", "cannot be told here"].map(count);
    let sentence = format!(
        "Of these {} findings {holds} hold, {gone} no longer do, and {untold} cannot be told here",
        holds + gone + untold
    );
    assert!(page.contains(&sentence), "{sentence}");
}

/// The table of layers has a row for each layer of the registry, with where it lies and where it can be used.
#[test]
fn the_table_of_layers_is_the_registry() {
    let text = std::fs::read_to_string(package().join("docs/reference/layers.md")).unwrap();
    let rows: BTreeMap<&str, &str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once("` | "))
        .map(|(name, rest)| (name, rest.trim_end_matches(" |")))
        .collect();
    let layers = fsverdict_stack::layer::registry();
    for layer in layers {
        let row = rows.get(layer.name).unwrap_or_else(|| panic!("{} has no row", layer.name));
        let (place, labs) = row.split_once(" | ").unwrap();
        let is_above = place.starts_with("above the filesystem");
        assert!(is_above || place.starts_with("below the filesystem"), "{place}");
        assert_eq!(is_above, layer.kind.is_above(), "{}", layer.name);
        assert_eq!(place.ends_with("as the last layer"), layer.seal.is_some(), "{}", layer.name);
        let wanted = if layer.kind.goes_by_itself() { "every lab" } else { "guests only" };
        assert_eq!(labs, wanted, "{}", layer.name);
    }
    assert_eq!(rows.len(), layers.len(), "{rows:?}");
}
