//! The one place that writes results: standard output. Talk goes to standard error ([`talk`](super::talk)).
//!
//! Neutralises control and hidden characters in results, whether they came from a plan, a run or a guest.

use std::io::StdoutLock;

use anstream::AutoStream;
use fsverdict_text::{DisplayForm, DisplayWriter};

/// Standard output for text. Styles are passed only to a terminal that supports them.
pub fn result_writer() -> DisplayWriter<AutoStream<StdoutLock<'static>>> {
    DisplayWriter::new(anstream::stdout().lock(), DisplayForm::Styled)
}

/// Standard output for data that is no text, and that is not written to a terminal.
pub fn binary_result_writer() -> StdoutLock<'static> {
    std::io::stdout().lock()
}
