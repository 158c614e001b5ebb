//! The words hold: ARCHITECTURE's table names types that are there, nothing has a name that the table gives up, no name
//! stands for two types, and comments name their actors and objects.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::rooms::sources;

/// A row of the table: the word, the types that stand for it, and the names it is never called by.
struct Word {
    word: String,
    types: Vec<String>,
    never: Vec<String>,
}

fn words() -> Vec<Word> {
    let text = include_str!("../../ARCHITECTURE.md");
    let table = text.split("## Words").nth(1).unwrap().split("\n## ").next().unwrap();
    let rows = table.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix('|'));
    let listed = |cell: &str| -> Vec<String> {
        cell.split(',')
            .map(|name| name.trim().trim_matches('`').to_owned())
            .filter(|name| !name.is_empty())
            .collect()
    };
    rows.skip(1)
        .map(|row| {
            let cells: Vec<&str> = row.split('|').map(str::trim).collect();
            let [word, _, types, never] = cells[..] else { panic!("four columns: {row}") };
            Word { word: word.to_owned(), types: listed(types), never: listed(never) }
        })
        .collect()
}

/// The type that a line begins to define outside of functions, traits and impls, or inside a macro that derives more of it.
fn defined(line: &str) -> Option<&str> {
    let is_public = |line: &&str| line.starts_with("pub enum ") || line.starts_with("pub struct ");
    let line = line.strip_prefix("    ").filter(is_public).unwrap_or(line);
    let line = match line.strip_prefix("pub") {
        Some(rest) => rest.strip_prefix(' ').or_else(|| Some(rest.strip_prefix('(')?.split_once(") ")?.1))?,
        None => line,
    };
    let name = ["struct ", "enum ", "trait ", "type "].iter().find_map(|kind| line.strip_prefix(kind))?;
    name.split(|c: char| !c.is_alphanumeric()).next()
}

/// Where each type is defined; what is inside of modules of tests is indented, and counts for itself.
fn types() -> BTreeMap<String, Vec<PathBuf>> {
    let mut places: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for (path, text) in sources() {
        for name in text.lines().filter_map(defined) {
            places.entry(name.to_owned()).or_default().push(path.clone());
        }
    }
    places
}

#[test]
fn the_types_of_the_table_are_there() {
    let types = types();
    let words = words();
    assert!(words.len() > 30 && types.len() > 500, "nothing was read");
    let gone: Vec<String> = words
        .iter()
        .flat_map(|row| {
            row.types
                .iter()
                .filter(|name| !types.contains_key(*name))
                .map(|name| format!("{}: {name}", row.word))
        })
        .collect();
    assert!(gone.is_empty(), "{gone:?}");
}

#[test]
fn nothing_has_a_name_that_was_given_up() {
    let never: BTreeSet<String> = words().into_iter().flat_map(|row| row.never).collect();
    assert!(never.contains("warden"), "nothing was read");
    let of_types = types().into_keys().map(|name| name.to_lowercase());
    let of_files = sources().into_keys().flat_map(|path| {
        let parts: Vec<String> =
            path.with_extension("").iter().map(|part| part.to_string_lossy().into_owned()).collect();
        parts
    });
    let found: BTreeSet<String> = of_types.chain(of_files).filter(|name| never.contains(name)).collect();
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn no_name_stands_for_two_types() {
    let mut places = types();
    places.retain(|_, files| files.len() > 1);
    assert!(places.is_empty(), "{places:#?}");
}

/// The words of the comments in a file, without those of its tests.
fn words_of_comments(text: &str) -> Vec<String> {
    let production = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
    let comments = production.lines().filter_map(|line| line.trim_start().strip_prefix("//"));
    let words = comments.flat_map(|comment| comment.split(|c: char| !c.is_ascii_alphabetic() && c != '\''));
    words.filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

/// Sentences with `what`, `who` or `nobody` mostly hide who does something, and to what.
#[test]
fn comments_name_their_actors_and_objects() {
    const PRONOUNS: [&str; 6] = ["what", "who", "whoever", "whatever", "nobody", "whose"];
    const MOST_PER_1000: f64 = 1.0;
    let is_test = |path: &PathBuf| path.iter().any(|part| part == "tests" || part == "tests.rs");
    let words: Vec<String> = sources()
        .into_iter()
        .filter(|(path, _)| !is_test(path))
        .flat_map(|(_, text)| words_of_comments(&text))
        .collect();
    assert!(words.len() > 100_000, "nothing was read");
    let pronouns = words.iter().filter(|word| PRONOUNS.contains(&word.as_str())).count();
    let share = 1000.0 * pronouns as f64 / words.len() as f64;
    assert!(share <= MOST_PER_1000, "{pronouns} in {} words, {share:.2} of 1000", words.len());
}
