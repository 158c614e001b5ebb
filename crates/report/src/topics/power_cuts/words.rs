//! The results of power cuts: candidates beside outcomes, and the first states that lost something.

use crate::number::{percent_of_cases, plain_number};
use crate::text_table::TextTable;
use fsverdict_judgement::journal::{CutOutcome, PowerCuts, StateFinding};
use fsverdict_judgement::verdict::Judgement;

/// Of each candidate so many states are shown that lost something.
const FIRST: usize = 3;

/// Outcomes beside candidates; and the first losses, where there are any.
pub(crate) fn build_tables(judged: &Judgement<'_>) -> Vec<TextTable> {
    let cuts = judged.run.power_cuts.as_slice();
    if cuts.is_empty() {
        return Vec::new();
    }
    let seen: Vec<CutOutcome> = CutOutcome::ALL
        .into_iter()
        .filter(|outcome| {
            *outcome <= CutOutcome::SilentLoss || cuts.iter().any(|cuts| cuts.count(*outcome) > 0)
        })
        .collect();
    let mut header = vec!["candidate", "states"];
    header.extend(seen.iter().map(|outcome| outcome.words()));
    header.push("lost, %");
    let several = cuts.iter().any(|cuts| cuts.trials > 1);
    header.extend(several.then_some("of trials, %"));
    header.push("back, s");
    let rows = cuts.iter().map(|cuts| build_row(cuts, &seen, several)).collect();
    let title = "Power cuts: states of the device, and what became of the filesystem in each; back: device seconds until it was mounted, median and most";
    let mut tables = vec![TextTable::new(title, &header, rows)];
    let first = |cuts: &PowerCuts| -> Vec<Vec<String>> {
        let told = |finding: &StateFinding| {
            let StateFinding { state, outcome, broken, seen, .. } = finding;
            let is_unpromised = |name: &String| cuts.unpromised.contains(name);
            let whose = if !broken.is_empty() && broken.iter().all(is_unpromised) {
                format!("{} (which no interface promises)", broken.join(", "))
            } else if cuts.priced.is_empty() {
                broken.join(", ")
            } else {
                format!("{} (by its documentation)", broken.join(", "))
            };
            vec![cuts.candidate.clone(), state.clone(), outcome.words().to_owned(), whose, seen.clone()]
        };
        cuts.first.iter().take(FIRST).map(told).collect()
    };
    let lost: Vec<Vec<String>> = cuts.iter().flat_map(first).collect();
    if !lost.is_empty() {
        let title = "The first states that lost something: fsverdict crash RUN CANDIDATE STATE makes the image of one";
        tables.push(TextTable::new(title, &["candidate", "state", "outcome", "promise", "seen"], lost));
    }
    tables
}

fn build_row(cuts: &PowerCuts, seen: &[CutOutcome], several: bool) -> Vec<String> {
    let mut row = vec![cuts.candidate.clone(), cuts.states.to_string()];
    row.extend(seen.iter().map(|outcome| match cuts.count(*outcome) {
        0 => "–".to_owned(),
        count => count.to_string(),
    }));
    row.push(percent_of_cases(cuts.count_losses(), cuts.states));
    let of_trials = || match cuts.trials {
        0 => "–".to_owned(),
        trials => format!("{} of {trials}", percent_of_cases(cuts.trials_lost, trials)),
    };
    row.extend(several.then(of_trials));
    let [median, most] = cuts.back_s.map(plain_number);
    row.push(format!("{median}, {most}"));
    row
}

/// Why fewer states than cuts were examined: the sampler drops a state with the same content as one that it has.
fn fewer_than_asked(judged: &Judgement<'_>) -> Option<String> {
    let asked = judged.plan.faults.map_or(0, |faults| faults.power_cuts);
    let states = judged.run.power_cuts.iter().map(|cuts| cuts.states);
    let (few, many) = (states.clone().min()?, states.max()?);
    let examined = if few == many { few.to_string() } else { format!("{few} to {many}") };
    (few < asked).then(|| {
        format!(
            "of {asked} power cuts, {examined} different states of the device came about and were examined: cuts that leave the same content count once"
        )
    })
}

/// That nothing was lost is said of the states that were examined, and of no others.
fn nothing_lost(judged: &Judgement<'_>) -> Option<String> {
    let cuts = judged.run.power_cuts.as_slice();
    let states: u32 = cuts.iter().map(|cuts| cuts.states).sum();
    let is_safe = states > 0 && cuts.iter().all(|cuts| cuts.count_losses() == 0);
    let control = match judged.plan.faults.is_some_and(|faults| faults.keeps_all) {
        true => ", on a device that itself keeps all that it was given",
        false => "",
    };
    is_safe.then(|| {
        format!(
            "nothing was lost in the {states} states that were examined{control}: it is not shown that nothing can be lost"
        )
    })
}

/// The sentences about power cuts, without full stops; none if no power was cut.
pub(crate) fn write_sentences(judged: &Judgement<'_>) -> Vec<String> {
    let cuts = judged.run.power_cuts.as_slice();
    let priced = cuts.iter().filter(|cuts| cuts.count_losses() > 0 && !cuts.priced.is_empty());
    let mut said: Vec<String> = priced
        .map(|cuts| {
            format!(
                "{} loses by the documentation of its options: {}",
                cuts.candidate,
                cuts.priced.join("; ")
            )
        })
        .collect();
    said.extend(fewer_than_asked(judged));
    said.extend(nothing_lost(judged));
    if cuts.iter().any(|cuts| cuts.trials > 1) {
        said.push(
            "of trials, whose devices are drawn from the class, the share is that of trials in which some state lost something, with its interval over trials: it grows with the states that are looked at of each"
                .to_owned(),
        );
    }
    if !cuts.is_empty() {
        said.push(
            "states after a power cut are computed from a log of every write and from what a device of this class may lose before a flush; the intervals describe states, not machines"
                .to_owned(),
        );
    }
    said
}
