//! Topic: how much of the times is computation, where a processor model prices it.

use super::{ReportTopic, address_tables};
use crate::Report;
use crate::model::{Clause, ClauseKind};
use crate::page::{Media, PageBlock};
use crate::wording::{TextTable, capitalize, listing, of_level, percent, plain_number, times};
use fsverdict_judgement::plan::{Phase, PhaseWork};
use fsverdict_judgement::verdict::{ChargedCandidate, ChargedComputation, ChargedPhase, Judgement};

pub(super) static TOPIC: ReportTopic = ReportTopic {
    build_tables: |report| address_tables(Media::FULL_TEXT, build_tables(report)).collect(),
    build_section,
    list_clauses: |judged| {
        let texts = write_sentences(judged).into_iter().chain(describe_uncharged_programs(judged));
        texts.map(|text| Clause::new(ClauseKind::Detail, text).noted()).collect()
    },
    ..ReportTopic::EMPTY
};

/// No more candidates are named in a sentence.
const MOST_NAMES: usize = 4;

/// The sentences about charged computation, without full stops; none if computation had no price.
fn write_sentences(judged: &Judgement<'_>) -> Vec<String> {
    let levels = judged.verdict.by_protection_level().into_iter();
    let charged = levels.filter_map(|(title, verdict)| Some((title, verdict.charged.as_ref()?)));
    charged
        .flat_map(|(title, computation)| {
            let sentences = [Some(describe_shares(computation)), describe_leader_if_free(computation)];
            sentences.into_iter().flatten().map(move |sentence| of_level(title, &sentence))
        })
        .collect()
}

fn describe_shares(computation: &ChargedComputation) -> String {
    let describe = |computing: &ChargedCandidate| {
        let ChargedCandidate { candidate, seconds, of, .. } = computing;
        let several = if seconds > of { " (on several processors)" } else { "" };
        format!("{} of {candidate}'s {} s{several}", plain_number(*seconds), plain_number(*of))
    };
    let each: Vec<String> = computation.candidates.iter().map(describe).collect();
    format!("{} are CPU time; part of it passes while the device works", listing(&each, MOST_NAMES))
}

/// The phases of the goal with programs whose own computation takes no time, where that of the kernel does.
fn describe_uncharged_programs(judged: &Judgement<'_>) -> Option<String> {
    let mut levels = judged.verdict.by_protection_level().into_iter();
    if !levels.any(|(_, verdict)| verdict.charged.is_some()) {
        return None;
    }
    let goal_phases = judged.objective.phases();
    let is_uncharged = |phase: &&Phase| {
        let is_program = !matches!(phase.work, PhaseWork::Operation(_));
        is_program && phase.computing.is_none() && goal_phases.contains(&phase.name.as_str())
    };
    let phases: Vec<String> =
        judged.plan.phases.iter().filter(is_uncharged).map(|phase| phase.name.clone()).collect();
    phases.first()?;
    Some(format!(
        "what the programs of {} compute themselves takes no time: their latencies and transactions a second compare filesystems, and are \
         not those of a machine (`computing` in a phase gives it a price)",
        listing(&phases, MOST_NAMES)
    ))
}

/// Whether the leader would stay the first if computation took no time, as far as that is known.
fn describe_leader_if_free(computation: &ChargedComputation) -> Option<String> {
    let leader = &computation.leader;
    // Of one candidate alone nothing can change.
    let others: Vec<&ChargedCandidate> =
        computation.candidates.iter().filter(|other| other.candidate != *leader).collect();
    others.first()?;
    let rivals: Vec<String> = others
        .iter()
        .filter(|other| other.might_lead_if_free)
        .map(|other| match &other.free_at_least {
            Some(ratio) => {
                format!("{} (at least {} times the time of {leader})", other.candidate, times(ratio.point))
            }
            None => other.candidate.clone(),
        })
        .collect();
    Some(match rivals.as_slice() {
        [] if others.iter().any(|other| other.free_at_least.is_some()) => {
            format!(
                "if computation were free, {leader} would still not be behind any of them by more than matters"
            )
        }
        [] => return None,
        rivals => format!(
            "if computation were free, others might lead: {}; how much of it passes while the device works is not known, and a run \
             with `--set cpu=free` tells",
            listing(rivals, MOST_NAMES)
        ),
    })
}

/// Every phase of the goal, one in a row, for each processor a table; none where computation had no price.
fn build_tables(report: &Report<'_>) -> Vec<TextTable> {
    let environments = report.across.iter().flat_map(|across| &across.found.columns);
    let environments = environments
        .filter_map(|column| Some((format!(", {}", column.title), column.result.verdict.charged.as_ref()?)));
    let levels = report.judged.verdict.by_protection_level().into_iter();
    let levels = levels.filter_map(|(title, verdict)| {
        let title = if title.is_empty() { String::new() } else { format!(", {title}") };
        Some((title, verdict.charged.as_ref()?))
    });
    levels.chain(environments).map(|(place, computation)| build_table(&place, computation)).collect()
}

fn build_table(place: &str, computation: &ChargedComputation) -> TextTable {
    let row = |phase: &ChargedPhase| {
        vec![
            phase.candidate.clone(),
            phase.phase.clone(),
            plain_number(phase.of),
            plain_number(phase.seconds),
            percent(phase.seconds / phase.of),
            plain_number((phase.of - phase.seconds).max(0.0)),
        ]
    };
    let title = format!(
        "Computation{place}: seconds of processors that were charged in each phase; a phase takes at least the rest if computation is free"
    );
    let header = ["candidate", "phase", "durable, s", "charged, s", "of one processor", "at least, s"];
    TextTable::new(title, &header, computation.phases.iter().map(row).collect())
}

fn build_section<'a>(report: &'a Report<'_>) -> Option<PageBlock<'a>> {
    let tables = build_tables(report);
    tables.first()?;
    let sentences = write_sentences(&report.judged).into_iter();
    let mut blocks: Vec<PageBlock<'a>> =
        sentences.map(|sentence| PageBlock::Lead(format!("{}.", capitalize(&sentence)).into())).collect();
    let tables = tables.into_iter().map(PageBlock::plain_table);
    blocks.push(PageBlock::fold(None, "Computation of each phase", tables.collect()));
    Some(PageBlock::section("computation", "Computation", blocks))
}

#[cfg(test)]
mod tests {
    use crate::Format;
    use crate::fixtures::{DETAILED, Story, data_of, id, page_of};
    use fsverdict_judgement::journal::{Event, Unit};
    use fsverdict_judgement::plan::ProtectionFeature;
    use fsverdict_testutil::journals as made;

    /// ext4 takes 10 s, of which so many are computation, and xfs 11 s.
    fn story(charged: Option<[f64; 2]>) -> Story {
        story_of(["ext4", "xfs"], [10.0, 11.0], charged)
    }

    /// These candidates take so many seconds, of which so many are computation.
    fn story_of<const N: usize>(names: [&str; N], times: [f64; N], charged: Option<[f64; N]>) -> Story {
        let mut story = Story::new(&names, &["write"]);
        for block in 1..=4 {
            story.open_block(block, 1, &names);
            for (at, (name, seconds)) in names.into_iter().zip(times).enumerate() {
                let id = id(block, name);
                story.tell(Some(&id), Event::TrialStarted {});
                let seconds = seconds * (1.0 + 0.001 * f64::from(block));
                let mut numbers = vec![("durable", Unit::Seconds, seconds)];
                numbers.extend(charged.map(|charged| ("charged", Unit::Seconds, charged[at])));
                story.tell(Some(&id), Event::Observation(made::measured("write", &numbers)));
                story.tell(Some(&id), made::ended(None, seconds * 1.1));
            }
            story.close_block(block, 1, None);
        }
        story.finish();
        story
    }

    fn said(story: &Story, format: Format) -> String {
        page_of(story, None, format).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_share_of_computation_is_in_every_form() {
        let story = story(Some([4.0, 0.5]));
        for format in [Format::Terminal(DETAILED), Format::Markdown] {
            let said = said(&story, format);
            for told in ["4.0 of ext4's 10 s", "0.50 of xfs's 11 s are CPU time"] {
                assert!(said.contains(told), "{told}: {said}");
            }
            assert!(said.contains("charged, s"), "{said}");
        }
        let page = page_of(&story, None, Format::Html);
        assert!(page.contains("id=\"computation\"") && page.contains("40%"));
        let data = data_of(&story);
        let phase = &data["verdict"]["charged"]["phases"][0];
        assert_eq!((phase["candidate"].as_str(), phase["seconds"].as_f64()), (Some("ext4"), Some(4.0)));
    }

    /// 11 s less 0.5 s is no less than 10 s; less 4 s it might be.
    #[test]
    fn who_might_lead_if_computation_were_free_is_named_with_the_bound() {
        let stays = said(&story(Some([4.0, 0.5])), Format::Terminal(DETAILED));
        assert!(stays.contains("if computation were free, ext4 would still not be behind"), "{stays}");
        let turns = said(&story(Some([0.5, 4.0])), Format::Terminal(DETAILED));
        assert!(turns.contains("others might lead: xfs (at least 0.70 times the time of ext4)"), "{turns}");
        assert!(turns.contains("--set cpu=free"), "{turns}");
        // With several processors more may be charged than the time that passes.
        let all = said(&story(Some([0.5, 30.0])), Format::Terminal(DETAILED));
        assert!(all.contains("others might lead: xfs;"), "{all}");
        let data = data_of(&story(Some([0.5, 30.0])));
        let xfs = &data["verdict"]["charged"]["candidates"][1];
        assert!(xfs["free_at_least"].is_null() && xfs["might_lead_if_free"] == true, "{xfs}");
    }

    /// Each protection level has a leader of its own: an encrypted candidate is not compared with an unencrypted one.
    #[test]
    fn each_protection_level_has_its_own_leader() {
        let names = ["ext4", "xfs", "ext4+luks2", "xfs+luks2"];
        let mut story = story_of(names, [10.0, 11.0, 13.0, 12.0], Some([1.0, 4.0, 5.0, 1.0]));
        story.plan.goal.protection = ["ext4+luks2", "xfs+luks2"]
            .map(|name| (name.to_owned(), [ProtectionFeature::Encrypted].into_iter().collect()))
            .into();
        let shown = said(&story, Format::Markdown);
        for told in [
            "Unencrypted: 1.0 of ext4's 10 s",
            "Encrypted: 1.0 of xfs+luks2's 12 s",
            "xfs (at least 0.70 times the time of ext4)",
            "ext4+luks2 (at least 0.67 times the time of xfs+luks2)",
            "Computation, encrypted:",
            "unencrypted: one trial strays by",
            "encrypted: one trial strays by",
        ] {
            assert!(shown.to_lowercase().contains(&told.to_lowercase()), "{told}: {shown}");
        }
        assert!(!shown.contains("luks2 (at least 0.80 times the time of ext4)"), "{shown}");
        let data = data_of(&story);
        assert!(data["verdict"].get("charged").is_none() && data["verdict"]["noise"].is_null());
        assert_eq!(data["verdict"]["groups"][1]["charged"]["leader"], "xfs+luks2");
    }

    #[test]
    fn without_a_price_nothing_is_said_of_it() {
        let story = story(None);
        let said = said(&story, Format::Terminal(DETAILED));
        assert!(
            !said.contains("CPU time")
                && !said.contains("computation")
                && data_of(&story)["verdict"].get("charged").is_none(),
            "{said}"
        );
    }
}
