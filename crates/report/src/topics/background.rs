//! Topic: the filesystems' own work beside the phases: its amount for each mount, and for each byte.

use super::{ReportTopic, address_tables};
use crate::Report;
use crate::model::{Clause, ClauseKind};
use crate::page::{Media, PageBlock};
use crate::wording::{TextTable, count, listing, plain_number, times, times_within};
use fsverdict_judgement::journal::BackgroundWork;
use fsverdict_judgement::plan::once_each;
use fsverdict_judgement::verdict::{Background, Judgement};

pub(super) static TOPIC: ReportTopic = ReportTopic {
    build_tables: |report| address_tables(Media::FULL_TEXT, build_table(&report.judged)).collect(),
    build_section,
    list_clauses,
    ..ReportTopic::EMPTY
};

/// The most candidates that explain the standings; all are noted.
const MOST_EXPLAINED: usize = 2;

fn list_clauses(judged: &Judgement<'_>) -> Vec<Clause> {
    let explained = Clause::list(ClauseKind::Detail, write_sentences(judged).take(MOST_EXPLAINED));
    let explained = explained.into_iter().map(|clause| Clause { begins_with_name: true, ..clause });
    explained.chain(Clause::list(ClauseKind::Proviso, write_sentences(judged))).collect()
}

/// One of each candidate, in the order of the ranking, without full stops.
fn write_sentences<'a>(judged: &'a Judgement<'_>) -> impl Iterator<Item = String> + 'a {
    let is_same = |phase: &Background, next: &Background| phase.candidate == next.candidate;
    let candidates = judged.verdict.background.chunk_by(is_same);
    candidates.filter_map(|phases| describe_candidate(judged, phases))
}

fn describe_candidate(judged: &Judgement<'_>, phases: &[Background]) -> Option<String> {
    let Background { candidate, against, behind, .. } = phases.first()?;
    let work: Vec<&BackgroundWork> = phases.iter().flat_map(|phase| &phase.work).collect();
    if work.is_empty() {
        return None;
    }
    let each = |field: fn(&BackgroundWork) -> &str| {
        let texts = once_each(work.iter().map(|job| field(job)));
        listing(&texts, texts.len())
    };
    let spent = |background: &Background| {
        let Background { phase, seconds, of, requests, .. } = background;
        let requests = count(requests.round() as usize, "request");
        format!("{} of {} s of {phase} ({requests})", plain_number(*seconds), plain_number(*of))
    };
    let spent: Vec<String> = phases.iter().map(spent).collect();
    let mut text = format!(
        "{candidate}: in {} the device {}, which nothing in the phase asked for",
        listing(&spent, spent.len()),
        each(|work| &work.does),
    );
    if work.iter().all(|work| work.once_per_mount) {
        text.push_str(": so much for each mount, however many bytes there are");
    }
    if let (Some(against), Some(behind)) = (against, behind) {
        let rank = judged.verdict.find_rank(candidate);
        let with =
            rank.and_then(|rank| rank.behind).map(|with| format!(", and {} with it", times(with.point)));
        let (without, with) = (times_within(behind), with.unwrap_or_default());
        text.push_str(&format!("; without that time, the way back from there still counted, it takes {without} times as long as {against}{with}"));
    }
    text.push_str(&format!("; what leaves it out: {}", each(|work| &work.avoided_by)));
    Some(text)
}

/// Every candidate and phase, one in a row; nothing where there is none.
fn build_table(judged: &Judgement<'_>) -> Option<TextTable> {
    let row = |phase: &Background| {
        let once = phase.work.iter().all(|work| work.once_per_mount);
        vec![
            phase.candidate.clone(),
            phase.phase.clone(),
            plain_number(phase.of),
            plain_number(phase.seconds),
            if once { "a mount" } else { "as it goes on" }.to_owned(),
            plain_number(phase.requests),
            plain_number(phase.of - phase.seconds),
            phase.rest_per_gigabyte.map_or("–".to_owned(), plain_number),
        ]
    };
    let title = "Beside the phases: what filesystems did by themselves, in seconds of the device";
    let times = ["durable, s", "by itself, s", "for", "requests", "the rest, s", "rest, s per GB"];
    let header = [&["candidate", "phase"][..], &times].concat();
    TextTable::filled(title, &header, judged.verdict.background.iter().map(row))
}

fn build_section<'a>(report: &'a Report<'_>) -> Option<PageBlock<'a>> {
    let table = build_table(&report.judged)?;
    let mut blocks: Vec<PageBlock<'a>> = PageBlock::leads(write_sentences(&report.judged)).collect();
    blocks.push(PageBlock::plain_table(table));
    Some(PageBlock::section("background", "Beside the phases", blocks))
}

#[cfg(test)]
mod tests {
    use crate::Format;
    use crate::fixtures::{DETAILED, Story, data_of, id, page_of};
    use fsverdict_judgement::journal::{BackgroundWork, Event, Facts, Learnt, Unit};
    use fsverdict_testutil::journals as made;

    /// ext4 copies in 40 s, of which so many are its own; xfs in 20. The kernel tells, or does not.
    fn story(own: f64, told: bool) -> Story {
        let mut story = Story::new(&["ext4", "xfs"], &["copy"]);
        for block in 1..=4 {
            story.open_block(block, 1, &["ext4", "xfs"]);
            for (candidate, seconds, own) in [("ext4", 40.0, own), ("xfs", 20.0, 0.0)] {
                let seconds = seconds * (1.0 + 0.01 * f64::from(block));
                let id = id(block, candidate);
                story.tell(Some(&id), Event::TrialStarted {});
                let mut numbers =
                    vec![("durable", Unit::Seconds, seconds), ("logical_bytes", Unit::Bytes, 1e9)];
                if told {
                    numbers.extend([
                        ("background", Unit::Seconds, own),
                        ("background_requests", Unit::Count, 932.0),
                    ]);
                }
                story.tell(Some(&id), Event::Observation(made::measured("copy", &numbers)));
                if told && own > 0.0 {
                    let work = BackgroundWork {
                        phases: ["copy".to_owned()].into(),
                        does: "read maps".to_owned(),
                        once_per_mount: true,
                        avoided_by: "no_maps".to_owned(),
                    };
                    let learnt = Learnt { background: vec![work], ..Learnt::default() };
                    story.tell(Some(&id), Event::Facts { facts: Facts::new(), learnt });
                }
                story.tell(Some(&id), made::ended(None, seconds * 1.1));
            }
            story.close_block(block, 1, None);
        }
        story.finish();
        story
    }

    #[test]
    fn what_a_filesystem_did_by_itself_is_shown_apart_and_named_with_what_leaves_it_out() {
        let shown = page_of(&story(20.0, true), None, Format::Terminal(DETAILED));
        let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        for told in [
            "in 20 of 41 s of copy (932 requests) the device read maps, which nothing in the phase asked for: so much for each mount",
            "without that time, the way back from there still counted, it takes 1.02",
            "times as long as xfs, and 2.00 with it; what leaves it out: no_maps",
            "Beside the phases",
            "a mount",
        ] {
            assert!(words.contains(told), "{told}: {shown}");
        }
        let page = page_of(&story(20.0, true), None, Format::Html);
        assert!(page.contains("id=\"background\"") && page.contains("no_maps"));
        let data = data_of(&story(20.0, true));
        assert_eq!(data["verdict"]["background"][0]["work"][0]["once_a_mount"], true);
        assert!(data["verdict"]["cautions"].to_string().contains("no_maps"));
        assert!(page_of(&story(20.0, true), None, Format::Csv).contains(",copy,fresh,0,background,s,20,ok"));
    }

    /// One part in twenty is none; nor is there anything to say of what was not told.
    #[test]
    fn nothing_is_shown_of_what_is_little_or_not_told() {
        for story in [story(1.0, true), story(20.0, false)] {
            let shown = page_of(&story, None, Format::Terminal(DETAILED));
            assert!(!shown.contains("Beside the phases") && !shown.contains("no_maps"), "{shown}");
            assert!(data_of(&story)["verdict"].get("background").is_none());
        }
    }
}
