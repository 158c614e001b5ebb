//! Topic: candidates that leave data in the device's volatile cache where others flush it.

mod words;

pub(crate) use words::write_sentences;

use super::topic::ReportTopic;

pub(super) static TOPIC: ReportTopic =
    ReportTopic { write_notes: words::write_sentences, ..ReportTopic::EMPTY };
