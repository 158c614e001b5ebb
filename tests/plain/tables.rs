//! Writes tables of measured figures into docs/results/device-models.md, between the marks `<!-- table: NAME -->` and
//! `<!-- end -->`, where `scripts/model-tables` asks for it.

use std::path::Path;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/results/device-models.md");

/// Prints the table, and replaces the one on the page if `FSVERDICT_WRITE_TABLES` is set.
pub(crate) fn write_table(name: &str, table: &str) {
    println!("{table}");
    if std::env::var_os("FSVERDICT_WRITE_TABLES").is_some() {
        let page = std::fs::read_to_string(PAGE).unwrap();
        std::fs::write(Path::new(PAGE), replace_table(&page, name, table).unwrap()).unwrap();
    }
}

/// The page with this table in place of the one of that name; `None` where it has none.
fn replace_table(page: &str, name: &str, table: &str) -> Option<String> {
    let mark = format!("<!-- table: {name} -->\n");
    let (before, rest) = page.split_once(&mark)?;
    let (_, after) = rest.split_once("<!-- end -->")?;
    Some(format!("{before}{mark}\n{}\n\n<!-- end -->{after}", table.trim_end()))
}

#[test]
fn a_table_is_replaced_and_nothing_else() {
    let page = "a\n<!-- table: one -->\n\n| old |\n\n<!-- end -->\nb\n<!-- table: two -->\nc <!-- end -->\n";
    let expected = page.replace("| old |", "| new |");
    assert_eq!(replace_table(page, "one", "| new |\n").as_deref(), Some(&*expected));
    assert_eq!(replace_table(page, "three", "| new |"), None);
    let page = std::fs::read_to_string(PAGE).unwrap();
    for name in ["drives", "access-errors", "calibrations"] {
        assert!(replace_table(&page, name, "").is_some(), "there is no table {name} on the page");
    }
}
