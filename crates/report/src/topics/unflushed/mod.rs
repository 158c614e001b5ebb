//! Topic: candidates that leave data in the device's volatile cache where others flush it.

mod words;

pub(crate) use words::sentences;

use super::topic::ReportTopic;
use fsverdict_judgement::verdict::Judgement;

pub(super) struct UnflushedTopic;

impl ReportTopic for UnflushedTopic {
    fn notes(&self, judged: &Judgement<'_>) -> Vec<String> {
        words::sentences(judged)
    }
}
