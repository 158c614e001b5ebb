//! A small table of text, which each renderer lays out in its own way.

use std::collections::BTreeSet;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TextTable {
    pub(super) title: String,
    pub(super) header: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
}

impl TextTable {
    pub(super) fn new(title: impl Into<String>, header: &[&str], rows: Vec<Vec<String>>) -> Self {
        Self { title: title.into(), header: header.iter().map(|text| (*text).to_owned()).collect(), rows }
    }

    /// Whether the first column tells the rows apart.
    pub(super) fn has_unique_names(&self) -> bool {
        let names: BTreeSet<Option<&String>> = self.rows.iter().map(|row| row.first()).collect();
        names.len() == self.rows.len()
    }
}
