//! The one place that writes results: standard output. Talk goes to standard error ([`talk`](super::talk)).
//!
//! Whatever a plan, a run or a guest has brought into a result, nothing that steers a terminal or hides something leaves here.

use std::io::StdoutLock;

use anstream::AutoStream;
use fsverdict_text::{DisplayForm, DisplayWriter};

/// Standard output for text. Styles pass to a terminal that shows them, and to nothing else.
pub fn result_writer() -> DisplayWriter<AutoStream<StdoutLock<'static>>> {
    DisplayWriter::new(anstream::stdout().lock(), DisplayForm::Styled)
}

/// Standard output for data that is no text, and that is not written to a terminal.
pub fn binary_result_writer() -> StdoutLock<'static> {
    std::io::stdout().lock()
}
