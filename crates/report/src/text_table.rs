//! A small table of text, which each renderer lays out in its own way.

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
}
