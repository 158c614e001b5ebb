//! Topic: phases that got their data from memory: their rate is above the device's, and the device was not asked for
//! the bytes. Such a phase stays in the ranking, because its time is that of the program, but it says nothing of the
//! filesystem on the device; therefore the warning is among the first lines of a report.

use std::collections::BTreeMap;

use crate::model::clause::{Clause, ClauseKind};
use crate::topics::topic::ReportTopic;
use crate::wording::text::listing;
use fsverdict_judgement::journal::{Better, Unit};
use fsverdict_judgement::verdict::{Judgement, PhaseEstimate};

pub(super) static TOPIC: ReportTopic = ReportTopic {
    list_clauses: |judged| Clause::list(ClauseKind::FromMemory, write_sentences(judged)),
    ..ReportTopic::EMPTY
};

/// Bytes per second above which a rate is that of memory: four lanes of PCIe 4.0 carry 7.9 GB/s, those of 5.0 15.8 GB/s,
/// which the second condition lets pass.
const FASTEST_DEVICE: f64 = 10e9;
/// The share of the bytes that the device must have been asked for. Compression and holes spare it some of them.
const LEAST_FROM_DEVICE: f64 = 0.1;
/// Names of candidates that are shown for a phase.
const MOST_NAMES: usize = 3;

/// A sentence for each phase, without a full stop.
fn write_sentences(judged: &Judgement<'_>) -> Vec<String> {
    let mut phases: BTreeMap<usize, Vec<(&str, f64)>> = BTreeMap::new();
    for found in judged.estimates.iter().filter(|found| is_from_memory(judged, found)) {
        let place = judged.phases.iter().position(|phase| phase.name == found.phase);
        let rates = phases.entry(place.unwrap_or(usize::MAX)).or_default();
        match rates.iter_mut().find(|(name, _)| *name == found.candidate) {
            Some((_, rate)) => *rate = rate.max(found.estimate.point),
            None => rates.push((&found.candidate, found.estimate.point)),
        }
    }
    let sentence = |(place, rates): (usize, Vec<(&str, f64)>)| {
        let phase = judged.phases.get(place)?;
        let fastest = rates.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
        let names: Vec<&str> = rates.iter().map(|(name, _)| *name).collect();
        Some(format!(
            "{} ran at up to {:.0} GB/s ({}), more than a device gives: its data came from memory, so that it says \
             nothing of filesystem or device; `cold = true` in the phase, or more data than memory, asks the device",
            phase.name,
            fastest / 1e9,
            listing(&names, MOST_NAMES),
        ))
    };
    phases.into_iter().filter_map(sentence).collect()
}

fn is_from_memory(judged: &Judgement<'_>, found: &PhaseEstimate) -> bool {
    let rate = found.estimate.point;
    if found.unit != Unit::BytesPerSecond || found.direction() == Better::Lower || rate <= FASTEST_DEVICE {
        return false;
    }
    let value = |metric: &str| {
        let is_it = |estimate: &&PhaseEstimate| {
            estimate.candidate == found.candidate
                && estimate.phase == found.phase
                && estimate.metric == metric
        };
        judged.estimates.iter().find(is_it).map(|estimate| estimate.estimate.point)
    };
    let asked = [value("device_read"), value("device_written")].into_iter().flatten().reduce(|a, b| a + b);
    match asked.zip(value("durable")) {
        Some((bytes, seconds)) => bytes < LEAST_FROM_DEVICE * rate * seconds,
        None => true,
    }
}

#[cfg(test)]
mod tests {
    use crate::fixtures::{PLAIN, Story, id, page_of};
    use crate::{Format, TerminalLook};
    use fsverdict_judgement::journal::{Event, Unit};
    use fsverdict_testutil::journals as made;

    /// What a report says of two candidates that read at this rate, with so many bytes asked of the device.
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
    fn a_phase_that_is_faster_than_any_device_is_warned_of_first() {
        for metric in ["fio_read_bandwidth", "throughput"] {
            let told = shown(metric, 67e9, 4096.0);
            assert!(
                told.contains("Keep in mind: read ran at up to 67 GB/s (ext4 and xfs), more than"),
                "{told}"
            );
            assert!(told.contains("Cautions · read ran at up to 67 GB/s"), "{told}");
        }
        // A device that gave the bytes, and a rate that a device can have.
        assert!(!shown("fio_read_bandwidth", 12e9, 12e9).contains("more than a device gives"));
        assert!(!shown("fio_read_bandwidth", 6e9, 4096.0).contains("more than a device gives"));
    }
}
