//! Words for the candidates of a run: the result of each, why one has no numbers, and how many were measured.

use crate::wording::text::count;
use fsverdict_judgement::journal::CandidateStatus;
use fsverdict_judgement::verdict::{CandidateEntry, Judgement, NoNumbersReason, TrialBasis};

/// The result of a candidate in a word or two.
pub(crate) fn describe_status(entry: &CandidateEntry<'_>) -> &'static str {
    match entry.status {
        CandidateStatus::Ok => "measured",
        CandidateStatus::Skipped => "skipped",
        CandidateStatus::Failed => "failed",
        CandidateStatus::Untried if entry.why.is_nothing() => "not tried yet",
        CandidateStatus::Untried => "no result",
    }
}

/// Why a candidate has no numbers; empty where no reason is known.
pub(crate) fn explain_missing_result(entry: &CandidateEntry<'_>) -> String {
    match entry.why {
        NoNumbersReason::Stated(reason) => reason.to_owned(),
        NoNumbersReason::Discarded { trials, failed } => {
            let last = failed.map_or(String::new(), |reason| format!("; the last that failed: {reason}"));
            match trials {
                1 => format!("its only trial does not count{last}"),
                some => format!("none of its {some} trials counts{last}"),
            }
        }
    }
}

/// The amount of data, and how many candidates were measured, skipped and failed.
pub(crate) fn count_candidates(judged: &Judgement<'_>) -> String {
    let number = |status| judged.with_status(status).count();
    let ok = number(CandidateStatus::Ok);
    let without = match judged.run.invalid_blocks().count() {
        0 => String::new(),
        some => format!(" ({some} more did not count)"),
    };
    let from = match judged.basis {
        TrialBasis::Blocks(blocks) => format!("{}{without}: ", count(blocks, "block")),
        TrialBasis::OpenBlock(block) => format!("block {block}, not complete: "),
        TrialBasis::Disturbed(blocks) => format!("{} that did not count: ", count(blocks, "block")),
        TrialBasis::Nothing => String::new(),
    };
    let mut text = match judged.candidates.len() {
        all if all == ok => format!("{from}{} measured", count(all, "candidate")),
        all => format!("{from}{ok} of {} measured", count(all, "candidate")),
    };
    for status in [CandidateStatus::Skipped, CandidateStatus::Failed, CandidateStatus::Untried] {
        if let Some(last) = judged.with_status(status).last() {
            text.push_str(&format!(", {} {}", number(status), describe_status(last)));
        }
    }
    text
}
