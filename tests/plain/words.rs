//! The words hold: ARCHITECTURE's table names types that are there, nothing has a name that the table gives up, and no name
//! stands for two types.

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

/// The type that a line begins to define outside of functions, traits and impls.
fn defined(line: &str) -> Option<&str> {
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
