//! The list of clauses of a run, ranked: those of the verdict and of all topics. Sentence, paragraph and plain words choose
//! from it.

use crate::model::{Clause, ClauseKind};
use crate::topics::TOPICS;
use crate::wording::{capitalize, listing, percent};
use fsverdict_judgement::plan::once_each;
use fsverdict_judgement::verdict::{Judgement, Limit, Outcome};

/// The most limits that the paragraph lists.
const MOST_LIMITS: usize = 3;
/// The most candidates that led and failed which get a sentence of their own.
const MOST_LOST: usize = 2;

/// The statements about a run, ranked: those of the verdict and of all topics.
pub(crate) fn list_clauses(judged: &Judgement<'_>) -> Vec<Clause> {
    let mut clauses = Clause::list(ClauseKind::Premise, describe_failed_leaders(judged));
    clauses.extend(TOPICS.iter().flat_map(|topic| (topic.list_clauses)(judged)));
    clauses.extend(Clause::list(ClauseKind::Premise, describe_left_out_phases(judged)));
    clauses.extend(Clause::list(ClauseKind::FreeWork, list_uneven_free_work(judged)));
    clauses.extend(Clause::list_limits(judged));
    clauses.sort_by_key(|clause| clause.kind);
    clauses
}

/// The sentences on the outcome, and behind them that the leader gives no room back, and why the work is too little to decide by.
pub(crate) fn with_too_little(judged: &Judgement<'_>, sentences: String) -> String {
    let clauses = Clause::list_limits(judged).into_iter();
    let reasons = clauses.filter(|clause| clause.kind == ClauseKind::TooLittle);
    let reasons = reasons.map(|clause| format!("{}.", capitalize(&clause.text)));
    let room = judged.verdict.limits.iter().filter(|limit| is_of_leaders_room(judged, limit));
    let reasons = room.map(|limit| format!("{limit}.")).chain(reasons);
    std::iter::once(sentences).chain(reasons).collect::<Vec<_>>().join(" ")
}

/// Whether the first sentences of a verdict say themselves what this limit does.
pub(crate) fn is_stated(judged: &Judgement<'_>, limit: &Limit) -> bool {
    match limit {
        Limit::ModelsMayReverse { .. } => judged.verdict.outcome != Outcome::Undecided,
        // The table has the reason.
        Limit::Lost { .. } => judged.verdict.refused.is_none(),
        limit => is_of_leaders_room(judged, limit),
    }
}

/// Whether the limit says of the candidate that leads, or is recommended, that it gives no room back.
fn is_of_leaders_room(judged: &Judgement<'_>, limit: &Limit) -> bool {
    let Limit::RoomNotReturned { removed, .. } = limit else { return false };
    let leader = judged.verdict.ranking.first().map(|rank| &rank.candidate);
    let leader = judged.verdict.recommended.as_ref().or(leader);
    removed.iter().any(|(candidate, _)| Some(candidate) == leader)
}

/// The caveats of the verdict among all clauses, the gravest kind first.
pub(crate) fn list_caveats(judged: &Judgement<'_>) -> Vec<String> {
    let stated = judged.verdict.limits.iter().filter(|limit| is_stated(judged, limit));
    let stated: Vec<String> = stated.map(Limit::to_string).collect();
    let caveats = list_clauses(judged).into_iter().filter(Clause::is_caveat);
    let caveats = caveats.filter(|clause| !stated.contains(&clause.text));
    let (limits, grave): (Vec<Clause>, Vec<Clause>) =
        caveats.partition(|clause| clause.kind == ClauseKind::Limit);
    grave.into_iter().chain(limits.into_iter().take(MOST_LIMITS)).map(|clause| clause.text).collect()
}

/// The work that computation did for nothing for some of the candidates that are ranked against each other.
fn list_uneven_free_work(judged: &Judgement<'_>) -> Vec<String> {
    let compared = list_measured(judged);
    let contests: Vec<Vec<&str>> = match judged.verdict.groups.as_slice() {
        [] => vec![compared],
        groups => groups
            .iter()
            .map(|group| {
                let is_own = |name: &&str| group.candidates.iter().any(|own| own == name);
                compared.iter().copied().filter(is_own).collect()
            })
            .collect(),
    };
    let cautions = judged.run.summarize_cautions();
    let uneven = cautions.iter().filter_map(|caution| {
        contests.iter().find_map(|contest| Some(caution.uneven_free_work(contest)?.to_owned()))
    });
    uneven.collect()
}

pub(crate) fn list_measured<'run>(judged: &Judgement<'run>) -> Vec<&'run str> {
    let names = judged.run.candidates.iter().map(|state| state.name.as_str());
    names.filter(|name| judged.estimates.iter().any(|found| found.candidate == *name)).collect()
}

/// The candidates that were ahead of the leader and failed, a sentence each, or one for many.
fn describe_failed_leaders(judged: &Judgement<'_>) -> Vec<String> {
    let lost = judged.verdict.limits.iter().filter_map(|limit| match limit {
        Limit::Lost { candidate, reason, .. } => {
            Some((candidate.as_str(), shorten_reason(judged, candidate, reason)))
        }
        _ => None,
    });
    match lost.collect::<Vec<_>>().as_slice() {
        few if few.len() <= MOST_LOST => few
            .iter()
            .map(|(name, reason)| format!("{name}, which was ahead, is excluded ({reason})."))
            .collect(),
        many => {
            let names: Vec<&str> = many.iter().map(|(name, _)| *name).collect();
            let reasons = once_each(many.iter().map(|(_, reason)| reason.as_str()));
            let why = if let [only] = reasons.as_slice() { only } else { common_reason(judged, &names) };
            vec![format!("{}, which were ahead, are excluded ({why}).", listing(&names, names.len()))]
        }
    }
}

/// Why a candidate is excluded, without the example that the list of candidates has.
fn shorten_reason(judged: &Judgement<'_>, candidate: &str, reason: &str) -> String {
    judged.run.why_out(candidate).map_or_else(|| reason.to_owned(), |loss| loss.summary)
}

/// Why several candidates are excluded, where it is the same for all; the list of candidates has the reason of each.
pub(crate) fn common_reason(judged: &Judgement<'_>, names: &[&str]) -> &'static str {
    let reasons = names.iter().map(|name| judged.run.why_out(name).map(|loss| loss.brief));
    match once_each(reasons).as_slice() {
        [Some(brief)] => brief,
        _ => "the reasons are below",
    }
}

/// The phases that the comparison had to leave out, as the beginning of a sentence.
fn describe_left_out_phases(judged: &Judgement<'_>) -> Option<String> {
    let left_out = judged.verdict.left_out_phases.iter().map(|left| {
        let lacking = listing(&left.lacking, 4);
        match left.moved {
            Some(moved) => {
                format!("{} (it moved {} of its data with {lacking})", left.phase, percent(moved))
            }
            None => format!("{} (nothing of {lacking})", left.phase),
        }
    });
    match left_out.collect::<Vec<_>>() {
        none if none.is_empty() => None,
        some => Some(format!("Compared without {}:", some.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use crate::fixtures::{PLAIN, Story, id, page_of};
    use crate::{Format, TerminalLook};
    use fsverdict_judgement::journal::{Event, Unit};
    use fsverdict_testutil::journals as made;

    /// The report of two candidates that read at this rate, for which the device was asked for so many bytes.
    fn shown(metric: &'static str, rate: f64, device_read: f64) -> String {
        let mut story = Story::new(&["ext4", "xfs"], &["read"]);
        for block in 1..=4 {
            story.open_block(block, 1, &["ext4", "xfs"]);
            for (candidate, times) in [("ext4", 1.0), ("xfs", 1.2)] {
                let id = id(block, candidate);
                story.tell(Some(&id), Event::TrialStarted {});
                let seconds = times * (1.0 + 0.01 * f64::from(block));
                let numbers = [
                    ("durable", Unit::Seconds, seconds),
                    (metric, Unit::BytesPerSecond, rate / times),
                    ("device_read", Unit::Bytes, device_read),
                ];
                story.tell(Some(&id), Event::Observation(made::measured("read", &numbers)));
                story.tell(Some(&id), made::ended(None, seconds * 1.1));
            }
            story.close_block(block, 1, None);
        }
        story.finish();
        let look = TerminalLook { columns: 120, ..PLAIN };
        page_of(&story, None, Format::Terminal(look)).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// fio that read its file at 67 GB/s from the page cache was ranked without a word.
    #[test]
    fn a_phase_that_is_faster_than_any_device_is_warned_of_in_the_first_sentences() {
        for metric in ["fio_read_bandwidth", "throughput"] {
            let told = shown(metric, 67e9, 4096.0);
            let place = told.find("The phase `read` got its data from memory").unwrap_or(usize::MAX);
            assert!(place < told.find("candidate").unwrap(), "{told}");
        }
        // A device that gave the bytes, and a rate that a device can have.
        assert!(!shown("fio_read_bandwidth", 12e9, 12e9).contains("from memory"));
        assert!(!shown("fio_read_bandwidth", 6e9, 4096.0).contains("from memory"));
    }
}
