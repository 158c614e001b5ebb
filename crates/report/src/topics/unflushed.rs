//! Topic: candidates that leave data in the device's volatile cache where others flush it. They are faster by that, and
//! data that they report as durable may be lost in a power cut.

use super::ReportTopic;
use crate::model::{Clause, ClauseKind};
use crate::wording::listing;
use fsverdict_judgement::plan::Candidate;
use fsverdict_judgement::verdict::{Judgement, PhaseEstimate};

pub(super) static TOPIC: ReportTopic = ReportTopic { list_clauses, ..ReportTopic::EMPTY };

/// The most candidates that are among the caveats; the others are noted.
const MOST_CAVEATS: usize = 2;

fn list_clauses(judged: &Judgement<'_>) -> Vec<Clause> {
    let kind = |at: usize| if at < MOST_CAVEATS { ClauseKind::Unflushed } else { ClauseKind::Note };
    write_sentences(judged).into_iter().enumerate().map(|(at, text)| Clause::new(kind(at), text)).collect()
}

/// The number of flushes that the one sync at the end of a phase may cause.
const OF_A_SYNC: f64 = 2.0;
/// The fewest flushes of other candidates that show that an fsync causes one.
const MANY: f64 = 20.0;

/// A sentence for each candidate, without a full stop. Covers only phases with a known number of fsyncs, because
/// journals also flush without one, and only modelled devices: these have no FUA writes, which can spare a real device
/// a flush.
fn write_sentences(judged: &Judgement<'_>) -> Vec<String> {
    judged.plan.candidates.iter().filter_map(|candidate| describe_candidate(judged, candidate)).collect()
}

fn describe_candidate(judged: &Judgement<'_>, candidate: &Candidate) -> Option<String> {
    if judged.plan.models_of(candidate).is_empty() {
        return None;
    }
    let beside = |name: &str| {
        let other = judged.plan.find_candidate(name);
        name != candidate.name && other.is_some_and(|other| other.under == candidate.under)
    };
    let phases = judged.plan.phases.iter().filter(|phase| phase.is_syncing()).filter_map(|phase| {
        let is_meant =
            |estimate: &&PhaseEstimate| estimate.metric == "device_flushes" && estimate.phase == phase.name;
        let flushes = judged.estimates.iter().filter(is_meant);
        let own_flushes = flushes.clone().find(|own| own.candidate == candidate.name)?.estimate.point;
        let others = flushes.filter(|other| beside(&other.candidate));
        let mut others: Vec<f64> = others.map(|other| other.estimate.point).collect();
        others.sort_by(f64::total_cmp);
        let median = others.get(others.len() / 2).copied()?;
        (own_flushes <= OF_A_SYNC && median >= MANY)
            .then(|| format!("{} ({own_flushes:.0} against {median:.0})", phase.name))
    });
    let phases: Vec<String> = phases.collect();
    (!phases.is_empty()).then(|| {
        format!(
            "{} hardly ever flushes the device's cache where the others do for every fsync, in {}: data that it reports as durable may be lost with \
             the power, and it is faster because of that",
            candidate.name,
            listing(&phases, phases.len()),
        )
    })
}

#[cfg(test)]
mod tests {
    use crate::Format;
    use crate::fixtures::{PLAIN, Story, id, page_of};
    use fsverdict_judgement::journal::{Event, Unit};
    use fsverdict_judgement::plan::{DeviceSource, Operation, PhaseWork};
    use fsverdict_testutil::journals as made;
    use fsverdict_text::Bytes;

    /// jfs saves forty times as fast, with so many flushes; the others with those.
    fn shown(operation: Operation, modelled: bool, own: f64, others: f64) -> String {
        let mut story = Story::new(&["ext4", "xfs", "jfs"], &["save"]);
        story.plan.phases[0].work = PhaseWork::Operation(operation);
        if modelled {
            story.plan.device.source =
                DeviceSource::Model { name: "sata-ssd".to_owned(), size: Bytes(1 << 30) };
        }
        for block in 1..=4 {
            story.open_block(block, 1, &["ext4", "xfs", "jfs"]);
            for (candidate, seconds, flushes) in
                [("ext4", 2.4, others), ("xfs", 1.8, others), ("jfs", 0.03, own)]
            {
                let id = id(block, candidate);
                story.tell(Some(&id), Event::TrialStarted {});
                let seconds = seconds * (1.0 + 0.01 * f64::from(block));
                let numbers = [("durable", Unit::Seconds, seconds), ("device_flushes", Unit::Count, flushes)];
                story.tell(Some(&id), Event::Observation(made::measured("save", &numbers)));
                story.tell(Some(&id), made::ended(None, seconds * 1.1));
            }
            story.close_block(block, 1, None);
        }
        story.finish();
        let shown = page_of(&story, None, Format::Terminal(PLAIN));
        shown.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn who_does_not_flush_is_named_first_among_the_limits() {
        use Operation::{DirectorySave, TreeWrite};
        let told = shown(DirectorySave, true, 1.0, 802.0);
        let limit = "Cautions · jfs hardly ever flushes the device's cache where the others do for every fsync, in save (1 against 802): data that it reports as durable";
        assert!(told.contains(limit), "{told}");
        for (operation, modelled, own, others) in [
            (DirectorySave, false, 1.0, 802.0),
            (DirectorySave, true, 401.0, 802.0),
            (DirectorySave, true, 1.0, 1.0),
            // A journal that flushes while a tree is written is nobody's fsync.
            (TreeWrite, true, 1.0, 802.0),
        ] {
            let told = shown(operation, modelled, own, others);
            assert!(!told.contains("hardly ever"), "{told}");
        }
    }
}
