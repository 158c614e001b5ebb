//! Writes results to standard output, in one place. Messages go to standard error ([`messages`](super::messages)).
//!
//! Neutralises control and hidden characters in results, whether they came from a plan, a run or a guest.

use std::io::{StdoutLock, Write};

use anstream::AutoStream;
use fsverdict_text::{DisplayForm, DisplayWriter};

/// Standard output for text. Styles are passed only to a terminal that supports them.
pub fn result_writer() -> DisplayWriter<AutoStream<StdoutLock<'static>>> {
    DisplayWriter::new(anstream::stdout().lock(), DisplayForm::Styled)
}

/// The same text on its way to the terminal by another program, such as a pager.
pub fn result_writer_to(pipe: Box<dyn Write>) -> DisplayWriter<AutoStream<Box<dyn Write>>> {
    let choice = AutoStream::choice(&std::io::stdout());
    DisplayWriter::new(AutoStream::new(pipe, choice), DisplayForm::Styled)
}

/// Standard output for data that is no text, and that is not written to a terminal.
pub fn binary_result_writer() -> StdoutLock<'static> {
    std::io::stdout().lock()
}
