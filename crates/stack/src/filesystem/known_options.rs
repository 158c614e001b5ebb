//! The options of mkfs and mount that a filesystem's manual names, and the choices behind them for which people have
//! another name.
//!
//! These options serve to find options in a question. A plan may give others to mkfs and mount.

/// Options that the manual pages name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownOptions {
    /// Of mkfs, with their dash.
    pub mkfs: &'static [&'static str],
    /// Of mount, those that take a value with the `=` before it.
    pub mount: &'static [&'static str],
    /// What stands behind an option of mkfs, where people name it without that option: `bigalloc` of ext4's
    /// `-O bigalloc`. What takes a value has the `=` before it.
    pub values: &'static [(&'static str, &'static [&'static str])],
    pub choices: &'static [ChoiceOptions],
}

/// A choice that is made when a filesystem is made or mounted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    Compression,
    Journal,
    CopyOnWrite,
    DataChecksums,
}

/// How a choice is made that is not the default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChoiceOptions {
    pub choice: Choice,
    /// Whether these give it, or take it away.
    pub gives: bool,
    pub mkfs: &'static [&'static str],
    pub mount: &'static [&'static str],
}

impl KnownOptions {
    pub(super) const NONE: KnownOptions = KnownOptions { mkfs: &[], mount: &[], values: &[], choices: &[] };
}
