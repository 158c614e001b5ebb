//! A table of the danger that a file is in by the time since it was saved: ages beside candidates.

use crate::number::percent_of_cases;
use crate::text_table::TextTable;
use fsverdict_judgement::journal::{AgeBin, LossAges, PowerCuts};
use fsverdict_judgement::verdict::Judgement;

/// Those that lost saved files.
pub(super) fn who<'a>(judged: &'a Judgement<'_>) -> impl Iterator<Item = &'a PowerCuts> + Clone {
    judged.run.power_cuts.iter().filter(|cuts| cuts.ages.has_losses())
}

/// The ages of which anybody had a file, as numbers of bins.
pub(super) fn ages(judged: &Judgement<'_>) -> std::ops::Range<usize> {
    let is_seen = |at: &usize| who(judged).any(|cuts| cuts.ages.bin_at(*at).looked > 0);
    let seen = || (0..LossAges::BINS).filter(is_seen);
    seen().next().unwrap_or(0)..seen().next_back().map_or(0, |last| last + 1)
}

/// Ages beside candidates; nothing where no file was lost.
pub(super) fn build_table(judged: &Judgement<'_>) -> Option<TextTable> {
    let mut header = vec!["saved before the cut"];
    header.extend(who(judged).map(|cuts| cuts.candidate.as_str()));
    let row = |at: usize| {
        let mut row = vec![in_words(at)];
        row.extend(who(judged).map(|cuts| share(cuts.ages.bin_at(at))));
        row
    };
    let rows: Vec<Vec<String>> = ages(judged).map(row).collect();
    let title = "Files lost, %, by how long before the cut their last saving had begun, on the device's clock; and of how many, each in every state";
    (!rows.is_empty()).then(|| TextTable::new(title, &header, rows))
}

/// From which age to which.
pub(super) fn in_words(at: usize) -> String {
    match LossAges::seconds(at) {
        (0.0, Some(to)) => format!("less than {}", time(to)),
        (from, Some(to)) => format!("{} to {}", time(from), time(to)),
        (from, None) => format!("{} and more", time(from)),
    }
}

/// Whole milliseconds or seconds.
pub(super) fn time(seconds: f64) -> String {
    if seconds < 1.0 { format!("{:.0} ms", seconds * 1e3) } else { format!("{seconds:.0} s") }
}

fn share(bin: AgeBin) -> String {
    if bin.looked == 0 {
        return "–".to_owned();
    }
    format!("{} of {}", percent_of_cases(bin.lost, bin.looked), bin.looked)
}
