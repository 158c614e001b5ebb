//! What filesystems did by themselves beside the phases, in words and as a table: so much for each mount, and so much for each byte.

use super::number::{plain_number, times_within};
use super::text::{count, listing};
use super::text_table::TextTable;
use fsverdict_judgement::verdict::{Background, Judgement};

/// One of each candidate and phase, without full stops.
pub(super) fn sentences<'a>(judged: &'a Judgement<'_>) -> impl Iterator<Item = String> + 'a {
    judged.verdict.background.iter().map(|one| in_words(judged, one))
}

fn in_words(judged: &Judgement<'_>, one: &Background) -> String {
    let Background { candidate, phase, .. } = one;
    let each = |what: fn(&fsverdict_judgement::journal::BackgroundWork) -> &str| {
        let all: Vec<&str> = one.work.iter().map(what).collect();
        listing(&all, all.len())
    };
    let does = if one.work.is_empty() { "worked".to_owned() } else { each(|work| &work.does) };
    let mut text = format!(
        "{candidate}, {phase}: in {} s of {} s the device {does} ({}), which nothing in the phase asked for",
        plain_number(one.seconds),
        plain_number(one.of),
        count(one.requests as usize, "request"),
    );
    if !one.work.is_empty() && one.work.iter().all(|work| work.once_a_mount) {
        text.push_str(": so much for each mount, however many bytes there are");
    }
    if let (Some(against), Some(behind)) = (&one.against, &one.behind) {
        let now = judged.verdict.ranking.iter().find(|rank| rank.candidate == *candidate);
        let now = now
            .and_then(|rank| rank.behind)
            .map_or(String::new(), |now| format!(", with it {}", plain_number(now.point)));
        text.push_str(&format!(
            "; without that time {candidate} takes {} times as long as {against}{now}",
            times_within(behind)
        ));
    }
    if !one.work.is_empty() {
        text.push_str(&format!("; left out by {}", each(|work| &work.avoided_by)));
    }
    text
}

/// Every candidate and phase, one in a row; nothing where there is none.
pub(super) fn table(judged: &Judgement<'_>) -> Option<TextTable> {
    let found = &judged.verdict.background;
    if found.is_empty() {
        return None;
    }
    let row = |one: &Background| {
        vec![
            one.candidate.clone(),
            one.phase.clone(),
            plain_number(one.of),
            plain_number(one.seconds),
            plain_number(one.requests),
            plain_number(one.of - one.seconds),
            one.rest_per_gigabyte.map_or("–".to_owned(), plain_number),
        ]
    };
    let title = "What filesystems did by themselves beside the phases, in seconds of the device";
    let header =
        ["candidate", "phase", "durable, s", "by itself, s", "requests", "the rest, s", "rest, s per GB"];
    Some(TextTable::new(title.to_owned(), &header, found.iter().map(row).collect()))
}
