//! Topic: candidates that leave data in the device's volatile cache where others flush it.

mod words;

pub(crate) use words::write_sentences;

use super::topic::ReportTopic;
use fsverdict_judgement::verdict::Judgement;

pub(super) struct UnflushedTopic;

impl ReportTopic for UnflushedTopic {
    fn write_notes(&self, judged: &Judgement<'_>) -> Vec<String> {
        words::write_sentences(judged)
    }
}
